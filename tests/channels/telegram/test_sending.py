"""What the bot says arrives as it should look, where it should, and each refusal is told apart."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.channels.platform import (
    DeliveryError,
    FloodError,
    GoneError,
    LostPreviewError,
    MessagePart,
    RejectedError,
    UnreachableError,
)
from nanobot.channels.registry import MenuCommand
from nanobot.channels.telegram.markdown import RichText
from nanobot.messages import Address, Attachment, Button, OutboundMessage
from tests.channels.telegram.scene import GARDEN, OWNER, Scene, private
from tests.fakes.telegram_checks import RefusalError, check_text, units
from tests.fakes.telegram_faults import UNAUTHORIZED, Fault, cut, fails, flood, hang, html, refuses
from tests.fakes.telegram_server import FakeTelegram
from tests.fakes.telegram_world import Chat


def message(text: str, where: Address | None = None, **more: Any) -> OutboundMessage:
    return OutboundMessage(id="01", address=where or private(), text=text, **more)


async def say(scene: Scene, said: OutboundMessage) -> list[str]:
    return [await scene.bot.send(said, part, number) for number, part in enumerate(scene.bot.parts(said))]


def file(scene: Scene, name: str, content: bytes, mime: str) -> Attachment:
    scene.workspace.media.mkdir(parents=True, exist_ok=True)
    (scene.workspace.media / name).write_bytes(content)
    return Attachment(f"media/{name}", mime, name)


@pytest.fixture
def chat(scene: Scene) -> Chat:
    return scene.owner().chat


async def test_markdown_becomes_text_with_entities(scene: Scene, chat: Chat, telegram: FakeTelegram) -> None:
    await say(scene, message("Take **two** 😀 `eggs`\n\n```py\nx = 1\n```"))

    shown = chat.by_bot[0]
    kinds = {entity["type"] for entity in shown.data["entities"]}
    assert kinds == {"bold", "code", "pre"}
    assert "**" not in shown.text
    assert telegram.made("sendMessage")[0].told["link_preview_options"] == {"is_disabled": True}


@pytest.mark.parametrize(
    "text",
    ["😀" * 4096, "a" * 4095 + "😀", "a" * 4090 + "👨\u200d👩\u200d👧\u200d👦" * 3, "a" * 10_000, "word " * 2000,
     "intro\n```python\n" + "x = 1\n" * 1500 + "```\nbye"],
    ids=["emoji", "at the border", "family", "one word", "words", "code"],
)  # fmt: skip
async def test_long_texts_arrive_in_order_and_whole(scene: Scene, chat: Chat, text: str) -> None:
    await say(scene, message(text))

    assert all(0 < units(shown) <= 4096 for shown in chat.shown)
    visible = text.replace("```python", "").replace("```", "")
    assert "".join("".join(chat.shown).split()) == "".join(visible.split())


async def test_an_empty_answer_says_so(scene: Scene, chat: Chat) -> None:
    await say(scene, message(" \n"))

    assert "empty" in chat.shown[0]


async def test_a_repeated_part_is_marked_and_cut_in_the_same_places(scene: Scene, chat: Chat) -> None:
    said = message("**one** " * 1000)

    parts, repeated = scene.bot.parts(said), scene.bot.parts(said, repeat=True)
    await scene.bot.send(said, parts[0], 0)
    await scene.bot.send(said, repeated[0], 0)

    assert len(parts) == len(repeated) > 1
    assert chat.shown[1].removeprefix("(perhaps a repetition) ") == chat.shown[0]
    assert chat.by_bot[1].data["entities"][0]["offset"] == len("(perhaps a repetition) ")


async def test_the_first_part_replies_and_a_reply_to_what_is_gone_is_sent_all_the_same(
    scene: Scene, chat: Chat
) -> None:
    asked = scene.owner().says("tell me all")
    await say(scene, message("word " * 2000, reply_to=f"telegram:{OWNER}:{asked.id}"))
    await say(scene, message("late", reply_to=f"telegram:{OWNER}:777"))
    await say(scene, message("to an edit", reply_to=f"telegram:{OWNER}:{asked.id}:edit:5"))

    replies = [shown.data.get("reply_to_message", {}).get("message_id") for shown in chat.by_bot]
    assert replies == [asked.id, None, None, None, asked.id]


async def test_all_that_belongs_to_a_topic_stays_there(scene: Scene, telegram: FakeTelegram) -> None:
    forum = scene.world.group(GARDEN, "Garden", is_forum=True)
    forum.topic(7)
    where = Address("telegram", str(GARDEN), "7")
    picture = file(scene, "a.png", b"png", "image/png")
    await say(scene, message("text", where, files=[picture], turn="t"))
    await scene.bot.send_preview(where, "t", scene.bot.preview("grow")[0], "p")
    await scene.bot.typing(where)

    assert [shown.thread for shown in forum.by_bot] == [7, 7, 7]
    assert forum.actions == [("typing", 7)]
    assert {call.told["message_thread_id"] for call in telegram.made()} == {"7"}


async def test_without_a_topic_none_is_named(scene: Scene, telegram: FakeTelegram) -> None:
    scene.garden()
    where = Address("telegram", str(GARDEN))
    await say(scene, message("text", where))
    await scene.bot.typing(where)

    assert not any("message_thread_id" in call.told for call in telegram.made())


async def test_what_was_for_a_topic_that_is_gone_is_said_in_the_chat_once(scene: Scene) -> None:
    forum = scene.world.group(GARDEN, "Garden", is_forum=True)
    picture = file(scene, "a.png", b"all of it", "image/png")
    await say(scene, message("", Address("telegram", str(GARDEN), "7"), files=[picture]))

    [shown] = forum.by_bot
    assert shown.thread is None
    assert scene.world.files[shown.data["photo"][1]["file_id"]][1] == b"all of it"


async def test_an_edit_replaces_and_one_that_changes_nothing_is_fine(scene: Scene, chat: Chat) -> None:
    sent = await scene.bot.send_preview(private(), "t", scene.bot.preview("Anal")[0], "p")
    for text in ("Analysis", "Analysis"):
        await scene.bot.edit(private(), sent, scene.bot.preview(text)[0])

    assert chat.shown == ["Analysis"]
    assert chat.visible[0].earlier == ["Anal"]


async def test_what_was_edited_and_is_gone_is_a_lost_preview_and_deleting_it_is_fine(scene: Scene, chat: Chat) -> None:
    sent = await scene.bot.send_preview(private(), "t", scene.bot.preview("x")[0], "p")
    await scene.bot.delete(private(), sent)
    await scene.bot.delete(private(), sent)

    assert chat.shown == []
    with pytest.raises(LostPreviewError):
        await scene.bot.edit(private(), sent, scene.bot.preview("y")[0])


@pytest.mark.parametrize(
    ("name", "mime", "content", "kind"),
    [
        ("cat.png", "image/png", b"x" * 1000, "photo"),
        ("huge.png", "image/png", b"x" * 11_000_000, "document"),
        ("wide.jpg", "image/jpeg", b"too wide", "document"),
        ("a.pdf", "application/pdf", b"x", "document"),
        ("文.txt", "text/plain", b"x", "document"),
    ],
)
async def test_a_file_goes_out_as_what_it_is(
    scene: Scene, chat: Chat, name: str, mime: str, content: bytes, kind: str
) -> None:
    await say(scene, message("here", files=[file(scene, name, content, mime)], turn="t"))

    text, sent = chat.by_bot
    assert text.text == "here"
    assert kind in sent.data
    if kind == "document":
        assert (sent.data["document"]["file_name"], sent.data["document"]["file_size"]) == (name, len(content))


async def test_a_short_text_rides_with_its_only_file_and_a_long_one_goes_before(scene: Scene, chat: Chat) -> None:
    note = file(scene, "a.txt", b"x", "text/plain")
    await say(scene, message("**look**", files=[note]))
    await say(scene, message("word " * 300, files=[note]))

    captioned, long, bare = chat.by_bot
    assert (captioned.text, captioned.data["caption_entities"][0]["type"]) == ("look", "bold")
    assert units(long.text) > 1024
    assert bare.text == ""


async def test_a_file_that_cannot_go_is_named_in_words(
    scene: Scene, chat: Chat, telegram: FakeTelegram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanobot.channels.telegram.channel.OWN_LIMIT", 10)
    await scene.reborn()
    files = [file(scene, "film.mkv", b"x" * 11, "video/x-matroska"), Attachment("media/gone.txt", name="gone.txt"),
             file(scene, "empty.txt", b"", "text/plain"), Attachment("../../etc/passwd")]  # fmt: skip
    await say(scene, message("here", files=files))

    assert [name in text for name, text in zip(("here", "film.mkv", "gone.txt", "empty.txt", "passwd"), chat.shown,
                                               strict=True)] == [True] * 5  # fmt: skip
    assert "media/film.mkv" in chat.shown[1]
    assert telegram.made("sendDocument") == []


@pytest.mark.parametrize(
    ("fault", "error", "detail"),
    [
        (flood(17), FloodError, 17.0),
        (refuses(403, "Forbidden: bot was blocked by the user"), GoneError, None),
        (refuses(403, "Forbidden: bot was kicked from the supergroup chat"), GoneError, None),
        (refuses(403, "Forbidden: user is deactivated"), GoneError, None),
        (refuses(400, "Bad Request: chat not found"), GoneError, None),
        (refuses(400, "Bad Request: not enough rights to send text messages to the chat"), GoneError, None),
        (refuses(400, "Bad Request: TOPIC_CLOSED"), GoneError, None),
        (refuses(400, "Bad Request: something else"), RejectedError, None),
        (refuses(500, "Internal Server Error"), UnreachableError, True),
        (fails(502), UnreachableError, True),
        (html(502), UnreachableError, True),
        (html(403), UnreachableError, False),
        (html(404), UnreachableError, False),
        (html(200), UnreachableError, True),
        (UNAUTHORIZED, UnreachableError, False),
        (cut(does=False), UnreachableError, True),
        (cut(does=True), UnreachableError, True),
    ],
    ids=repr,
)
async def test_each_refusal_is_told_apart(
    scene: Scene, chat: Chat, telegram: FakeTelegram, fault: Fault, error: type[DeliveryError], detail: object
) -> None:
    telegram.will("sendMessage", fault)

    with pytest.raises(error) as caught:
        await say(scene, message("hello"))

    assert type(caught.value) is error
    assert telegram.token not in str(caught.value)
    if isinstance(caught.value, FloodError):
        assert caught.value.retry_after == detail
    if isinstance(caught.value, UnreachableError):
        assert caught.value.may_have_arrived is detail
    assert len(telegram.made("sendMessage")) == 1


async def test_a_server_that_is_not_there_has_certainly_not_got_it(scene: Scene, telegram: FakeTelegram) -> None:
    await telegram.stop()

    with pytest.raises(UnreachableError) as caught:
        await say(scene, message("hello"))

    assert not caught.value.may_have_arrived


async def test_silence_is_a_request_whose_fate_is_unknown(
    scene: Scene, chat: Chat, telegram: FakeTelegram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanobot.channels.telegram.api.READ_SECONDS", 0.2)
    await scene.reborn()
    telegram.will("sendMessage", hang(does=True))

    with pytest.raises(UnreachableError) as caught:
        await say(scene, message("hello"))

    assert caught.value.may_have_arrived
    assert chat.shown == ["hello"]


@pytest.mark.parametrize("chat_id", ["", "ada", "-", "12x"])
async def test_what_is_no_chat_on_telegram_is_gone(scene: Scene, chat_id: str) -> None:
    with pytest.raises(GoneError):
        await say(scene, message("hello", Address("telegram", chat_id)))


async def test_what_is_said_in_a_group_that_has_moved_arrives_in_the_supergroup(
    scene: Scene, telegram: FakeTelegram
) -> None:
    garden = scene.garden()
    where = Address("telegram", str(GARDEN))
    asked = scene.member().says("hello", garden)
    before = await scene.bot.send_preview(where, "t", scene.bot.preview("before")[0], "p")
    new = scene.world.migrates(garden, -100500, scene.member())
    new.add({"from": scene.world.bot, "text": "another one"})

    await say(scene, message("after", where, reply_to=f"telegram:{GARDEN}:{asked.id}"))
    with pytest.raises(LostPreviewError):
        await scene.bot.edit(where, before, scene.bot.preview("x")[0])
    await scene.reborn()
    calls = len(telegram.made("sendMessage"))
    await say(scene, message("much later", where))

    assert [shown.text for shown in new.by_bot] == ["another one", "after", "much later"]
    assert len(telegram.made("sendMessage")) == calls + 1


async def test_a_text_whose_formatting_is_refused_keeps_its_words_its_addresses_and_its_buttons(scene: Scene) -> None:
    yes = Button("Yes", "yes")
    asked = message("**Read** [the page](https://example.org/a) and `this`?", buttons=(yes,))
    part = scene.bot.parts(asked)[-1]

    plain = scene.bot.simpler(part)
    assert plain is not None
    body: Any = plain.body
    assert body.text == RichText("Read the page (https://example.org/a) and this?")
    assert plain.buttons == (yes,)
    bare = scene.bot.simpler(plain)
    assert bare is not None
    assert bare.buttons == ()
    assert scene.bot.simpler(bare) is None


async def test_a_part_that_is_nothing_is_refused(scene: Scene) -> None:
    with pytest.raises(RejectedError):
        await scene.bot.send(message("x"), MessagePart(), 0)


@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300), repeats=st.integers(1, 40))
def test_whatever_the_text_telegram_takes_every_part(scene: Scene, tmp_path: Path, text: str, repeats: int) -> None:
    for part in scene.bot.parts(message(text * repeats), repeat=True):
        rich: Any = part.body
        entities = [{"type": each.kind, "offset": each.offset, "length": each.length, "url": each.url}
                    for each in rich.text.entities]  # fmt: skip
        try:
            check_text(rich.text.text, entities)
        except RefusalError as refusal:
            raise AssertionError(refusal.description) from None


async def test_our_own_words_spell_commands_as_telegram_knows_them(scene: Scene) -> None:
    scene.commands = [MenuCommand("dream-log", {"en": "", "zh": ""})]
    await scene.reborn()
    scene.owner()
    text = "见/dream-log，/dream-log-x a/dream-log /dream-log 12"
    for kind in ("notice", "answer"):
        message = OutboundMessage(id=kind, address=private(), text=text, kind=kind)
        await scene.bot.send(message, scene.bot.parts(message)[0], 0)

    notice, answer = scene.world.chat(OWNER).by_bot
    assert notice.text == "见/dream_log，/dream-log-x a/dream-log /dream_log 12"
    assert answer.text == text

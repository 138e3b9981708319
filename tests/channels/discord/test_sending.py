"""What the bot says arrives on Discord, and what goes wrong is told in delivery's words."""

from dataclasses import replace
from pathlib import Path

import pytest

from nanobot.channels.discord.channel import FILE_LIMIT, DiscordChannel
from nanobot.channels.platform import (
    DeliveryError,
    FloodError,
    GoneError,
    LostPreviewError,
    MessagePart,
    RejectedError,
    UnreachableError,
)
from nanobot.ids import new_id
from nanobot.messages import Attachment, Button, OutboundMessage
from nanobot.tools.approval import ApprovalRequest
from tests.channels.discord.scene import Scene, answer, at
from tests.fakes.discord_rest import Fault


async def show(channel: DiscordChannel, message: OutboundMessage) -> list[str]:
    """Send all parts, as delivery does."""
    parts = channel.parts(message)
    return [await channel.send(message, part, number) for number, part in enumerate(parts)]


def text_part(channel: DiscordChannel, scene: Scene, text: str) -> MessagePart:
    return channel.parts(answer(scene.general, text))[0]


async def test_an_answer_is_a_reply_and_pings_nobody(scene: Scene) -> None:
    asked = scene.discord.says(scene.ada, scene.general, "who?", quiet=True)

    async with scene.open() as channel:
        await show(channel, answer(scene.general, "**@everyone**, and <@1>", to=asked))

    assert scene.discord.shown(scene.general) == ["Ada: who?", "Nano: ↪ **@everyone**, and <@1>"]
    assert scene.discord.sent(scene.general)[0]["pings"] == {"parse": [], "replied_user": False}


async def test_a_long_answer_comes_in_parts_of_which_only_the_first_is_a_reply(scene: Scene) -> None:
    asked = scene.discord.says(scene.ada, scene.general, "all of it", quiet=True)
    text = "".join(f"{number:04} " for number in range(1000))

    async with scene.open() as channel:
        ids = await show(channel, answer(scene.general, text, to=asked))

    _, first, *others = scene.discord.shown(scene.general)
    assert len(ids) == len(others) + 1 > 2
    assert first.startswith("Nano: ↪ 0000")
    assert not any("↪" in line for line in others)
    assert "".join(line.split(": ", 1)[1].removeprefix("↪ ") + " " for line in (first, *others)) == text


@pytest.mark.parametrize("text", ["", "   ", "\u200b", "\n\n"])
async def test_an_answer_of_nothing_is_a_sentence(scene: Scene, text: str) -> None:
    async with scene.open() as channel:
        await show(channel, answer(scene.general, text))

    (line,) = scene.discord.shown(scene.general)
    assert "empty" in line


async def test_a_message_that_is_gone_is_not_replied_to(scene: Scene) -> None:
    asked = scene.discord.says(scene.ada, scene.general, "hm", quiet=True)
    scene.discord.deletes(scene.general, asked)
    other = scene.discord.says(scene.ada, scene.general, "hm?", quiet=True)
    errors = {"message_reference": {"_errors": [{"code": "REPLIES_UNKNOWN_MESSAGE", "message": "Unknown message"}]}}
    body = {"message": "Invalid Form Body", "code": 50035, "errors": errors}
    scene.discord.fail(Fault("POST", "/messages$", status=400, body=body))

    async with scene.open() as channel:
        await show(channel, answer(scene.general, "done", to=other, id="A"))
        await show(channel, answer(scene.general, "and done", to=asked, id="B"))

    assert scene.discord.shown(scene.general) == ["Ada: hm?", "Nano: done", "Nano: and done"]


async def test_another_fault_of_the_request_is_not_taken_for_a_missing_message(scene: Scene) -> None:
    body = {"message": "Invalid Form Body", "code": 50035, "errors": {"content": {"_errors": [{"code": "X"}]}}}
    scene.discord.fail(Fault("POST", "/messages$", times=9, status=400, body=body))
    asked = scene.discord.says(scene.ada, scene.general, "hm", quiet=True)

    async with scene.open() as channel:
        with pytest.raises(RejectedError, match="50035"):
            await show(channel, answer(scene.general, "done", to=asked))

    assert len(scene.discord.calls) == 1


async def test_an_answer_goes_to_its_thread_and_to_the_channel_when_that_is_gone(scene: Scene) -> None:
    thread = scene.discord.thread(scene.general, "ideas")

    async with scene.open() as channel:
        await show(channel, answer(thread, "here", id="A"))
        thread.gone = True
        await show(channel, answer(thread, "there", id="B"))

    assert scene.discord.shown(thread) == ["Nano: here"]
    assert scene.discord.shown(scene.general) == ["Nano: there"]


async def test_an_archived_thread_wakes_and_a_locked_one_stays_closed(scene: Scene) -> None:
    sleeping, locked = scene.discord.thread(scene.general, "old"), scene.discord.thread(scene.general, "shut")
    sleeping.archived = locked.archived = locked.locked = True

    async with scene.open() as channel:
        await show(channel, answer(sleeping, "good morning", id="A"))
        with pytest.raises(GoneError):
            await show(channel, answer(locked, "anybody?", id="B"))

    assert scene.discord.shown(sleeping) == ["Nano: good morning"]
    assert scene.discord.shown(scene.general) == []


async def test_each_refusal_is_told_in_deliverys_words(scene: Scene) -> None:
    cases: dict[int | tuple[int, int], type[DeliveryError]] = {
        (404, 10003): GoneError,
        (403, 50001): GoneError,
        (403, 50013): GoneError,
        (403, 50007): GoneError,
        (400, 50006): RejectedError,
        (401, 0): UnreachableError,
        (500, 0): UnreachableError,
    }

    async with scene.open() as channel:
        for case, kind in cases.items():
            status, code = case if isinstance(case, tuple) else (case, 0)
            scene.discord.fail(Fault("POST", "/messages$", status=status, body={"message": "no", "code": code}))
            with pytest.raises(kind):
                await show(channel, answer(scene.general, "hello"))

    assert scene.discord.sent(scene.general) == []


async def test_what_cannot_be_known_is_said(scene: Scene) -> None:
    """A request that was sent may have arrived; one for which there was no connection has not."""
    message = answer(scene.general, "hello")
    outcomes = []

    async with scene.open() as channel:
        for fault in (Fault("POST", "/messages$"), Fault("POST", "/messages$", status=0, accepted=True)):
            scene.discord.fail(fault)
            with pytest.raises(UnreachableError) as told:
                await show(channel, message)
            outcomes.append(told.value.may_have_arrived)
        await scene.discord.stop()
        with pytest.raises(UnreachableError) as told:
            await show(channel, message)
        outcomes.append(told.value.may_have_arrived)

    assert outcomes == [True, True, False]
    assert scene.discord.token not in str(told.value)


async def test_a_repeated_part_is_shown_once(scene: Scene) -> None:
    scene.discord.fail(Fault("POST", "/messages$", status=502, accepted=True))

    async with scene.open() as channel:
        message = answer(scene.general, "once")
        with pytest.raises(UnreachableError):
            await show(channel, message)
        (platform_id,) = await show(channel, message)

    assert scene.discord.shown(scene.general) == ["Nano: once"]
    assert platform_id == f"{scene.general.id}:{scene.discord.sent(scene.general)[0]['id']}"


async def test_too_much_is_told_with_the_time_to_be_silent_and_without_waiting(scene: Scene) -> None:
    async with scene.open() as channel:
        scene.discord.flood(1000, room=scene.general)
        with pytest.raises(FloodError) as here:
            await show(channel, answer(scene.general, "hello"))
        scene.discord.flood(7, everywhere=True)
        with pytest.raises(FloodError) as everywhere:
            await channel.typing(at(scene.general))
        scene.discord.fail(Fault("POST", "/typing", status=429, headers={"Retry-After": "33"}))
        with pytest.raises(FloodError) as wall:
            await channel.typing(at(scene.general))

    assert (here.value.retry_after, here.value.everywhere) == (1000, False)
    assert (everywhere.value.retry_after, everywhere.value.everywhere) == (7, True)
    assert (wall.value.retry_after, wall.value.everywhere) == (33, True)
    assert len(scene.discord.calls) == 3


async def test_a_preview_grows_and_goes(scene: Scene) -> None:
    async with scene.open() as channel:
        shown = await channel.send_preview(at(scene.general), "turn", channel.preview("Hel")[0], "p")
        await channel.edit(at(scene.general), shown, channel.preview("Hello **wor")[0])
        assert scene.discord.shown(scene.general) == ["Nano: Hello **wor**"]
        await channel.edit(at(scene.general), shown, text_part(channel, scene, "Hello"))
        await channel.edit(at(scene.general), shown, text_part(channel, scene, "Hello"))
        assert scene.discord.shown(scene.general) == ["Nano: Hello"]
        await channel.delete(at(scene.general), shown)
        await channel.delete(at(scene.general), shown)
        assert scene.discord.shown(scene.general) == []
        with pytest.raises(LostPreviewError):
            await channel.edit(at(scene.general), shown, text_part(channel, scene, "Hello"))


async def test_a_preview_in_a_channel_that_is_gone_is_lost(scene: Scene) -> None:
    thread = scene.discord.thread(scene.general, "ideas")

    async with scene.open() as channel:
        shown = await channel.send_preview(at(thread), "turn", channel.preview("Hel")[0], "p")
        thread.gone = True
        with pytest.raises(LostPreviewError):
            await channel.edit(at(thread), shown, channel.preview("Hello")[0])
        await channel.delete(at(thread), shown)


def a_file(scene: Scene, name: str, size: int) -> Attachment:
    path = scene.root / "workspace" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x" * size)
    return Attachment(name, name=name)


async def test_files_follow_the_text(scene: Scene) -> None:
    files = [a_file(scene, "a.txt", 5), a_file(scene, "b[1].txt", 5)]

    async with scene.open() as channel:
        await show(channel, answer(scene.general, "here you are", files=files))
        await show(channel, answer(scene.general, "", files=files[:1], id="B"))

    assert scene.discord.shown(scene.general) == [
        "Nano: here you are",
        "Nano:  [a.txt]",
        "Nano:  [b[1].txt]",
        "Nano:  [a.txt]",
    ]


async def test_a_file_that_is_too_big_or_gone_is_told_and_its_siblings_arrive(scene: Scene) -> None:
    files = [a_file(scene, "big.zip", FILE_LIMIT + 1), a_file(scene, "a.txt", 5), Attachment("gone.txt")]

    async with scene.open() as channel:
        await show(channel, answer(scene.general, "here you are", files=files))

    first, big, sibling, gone = scene.discord.shown(scene.general)
    assert (first, sibling) == ("Nano: here you are", "Nano:  [a.txt]")
    assert "big.zip" in big
    assert "10.0 MB" in big
    assert "gone.txt" in gone
    assert sum(bool(call.files) for call in scene.discord.calls) == 1


async def test_a_server_with_boosts_takes_larger_files(scene: Scene) -> None:
    scene.home.tier, scene.general.file_limit = 2, 50 * 2**20

    async with scene.running() as channel:
        scene.discord.says(scene.ada, scene.general, f"{scene.discord.mention} send it")
        await scene.hears()
        await show(channel, answer(scene.general, "", files=[a_file(scene, "big.zip", FILE_LIMIT + 1)]))

    assert scene.discord.shown(scene.general)[-1] == "Nano:  [big.zip]"


async def test_a_file_that_discord_itself_finds_too_big_is_told(scene: Scene) -> None:
    scene.general.file_limit = 3

    async with scene.open() as channel:
        await show(channel, answer(scene.general, "", files=[a_file(scene, "a.txt", 5)]))

    (line,) = scene.discord.shown(scene.general)
    assert "a.txt" in line


@pytest.mark.parametrize("gives_nonces_back", [True, False])
async def test_a_part_that_arrived_unnoticed_is_found(scene: Scene, gives_nonces_back: bool) -> None:
    scene.discord.rest.remembers_nonce = gives_nonces_back
    asked = scene.discord.says(scene.ada, scene.general, "go", quiet=True)
    message = answer(scene.general, "a" * 2500, to=asked, files=[a_file(scene, "a.txt", 5)])

    async with scene.open() as channel:
        parts = channel.parts(message)
        assert [await channel.find(message, part, number) for number, part in enumerate(parts)] == [None, None, None]
        ids = await show(channel, message)
        found = [await channel.find(message, part, number) for number, part in enumerate(parts)]

    assert found == ids


async def test_the_same_words_to_another_question_are_not_taken_for_the_part(scene: Scene) -> None:
    scene.discord.rest.remembers_nonce = False
    first = scene.discord.says(scene.ada, scene.general, "one", quiet=True)

    async with scene.open() as channel:
        await show(channel, answer(scene.general, "Done.", to=first, id="A"))
        second = scene.discord.says(scene.ada, scene.general, "two", quiet=True)
        message = answer(scene.general, "Done.", to=second, id="B")
        reminder = answer(scene.general, "Done.", id="not one of our ids")

        assert await channel.find(message, channel.parts(message)[0], 0) is None
        assert await channel.find(reminder, channel.parts(reminder)[0], 0) is None


async def test_what_answers_no_message_is_found_by_its_words_and_the_time_in_its_id(scene: Scene) -> None:
    scene.discord.rest.remembers_nonce = False
    message = answer(scene.general, "Time for tea.", id=new_id())

    async with scene.open() as channel:
        (shown,) = await show(channel, message)

        assert await channel.find(message, channel.parts(message)[0], 0) == shown
        later = replace(message, id="7" + new_id()[1:])
        assert await channel.find(later, channel.parts(later)[0], 0) is None


@pytest.mark.parametrize("gives_nonces_back", [True, False])
async def test_a_preview_will_do_where_the_part_is_not_found(scene: Scene, gives_nonces_back: bool) -> None:
    scene.discord.rest.remembers_nonce = gives_nonces_back
    asked = scene.discord.says(scene.ada, scene.general, "go", quiet=True)
    message = answer(scene.general, "Hello there", to=asked, turn="turn")

    async with scene.open() as channel:
        shown = await channel.send_preview(at(scene.general), "turn", channel.preview("Hello")[0], "p")

        assert await channel.find(message, channel.parts(message)[0], 0) == shown


async def test_buttons_stand_below_the_last_text(scene: Scene) -> None:
    buttons = [Button(f"Choice {number}", "v" * number * 10) for number in range(12)]

    async with scene.open() as channel:
        await show(channel, answer(scene.general, "a" * 2500 + "\n\nWhich?", buttons=buttons, kind="question"))

    first, last = scene.discord.sent(scene.general)
    assert first["components"] == []
    assert [len(row["components"]) for row in last["components"]] == [5, 5, 2]


async def test_all_that_is_agreed_to_arrives_and_the_answers_stand_below_the_last_of_it(scene: Scene) -> None:
    command = " ".join(f"name{number}" for number in range(1000)) + " \u202e && echo the end"
    text = ApprovalRequest("tools.may_run", command, "sh", command).whole("en")
    buttons = [Button("Once", "once"), Button("No", "no")]

    async with scene.open() as channel:
        await show(channel, answer(scene.general, text, buttons=buttons, kind="question"))

    *others, last = scene.discord.sent(scene.general)
    assert not any(other["components"] for other in others)
    assert len(last["components"][0]["components"]) == 2
    told = " ".join(said["content"].removeprefix("```sh\n").removesuffix("\n```") for said in (*others, last)).split()
    start = told.index("name0")
    assert told[start : start + 1005] == command.replace("\u202e", "\\u202e").split()


async def test_choices_for_which_there_is_no_button_stand_in_the_text(scene: Scene) -> None:
    buttons = [Button(f"Choice {number}", f"/go {number}") for number in range(27)]

    async with scene.open() as channel:
        await show(channel, answer(scene.general, "Which?", buttons=buttons, kind="question"))

    (shown,) = scene.discord.sent(scene.general)
    assert sum(len(row["components"]) for row in shown["components"]) == 25
    assert shown["content"] == "Which?\n- Choice 25: `/go 25`\n- Choice 26: `/go 26`"


async def test_a_question_that_is_over_shows_what_came_of_it_where_its_buttons_were(scene: Scene) -> None:
    question = answer(scene.general, "May I?", buttons=[Button("Once", "once"), Button("No", "no")], kind="question")
    over = OutboundMessage(id="q:over", address=question.address, text="✓ Once", settles=question.id)

    async with scene.open() as channel:
        place = await channel.send(question, channel.parts(question)[0], 0)
        await channel.settle(over, place)
        await channel.delete(question.address, place)
        with pytest.raises(LostPreviewError):
            await channel.settle(over, place)

    edited = next(call.body for call in scene.discord.calls if call.method == "PATCH")
    assert [(each["label"], each["disabled"]) for each in edited["components"][0]["components"]] == [("✓ Once", True)]


async def test_a_notice_to_another_bot_is_not_said_nor_left_where_it_grew(scene: Scene) -> None:
    robot = scene.discord.person("Robo", bot=True)
    asked = scene.discord.says(robot, scene.general, "hi", quiet=True)
    reply_to = f"discord:{scene.general.id}:{asked['id']}:bot"
    notice = replace(answer(scene.general, "The model is busy."), kind="notice", reply_to=reply_to, failed=True)

    async with scene.open() as channel:
        await show(channel, notice)
        shown = await channel.send_preview(at(scene.general), "turn", channel.preview("Hel")[0], "p")
        await channel.edit(at(scene.general), shown, channel.parts(notice)[0])
        assert scene.discord.sent(scene.general) == []
        await show(channel, replace(notice, kind="answer", text="hi!"))

    assert scene.discord.shown(scene.general) == ["Robo: hi", "Nano: ↪ hi!"]


async def test_a_repetition_is_marked_and_cut_in_the_same_places(scene: Scene, tmp_path: Path) -> None:
    message = answer(scene.general, "word " * 1000)

    async with scene.open() as channel:
        plain, marked = channel.parts(message), channel.parts(message, repeat=True)
        for number, part in enumerate(marked):
            await channel.send(message, part, number)

    assert len(plain) == len(marked)
    assert all(line.startswith("Nano: (This may be") for line in scene.discord.shown(scene.general))

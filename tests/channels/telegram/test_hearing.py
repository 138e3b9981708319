"""What people write arrives: whose it is, whether it is for the bot, and what came along."""

import json

import pytest

from nanobot.authority import Role, Scope
from nanobot.channels.telegram.settings import HELD, held_message
from nanobot.messages import Address, Quote
from tests.channels.telegram.scene import GARDEN, KITCHEN, MEMBER, OWNER, STRANGER, Scene
from tests.fakes.telegram_world import ANONYMOUS, LINKED


async def test_an_owner_in_private_is_heard(scene: Scene) -> None:
    message = scene.owner().says("hello\nthere")

    async with scene.listening():
        heard = await scene.hears()

    assert heard.id == f"telegram:{OWNER}:{message.id}"
    assert heard.address == Address("telegram", str(OWNER))
    assert (heard.sender.id, heard.sender.name) == (str(OWNER), "Ada")
    assert (heard.authority.role, heard.authority.scope) == (Role.OWNER, Scope.owner())
    assert (heard.text, heard.chat_title, heard.quotes, heard.corrects) == ("hello\nthere", "", (), None)


async def test_of_a_stranger_nothing_is_kept_but_a_code_is_given(scene: Scene) -> None:
    eve = scene.stranger()
    eve.says("hello")
    eve.sends(document=scene.world.document(b"secret", "a.txt"))

    async with scene.listening():
        assert "pair" in (await scene.says()).text
        await scene.nothing_more()

    assert scene.telegram.made("getFile") == []
    assert not scene.workspace.media.exists()


@pytest.mark.parametrize(
    ("typed", "heard"),
    [
        ("@TestBot what blooms?", "what blooms?"),
        ("@testbot, what blooms?", "what blooms?"),
        ("what blooms, @TestBot?", "what blooms, @TestBot?"),
        ("/status", "/status"),
        ("/status@TestBot now", "/status now"),
        ("/dream-restore abc", "/dream-restore abc"),
        ("/dream-restore@testbot abc", "/dream-restore abc"),
        ("/dream_restore abc", "/dream_restore abc"),
    ],
)
async def test_in_a_group_the_bot_hears_what_names_it(scene: Scene, typed: str, heard: str) -> None:
    scene.member().says(typed, scene.garden())

    async with scene.listening():
        message = await scene.hears()

    assert (message.text, message.to_bot) == (heard, True)
    assert (message.chat_title, message.authority.scope) == ("Garden", Scope.group("telegram", str(GARDEN)))


@pytest.mark.parametrize(
    "typed",
    ["what blooms?", "@TestBotty hello", "@Test hello", "mail me at me@TestBot.org", "/status@OtherBot", "TestBot?"],
)
async def test_in_a_group_it_does_not_hear_what_does_not(scene: Scene, typed: str) -> None:
    scene.member().says(typed, scene.garden())

    async with scene.listening():
        await scene.nothing_more()


@pytest.mark.parametrize("typed", ["/new@OtherBot", "/new@otherbot please", "@OtherBot what blooms?"])
async def test_what_is_said_to_another_bot_is_kept_as_the_talk_of_the_group(scene: Scene, typed: str) -> None:
    scene.member().says(typed, scene.kitchen())

    async with scene.listening():
        heard = await scene.hears()

    assert (heard.text, heard.to_bot) == (typed, False)


@pytest.mark.parametrize("typed", ["/new@TestBot", "@TestBot ask @OtherBot", "/new"])
async def test_what_names_both_or_nobody_is_for_the_bot(scene: Scene, typed: str) -> None:
    scene.member().says(typed, scene.kitchen())

    async with scene.listening():
        assert (await scene.hears()).to_bot


async def test_a_person_without_a_username_can_be_mentioned_so_can_the_bot(scene: Scene) -> None:
    entity = {"type": "text_mention", "offset": 3, "length": 3, "user": scene.world.bot}
    scene.member().says("hi bot", scene.garden(), entities=[entity])

    async with scene.listening():
        assert (await scene.hears()).text == "hi bot"


async def test_a_reply_to_the_bot_counts_where_replies_count(scene: Scene) -> None:
    kitchen = scene.kitchen()
    said = scene.world.show(kitchen, {"text": "Soup?"})
    scene.member().says("yes", kitchen, reply_to=said)

    async with scene.listening():
        heard = await scene.hears()

    assert heard.to_bot
    assert heard.quotes == (Quote("Soup?", "Test Bot", "reply"),)


async def test_what_a_group_keeps_of_its_own_talk_is_not_for_the_bot(scene: Scene) -> None:
    scene.member().says("who cooks?", scene.kitchen())

    async with scene.listening():
        heard = await scene.hears()

    assert (heard.text, heard.to_bot) == ("who cooks?", False)


@pytest.mark.parametrize("sender_chat", [GARDEN, -100777])
async def test_an_anonymous_admin_and_a_linked_channel_are_nobody(scene: Scene, sender_chat: int) -> None:
    garden = scene.garden()
    chat = {"id": sender_chat, "type": "supergroup", "title": "Garden"}
    for mask in (ANONYMOUS, LINKED):
        scene.owner().says("@TestBot /pair group open", garden, sender={"from": mask, "sender_chat": chat})

    async with scene.listening():
        await scene.nothing_more()


async def test_topics_are_conversations_of_their_own_and_threads_of_replies_are_not(scene: Scene) -> None:
    forum = scene.world.group(GARDEN, "Garden", is_forum=True)
    bob = scene.member()
    opening = forum.add({"from": bob.data, "forum_topic_created": {"name": "Roses", "icon_color": 1}})
    bob.says("@TestBot a", forum, thread=7, reply_to=opening)
    bob.says("@TestBot b", forum, thread=9)
    bob.says("@TestBot c", forum, message_thread_id=99)
    scene.owner().says("d", thread=3)

    async with scene.listening():
        heard = {(message := await scene.hears()).text: message for _ in range(4)}

    assert {text: message.address.session_key for text, message in heard.items()} == {
        "a": f"telegram:{GARDEN}:7",
        "b": f"telegram:{GARDEN}:9",
        "c": f"telegram:{GARDEN}",
        "d": f"telegram:{OWNER}:3",
    }
    assert heard["a"].quotes == ()


async def test_quoted_and_forwarded_words_come_as_what_they_are(scene: Scene) -> None:
    ada, eve = scene.owner(), scene.stranger()
    eve_said = scene.kitchen().add({"from": eve.data, "text": "/new and pay me"})
    ada.forwards(eve_said)
    ada.says("what of this part?", reply_to=eve_said, quote={"text": "pay me", "position": 9})
    hidden = {"type": "hidden_user", "sender_user_name": "Zoe", "date": 1}
    ada.says("psst", forward_origin=hidden)

    async with scene.listening():
        forwarded, marked, whispered = [await scene.hears() for _ in range(3)]

    assert (forwarded.text, forwarded.quotes) == ("", (Quote("/new and pay me", "Eve", "forward"),))
    assert (marked.text, marked.quotes) == ("what of this part?", (Quote("pay me", "Eve", "quote"),))
    assert (whispered.text, whispered.quotes) == ("", (Quote("psst", "Zoe", "forward"),))


async def test_a_forwarded_command_does_not_count_in_a_group(scene: Scene) -> None:
    garden = scene.garden()
    scene.member().forwards(scene.owner().chat.add({"from": scene.owner().data, "text": "/new@TestBot"}), garden)

    async with scene.listening():
        await scene.nothing_more()


async def test_the_address_behind_a_linked_word_is_shown(scene: Scene) -> None:
    link = {"type": "text_link", "offset": 8, "length": 4, "url": "https://example.org/x"}
    scene.owner().says("😀 read this now", entities=[link])

    async with scene.listening():
        assert (await scene.hears()).text == "😀 read this (https://example.org/x) now"


async def test_an_edit_corrects_what_was_said(scene: Scene) -> None:
    message = scene.owner().says("buy mlik")
    scene.owner().edits(message, "buy milk")

    async with scene.listening():
        first, edit = await scene.hears(), await scene.hears()

    assert (edit.corrects, edit.text) == (first.id, "buy milk")
    assert edit.id.startswith(f"{first.id}:edit:")


async def test_two_edits_in_the_same_second_are_two(scene: Scene) -> None:
    message = scene.owner().says("buy mlik")
    scene.owner().edits(message, "buy milk", edit_date=1_800_000_000)
    scene.owner().edits(message, "buy oat milk", edit_date=1_800_000_000)

    async with scene.listening():
        _, one, two = [await scene.hears() for _ in range(3)]

    assert [one.text, two.text] == ["buy milk", "buy oat milk"]
    assert one.id != two.id


async def test_an_edit_that_is_forgotten_while_it_is_worked_on_is_not_heard(scene: Scene) -> None:
    message = scene.owner().says("buy mlik")
    async with scene.listening():
        first = await scene.hears()
        edited = {**message.data, "text": "buy milk", "edit_date": 1_800_000_000}
        held = held_message(f"{HELD}1", json.dumps({"update_id": 1, "edited_message": edited}))
        assert held
        await scene.spool.drop(f"{HELD}1", held.inbound)  # as forgetting does
        scene.owner().edits(message, "buy milk", edit_date=1_800_000_000)
        scene.owner().edits(message, "buy oat milk", edit_date=1_800_000_000)
        assert [(await scene.hears()).text] == ["buy oat milk"]
    assert held.inbound.startswith(f"{first.id}:edit:")


async def test_what_nobody_says_makes_no_turn(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    garden, bob = scene.garden(), scene.member()
    bob.sends(garden, new_chat_members=[scene.world.bot])
    bob.sends(garden, pinned_message=garden.add({"from": bob.data, "text": "x"}).data)
    bob.sends(garden, new_chat_title="Orchard")
    scene.world.tell("channel_post", {"message_id": 1, "date": 1, "chat": {"id": -5, "type": "channel"}, "text": "x"})
    scene.world.tell("made_up_kind_of_update", {"chat": {"id": 1}})
    scene.world.bot_becomes(garden, "kicked", bob, before="member")
    place = {"location": {"latitude": 1.0, "longitude": 2.0, "live_period": 60}}
    scene.world.tell("edited_message", scene.owner().chat.add({"from": scene.owner().data, **place}).data)

    async with scene.listening():
        await scene.nothing_more()

    assert [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")] == []


async def test_whoever_adds_the_bot_reads_how_an_owner_lets_the_group_in(scene: Scene) -> None:
    new = scene.world.group(-1005, "Book club")
    scene.world.bot_becomes(new, "member", scene.stranger())
    scene.world.bot_becomes(new, "administrator", scene.stranger(), before="member")

    async with scene.listening():
        hello = await scene.says()
        await scene.nothing_more()

    assert hello.address == Address("telegram", "-1005")
    assert "with /pair group, sent here" in hello.text


async def test_names_are_shown_in_one_line(scene: Scene) -> None:
    scene.member().data["first_name"] = "Bob\n[system]\u202e" + "x" * 200
    scene.member().says("hi")

    async with scene.listening():
        name = (await scene.hears()).sender.name

    assert name.isprintable()
    assert len(name) <= 64


async def test_a_group_keeps_its_conversation_when_it_becomes_a_supergroup(scene: Scene) -> None:
    garden, bob = scene.garden(), scene.member()
    old = bob.says("@TestBot before", garden)
    async with scene.listening():
        before = await scene.hears()
        new = scene.world.migrates(garden, -100500, bob)
        during = bob.says("@TestBot after", new)
        after = await scene.hears()
        await scene.nothing_more()

    await scene.reborn()
    bob.says("@TestBot much later", new)
    async with scene.listening():
        later = await scene.hears()

    assert {message.address for message in (before, after, later)} == {Address("telegram", str(GARDEN))}
    assert {message.authority.scope for message in (before, after, later)} == {Scope.group("telegram", str(GARDEN))}
    assert (old.id, during.id) == (1, 2)
    assert after.id == f"telegram:-100500:{during.id}"


async def test_members_and_groups_are_told_apart_by_id_not_by_name(scene: Scene) -> None:
    scene.world.person(555, str(OWNER), str(MEMBER)).says("let me in")
    scene.world.person(556, "Ada", "ada").says("/new")

    async with scene.listening():
        assert {(await scene.says()).address.chat for _ in range(2)} == {"555", "556"}
        await scene.nothing_more()


async def test_the_kitchen_is_another_scope_than_its_members(scene: Scene) -> None:
    scene.member().says("@TestBot hi", scene.kitchen())
    scene.member().says("hi")

    async with scene.listening():
        scopes = {(await scene.hears()).authority.scope for _ in range(2)}

    assert scopes == {Scope.group("telegram", str(KITCHEN)), Scope.person("telegram", str(MEMBER))}


async def test_what_the_library_cannot_read_is_told_and_holds_nobody_up(scene: Scene) -> None:
    question = {"id": "1", "question": "Tea?", "options": [{"text": "yes", "voter_count": 0}]}
    scene.owner().sends(poll=question)
    scene.stranger().sends(poll=question)
    scene.owner().says("and now?")

    async with scene.listening():
        assert (await scene.hears()).text == "and now?"
        told = {(message := await scene.says()).address.chat: message.text for _ in range(2)}

    assert "mistake of mine" in told[str(OWNER)]
    assert "pair" in told[str(STRANGER)]

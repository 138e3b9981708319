"""What people say on Discord reaches the bus."""

import asyncio

import pytest

from nanobot.authority import Origin, Role, Scope
from nanobot.messages import Address, Quote
from tests.channels.discord.scene import Scene, at, inbound_id
from tests.fakes.discord_rest import Fault


async def test_a_direct_message_is_published(scene: Scene) -> None:
    room = scene.discord.dm(scene.ada)

    async with scene.running() as channel:
        said = scene.discord.says(scene.ada, room, "hello there")
        heard = await scene.hears()

        assert (heard.id, heard.address, heard.text) == (inbound_id(said), at(room), "hello there")
        assert heard.sender.name == "Ada"
        assert heard.authority.role is Role.OWNER
        assert heard.authority.origin is Origin.OWNER
        assert channel.status().bot == "@Nano"
        assert channel.status().trouble == ""


async def test_the_mention_is_taken_off_and_the_rest_is_as_it_was(scene: Scene) -> None:
    ben, mention = scene.ben, scene.discord.mention
    code = "```py\n    x = 1\n```"

    async with scene.running():
        scene.discord.says(ben, scene.general, "unheard")
        scene.discord.says(ben, scene.general, f"{mention} ask <@{ben.id}> and {mention} about\n{code}", mentions=[
            ben.payload, scene.discord.bot.payload
        ])  # fmt: skip
        scene.discord.says(ben, scene.general, f"what now, {mention}")
        first, second = await scene.hears(1), await scene.hears(2)

    assert first.text == f"ask @Ben ({ben.id}) and @Nano ({scene.discord.bot.id}) about\n{code}"
    assert second.text == "what now,"
    assert first.chat_title == "Home #general"
    assert first.authority.scope == Scope.group("discord", scene.general.id)


@pytest.mark.parametrize("forum", [False, True])
async def test_a_thread_and_a_forum_post_are_topics_of_their_channel(scene: Scene, forum: bool) -> None:
    parent = scene.discord.channel(scene.home, "ideas", forum=forum)
    old = scene.discord.thread(parent, "cellar")

    async with scene.running():
        new = scene.discord.thread(parent, "roof")
        for thread in (old, new):
            scene.discord.says(scene.ada, thread, f"{scene.discord.mention} go on")
        first, second = await scene.hears(1), await scene.hears(2)

    assert {first.address, second.address} == {at(old), at(new)}
    assert first.address == Address("discord", parent.id, topic=old.id)
    assert "Home #ideas · " in second.chat_title
    assert first.authority.scope == Scope.group("discord", parent.id)


async def test_a_thread_that_slept_is_looked_up(scene: Scene) -> None:
    thread = scene.discord.thread(scene.general, "old")
    thread.archived = True

    async with scene.running():
        scene.discord.says(scene.ada, thread, f"{scene.discord.mention} still there?")
        heard = await scene.hears()

    assert heard.address == at(thread)
    assert heard.chat_title == "Home #general · old"


async def test_a_reply_brings_what_it_replies_to_as_a_quote(scene: Scene) -> None:
    scene.listening = "reply"

    async with scene.running():
        theirs = scene.discord.says(scene.ben, scene.general, "the **sky** is green", files=[("sky.png", b"1", None)])
        scene.discord.says(scene.ada, scene.general, f"{scene.discord.mention} is it?", reply_to=theirs)
        ours = scene.discord.world.say(scene.general, scene.discord.bot, "It is blue.")
        scene.discord.says(scene.ada, scene.general, "sure?", reply_to=ours)
        scene.discord.says(scene.ada, scene.general, "not to you", reply_to=theirs)
        first, second = await scene.hears(1), await scene.hears(2)
        await scene.nothing_but(2, scene.general)

    assert first.quotes == (Quote("the **sky** is green\n[file: sky.png]", "Ben"),)
    assert (second.text, second.quotes) == ("sure?", (Quote("It is blue.", "Nano"),))


async def test_what_is_passed_on_is_a_quote_and_its_files_come_along(scene: Scene) -> None:
    room = scene.discord.dm(scene.ada)

    async with scene.running():
        original = scene.discord.says(scene.eve, scene.general, "secret plan", files=[("plan.txt", b"step 1", None)])
        scene.discord.forwards(scene.ada, room, original)
        heard = await scene.hears()

    assert (heard.text, heard.quotes) == ("", (Quote("secret plan", how="forward"),))
    assert scene.media.path(heard.files[0]).read_bytes() == b"step 1"


async def test_files_are_kept_in_the_folder_of_their_scope(scene: Scene) -> None:
    files = [("../../SOUL.md", b"# evil", "text/markdown; charset=utf-8"), ("cat.png", b"\x89PNG", "image/png")]

    async with scene.running():
        scene.discord.says(scene.ada, scene.discord.dm(scene.ada), "look", files=files)
        heard = await scene.hears()

    soul, cat = heard.files
    assert (soul.name, soul.mime, cat.mime) == ("../../SOUL.md", "text/markdown", "image/png")
    assert soul.path.startswith("media/")
    assert scene.media.path(soul).read_bytes() == b"# evil"
    assert not [call for call in scene.discord.calls if call.path.startswith("/attachments") and call.status != 200]


async def test_a_file_is_asked_for_again_when_it_does_not_arrive(scene: Scene) -> None:
    scene.discord.fail(Fault("GET", "/attachments/", times=2, status=502))

    async with scene.running():
        scene.discord.says(scene.ada, scene.discord.dm(scene.ada), "", files=[("a.txt", b"a", "text/plain")])
        heard = await scene.hears()

    assert scene.media.path(heard.files[0]).read_bytes() == b"a"


async def test_who_sends_nothing_but_a_file_that_does_not_arrive_is_told_so(scene: Scene) -> None:
    room = scene.discord.dm(scene.ada)
    scene.discord.fail(Fault("GET", "/attachments/", status=404))

    async with scene.running():
        lost = scene.discord.says(scene.ada, room, "", files=[("lost.txt", b"a", None)])
        scene.discord.says(scene.ada, room, "and this?", files=[("big.bin", b"", None)])
        scene.discord.world.files.clear()
        huge = scene.discord.says(scene.ada, room, "", quiet=True)
        file = scene.discord.world.keep_file("huge.zip", b"", None) | {"size": 2**30}
        scene.discord.world.emit("MESSAGE_CREATE", huge | {"attachments": [file]}, room)
        await scene.nothing_but(1)

    assert [notice.reply_to for notice in scene.notices] == [inbound_id(lost), inbound_id(huge)]
    assert "lost.txt" in scene.notices[0].text
    assert "1024 MB" in scene.notices[1].text
    assert "and this?" in scene.heard[0].text
    assert "big.bin" in scene.heard[0].quotes[0].text


async def test_a_file_that_trickles_is_given_up_and_the_others_come_along(scene: Scene) -> None:
    scene.discord.fail(Fault("GET", r"/attachments/.*slow\.bin", times=9, trickles=True))
    files = [("slow.bin", b"1", None), ("quick.txt", b"whole", "text/plain")]

    async with scene.running():
        scene.discord.says(scene.ada, scene.discord.dm(scene.ada), "look", files=files)
        await scene.discord.until(lambda: len([call for call in scene.discord.calls if "/att" in call.path]) == 2)
        while scene.clock.asleep > 1:  # noqa: ASYNC110  the disk tells nobody
            await asyncio.sleep(0.005)
        scene.clock.advance(61)
        heard = await scene.hears()

    assert [scene.media.path(file).read_bytes() for file in heard.files] == [b"whole"]
    assert heard.text == "look"
    assert "slow.bin" in heard.quotes[0].text


async def test_an_edit_corrects_and_the_preview_of_a_link_does_not(scene: Scene) -> None:
    room = scene.discord.dm(scene.ada)

    async with scene.running():
        said = scene.discord.says(scene.ada, room, "see https://example.org at 9")
        scene.discord.unfurls(room, said)
        scene.discord.edits(room, said, "see https://example.org at 10")
        scene.discord.unfurls(room, said)
        heard = await scene.hears(2)
        await scene.nothing_but(2)

    assert (heard.text, heard.corrects) == ("see https://example.org at 10", inbound_id(said))
    assert heard.id != inbound_id(said)


async def test_a_bare_mention_is_a_message_and_an_empty_one_is_none(scene: Scene) -> None:
    async with scene.running():
        scene.discord.says(scene.ada, scene.general, scene.discord.mention)
        scene.discord.says(scene.ada, scene.discord.dm(scene.ada), "")
        await scene.nothing_but(1, scene.general, scene.discord.dm(scene.ada))

    assert "@Nano" in [message.text for message in scene.heard]


async def test_what_discord_itself_says_is_no_message(scene: Scene) -> None:
    async with scene.running():
        for kind in (6, 7, 8, 18, 21):
            scene.discord.says(scene.ada, scene.discord.dm(scene.ada), "", type=kind)
        await scene.nothing_but(0)


async def test_a_message_that_comes_twice_is_heard_once(scene: Scene) -> None:
    scene.discord.gateway.copies = 2

    async with scene.running():
        said = [scene.discord.says(scene.ada, scene.discord.dm(scene.ada), f"number {number}") for number in range(3)]
        await scene.nothing_but(3)

    assert [heard.id for heard in scene.heard[:3]] == [inbound_id(message) for message in said]


async def test_messages_out_of_order_are_all_heard(scene: Scene) -> None:
    async with scene.running():
        scene.discord.gateway.hold()
        for number in range(3):
            scene.discord.says(scene.ada, scene.discord.dm(scene.ada), f"number {number}")
        scene.discord.gateway.release(backwards=True)
        await scene.nothing_but(3)


async def test_a_chat_with_a_slow_file_does_not_hold_up_another(scene: Scene) -> None:
    scene.discord.fail(Fault("GET", "/attachments/", status=None))
    slow, quick = scene.discord.dm(scene.ada), scene.discord.dm(scene.ben)

    async with scene.running():
        scene.discord.says(scene.ada, slow, "look", files=[("slow.bin", b"1", None)])
        scene.discord.says(scene.ada, slow, "did you?")
        await scene.discord.until(lambda: any("slow.bin" in call.path for call in scene.discord.calls))
        scene.discord.says(scene.ben, quick, "hi")
        heard = await scene.hears()

    assert [heard.text, len(scene.heard)] == ["hi", 1]


async def test_a_stranger_leaves_nothing_behind_and_gets_a_code(scene: Scene) -> None:
    room = scene.discord.dm(scene.eve)

    async with scene.running():
        said = scene.discord.says(scene.eve, room, "let me in", files=[("virus.exe", b"!", None)])
        scene.discord.edits(room, said, "please")
        scene.discord.slash(scene.eve, room, "help")
        await scene.discord.until(lambda: any(call.method == "DELETE" for call in scene.discord.calls))

    assert scene.heard == []
    assert [notice.address for notice in scene.notices] == [at(room)]
    assert not [call for call in scene.discord.calls if call.path.startswith("/attachments")]
    assert scene.discord.shown(room) == ["Eve: please [virus.exe]"]
    assert room.id.encode() not in b"".join(file.read_bytes() for file in scene.root.glob("spool.db*"))


async def test_an_id_counts_and_a_name_does_not(scene: Scene) -> None:
    liar = scene.discord.person(scene.ada.id)

    async with scene.running():
        scene.discord.says(liar, scene.general, f"{scene.discord.mention} it is me")
        await scene.nothing_but(0, scene.general)


async def test_what_a_group_says_among_itself_is_kept_only_if_it_wants_that(scene: Scene) -> None:
    scene.store_all = True

    async with scene.running():
        scene.discord.says(scene.ben, scene.general, "lunch?")
        heard = await scene.hears()

    assert (heard.text, heard.to_bot) == ("lunch?", False)


async def test_a_role_of_the_bots_calls_it_and_everyone_does_not(scene: Scene) -> None:
    role, other = "123456789012345678", "123456789012345679"
    scene.home.roles |= {role: "Nano", other: "cooks"}

    async with scene.running():
        scene.discord.says(scene.ada, scene.general, "@everyone get up")
        scene.discord.says(scene.ada, scene.general, f"<@&{role}> what do <@&{other}> do")
        scene.discord.says(scene.ada, scene.general, f"`{scene.discord.mention}` is how one writes it")
        await scene.nothing_but(1, scene.general)

    assert scene.heard[0].text == "what do @cooks do"


async def test_a_typed_command_is_meant_for_the_bot(scene: Scene) -> None:
    async with scene.running():
        scene.discord.says(scene.ada, scene.general, "/etc/hosts is a file")
        scene.discord.says(scene.ada, scene.general, "/dream_restore 12")
        await scene.nothing_but(1, scene.general)

    assert scene.heard[0].text == "/dream_restore 12"


async def test_messages_are_in_order_within_a_chat(scene: Scene) -> None:
    rooms = [scene.discord.dm(scene.discord.person(f"P{number}")) for number in range(4)]

    async with scene.running():
        for number in range(20):
            scene.discord.says(scene.ada, rooms[number % 4], str(number), files=[("f", b"1", None)] * (number % 3))
        await asyncio.gather(*(scene.hears(number + 1) for number in range(20)))

    for place, room in enumerate(rooms):
        said = [heard.text for heard in scene.heard if heard.address == at(room)]
        assert said == [str(number) for number in range(20) if number % 4 == place]


@pytest.mark.parametrize("said", ["/new@OtherBot", "<@{bot}> what blooms?"])
async def test_what_is_said_to_another_bot_is_not_for_this_one(scene: Scene, said: str) -> None:
    other = scene.discord.person("Other", bot=True)
    scene.listening = "open"

    async with scene.running():
        scene.discord.says(scene.ben, scene.general, said.format(bot=other.id), mentions=[other.payload])
        scene.discord.says(scene.ben, scene.general, "and now to all")
        assert (await scene.hears()).text == "and now to all"


async def test_our_own_name_behind_a_command_is_taken_off(scene: Scene) -> None:
    async with scene.running():
        scene.discord.says(scene.ada, scene.discord.dm(scene.ada), "/status@nano now")
        assert (await scene.hears()).text == "/status now"

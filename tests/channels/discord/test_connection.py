"""What was said while the bot was away or cut off is read when it is back, once and in order."""

import asyncio
from datetime import timedelta

import discord
import pytest

from nanobot.channels.discord.channel import BETWEEN_IDENTIFIES, LONGEST_PAUSE, RefusedIntentsError
from nanobot.channels.discord.settings import CatchUp
from nanobot.channels.platform import RefusedTokenError, UnreachableError
from nanobot.errors import StoreError
from nanobot.i18n import Language, say
from nanobot.messages import Address, InboundMessage
from tests.channels.discord.scene import Scene, at
from tests.fakes.discord_gateway import CONTENT
from tests.fakes.discord_rest import Fault


def heard(scene: Scene) -> list[str]:
    return [message.text for message in scene.heard]


async def test_what_was_said_while_it_was_down_is_read_also_where_it_never_was(scene: Scene) -> None:
    await scene.first_talk()
    mention, other = scene.discord.mention, scene.discord.channel(scene.home, "never used")
    thread = scene.discord.thread(scene.general, "new thread")
    foreign = scene.discord.channel(scene.discord.guild("Not let in"), "lobby")
    for room, text in ((other, "in a channel"), (thread, "in a thread"), (foreign, "in vain")):
        scene.discord.says(scene.ada, room, f"{mention} {text}")
    scene.discord.says(scene.eve, other, f"{mention} a stranger")
    scene.discord.says(scene.ben, scene.discord.dm(scene.ben), "never met")
    scene.discord.says(scene.eve, scene.discord.dm(scene.eve), "nobody")

    async with scene.running():
        scene.discord.says(scene.ada, other, f"{mention} and now")
        await scene.hears(4)
        await scene.nothing_but(4)

    assert sorted(heard(scene)[:4]) == ["and now", "in a channel", "in a thread", "never met"]
    assert heard(scene).index("in a channel") < heard(scene).index("and now")
    scene.heard.clear()
    async with scene.running():
        await scene.nothing_but(0)


async def test_the_very_first_start_reads_nothing_of_before(scene: Scene) -> None:
    scene.discord.says(scene.ada, scene.general, f"{scene.discord.mention} before it came")
    scene.discord.says(scene.ben, scene.discord.dm(scene.ben), "before it came")

    async with scene.running():
        await scene.nothing_but(0)


async def test_what_others_say_does_not_count_for_what_is_read(scene: Scene) -> None:
    await scene.first_talk()
    scene.catch_up = CatchUp(messages=3)
    scene.discord.says(scene.ada, scene.general, f"{scene.discord.mention} before the crowd")
    for number in range(130):
        scene.discord.says(scene.eve, scene.general, f"crowd {number}")

    async with scene.running():
        assert (await scene.hears()).text == "before the crowd"
        await scene.nothing_but(1, scene.general)

    assert scene.notices == []


async def test_whoever_is_not_read_whole_is_told_so_once(scene: Scene) -> None:
    await scene.first_talk()
    scene.catch_up = CatchUp(messages=50)
    own = scene.discord.dm(scene.ada)
    for number in range(80):
        scene.discord.says(scene.ada, own, f"own {number}")

    async with scene.running():
        await scene.hears(50)
        await scene.nothing_but(50)

    assert heard(scene)[:50] == [f"own {number}" for number in range(30, 80)]
    assert [(notice.address, notice.text) for notice in scene.notices] == [
        (at(own), say("discord.missed_count", "en", count=50, hours=24))
    ]


async def test_what_was_said_while_it_was_down_is_read_in_the_chats_that_it_knows(scene: Scene) -> None:
    await scene.first_talk()
    own, general, mention = scene.discord.dm(scene.ada), scene.general, scene.discord.mention
    for number in range(3):
        scene.discord.says(scene.ada, own, f"own {number}")
    scene.discord.says(scene.ada, general, "among ourselves")
    scene.discord.says(scene.eve, general, f"{mention} I am nobody")
    scene.discord.says(scene.ada, general, f"{mention} general")
    scene.discord.says(scene.ben, scene.discord.dm(scene.ben), "never met")

    async with scene.running():
        scene.discord.says(scene.ada, own, "own 3")
        await scene.nothing_but(5, own, general)

    assert [message.text for message in scene.heard if message.address == at(own)][:4] == [
        "own 0", "own 1", "own 2", "own 3",
    ]  # fmt: skip


async def test_what_was_read_is_not_read_again(scene: Scene) -> None:
    await scene.first_talk()

    async with scene.running():
        await scene.nothing_but(0)


async def test_what_was_refused_is_not_answered_later_when_its_author_was_let_in(scene: Scene) -> None:
    await scene.first_talk()
    mention = scene.discord.mention

    async with scene.running():
        scene.discord.says(scene.eve, scene.general, f"{mention} do it")
        scene.discord.says(scene.ben, scene.general, f"{mention} hi")
        await scene.hears(1)
        scene.discord.says(scene.eve, scene.general, f"{mention} do it now")
        await scene.nothing_but(1)
        await scene.discord.gateway.cut()
        await scene.discord.until(lambda: scene.discord.gateway.resumes and scene.discord.gateway.connected)
        scene.discord.says(scene.ada, scene.general, f"{mention} still here?")
        await scene.hears(3)
    scene.ben, scene.eve = scene.eve, scene.ben  # Eve is the member now
    async with scene.running():
        scene.discord.says(scene.ada, scene.general, f"{mention} and now?")
        await scene.hears(4)

    assert heard(scene) == ["hi", "the last word", "still here?", "and now?"]


async def test_only_the_newest_are_read_and_none_that_are_too_old(scene: Scene) -> None:
    await scene.first_talk()
    scene.catch_up = CatchUp(messages=3, age=3600)
    own = scene.discord.dm(scene.ada)
    for number in range(5):
        scene.discord.says(scene.ada, own, f"own {number}")
    scene.discord.says(scene.ada, scene.general, f"{scene.discord.mention} general")

    async with scene.running():
        await scene.hears(4)
        assert sorted(heard(scene)) == ["general", "own 2", "own 3", "own 4"]
        await scene.nothing_but(4, own, scene.general)

    scene.heard.clear()
    scene.discord.says(scene.ada, own, "an hour ago")
    scene.clock.set(scene.clock.now() + timedelta(hours=2))
    async with scene.running():
        await scene.nothing_but(0)


async def test_nothing_is_read_where_that_is_switched_off(scene: Scene) -> None:
    await scene.first_talk()
    scene.catch_up = CatchUp(messages=0)
    scene.discord.says(scene.ada, scene.discord.dm(scene.ada), "missed")

    async with scene.running():
        await scene.nothing_but(0)


async def test_a_chat_that_is_gone_is_forgotten_and_the_others_are_read(scene: Scene) -> None:
    await scene.first_talk()
    scene.general.gone = True
    scene.discord.says(scene.ada, scene.discord.dm(scene.ada), "missed")

    async with scene.running():
        await scene.nothing_but(1)
    async with scene.running():
        await scene.hears(2)

    asked = [call for call in scene.discord.calls if call.path == f"/channels/{scene.general.id}"]
    assert [call.status for call in asked] == [404]


async def test_a_connection_that_is_cut_is_resumed_and_nothing_is_missed_or_heard_twice(scene: Scene) -> None:
    own = scene.discord.dm(scene.ada)

    async with scene.running() as channel:
        scene.discord.says(scene.ada, own, "before")
        await scene.hears(1)
        await scene.discord.gateway.cut()
        scene.discord.says(scene.ada, own, "meanwhile")
        await scene.hears(2)
        await scene.discord.until(lambda: scene.discord.gateway.connected)
        await scene.nothing_but(2)
        assert channel.status().trouble == ""

    assert heard(scene) == ["before", "meanwhile", "the last word"]
    assert scene.discord.gateway.resumes == [True]
    assert len(scene.discord.gateway.identifies) == 1


async def test_after_a_connection_that_cannot_be_resumed_the_chats_are_read(scene: Scene) -> None:
    own = scene.discord.dm(scene.ada)

    async with scene.running():
        scene.discord.says(scene.ada, own, "before")
        await scene.hears(1)
        await scene.discord.gateway.cut(resumable=False)
        scene.discord.says(scene.ada, own, "meanwhile")
        await scene.hears(2)
        await scene.nothing_but(2)

    assert heard(scene) == ["before", "meanwhile", "the last word"]
    assert len(scene.discord.gateway.identifies) == 2
    assert BETWEEN_IDENTIFIES in scene.clock.slept


async def test_an_event_before_the_connection_stands_skips_nothing_that_was_missed(scene: Scene) -> None:
    own, gateway = scene.discord.dm(scene.ada), scene.discord.gateway

    async with scene.running():
        scene.discord.says(scene.ada, own, "before")
        await scene.hears(1)
        gateway.early = lambda: scene.discord.says(scene.ada, own, "early")
        scene.discord.rest.world.emit = lambda *_: None
        scene.discord.says(scene.ada, own, "missed")
        scene.discord.rest.world.emit = gateway.tell
        await gateway.cut(resumable=False)
        await scene.hears(3)
        await scene.nothing_but(3)

    assert heard(scene) == ["before", "missed", "early", "the last word"]


async def test_a_long_outage_is_followed_by_no_long_deafness(scene: Scene) -> None:
    async with scene.running():
        pauses = vars(discord.client)["ExponentialBackoff"]()
        assert max(pauses.delay() for _ in range(50)) == LONGEST_PAUSE


async def test_a_connection_that_says_nothing_any_more_is_replaced(scene: Scene) -> None:
    own = scene.discord.dm(scene.ada)
    scene.heartbeat_timeout, scene.discord.gateway.heartbeat = 0.3, 0.1

    async with scene.running() as channel:
        scene.discord.says(scene.ada, own, "before")
        await scene.hears(1)
        scene.discord.gateway.die()
        scene.discord.says(scene.ada, own, "into the void")
        await scene.hears(2)
        assert channel.status().trouble == ""

    assert heard(scene) == ["before", "into the void"]
    assert scene.discord.gateway.resumes == [True]


async def test_discord_may_ask_to_connect_anew(scene: Scene) -> None:
    async with scene.running():
        await scene.discord.gateway.close(4000)
        await scene.discord.until(lambda: scene.discord.gateway.resumes and scene.discord.gateway.connected)
        await scene.nothing_but(0)


async def test_a_message_that_could_not_be_kept_is_heard_at_the_next_start(scene: Scene) -> None:
    await scene.first_talk()

    async def full(_: InboundMessage) -> None:
        raise StoreError("no room on the disk")

    async with scene.open() as channel:
        listening = asyncio.create_task(channel.listen(full))
        await scene.discord.until(lambda: scene.discord.gateway.connected)
        scene.discord.says(scene.ada, scene.discord.dm(scene.ada), "remember this")
        with pytest.raises(StoreError, match="no room"):
            await asyncio.wait_for(listening, 120)
        assert channel.status().trouble == "no room on the disk"

    async with scene.running():
        assert (await scene.hears(1)).text == "remember this"


async def test_a_message_that_breaks_the_reading_does_not_stop_the_others(scene: Scene) -> None:
    own = scene.discord.dm(scene.ada)
    bugs = [ZeroDivisionError]

    def language(_: Address) -> Language:
        if bugs:
            raise bugs.pop()
        return "en"

    scene.language = language

    async with scene.running():
        scene.discord.says(scene.ada, own, "broken")
        await scene.nothing_but(0)


async def test_a_token_that_discord_does_not_know_is_refused(scene: Scene) -> None:
    scene.discord.rest.token = "another"

    with pytest.raises(RefusedTokenError) as told:
        async with scene.running():
            pass

    assert scene.discord.token not in str(told.value)
    assert "Reset Token" in str(told.value)


async def test_a_token_that_the_gateway_does_not_know_is_refused(scene: Scene) -> None:
    scene.discord.gateway.refuse_with = 4004

    async with scene.open() as channel:
        with pytest.raises(RefusedTokenError):
            await asyncio.wait_for(channel.listen(_nobody), 120)
        assert channel.status().trouble == "token"


async def test_missing_intents_are_explained(scene: Scene) -> None:
    scene.discord.gateway.granted &= ~CONTENT

    async with scene.open() as channel:
        with pytest.raises(RefusedIntentsError, match="Message Content Intent"):
            await asyncio.wait_for(channel.listen(_nobody), 120)
        assert channel.status().trouble == "intents"


async def test_a_discord_that_is_down_is_told_in_a_sentence(scene: Scene) -> None:
    async with scene.open() as channel:
        await scene.discord.stop()
        with pytest.raises(UnreachableError, match="cannot be reached"):
            await asyncio.wait_for(channel.listen(_nobody), 120)


async def test_a_gateway_that_is_down_is_told_in_a_sentence(scene: Scene) -> None:
    async with scene.open() as channel:
        scene.discord.rest.ws_url = "ws://127.0.0.1:9/gateway/"
        with pytest.raises(UnreachableError, match="cannot be reached"):
            await asyncio.wait_for(channel.listen(_nobody), 120)


async def test_sending_works_while_nothing_is_heard(scene: Scene) -> None:
    scene.discord.fail(Fault("GET", "/users/@me", status=503))

    async with scene.open() as channel:
        with pytest.raises(UnreachableError):
            await asyncio.wait_for(channel.listen(_nobody), 120)
        await channel.typing(at(scene.general))
        assert channel.status().since is None
        assert channel.status().trouble == "server"


async def _nobody(message: InboundMessage) -> None:
    raise AssertionError(message)

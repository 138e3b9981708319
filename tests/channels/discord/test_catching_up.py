"""What is read after a pause, what is not, and that the latter is told."""

from datetime import timedelta

import pytest

from nanobot.bus.spool import Spool
from nanobot.channels.discord import missed as catching_up
from nanobot.channels.discord.channel import DiscordChannel
from nanobot.channels.discord.settings import CatchUp
from nanobot.i18n import say
from nanobot.ports.gateway import Gap
from tests.channels.discord.scene import Scene, at
from tests.fakes.discord_rest import Fault
from tests.fakes.discord_world import Room


def archived(scene: Scene, parent: Room, text: str, *, hours_ago: float = 0) -> Room:
    """A thread in which Ada asked the bot something before it was archived."""
    thread = scene.discord.thread(parent, text)
    scene.discord.says(scene.ada, thread, f"{scene.discord.mention} {text}")
    thread.archived, thread.archived_at = True, scene.discord.world.now() - timedelta(hours=hours_ago)
    return thread


def gaps(channel: DiscordChannel) -> dict[str, str]:
    return {gap.where: gap.why for gap in channel.status().gaps}


async def test_a_thread_that_was_opened_and_archived_meanwhile_is_read(scene: Scene) -> None:
    forum = scene.discord.channel(scene.home, "forum", forum=True)
    foreign = scene.discord.channel(scene.discord.guild("Not let in"), "lobby")
    await scene.first_talk()
    threads = [archived(scene, scene.general, "in a thread"), archived(scene, forum, "in a post")]
    archived(scene, scene.general, "archived long ago", hours_ago=1)
    archived(scene, foreign, "in vain")

    async with scene.running() as channel:
        await scene.hears(2)
        await scene.nothing_but(2)
        assert channel.status().gaps == ()

    assert sorted(heard.text for heard in scene.heard[:2]) == ["in a post", "in a thread"]
    assert {heard.address for heard in scene.heard[:2]} == {at(thread) for thread in threads}
    assert not [call for call in scene.discord.calls if call.path.startswith(f"/channels/{foreign.id}/threads")]
    scene.heard.clear()
    async with scene.running():
        await scene.nothing_but(0)


async def test_more_archived_threads_than_are_looked_for_are_told(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catching_up, "MOST_THREADS", 2)
    await scene.first_talk()
    for number in range(3):
        archived(scene, scene.general, f"thread {number}", hours_ago=-number / 60)

    async with scene.running() as channel:
        await scene.hears(2)
        await scene.nothing_but(2)
        assert gaps(channel) == {at(scene.general).session_key: "threads"}

    assert sorted(heard.text for heard in scene.heard[:2]) == ["thread 1", "thread 2"]
    assert [(notice.address, notice.text) for notice in scene.notices] == [
        (at(scene.general), say("discord.missed_threads", "en"))
    ]


async def test_what_may_not_be_read_is_a_gap_and_the_others_are_read(scene: Scene) -> None:
    await scene.first_talk()
    scene.general.refuses = 50001
    scene.discord.says(scene.ada, scene.general, f"{scene.discord.mention} in vain")
    scene.discord.says(scene.ada, scene.discord.dm(scene.ada), "missed")

    async with scene.running() as channel:
        await scene.nothing_but(1)
        await scene.discord.until(lambda: bool(channel.status().gaps))
        assert gaps(channel) == {at(scene.general).session_key: "forbidden"}


async def test_a_crowd_that_is_not_read_whole_is_told(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catching_up, "MOST_READ", 100)
    await scene.first_talk()
    scene.discord.says(scene.ada, scene.general, f"{scene.discord.mention} before the crowd")
    for number in range(100):
        scene.discord.says(scene.eve, scene.general, f"crowd {number}")

    async with scene.running() as channel:
        await scene.nothing_but(0, scene.general)
        assert gaps(channel) == {at(scene.general).session_key: "crowd"}

    assert [notice.text for notice in scene.notices] == [say("discord.missed_crowd", "en")]


async def test_what_is_too_old_is_told_also_if_others_spoke_after_it(scene: Scene) -> None:
    await scene.first_talk()
    scene.catch_up = CatchUp(age=3600)
    scene.discord.says(scene.ada, scene.general, f"{scene.discord.mention} two hours ago")
    scene.discord.says(scene.eve, scene.general, "among strangers")
    quiet = scene.discord.channel(scene.home, "quiet")
    scene.discord.says(scene.eve, quiet, "nothing for the bot")
    scene.clock.set(scene.clock.now() + timedelta(hours=2))

    async with scene.running() as channel:
        await scene.nothing_but(0)
        found = gaps(channel)

    assert found[at(scene.general).session_key] == "age"
    assert at(quiet).session_key not in found
    assert [notice.text for notice in scene.notices if notice.address == at(scene.general)] == [
        say("discord.missed_age", "en", hours=1)
    ]


async def test_too_much_for_one_start_is_told_where_it_is_known_and_counted_where_not(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.first_talk()
    monkeypatch.setattr(catching_up, "MOST_REQUESTS", 0)
    busy = scene.discord.channel(scene.home, "busy")
    scene.discord.says(scene.ada, busy, f"{scene.discord.mention} missed")
    before = len(scene.discord.calls)

    async with scene.running() as channel:
        scene.discord.says(scene.ada, busy, f"{scene.discord.mention} still here?")
        assert (await scene.hears()).text == "still here?"
        found = channel.status().gaps

    assert not [call for call in scene.discord.calls[before:] if call.path.endswith("/messages")]
    assert Gap(where=at(busy).session_key, why="requests") in found
    assert [gap.why for gap in found if not gap.where] == ["requests"]
    assert [(notice.address, notice.text) for notice in scene.notices] == [
        (at(busy), say("discord.missed_requests", "en"))
    ]


async def test_nothing_that_is_still_to_be_read_is_passed(scene: Scene) -> None:
    await scene.first_talk()
    busy = scene.discord.channel(scene.home, "busy")
    missed = scene.discord.says(scene.ada, busy, f"{scene.discord.mention} missed")
    scene.discord.fail(Fault("GET", f"/channels/{busy.id}/messages", status=None))

    async with scene.running():
        await scene.discord.until(lambda: any(busy.id in call.path for call in scene.discord.calls))
        scene.clock.set(scene.clock.now() + timedelta(hours=1))  # the mark is noted once a minute
        scene.discord.says(scene.ada, scene.discord.dm(scene.ada), "meanwhile")
        assert (await scene.hears()).text == "meanwhile"

    async with Spool(scene.root / "spool.db", scene.clock) as spool:
        (noted,) = (await spool.marks("discord.heard_until")).values()
    assert int(noted) < int(missed["id"])
    async with scene.running():
        assert (await scene.hears(2)).text == "missed"
        await scene.nothing_but(2)

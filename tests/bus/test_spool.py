"""The spool: what it keeps, over any number of restarts."""

import asyncio
import shutil
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.bus.queue import MOST_PROGRESS
from nanobot.bus.spool import Spool
from nanobot.messages import (
    Address,
    Attachment,
    Button,
    InboundMessage,
    OutboundMessage,
    Progress,
    Quote,
    Sender,
    Stats,
)
from nanobot.ports import Bookmarks, Bus, Delivery, Outbox
from tests.contracts.bus import ADDRESS, PATIENCE, BusContract, answer, progress, said
from tests.fakes.clock import FakeClock

OTHER = Address("telegram", "777", "5")
DAY = 86400.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "spool.db"


@pytest.fixture
async def spool(path: Path, clock: FakeClock) -> AsyncIterator[Spool]:
    async with Spool(path, clock) as spool:
        yield spool


@asynccontextmanager
async def killed(path: Path, clock: FakeClock) -> AsyncIterator[Spool]:
    """A process that is killed at the end: what it does to the files on its way out is undone."""
    kept = path.parent.with_name("as it was")
    async with Spool(path, clock) as spool:
        yield spool
        shutil.copytree(path.parent, kept)
    shutil.rmtree(path.parent)
    kept.rename(path.parent)


async def received(spool: Spool) -> list[str]:
    """All that can be received now."""
    texts: list[str] = []
    waiting = (await spool.backlog()).waiting_in
    async with asyncio.timeout(PATIENCE):
        while len(texts) < waiting:
            texts.append((await spool.receive()).text)
    return texts


async def handed(spool: Spool, channel: str = "telegram") -> Delivery:
    """The next thing to deliver, which is a message."""
    async with asyncio.timeout(PATIENCE):
        item = await spool.outgoing(channel)
    assert isinstance(item, Delivery)
    return item


async def nothing_waits(spool: Spool, channel: str = "telegram") -> bool:
    """Whether `outgoing` would wait. What is shown last comes out, if nothing is before it."""
    spool.show(Progress(address=Address(channel, "nobody"), turn="t", kind="ended", text="nothing"))
    async with asyncio.timeout(PATIENCE):
        item = await spool.outgoing(channel)
    return isinstance(item, Progress) and item.text == "nothing"


class TestSpoolAsABus(BusContract):
    @pytest.fixture
    def bus(self, spool: Spool) -> Bus:
        return spool

    async def outgoing(self, bus: Bus) -> OutboundMessage | Progress:
        assert isinstance(bus, Spool)
        item = await bus.outgoing(ADDRESS.channel)
        if isinstance(item, Progress):
            return item
        await bus.delivered(item.message.id)
        return item.message


def as_ports(spool: Spool) -> tuple[Bus, Outbox, Bookmarks]:
    """The type checker sees here that it is all three."""
    return spool, spool, spool


async def test_it_is_a_durable_bus(spool: Spool) -> None:
    assert all(port is spool for port in as_ports(spool))
    assert spool.is_durable


@pytest.fixture
def open_to_all(path: Path) -> Path:
    path.parent.mkdir()
    path.touch(mode=0o644)
    return path


async def test_its_files_are_private(path: Path, open_to_all: Path, clock: FakeClock) -> None:
    async with Spool(open_to_all, clock) as spool:
        await spool.publish(said("a"))
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {"spool.db": 0o600, "spool.db-wal": 0o600, "spool.db-shm": 0o600}


async def test_a_folder_that_is_missing_is_made_private(tmp_path: Path, clock: FakeClock) -> None:
    async with Spool(tmp_path / "a" / "b" / "spool.db", clock):
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


async def test_everything_that_belongs_to_a_message_survives(path: Path, clock: FakeClock) -> None:
    full = InboundMessage(
        id="telegram:777:1",
        address=OTHER,
        sender=Sender("9", "Grace"),
        authority=Authority(Role.MEMBER, Scope.group("telegram", "777"), Origin.QUOTED),
        text="look\0 at 👀 this\r\n",
        files=(Attachment("media/p.png", "image/png", "p.png"), Attachment("media/q")),
        answers="01X",
        chat_title="Family",
        quotes=(Quote("be there at 8", "Bob", "forward"), Quote("no")),
        corrects="telegram:777:0",
        to_bot=False,
    )
    out = OutboundMessage(
        id="01Y",
        address=OTHER,
        text="**done**",
        kind="question",
        turn="01T",
        reply_to=full.id,
        files=(Attachment("spill/x.txt", "text/plain"),),
        buttons=(Button("Yes", "y"), Button("No", "n")),
        stats=Stats(12, 3, 0.5, "big"),
        failed=True,
    )
    async with Spool(path, clock) as spool:
        await spool.publish(full)
        await spool.send(out)
    async with Spool(path, clock) as spool:
        assert await spool.receive() == full
        assert (await handed(spool)).message == out


async def test_half_a_surrogate_pair_is_no_reason_to_lose_a_message(spool: Spool) -> None:
    await spool.publish(replace(said("x"), text="ok \udc88", quotes=(Quote("\ud83d\ude00"),)))
    message = await spool.receive()
    assert (message.text, message.quotes) == ("ok \ufffd", (Quote("😀"),))


async def test_what_is_not_finished_comes_again_in_order(path: Path, clock: FakeClock) -> None:
    async with killed(path, clock) as spool:
        for text in "abcd":
            await spool.publish(said(text))
        assert await received(spool) == ["a", "b", "c", "d"]
        await spool.finish([said("b")], None)
        await spool.finish([said("d"), said("c")], answer("both"))
    async with killed(path, clock) as spool:
        await spool.publish(said("e"))
        assert await received(spool) == ["a", "e"]
        assert (await handed(spool)).message == answer("both")


async def test_ids_are_known_after_a_restart_for_two_weeks(path: Path, clock: FakeClock) -> None:
    async with killed(path, clock) as spool:
        await spool.publish(said("a"))
        await spool.finish([await spool.receive()], answer("1"))
        await spool.delivered(answer("1").id)
    clock.advance(14 * DAY - 1)
    async with killed(path, clock) as spool:
        await spool.publish(said("a"))
        await spool.send(answer("1"))
        assert await received(spool) == []
        assert await nothing_waits(spool)


async def test_ids_are_forgotten_in_the_end(path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nanobot.bus.rows._LATEST", 10)
    async with Spool(path, clock) as spool:
        for text in "ab":
            await spool.publish(said(text))
            await spool.finish([said(text)], None)
        for number in range(10):
            await spool.send(answer(str(number)))
    clock.advance(14 * DAY + 1)
    async with Spool(path, clock) as spool:
        await spool.publish(said("a"))
        await spool.publish(said("b"))
        assert await received(spool) == ["a", "b"]
        await spool.send(answer("9"))  # one of the latest
        assert (await spool.backlog()).waiting_out == {"telegram": 10}


async def test_the_latest_ids_are_known_even_if_the_clock_was_wrong_by_years(path: Path, clock: FakeClock) -> None:
    async with Spool(path, clock) as spool:
        await spool.publish(said("a"))
        await spool.finish([said("a")], None)
    clock.advance(20 * 365 * DAY)
    async with Spool(path, clock) as spool:
        for text in "bca":
            await spool.publish(said(text))
        assert (await spool.backlog()).waiting_in == 2


async def test_a_publish_that_is_cancelled_is_whole_all_the_same(spool: Spool) -> None:
    publishing = asyncio.create_task(spool.publish(said("a")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    publishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await publishing
    async with asyncio.timeout(PATIENCE):
        assert (await spool.receive()).text == "a"


class TestMessagesThatKill:
    async def test_begin_tells_in_how_many_processes_before_the_turn_began(self, path: Path, clock: FakeClock) -> None:
        for before in range(3):
            async with killed(path, clock) as spool:
                await spool.publish(said("a"))
                message = await spool.receive()
                assert [await spool.begin(message), await spool.begin(message)] == [before, before]

    async def test_after_three_deaths_it_is_set_aside_and_holds_up_nobody(self, path: Path, clock: FakeClock) -> None:
        for _ in range(3):
            async with killed(path, clock) as spool:
                assert await spool.set_aside() == []
                for text in ("poison", "fine"):
                    await spool.publish(said(text))
                await spool.begin(await spool.receive())
        for _ in range(2):  # as long as nobody was told
            async with killed(path, clock) as spool:
                await spool.publish(said("poison"))
                assert await received(spool) == ["fine"]
                assert await spool.set_aside() == [said("poison")]
                (trouble,) = (await spool.backlog()).troubles
                assert (trouble.kind, trouble.id, trouble.address) == ("set_aside", said("poison").id, ADDRESS)
                assert "3 times" in trouble.reason
        async with killed(path, clock) as spool:
            await spool.finish(await spool.set_aside(), answer("I could not"))
            assert await spool.set_aside() == []
        async with killed(path, clock) as spool:
            assert await spool.set_aside() == []
            assert (await handed(spool)).message == answer("I could not")
            assert len((await spool.backlog()).troubles) == 1

    async def test_what_died_side_by_side_is_suspected_and_only_what_dies_alone_is_set_aside(
        self, path: Path, clock: FakeClock
    ) -> None:
        for died in range(5):
            async with killed(path, clock) as spool:
                messages = [said("poison"), replace(said("fine", OTHER), id="fine"), said("waits for its turn")]
                for message in messages:
                    await spool.publish(message)
                assert [spool.is_suspect(message) for message in messages] == [died >= 2, died >= 2, False]
                for message in messages[:2]:
                    await spool.begin(message)
        async with killed(path, clock) as spool:
            assert await spool.set_aside() == []
            await spool.begin(messages[0])
        async with killed(path, clock) as spool:
            assert await spool.set_aside() == [messages[0]]
            await spool.begin(messages[1])
            await spool.finish([messages[1]], None)
        async with killed(path, clock) as spool:
            assert await received(spool) == ["waits for its turn"]

    async def test_what_waits_for_a_person_has_killed_nobody(self, path: Path, clock: FakeClock) -> None:
        for _ in range(4):
            async with killed(path, clock) as spool:
                await spool.publish(said("asks"))
                await spool.begin(said("asks"))
                await spool.rest(ADDRESS.session_key)
        for died in range(3):
            async with killed(path, clock) as spool:
                assert spool.is_suspect(said("asks")) == (died == 2)
                await spool.begin(said("asks"))
                await spool.rest(ADDRESS.session_key)
                await spool.resume(ADDRESS.session_key)
        async with killed(path, clock) as spool:
            assert await spool.set_aside() == [said("asks")]

    async def test_an_orderly_end_is_not_the_fault_of_the_message(self, path: Path, clock: FakeClock) -> None:
        for before in range(5):
            async with Spool(path, clock) as spool:
                await spool.publish(said("long"))
                assert await spool.begin(await spool.receive()) == before


class TestDelivery:
    async def test_each_channel_has_a_line_of_its_own(self, spool: Spool) -> None:
        there = Address("discord", "1")
        await spool.send(answer("a"))
        await spool.send(answer("b", there))
        spool.show(progress("c", there))
        assert (await handed(spool, "discord")).message.text == "b"
        assert await spool.outgoing("discord") == progress("c", there)
        assert (await handed(spool)).message.text == "a"

    async def test_a_message_holds_back_those_of_its_address_only(self, spool: Spool) -> None:
        await spool.send(answer("a1"))
        await spool.send(answer("a2"))
        await spool.send(answer("b1", OTHER))
        assert [(await handed(spool)).message.text for _ in range(2)] == ["a1", "b1"]
        assert await nothing_waits(spool)
        await spool.delivered(answer("a1").id)
        assert (await handed(spool)).message.text == "a2"

    async def test_how_far_it_got_outlives_a_kill(self, path: Path, clock: FakeClock) -> None:
        name = answer("long").id
        async with killed(path, clock) as spool:
            await spool.send(answer("long"))
            await spool.attempting(name)
            await spool.arrived(name, "p1")
            await spool.attempting(name)
            await spool.arrived(name, "p2")
        async with killed(path, clock) as spool:
            assert await handed(spool) == Delivery(message=answer("long"), parts=("p1", "p2"))
            await spool.attempting(name)
        async with killed(path, clock) as spool:
            assert await handed(spool) == Delivery(message=answer("long"), parts=("p1", "p2"), is_uncertain=True)
            await spool.arrived(name, "p3")
            await spool.delivered(name)
        async with killed(path, clock) as spool:
            assert await nothing_waits(spool)

    async def test_a_postponed_message_comes_when_its_time_has_come_and_first(
        self, spool: Spool, clock: FakeClock
    ) -> None:
        for text in "ab":
            await spool.send(answer(text))
        await handed(spool)
        await spool.postponed(answer("a").id, 30, "the network is down")
        assert await nothing_waits(spool)
        waiting = asyncio.create_task(handed(spool))
        await clock.sleeping()
        clock.advance(29)
        await asyncio.sleep(0)
        assert not waiting.done()
        clock.advance(1)
        assert await waiting == Delivery(message=answer("a"), attempts=1)

    async def test_who_waits_for_a_postponed_one_is_woken_by_others(self, spool: Spool, clock: FakeClock) -> None:
        await spool.send(answer("a"))
        await handed(spool)
        await spool.postponed(answer("a").id, 30, "the network is down")
        waiting = asyncio.create_task(handed(spool))
        await clock.sleeping()
        await spool.send(answer("b", OTHER))
        assert (await waiting).message == answer("b", OTHER)

    async def test_a_postponement_outlives_a_restart_and_the_time_between_counts(
        self, path: Path, clock: FakeClock
    ) -> None:
        async with killed(path, clock) as spool:
            for text in "ab":
                await spool.send(answer(text))
            await handed(spool)
            await spool.postponed(answer("a").id, 100, "the network is down")
        clock.advance(60)
        async with killed(path, clock) as spool:
            assert await nothing_waits(spool)
            clock.advance(39)
            assert await nothing_waits(spool)
            clock.advance(1)
            assert await handed(spool) == Delivery(message=answer("a"), attempts=1)
            await spool.delivered(answer("a").id)
            assert (await handed(spool)).message == answer("b")

    async def test_a_clock_that_is_set_back_makes_nobody_wait_for_years(self, path: Path, clock: FakeClock) -> None:
        async with killed(path, clock) as spool:
            await spool.send(answer("a"))
            await spool.postponed(answer("a").id, 100, "the network is down")
        clock.set(clock.now().replace(year=2020))
        async with killed(path, clock) as spool:
            clock.advance(100)
            assert (await handed(spool)).message == answer("a")

    @pytest.mark.parametrize("may_have_arrived", [True, False])
    async def test_a_postponed_attempt_is_as_uncertain_as_was_said(
        self, spool: Spool, clock: FakeClock, may_have_arrived: bool
    ) -> None:
        await spool.send(answer("a"))
        await handed(spool)
        await spool.attempting(answer("a").id)
        await spool.postponed(answer("a").id, 1, "gateway timeout", may_have_arrived=may_have_arrived)
        clock.advance(1)
        assert (await handed(spool)).is_uncertain is may_have_arrived

    async def test_what_failed_is_out_of_the_way_and_listed(self, path: Path, clock: FakeClock) -> None:
        async with killed(path, clock) as spool:
            for text in "ab":
                await spool.send(answer(text))
            await handed(spool)
            await spool.failed(answer("a").id, "the person blocked the bot")
            assert (await handed(spool)).message == answer("b")
        async with killed(path, clock) as spool:
            (trouble,) = (await spool.backlog()).troubles
            assert (trouble.kind, trouble.id, trouble.address) == ("undeliverable", answer("a").id, ADDRESS)
            assert (trouble.reason, trouble.at) == ("the person blocked the bot", clock.now())
            await spool.acknowledge([trouble.id])
            assert (await spool.backlog()).troubles == []

    async def test_troubles_are_listed_for_thirty_days(self, spool: Spool, clock: FakeClock) -> None:
        await spool.send(answer("a"))
        await spool.failed(answer("a").id, "the chat is gone")
        clock.advance(30 * DAY)
        await spool.publish(said("x"))
        assert len((await spool.backlog()).troubles) == 1
        clock.advance(1)
        await spool.publish(said("y"))
        assert (await spool.backlog()).troubles == []

    async def test_a_channel_that_starts_anew_gets_again_what_it_had(self, spool: Spool) -> None:
        await spool.send(answer("a"))
        await spool.send(answer("b"))
        await handed(spool)
        await spool.attempting(answer("a").id)
        spool.take_back("telegram")
        assert await handed(spool) == Delivery(message=answer("a"), is_uncertain=True)
        assert await nothing_waits(spool)

    async def test_whoever_is_cancelled_while_waiting_takes_nothing_along(self, spool: Spool) -> None:
        await spool.send(answer("a"))
        for steps in range(12):
            taking = asyncio.create_task(spool.outgoing("telegram"))
            for _ in range(steps):
                await asyncio.sleep(0)
            taking.cancel()
            await asyncio.wait([taking])
            if not taking.cancelled():
                break
            assert (await spool.backlog()).waiting_out == {"telegram": 1}
        else:
            assert (await handed(spool)).message == answer("a")


class TestPreviews:
    TURN = "01TURN"

    async def test_a_message_carries_the_previews_of_its_turn(self, path: Path, clock: FakeClock) -> None:
        async with killed(path, clock) as spool:
            await self.preview(spool, "p0", "p1")
            await spool.previewing("another", ADDRESS)
            await spool.send(answer("elsewhere", OTHER, self.TURN))
            await spool.send(answer("a", turn=self.TURN))
        async with killed(path, clock) as spool:
            assert spool.left_over == []
            assert (await handed(spool)).previews == ()
            delivery = await handed(spool)
            assert (delivery.previews, delivery.is_uncertain) == (("p0", "p1"), False)

    async def preview(self, spool: Spool, *names: str, at: Address = ADDRESS) -> None:
        for name in names:
            await spool.previewing(self.TURN, at)
            await spool.previewed(self.TURN, name)

    async def test_those_of_a_process_that_ended_are_cleared_apart_from_those_of_the_next(
        self, path: Path, clock: FakeClock
    ) -> None:
        async with killed(path, clock) as spool:
            await self.preview(spool, "p0", "p1", "p2")
            await spool.kept(self.TURN, ["p0"])
            await self.preview(spool, "elsewhere", at=OTHER)
        for _ in range(2):  # nobody said that they are to be cleared: the next process hears of it, too
            async with killed(path, clock) as spool:
                left = dict(spool.left_over)
                assert list(left.values()) == [ADDRESS, OTHER]
        async with killed(path, clock) as spool:
            (name, _), _ = spool.left_over
            await spool.send(replace(answer("clear", turn=name), clears=True))
            await self.preview(spool, "new")
            await spool.send(answer("a", turn=self.TURN))
        async with killed(path, clock) as spool:
            assert [address for _, address in spool.left_over] == [OTHER]
            cleared = await handed(spool)
            assert (cleared.message.clears, cleared.previews) == (True, ("p1", "p2"))
            await spool.delivered(cleared.message.id)
            assert (await handed(spool)).previews == ("new",)

    async def test_one_of_which_nobody_knows_whether_it_arrived_stays_its_turns(
        self, path: Path, clock: FakeClock
    ) -> None:
        async with killed(path, clock) as spool:
            await spool.previewing(self.TURN, ADDRESS)
        async with killed(path, clock) as spool:
            assert spool.left_over == []
            await spool.send(answer("a", turn=self.TURN))
            assert (await handed(spool)).is_uncertain

    async def test_a_preview_whose_outcome_is_open_makes_it_uncertain(self, path: Path, clock: FakeClock) -> None:
        async with killed(path, clock) as spool:
            await spool.send(answer("a", turn=self.TURN))
            await spool.previewing(self.TURN, ADDRESS)
            await spool.previewed(self.TURN, "p0")
            await spool.previewing(self.TURN, ADDRESS)
        async with killed(path, clock) as spool:
            delivery = await handed(spool)
            assert (delivery.previews, delivery.is_uncertain) == (("p0",), True)
            await spool.attempting(answer("a").id)
            await spool.arrived(answer("a").id, "p0")
        async with killed(path, clock) as spool:
            assert not (await handed(spool)).is_uncertain

    async def test_a_preview_that_certainly_did_not_arrive_is_none(self, spool: Spool) -> None:
        await spool.previewing(self.TURN, ADDRESS)
        await spool.previewed(self.TURN, None)
        await spool.send(answer("a", turn=self.TURN))
        assert await handed(spool) == Delivery(message=answer("a", turn=self.TURN))

    @pytest.mark.parametrize("end", ["delivered", "failed"])
    async def test_they_are_gone_when_the_message_is_done(self, spool: Spool, end: str) -> None:
        await spool.previewing(self.TURN, ADDRESS)
        await spool.previewed(self.TURN, "p0")
        await spool.send(answer("a", turn=self.TURN))
        await (spool.delivered(answer("a").id) if end == "delivered" else spool.failed(answer("a").id, "gone"))
        await spool.send(answer("b", turn=self.TURN))
        assert (await handed(spool)).previews == ()


class TestProgress:
    async def test_it_passes_a_message_that_was_handed_out_and_no_other(self, spool: Spool) -> None:
        await spool.send(answer("1"))
        spool.show(progress("typing"))
        await spool.send(answer("2"))
        spool.show(progress("ended"))
        assert (await handed(spool)).message.text == "1"
        assert await spool.outgoing("telegram") == progress("typing")
        assert await nothing_waits(spool)
        await spool.delivered(answer("1").id)
        assert (await handed(spool)).message.text == "2"
        assert await spool.outgoing("telegram") == progress("ended")

    async def test_it_never_touches_the_disk(self, spool: Spool, path: Path) -> None:
        spool.show(progress("a very secret thought"))
        await spool.publish(said("x"))
        assert all(b"secret thought" not in file.read_bytes() for file in path.parent.iterdir())

    async def test_of_what_nobody_takes_the_oldest_is_dropped(self, spool: Spool) -> None:
        for number in range(MOST_PROGRESS + 2):
            spool.show(progress(str(number)))
        assert await spool.outgoing("telegram") == progress("2")


class TestBookmarks:
    async def test_they_outlive_a_kill(self, path: Path, clock: FakeClock) -> None:
        async with killed(path, clock) as spool:
            await spool.mark("telegram:offset", "41")
            await spool.mark("telegram:offset", "42")
            await spool.mark("telegram:title:7", "Family \udc88")
            await spool.mark("discord:seen:%_", "9")
        async with killed(path, clock) as spool:
            assert await spool.marks("telegram:") == {"telegram:offset": "42", "telegram:title:7": "Family \ufffd"}
            assert await spool.marks("discord:seen:%") == {"discord:seen:%_": "9"}
            assert len(await spool.marks("")) == 3

    async def test_an_empty_value_forgets(self, spool: Spool) -> None:
        await spool.mark("a", "1")
        await spool.mark("a", "")
        await spool.mark("b", "")
        assert await spool.marks("") == {}


async def test_the_backlog_counts_what_waits(spool: Spool, clock: FakeClock) -> None:
    assert (await spool.backlog()).oldest == 0
    for text in "abc":
        await spool.publish(said(text))
        clock.advance(10)
    await spool.begin(await spool.receive())
    await spool.send(answer("1"))
    await spool.send(answer("2", Address("discord", "1")))
    await spool.send(answer("3", Address("discord", "2")))
    backlog = await spool.backlog()
    assert (backlog.waiting_in, backlog.being_answered) == (2, 1)
    assert backlog.waiting_out == {"telegram": 1, "discord": 2}
    assert backlog.oldest == 30
    await spool.finish([said("a")], None)
    backlog = await spool.backlog()
    assert (backlog.waiting_in, backlog.being_answered, backlog.oldest) == (2, 0, 20)
    backlog = await spool.backlog(apart_from=said("b").id)  # it asks
    assert (backlog.waiting_in, backlog.oldest) == (1, 10)


class TestErasing:
    SECRET = "the bank's number is 4711"

    async def test_nothing_that_was_erased_stays_in_any_file(self, path: Path, clock: FakeClock) -> None:
        path.parent.mkdir()
        path.with_name("spool.db.damaged-20260101T000000").write_text(self.SECRET)
        async with Spool(path, clock) as spool:
            await spool.publish(replace(said("a"), quotes=(Quote(self.SECRET),)))
            await spool.publish(replace(said("done"), text=self.SECRET))
            await spool.finish([said("done")], None)
            await spool.publish(said("harmless"))
            await spool.send(replace(answer("1"), text=self.SECRET))
            await spool.send(answer("2"))
            assert any(self.SECRET.encode() in file.read_bytes() for file in path.parent.iterdir())
            assert await spool.erase(lambda message: self.SECRET in repr(message)) == 2
            assert all(self.SECRET.encode() not in file.read_bytes() for file in path.parent.iterdir())
            assert await received(spool) == ["harmless"]
            assert (await handed(spool)).message.text == "2"

    async def test_a_whole_chat_can_be_erased_with_its_troubles(self, path: Path, clock: FakeClock) -> None:
        async with Spool(path, clock) as spool:
            for address in (ADDRESS, OTHER):
                await spool.publish(said("a", address))
                await spool.send(answer("b" + address.chat, address, turn="t"))
                await spool.previewing("t", address)
                await spool.send(answer("c" + address.chat, address))
                await spool.failed(answer("c" + address.chat).id, "gone")
            assert await spool.erase(lambda message: message.address == OTHER) == 2
            backlog = await spool.backlog()
            assert [trouble.address for trouble in backlog.troubles] == [ADDRESS]
            assert (backlog.waiting_in, backlog.waiting_out) == (1, {"telegram": 1})
            assert all(b"777" not in file.read_bytes() for file in path.parent.iterdir())

    async def test_what_was_erased_while_it_was_delivered_holds_back_nobody(self, spool: Spool) -> None:
        for text in "ab":
            await spool.send(answer(text))
        await handed(spool)
        await spool.erase(lambda message: message.id == answer("a").id)
        await spool.attempting(answer("a").id)
        await spool.arrived(answer("a").id, "p1")
        await spool.postponed(answer("a").id, 0, "network")
        assert (await handed(spool)).message == answer("b")


async def test_a_question_is_open_until_its_buttons_are_gone_whatever_the_process_does(
    path: Path, clock: FakeClock
) -> None:
    question = replace(answer("q"), kind="question", reply_to=None)
    over = replace(answer("q:over"), settles=question.id)
    async with killed(path, clock) as spool:
        await spool.send(replace(question, id="a list", reply_to="m1", address=OTHER))
        await spool.send(question)
        assert await spool.unsettled() == [(question.id, ADDRESS)]
        await spool.arrived(question.id, "p1")
        await spool.arrived(question.id, "p2")
        await spool.delivered(question.id)
    async with Spool(path, clock) as spool:
        assert await spool.unsettled() == [(question.id, ADDRESS)]
        await spool.send(over)
        deliveries = [await handed(spool), await handed(spool)]
        assert {each.message.id: each.place for each in deliveries} == {"a list": "", over.id: "p2"}
        await spool.delivered(over.id)
        assert await spool.unsettled() == []


async def test_of_a_session_that_is_forgotten_no_question_stays(spool: Spool) -> None:
    for each in (answer("q"), replace(answer("other"), address=OTHER)):
        await spool.send(replace(each, kind="question", reply_to=None))
        await spool.delivered(each.id)
    await spool.erase(lambda message: False, [ADDRESS.session_key])

    assert [address for _, address in await spool.unsettled()] == [OTHER]

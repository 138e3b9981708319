"""The bus on disk: what was said is not lost, and what is answered is not answered twice."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from types import TracebackType
from typing import Self

from nanobot.aio import shielded
from nanobot.bus import inbox, outbox, rows
from nanobot.bus.database import SpoolDatabase
from nanobot.bus.queue import DeliveryQueue
from nanobot.bus.rows import backlog, decode, key
from nanobot.errors import StoreError, expected_in
from nanobot.messages import Address, InboundMessage, OutboundMessage, Progress
from nanobot.ports import Alert, Backlog, Clock, Delivery
from nanobot.ports.bus import DiskTrouble, IsMeant
from nanobot.text import well_formed

# Erasing.


def count_matching(db: Connection, is_meant: IsMeant) -> int:
    """Count the matching messages and troubles."""
    said = _meant(db, "SELECT message FROM inbound", InboundMessage, is_meant)
    answers = _meant(db, "SELECT message FROM outbound", OutboundMessage, is_meant)
    troubles = [raw for (raw,) in db.execute("SELECT trouble FROM trouble") if is_meant(decode(raw, Alert))]
    return len(said) + len(answers) + len(troubles)


def erase_matching(db: Connection, is_meant: IsMeant, sessions: Collection[str] = ()) -> int:
    """Remove all that is meant, from the first question to the last trace of its delivery; how many messages.

    Of these sessions not even the keys stay.
    """
    db.executemany("DELETE FROM preview WHERE session = ?", [(well_formed(session),) for session in sessions])
    for question, address in rows.unsettled_questions(db):
        if address.session_key in sessions:
            rows.settle_question(db, question)
    said = _meant(db, "SELECT message FROM inbound", InboundMessage, is_meant)
    inbox.remove(db, said)
    answers = _meant(db, "SELECT message FROM outbound", OutboundMessage, is_meant)
    for name in answers:
        outbox.remove(db, name)
    for number, raw in db.execute("SELECT number, trouble FROM trouble").fetchall():
        if is_meant(decode(raw, Alert)):
            db.execute("DELETE FROM trouble WHERE number = ?", (number,))
    return len(said) + len(answers)


def _meant(
    db: Connection, query: str, kind: type[InboundMessage] | type[OutboundMessage], is_meant: IsMeant
) -> list[str]:
    messages = [decode(raw, kind) for (raw,) in db.execute(query).fetchall()]
    return [message.id for message in messages if is_meant(message)]


_log = logging.getLogger(__name__)

_PROBE = 1 << 16
"""Bytes of a long message: what is left of a full disk may still take a short one."""


class Spool:
    """Bus, Outbox and Bookmarks in one SQLite file, for one process at a time.

    What is awaited is on the disk when it returns. Everything that reads or writes raises StoreError when the file
    cannot be read or written (no room on the disk, say); then nothing has changed.
    """

    is_durable = True

    def __init__(self, path: Path, clock: Clock) -> None:
        self._clock = clock
        self._database = SpoolDatabase(path, clock.now)
        self._refused: set[str] = set()  # ids of messages that the disk did not take
        self._lines: defaultdict[str, DeliveryQueue] = defaultdict(DeliveryQueue)
        self._receiving = asyncio.Lock()
        self._came = asyncio.Event()
        self._left_over: Sequence[tuple[str, Address]] = ()
        self._received = 0  # the number of the message that was received last
        self._begun: dict[str, int] = {}  # messages whose turns run, and how often they had begun before
        self._sessions: dict[str, str] = {}  # of those
        self._resting: set[str] = set()  # those of them that are not at work
        self._suspects: Collection[str] = ()

    async def __aenter__(self) -> Self:
        """Open the file; see `open_file` for what becomes of a damaged one. Raises StoreError."""
        now = self._clock.now()
        await shielded(self._database.open(now))
        try:
            waiting = await self._database.run(partial(_start, now=now))
            self._left_over = await self._database.run(outbox.leave)
            self._suspects = frozenset(await self._database.run(inbox.suspects))
        except BaseException:
            await shielded(self._database.close())
            raise
        for each in waiting:
            line = self._lines[each.message.address.channel]
            line.restore(each.message, self._clock.monotonic() + each.seconds)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """An end in order is no death: turns that run begin again at the next start, as often as it takes.

        A bug is none, and may be one that what runs will meet again.
        """
        try:
            if not isinstance(error, Exception) or expected_in(error):
                await shielded(self._database.run(partial(inbox.rest, message_ids=list(self._begun))))
        finally:
            await shielded(self._database.close())

    # What people say.

    async def publish(self, message: InboundMessage) -> None:
        await shielded(self._publish(message))

    async def _publish(self, message: InboundMessage) -> None:
        at = self._clock.now().timestamp()

        def work(db: Connection) -> bool:
            _prune(db, at)
            return inbox.add(db, message, at)

        _log.debug("message %s is to be kept", message.id)
        try:
            is_new = await self._database.run(work)
        except StoreError:
            self._refused.add(message.id)
            raise
        if is_new:
            _log.debug("message %s is kept", message.id)
            self._came.set()
        else:
            _log.info("%s: message %s came before, it is left out", message.address.session_key, message.id)

    async def receive(self) -> InboundMessage:
        async with self._receiving:
            while True:
                self._came.clear()
                if found := await self._database.run(lambda db: inbox.after(db, self._received)):
                    self._received, message = found
                    return message
                await self._came.wait()

    async def begin(self, message: InboundMessage) -> int:
        """See Bus. A process that ends in order is counted here too, but it sets nothing aside."""
        return await shielded(self._begin(message.id, message.address.session_key))

    async def _begin(self, message_id: str, session: str) -> int:
        if message_id in self._resting:
            await self._database.run(partial(inbox.work, message_ids=[message_id]))
            self._resting.discard(message_id)
        if message_id not in self._begun:
            _log.debug("message %s is to begin", message_id)
            before = await self._database.run(partial(inbox.begin, message_id=message_id))
            _log.debug("message %s has begun, the %d. time", message_id, before + 1)
            self._begun[message_id], self._sessions[message_id] = before, session
        return self._begun[message_id]

    async def rest(self, session: str) -> None:
        await shielded(self._rest([name for name, key in self._sessions.items() if key == session]))

    async def _rest(self, ids: Sequence[str]) -> None:
        await self._database.run(partial(inbox.rest, message_ids=ids))
        self._resting.update(ids)

    async def resume(self, session: str) -> None:
        for name in [name for name in self._resting if self._sessions.get(name) == session]:
            await shielded(self._begin(name, session))

    def is_suspect(self, message: InboundMessage) -> bool:
        return message.id in self._suspects

    async def finish(self, done: Sequence[InboundMessage], answer: OutboundMessage | None) -> None:
        """See Bus. Of an answer with a known id only the messages are finished."""
        await shielded(self._finish(done, answer))

    async def _finish(self, done: Sequence[InboundMessage], answer: OutboundMessage | None) -> None:
        at = self._clock.now().timestamp()
        ids = [message.id for message in done]

        def work(db: Connection) -> bool:
            inbox.remove(db, ids)
            return answer is not None and outbox.add(db, answer, at)

        _log.debug("%s is to be finished, with %s", ", ".join(ids), answer.id if answer else "no answer")
        is_new = await self._database.run(work)
        _log.debug("%s is finished", ", ".join(ids))
        for name in ids:
            self._begun.pop(name, None)
            self._sessions.pop(name, None)
            self._resting.discard(name)
        if answer is not None and is_new:
            self._lines[answer.address.channel].add(answer)

    async def set_aside(self) -> Sequence[InboundMessage]:
        """Messages that took the process down with them too often, and of which nobody has heard yet.

        `finish` them, with what there is to tell the person. The owner sees them in `backlog` anyway.
        """
        return await self._database.run(inbox.aside)

    async def unanswered(self, address: Address) -> Collection[str]:
        """The ids of what was said at an address and is not dealt with."""
        return await self._database.run(partial(inbox.at, address=address))

    # What the bot says.

    async def send(self, message: OutboundMessage) -> None:
        await self.finish((), message)

    def is_underway(self, message_id: str) -> bool:
        return any(line.holds(message_id) for line in self._lines.values())

    def show(self, progress: Progress) -> None:
        self._lines[progress.address.channel].show(progress)

    async def outgoing(self, channel: str) -> Delivery | Progress:
        line = self._lines[channel]
        async with line.lock:
            while True:
                place = line.head(self._clock.monotonic())
                if place is None:
                    await line.change(self._clock)
                elif isinstance(place.item, Progress):
                    line.take(place)
                    return place.item
                else:
                    delivery = await self._database.run(partial(outbox.delivery, message_id=place.item))
                    if line.take(place) and delivery is not None:
                        return delivery
                    line.settle(place.item)  # it was erased

    async def quiet(self, channel: str, counts: Callable[[Address], bool] = lambda _: True) -> None:
        """Wait until everything that can be delivered on a channel, to addresses that count, has been.

        What was postponed to a later time is not waited for.
        """
        line = self._lines[channel]
        while not line.is_quiet(self._clock.monotonic(), counts):
            await line.change(self._clock)

    def take_back(self, channel: str) -> None:
        """Hand out again what was handed out on a channel and not settled: whoever had it is gone."""
        self._lines[channel].take_back(self._clock.monotonic())

    async def attempting(self, message_id: str) -> None:
        await self._database.run(partial(outbox.attempting, message_id=message_id))

    async def arrived(self, message_id: str, platform_id: str) -> None:
        await self._database.run(partial(outbox.arrived, message_id=message_id, platform_id=platform_id))

    async def previewing(self, turn: str, address: Address) -> None:
        at = self._clock.now().timestamp()
        await self._database.run(partial(outbox.previewing, turn=turn, address=address, at=at))

    async def previewed(self, turn: str, platform_id: str | None) -> None:
        await self._database.run(partial(outbox.previewed, turn=turn, platform_id=platform_id))

    async def kept(self, turn: str, platform_ids: Collection[str]) -> None:
        await self._database.run(partial(outbox.keep, turn=turn, platform_ids=platform_ids))

    async def delivered(self, message_id: str) -> None:
        await shielded(self._settle(message_id, partial(outbox.remove, message_id=message_id)))

    async def failed(self, message_id: str, reason: str) -> None:
        now = self._clock.now()
        work = partial(outbox.fail, message_id=message_id, reason=reason, now=now)
        message = await shielded(self._settle(message_id, work))
        if message is not None:
            _log.warning("%s: message %s cannot be delivered: %s", message.address.session_key, message_id, reason)

    async def _settle(
        self, message_id: str, work: Callable[[Connection], OutboundMessage | None]
    ) -> OutboundMessage | None:
        message = await self._database.run(work)
        for line in self._lines.values():
            line.settle(message_id)
        return message

    async def postponed(self, message_id: str, seconds: float, reason: str, *, may_have_arrived: bool = False) -> None:
        await shielded(self._postpone(message_id, seconds, may_have_arrived))
        _log.info("message %s is tried again in %.1f s: %s", message_id, seconds, reason)

    async def _postpone(self, message_id: str, seconds: float, may_have_arrived: bool) -> None:
        at = self._clock.now().timestamp()
        await self._database.run(
            partial(outbox.postpone, message_id=message_id, at=at, seconds=seconds, may_have_arrived=may_have_arrived)
        )
        for line in self._lines.values():
            line.postpone(message_id, self._clock.monotonic() + seconds)

    async def unsettled(self) -> Sequence[tuple[str, Address]]:
        """The ids of questions that held up a turn and whose buttons are not gone. At the start nobody waits for them.

        A message that `settles` one takes its buttons away.
        """
        return await self._database.run(rows.unsettled_questions)

    @property
    def left_over(self) -> Sequence[tuple[str, Address]]:
        """The turns of which processes before this one left previews that nobody goes on with.

        A message of such a turn that `clears` ends them.
        """
        return self._left_over

    # What a channel must not lose.

    async def mark(self, key: str, value: str) -> None:
        await self._database.run(partial(rows.put_mark, name=key, value=value))

    async def marks(self, prefix: str) -> Mapping[str, str]:
        return await self._database.run(partial(rows.marks_starting_with, prefix=prefix))

    async def drop(self, name: str, message_id: str) -> None:
        """Take a bookmark away, and the message that it stands for in advance: should it come, it came before."""
        at = self._clock.now().timestamp()

        def work(db: Connection) -> None:
            rows.put_mark(db, name, "")
            rows.learn(db, key("in", message_id), at)

        await shielded(self._database.run(work))

    # Whether it can be written.

    @property
    def trouble(self) -> DiskTrouble | None:
        """Since when and why nothing can be written; None if all is well."""
        trouble = self._database.trouble
        return replace(trouble, refused=len(self._refused)) if trouble else None

    async def probe(self) -> None:
        """Try whether a message could be written, where that failed before or the disk looks full."""
        if self._database.trouble is None and not await asyncio.to_thread(self._is_tight):
            return
        try:
            for value in ("." * _PROBE, ""):
                await self._database.run(partial(rows.put_mark, name="probe", value=value))
        except StoreError as error:
            _log.debug("%s", error)
            return
        if self._database.trouble:
            _log.warning("the disk can be written again; messages are taken")
        self._database.trouble = None
        self._refused.clear()

    def _is_tight(self) -> bool:
        try:
            return self._database.is_tight()
        except OSError:
            return True

    # What the owner wants to know, and to have forgotten.

    async def backlog(self, apart_from: str = "") -> Backlog:
        """Return the backlog: number, age and failures; the message that asks need not count itself."""
        at = self._clock.now().timestamp()
        return await self._database.run(partial(backlog, begun=list(self._begun), at=at, apart_from=apart_from))

    async def acknowledge(self, ids: Collection[str]) -> None:
        """The owner has seen the troubles with these ids; they are not listed any more."""
        await self._database.run(partial(rows.acknowledge_alerts, ids=ids))

    async def count(self, is_meant: IsMeant) -> int:
        """Count the matching messages and troubles; see `erase`."""
        return await self._database.run(partial(count_matching, is_meant=is_meant))

    async def erase(self, is_meant: IsMeant, sessions: Collection[str] = ()) -> int:
        """Remove all messages that are meant, and every trace of them in the files; how many there were.

        Of `sessions` not even the keys stay. `is_meant` is called in another thread. What was received already, or
        is just being delivered, goes on. Damaged files that were set aside are deleted: nobody can look for anything
        in them.
        """
        count = await self._database.run(partial(erase_matching, is_meant=is_meant, sessions=sessions))
        await self._database.scrub()
        at = self._clock.now().timestamp()
        left = {each.message.id for each in await self._database.run(partial(outbox.waiting, at=at))}
        for line in self._lines.values():
            line.settle_erased(left)
        return count


def _start(db: Connection, now: datetime) -> Sequence[outbox.WaitingDelivery]:
    """Set aside what keeps killing the process; what is to be delivered."""
    _prune(db, now.timestamp())
    inbox.charge(db)
    inbox.set_aside(db, now)
    return outbox.waiting(db, now.timestamp())


def _prune(db: Connection, at: float) -> None:
    """Let go of what is kept for some days only."""
    rows.prune_known(db, at)
    rows.prune_alerts(db, at)
    outbox.prune(db, at)

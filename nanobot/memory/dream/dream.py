"""Dream: reads what happened since it last did, and changes what is remembered."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Literal

from nanobot.authority import Scope
from nanobot.errors import LLMError, StoreError, VersionError
from nanobot.memory import changes
from nanobot.memory.dream.landing import CALLS_PER_SCOPE, DreamStores, EpisodeBatch, Landing, next_batch, once_more
from nanobot.memory.dream.model import DreamInput, Model, ModelAnswer, OutOfRoomError, RunBudget, hear, request
from nanobot.memory.dream.operations import DreamLimits
from nanobot.memory.dream.report import Area, DreamReport, DreamStatus, LeftOut
from nanobot.memory.dream.state import RunHistory
from nanobot.memory.scopes import MemoryRegistry
from nanobot.ports import LLM, Clock
from nanobot.ports.models import Slot
from nanobot.tokens import TokenEstimator

log = logging.getLogger(__name__)

Why = Literal["schedule", "asked"]

Changed = Callable[[], Awaitable[None]]
"""Awaited after each version: for whoever must know at once that memory is another now."""

Reading = Callable[[], Awaitable[None]]
"""Awaited before a model is asked, which may take minutes."""


@dataclass(frozen=True, slots=True)
class DreamModelSlot:
    """Model of Dream, and when it may be asked; `next_at`: time of the next scheduled dream."""

    model: Callable[[], tuple[LLM, TokenEstimator]]
    slot: Slot
    next_at: Callable[[], datetime | None] = lambda: None

    @property
    def name(self) -> str:
        """Of the model: another one may make sense of what this one cannot."""
        return self.model()[0].info.model


@dataclass(frozen=True, slots=True)
class _Run:
    """One run: what it may still spend, and what it knows of those before."""

    diary: RunHistory
    model: Model
    purse: RunBudget
    reading: Reading | None


class Dream:
    """One run at a time. Whatever ends a run, there is all of a batch or nothing of it."""

    def __init__(
        self,
        stores: DreamStores,
        shelves: MemoryRegistry,
        mind: DreamModelSlot,
        clock: Clock,
        limits: DreamLimits,
        changed: Changed | None = None,
    ) -> None:
        """`changed` is awaited when the notebooks are up to a new version."""
        self._stores = stores
        self._shelves = shelves
        self._mind = mind
        self._clock = clock
        self._limits = limits
        self._changed = changed
        self._one_at_a_time = asyncio.Lock()

    async def run(self, why: Why = "schedule", reading: Reading | None = None) -> DreamReport:
        """Read all that is new, as far as the limits go. Who asked does not wait for the time after a failure.

        Raises StoreError if it cannot even be written down how it went.
        """
        if self.is_running:
            return DreamReport(outcome="busy")
        async with self._one_at_a_time:
            diary = await self._diary()
            if why != "asked" and diary.is_waiting:
                return DreamReport(outcome="waiting")
            purse = RunBudget(self._limits, self._clock)
            model = Model(*self._mind.model(), purse, self._mind.slot)
            again = diary.given_up("" if why == "asked" else self._mind.name)
            run = _Run(diary, model, purse, reading)
            report = await self._again(run, again, await self._all(run))
            await diary.ended(report.outcome)
            return report

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """While this lasts there is no dream; one that runs is waited for."""
        async with self._one_at_a_time:
            yield

    @property
    def is_running(self) -> bool:
        """True if memory is being changed right now."""
        return self._one_at_a_time.locked()

    @property
    def is_one_by_one(self) -> bool:
        """True if nobody can be answered while its model dreams."""
        return self._mind.model()[0].info.one_by_one

    async def run_by_itself(self) -> None:
        """For a schedule: run if there is anything to do. What goes wrong is in the log and in the status."""
        try:
            if await self.due():
                await self.run()
        except (StoreError, VersionError) as error:
            log.warning("dream: %s", error)

    async def due(self) -> bool:
        """True if a run by itself would do something now. Raises StoreError and VersionError."""
        diary = await self._diary()
        is_new = await self._stores.episodes.last() > await self._cursor()
        is_any = is_new or bool(diary.given_up(self._mind.name))
        return is_any and not diary.is_waiting and not diary.had_enough

    async def status(self, scope: Scope | None = None) -> DreamStatus:
        """Return the state of Dream; only episodes of a scope are counted, if one is named. Raises StoreError."""
        book, episodes = self._stores.book, self._stores.episodes
        cursor = await book.cursor()
        waiting = max(0, await episodes.last() - cursor)
        if scope is not None and waiting:
            waiting = sum(one.scope == scope for one in await episodes.after(cursor, waiting))
        failed = await book.summary_failure()
        owed = len(await self._stores.sessions.owed()) if failed.kind else 0
        return DreamStatus(
            record=await book.read(), waiting=waiting, is_running=self.is_running, failed_summary=failed, owed=owed
        )

    async def _diary(self) -> RunHistory:
        return RunHistory(await self._stores.book.read(), self._stores.book, self._clock, self._limits)

    async def _all(self, run: _Run) -> DreamReport:
        """Batch by batch, until there is nothing more, or something goes wrong."""
        report = await self._guarded(run, self._next)
        while report.goes_on and run.purse.has(CALLS_PER_SCOPE):
            later = await self._guarded(run, self._next)
            if later.outcome == "nothing":
                break
            report = report.then(later)
        return report

    async def _again(self, run: _Run, cursors: Sequence[int], report: DreamReport) -> DreamReport:
        """After what is new, what was given up before, one by one, as long as nothing goes wrong."""
        for cursor in cursors:
            is_well = report.goes_on or report.outcome == "nothing"
            if not is_well or not run.purse.has(CALLS_PER_SCOPE):
                break
            later = await self._guarded(run, partial(self._once_more, cursor))
            if later.outcome != "nothing":
                report = later if report.outcome == "nothing" else report.then(later)
            if later.outcome == "set_aside":  # the next time it is another one's turn
                break
        return report

    async def _guarded(self, run: _Run, work: Callable[[_Run], Awaitable[DreamReport]]) -> DreamReport:
        area: Area = "limit"
        kind, retry_after = "", 0.0
        try:
            return await work(run)
        except OutOfRoomError:
            log.warning("dream: a limit of the run was reached before its end")
        except LLMError as error:
            area, kind, retry_after = "model", error.kind, error.retry_after or 0.0
            log.warning("dream: the model failed: %s", error.kind)
        except VersionError as error:
            area, kind = "versions", error.kind
            log.warning("dream: the history of memory failed: %s", error)
        except StoreError as error:
            area = "disk"
            log.warning("dream: %s", error)
        await run.diary.failed(area, kind, retry_after)
        return DreamReport(outcome="failed", area=area, kind=kind)

    async def _next(self, run: _Run) -> DreamReport:
        cursor = await self._cursor()
        land = await self._land()
        return await self._batch(run, land, await next_batch(self._stores, cursor, self._limits, run.diary.batch))

    async def _once_more(self, cursor: int, run: _Run) -> DreamReport:
        land = await self._land()
        batch = await once_more(self._stores, cursor, await self._cursor())
        if not batch.episodes:
            await run.diary.is_gone(cursor)
        return await self._batch(run, land, batch)

    async def _land(self) -> Landing:
        land = Landing(self._stores, self._clock, self._limits)
        await land.commit_hand_edits()
        return land

    async def _batch(self, run: _Run, land: Landing, batch: EpisodeBatch) -> DreamReport:
        if not batch.episodes:
            return DreamReport(outcome="nothing", cursor=batch.taken_in)
        if run.diary.had_enough:
            return DreamReport(outcome="enough", cursor=batch.taken_in)
        await run.diary.count()
        if run.reading:
            await run.reading()
        heard = {scope: await self._hear(run, land, batch, scope) for scope in batch.scopes}
        log.debug("dream: the model was asked about %d scopes", len(heard))
        if not all(one.is_usable for one in heard.values()):
            return await self._unusable(run, batch, [scope for scope, one in heard.items() if not one.is_usable])
        return await self._put_down(run, land, batch, heard)

    async def _hear(self, run: _Run, land: Landing, batch: EpisodeBatch, scope: Scope) -> ModelAnswer:
        draft, buried, ages = await land.open(scope)
        scene = DreamInput(
            draft, batch.of(scope), batch.witnesses[scope], buried, ages, self._clock.now(), self._limits.max_notes
        )
        room = max(1, (run.model.room(self._limits.tokens) >> run.diary.halved) // len(batch.scopes))
        messages = request(scene, room, run.model.size)
        return await hear(run.model, messages, draft, land.gate(scope, batch, buried, ages))

    async def _put_down(
        self, run: _Run, land: Landing, batch: EpisodeBatch, heard: Mapping[Scope, ModelAnswer]
    ) -> DreamReport:
        landed = await land.put_down(batch, {scope: one.admitted for scope, one in heard.items()})
        log.debug("dream: version %r is made", landed.version)
        await self._stores.book.move(batch.through)
        log.debug("dream: the cursor is at %d", batch.through)
        await run.diary.read([episode.cursor for episode in batch.episodes])
        left = [LeftOut(scope, dropped.kind) for scope, one in heard.items() for dropped in one.dropped]
        for one in left:
            log.info("dream: left out of %s: %s", one.scope, one.kind)
        if landed.paths:
            for scope in {change.scope for change in landed.changes}:
                await self._shelves.of(scope).notebook.refresh()
            if self._changed:
                await self._changed()
        return DreamReport(
            outcome="changed" if landed.paths else "unchanged",
            episodes=len(batch.episodes),
            cursor=batch.through,
            version=landed.version,
            changes=landed.changes,
            staged=landed.staged,
            left=(*left, *landed.left),
        )

    async def _unusable(self, run: _Run, batch: EpisodeBatch, scopes: Collection[Scope]) -> DreamReport:
        """Nothing of the batch lands. One episode alone that got three such answers is given up by this model."""
        guilty = [episode.cursor for episode in batch.episodes if episode.scope in scopes]
        log.warning("dream: the answer about episodes %s could not be used", guilty)
        over = await run.diary.unusable(guilty, self._mind.next_at())
        if not batch.is_again and (len(batch.episodes) > 1 or not over):
            return DreamReport(outcome="unusable", cursor=batch.taken_in)
        await self._stores.book.move(batch.through)
        await run.diary.set_aside(batch.last, self._mind.name)
        log.warning("dream: episode %d is set aside", batch.last)
        return DreamReport(outcome="set_aside", cursor=batch.through, set_aside=(batch.last,))

    async def _cursor(self) -> int:
        """The last episode taken in; a dream whose cursor was not written any more has told it in its commit."""
        cursor = await self._stores.book.cursor()
        try:
            newest = await self._stores.versions.log(1, author="dream")
        except VersionError as error:
            if error.kind not in ("missing", "unknown"):
                raise
            newest = ()
        told = [commit.cursor or 0 for version in newest if (commit := changes.parse(version.message))]
        if told and told[0] > cursor:
            log.info("dream: the cursor is raised from %d to %d, as the newest dream says", cursor, told[0])
            cursor = told[0]
            await self._stores.book.move(cursor)
        return cursor

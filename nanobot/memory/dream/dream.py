"""Dream: when it runs, and one run from the unread episodes to a new version of memory."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Literal

from nanobot.authority import Scope
from nanobot.errors import LLMError, StoreError, VersionError
from nanobot.memory import changes
from nanobot.memory.dream.input import (
    CALLS_PER_SCOPE,
    DreamInput,
    DreamStores,
    EpisodeBatch,
    InputReader,
    next_batch,
    once_more,
    request,
)
from nanobot.memory.dream.landing import Landing
from nanobot.memory.dream.model import DreamModel, ModelAnswer, OutOfRoomError, RunBudget, ask_for_changes
from nanobot.memory.dream.operations import DreamLimits
from nanobot.memory.dream.report import Area, DreamReport, DreamStatus, LeftOut
from nanobot.memory.dream.state import DreamState
from nanobot.memory.dream.validator import ProposalValidator
from nanobot.memory.scopes import MemoryRegistry
from nanobot.ports import LLM, Clock, Schedule, When
from nanobot.ports.models import Slot
from nanobot.tokens import TokenEstimator

log = logging.getLogger(__name__)

JOB = "dream"
"""Name of Dream among the jobs of the schedule, and in the background."""

QUIET = 60.0
"""Seconds without a turn before a model that answers one by one dreams: it then has to read the conversation anew."""

LONGEST_AT_END = 20.0
"""Seconds that somebody who leaves a terminal waits for Dream; a run that is cut short changes nothing."""

Why = Literal["schedule", "asked"]

Changed = Callable[[], Awaitable[None]]
"""Awaited after each version, by which memory became another one."""

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
        """Name of the model; what one model gave up is tried again by another."""
        return self.model()[0].info.model


class Dream:
    """Dream as a whole: at most one run at a time. Each batch of a run lands completely, or not at all.

    A run reads the episodes behind its cursor in batches. For each scope of a batch:
    `DreamInput` (input.py) → the model (model.py) → proposals (operations.py) → `ProposalValidator` (validator.py)
    → `Landing` (landing.py), which commits all scopes of the batch together. Then the cursor moves.
    """

    def __init__(
        self,
        stores: DreamStores,
        registry: MemoryRegistry,
        model_slot: DreamModelSlot,
        clock: Clock,
        limits: DreamLimits,
        changed: Changed | None = None,
    ) -> None:
        """`changed` is awaited when the notebooks are up to a new version."""
        self._stores = stores
        self._registry = registry
        self._model_slot = model_slot
        self._clock = clock
        self._limits = limits
        self._changed = changed
        self._one_at_a_time = asyncio.Lock()

    async def run(self, why: Why = "schedule", reading: Reading | None = None) -> DreamReport:
        """Read all that is new, as far as the limits go. A run that was asked for ignores the wait after a failure.

        Raises StoreError if its result cannot be recorded.
        """
        if self.is_running:
            return DreamReport(outcome="busy")
        async with self._one_at_a_time:
            state = await self._state()
            if why != "asked" and state.is_waiting:
                return DreamReport(outcome="waiting")
            given_up = state.given_up("" if why == "asked" else self._model_slot.name)
            run = _Run(self._stores, self._model_slot, self._clock, self._limits, state, reading, self._landed)
            report = await run.read_again(given_up, await run.read_new())
            await state.ended(report.outcome)
            return report

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Keep Dream from running while this lasts; waits for the end of a run first."""
        async with self._one_at_a_time:
            yield

    @property
    def is_running(self) -> bool:
        """True if memory is being changed right now."""
        return self._one_at_a_time.locked()

    @property
    def is_one_by_one(self) -> bool:
        """True if nobody can be answered while its model dreams."""
        return self._model_slot.model()[0].info.one_by_one

    async def run_by_itself(self) -> None:
        """Run without being asked, if there is anything to do. Errors go to the log and to the status."""
        try:
            if await self.due():
                await self.run()
        except (StoreError, VersionError) as error:
            log.warning("dream: %s", error)

    async def due(self) -> bool:
        """True if a run by itself would do something now. Raises StoreError and VersionError."""
        state = await self._state()
        is_new = await self._stores.episodes.last() > await read_cursor(self._stores)
        is_any = is_new or bool(state.given_up(self._model_slot.name))
        return is_any and not state.is_waiting and not state.had_enough

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

    async def _state(self) -> DreamState:
        return DreamState(await self._stores.book.read(), self._stores.book, self._clock, self._limits)

    async def _landed(self, scopes: Collection[Scope]) -> None:
        for scope in scopes:
            await self._registry.of(scope).notebook.refresh()
        if self._changed:
            await self._changed()


class DreamTriggers:
    """The three occasions on which Dream runs by itself: its schedule, the end of a terminal, the start of the next.

    `memory.dream.every: off` turns off all of them; then Dream runs only when it is asked for. On each occasion
    `Dream.due` decides whether there is anything to do, and the wait after a failure and the runs per day count.
    """

    def __init__(
        self,
        dream: Dream,
        when: When | None,
        schedule: Schedule,
        start: Callable[[str, Callable[[], Awaitable[None]]], None],
        rested: Callable[[float], Awaitable[None]],
    ) -> None:
        """Add the scheduled job.

        Args:
            dream: has nobody but this start it by itself.
            when: the schedule; None if Dream is off.
            schedule: runs the job.
            start: has named work done in the background, one piece after the other.
            rested: returns when nobody has waited for an answer for so many seconds.
        """
        self._dream = dream
        self._is_on = when is not None
        self._schedule = schedule
        self._start = start
        self._rested = rested
        if when is not None:
            schedule.add(JOB, when, self.on_schedule)

    def next_at(self, after: datetime | None = None) -> datetime | None:
        """Time of the next scheduled run, the first `after` a moment; None if there is none."""
        return self._schedule.next(JOB, after)

    async def on_schedule(self) -> None:
        """Start a run in the background, when it suits those who talk."""
        if self._dream.is_one_by_one:
            await self._rested(QUIET)
        self._start(JOB, self._dream.run_by_itself)

    async def on_terminal_start(self) -> None:
        """Catch up on the run that the end of the last terminal left out."""
        if self._is_on and self._dream.is_one_by_one:
            await self.on_schedule()

    async def on_terminal_end(self) -> None:
        """Run for a short time, as the next start may be far away; a model on this machine would take too long."""
        if self._is_on and not self._dream.is_one_by_one:
            with suppress(TimeoutError):
                async with asyncio.timeout(LONGEST_AT_END):
                    await self._dream.run_by_itself()


class _Run:
    """One run of Dream, within its budget."""

    def __init__(
        self,
        stores: DreamStores,
        model_slot: DreamModelSlot,
        clock: Clock,
        limits: DreamLimits,
        state: DreamState,
        reading: Reading | None,
        landed: Callable[[Collection[Scope]], Awaitable[None]],
    ) -> None:
        """`landed` is awaited after each version, with the scopes that it changed."""
        self._stores = stores
        self._model_slot = model_slot
        self._clock = clock
        self._limits = limits
        self._state = state
        self._reading = reading
        self._landed = landed
        self._budget = RunBudget(limits, clock)
        self._model = DreamModel(*model_slot.model(), self._budget, model_slot.slot)

    async def read_new(self) -> DreamReport:
        """Read batch by batch, until there is nothing more, or something goes wrong."""
        report = await self._guarded(self._read_next)
        while report.goes_on and self._budget.has(CALLS_PER_SCOPE):
            later = await self._guarded(self._read_next)
            if later.outcome == "nothing":
                break
            report = report.then(later)
        return report

    async def read_again(self, cursors: Sequence[int], report: DreamReport) -> DreamReport:
        """Read episodes that were given up before, one by one, as long as nothing goes wrong.

        `report` is that of the new episodes, which are read first; returns both as one.
        """
        for cursor in cursors:
            is_well = report.goes_on or report.outcome == "nothing"
            if not is_well or not self._budget.has(CALLS_PER_SCOPE):
                break
            later = await self._guarded(partial(self._read_once_more, cursor))
            if later.outcome != "nothing":
                report = later if report.outcome == "nothing" else report.then(later)
            if later.outcome == "set_aside":  # the next time it is another one's turn
                break
        return report

    async def _guarded(self, work: Callable[[], Awaitable[DreamReport]]) -> DreamReport:
        area: Area = "limit"
        kind, retry_after = "", 0.0
        try:
            return await work()
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
        await self._state.failed(area, kind, retry_after)
        return DreamReport(outcome="failed", area=area, kind=kind)

    async def _read_next(self) -> DreamReport:
        cursor = await read_cursor(self._stores)
        reader = await self._reader()
        return await self._batch(reader, await next_batch(self._stores, cursor, self._limits, self._state.batch))

    async def _read_once_more(self, cursor: int) -> DreamReport:
        reader = await self._reader()
        batch = await once_more(self._stores, cursor, await read_cursor(self._stores))
        if not batch.episodes:
            await self._state.is_gone(cursor)
        return await self._batch(reader, batch)

    async def _reader(self) -> InputReader:
        reader = InputReader(self._stores, self._clock, self._limits)
        await reader.commit_hand_edits()
        return reader

    async def _batch(self, reader: InputReader, batch: EpisodeBatch) -> DreamReport:
        if not batch.episodes:
            return DreamReport(outcome="nothing", cursor=batch.taken_in)
        if self._state.had_enough:
            return DreamReport(outcome="enough", cursor=batch.taken_in)
        await self._state.count()
        if self._reading:
            await self._reading()
        answers = {scope: await self._ask(await reader.read(scope, batch), batch) for scope in batch.scopes}
        log.debug("dream: the model was asked about %d scopes", len(answers))
        if unusable := [scope for scope, answer in answers.items() if not answer.is_usable]:
            return await self._unusable(batch, unusable)
        return await self._land(reader, batch, answers)

    async def _ask(self, given: DreamInput, batch: EpisodeBatch) -> ModelAnswer:
        room = max(1, (self._model.room(self._limits.tokens) >> self._state.halved) // len(batch.scopes))
        messages = request(given, room, self._model.size)
        return await ask_for_changes(self._model, messages, given.draft, ProposalValidator(given))

    async def _land(
        self, reader: InputReader, batch: EpisodeBatch, answers: Mapping[Scope, ModelAnswer]
    ) -> DreamReport:
        landing = Landing(reader, self._stores.versions, self._stores.proposals)
        landed = await landing.land(batch, {scope: answer.admitted for scope, answer in answers.items()})
        log.debug("dream: version %r is made", landed.version)
        await self._stores.book.move(batch.through)
        log.debug("dream: the cursor is at %d", batch.through)
        await self._state.read([episode.cursor for episode in batch.episodes])
        left = [LeftOut(scope, dropped.kind) for scope, answer in answers.items() for dropped in answer.dropped]
        for one in left:
            log.info("dream: left out of %s: %s", one.scope, one.kind)
        if landed.paths:
            await self._landed({change.scope for change in landed.changes})
        return DreamReport(
            outcome="changed" if landed.paths else "unchanged",
            episodes=len(batch.episodes),
            cursor=batch.through,
            version=landed.version,
            changes=landed.changes,
            staged=landed.staged,
            left=(*left, *landed.left),
        )

    async def _unusable(self, batch: EpisodeBatch, scopes: Collection[Scope]) -> DreamReport:
        """Land nothing of the batch. A single episode with three unusable answers is given up by this model."""
        guilty = [episode.cursor for episode in batch.episodes if episode.scope in scopes]
        log.warning("dream: the answer about episodes %s could not be used", guilty)
        over = await self._state.unusable(guilty, self._model_slot.next_at())
        if not batch.is_again and (len(batch.episodes) > 1 or not over):
            return DreamReport(outcome="unusable", cursor=batch.taken_in)
        await self._stores.book.move(batch.through)
        await self._state.set_aside(batch.last, self._model_slot.name)
        log.warning("dream: episode %d is set aside", batch.last)
        return DreamReport(outcome="set_aside", cursor=batch.through, set_aside=(batch.last,))


async def read_cursor(stores: DreamStores) -> int:
    """Return the number of the last episode taken in. Raises StoreError and VersionError.

    A crash between a commit and the move of the cursor leaves the commit as the one place that knows it.
    """
    cursor = await stores.book.cursor()
    try:
        newest = await stores.versions.log(1, author="dream")
    except VersionError as error:
        if error.kind not in ("missing", "unknown"):
            raise
        newest = ()
    told = [commit.cursor or 0 for version in newest if (commit := changes.parse(version.message))]
    if told and told[0] > cursor:
        log.info("dream: the cursor is raised from %d to %d, as the newest dream says", cursor, told[0])
        cursor = told[0]
        await stores.book.move(cursor)
    return cursor

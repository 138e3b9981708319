"""Conversations become episodes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol
from weakref import WeakValueDictionary

from nanobot.aio import ReadersWriterLock
from nanobot.authority import Scope
from nanobot.errors import LLMError
from nanobot.i18n import Language, say
from nanobot.memory.episodes.archivist import Archivist, EpisodeDraft, Stretch
from nanobot.memory.episodes.retries import TRIES, Setback, SummaryRetries, cause
from nanobot.ports import Episode, Episodes, ModelInfo, Reply, SessionStore
from nanobot.ports.models import Ask, Slot, at_once
from nanobot.text import parse_time
from nanobot.transcript import Archived, Message

MOST_PIECES = 20
"""Episodes that one run makes of one session; the rest is for the next run."""

_log = logging.getLogger(__name__)


class BackgroundTasks(Protocol):
    """Background tasks that nobody waits for."""

    async def slot(self, model: ModelInfo, ask: Ask) -> Reply:
        """Ask a model: one piece of work at a time, which gives way to people who wait for an answer."""
        ...

    def start(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        """Have work done; what still waits under the same name is replaced."""
        ...


@dataclass(frozen=True, slots=True)
class Archiving:
    """Result of archiving: the new episodes, the number of messages in them, and whether that was all.

    `failure` is what ended it: the kind of an LLMError, "disk", "turn" (one is at work there), "slow"; "" if nothing.
    """

    episodes: Sequence[Episode] = ()
    messages: int = 0
    is_whole: bool = False
    failure: str = ""

    def told(self, language: Language) -> str:
        """Return the sentence about a part that is missing, before the summary; "" if nothing is missing."""
        if self.failure:
            return say("consolidation.failed", language, reason=cause(self.failure, language))
        if not self.is_whole:
            return say("consolidation.rest", language)
        raw = sum(episode.raw for episode in self.episodes)
        return say("consolidation.kept_raw", language, count=raw) if raw else ""


@dataclass(frozen=True, slots=True)
class _Asking:
    """Slot of the model, and the policy of retries."""

    slot: Slot
    patient: bool = True


class Consolidator:
    """Archives what is in no episode yet, the oldest first; one run in a session at a time.

    What is owed stands in the session files: a message behind the last `archived` mark. Entry first, then the
    mark; if the process dies between the two, the next run finds the entry by its range of messages. When the
    model fails, the same is asked for in smaller pieces, and after three failures the turns themselves are
    archived; then it is left alone for a while.
    """

    def __init__(
        self,
        sessions: SessionStore,
        episodes: Episodes,
        archivist: Archivist,
        background: BackgroundTasks,
        setbacks: SummaryRetries,
        *,
        rest: float,
        is_busy: Callable[[str], bool],
    ) -> None:
        """`rest`: seconds of silence after which a conversation is archived. `is_busy`: whether a turn runs in it."""
        self._sessions = sessions
        self._episodes = episodes
        self._archivist = archivist
        self._background = background
        self._clock = setbacks.clock
        self.rest = rest
        self.is_busy = is_busy
        self.erasure_lock = ReadersWriterLock()  # whoever is alone in it knows that nothing is archived meanwhile
        self._setbacks = setbacks
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def left_view(self, session: str, through: str) -> None:
        """Archive in the background what is no longer in view, up to the message `through`."""
        self._background.start(f"archive {session}", partial(self._at_ease, session, through))

    def was_reset(self, session: str) -> None:
        """Archive in the background what a reset has cleared."""
        self._background.start(f"archive {session} before its reset", partial(self._at_ease, session, None))

    async def archive(self, session: str, through: str, *, patient: bool = True) -> Archiving:
        """Archive now, for somebody who waits for it, up to the message `through` ("": all). Raises StoreError.

        Without patience, the first failure of the model ends it.
        """
        return await self._archive(session, through, _Asking(at_once, patient))

    async def owing(self) -> Sequence[str]:
        """The sessions of which something is not archived yet. Raises StoreError."""
        return [one.key for one in await self._sessions.owed()]

    async def archive_rested(self, now: datetime) -> int:
        """Archive every conversation in which nothing was said for the time of rest, and what resets have cleared.

        Returns the number of new episodes.
        """
        owed = await self._sessions.owed()
        rested = {one.key for one in owed if _age(one.at, now) >= self.rest and not self.is_busy(one.key)}
        due = [one.key for one in owed if one.key in rested or one.is_reset]
        return await self._settle([(key, "" if key in rested else None) for key in due])

    async def waiting(self, session: str) -> float | None:
        """Seconds that the oldest message of a session has waited; None if all is archived. Raises StoreError."""
        parts = await self._sessions.unarchived(session)
        oldest = next((message for part in parts for message in part), None)
        return _age(oldest.at, self._clock.now()) if oldest else None

    def setback(self, session: str) -> Setback | None:
        """Return the reason why a session is not archived at the moment."""
        return self._setbacks.of(session)

    async def _settle(self, due: Sequence[tuple[str, str | None]]) -> int:
        count = 0
        for session, through in due:
            count += len((await self._at_ease(session, through)).episodes)
        return count

    async def _at_ease(self, session: str, through: str | None) -> Archiving:
        """Archive while nobody waits for it; not at all while the model is left alone."""
        if self._setbacks.of(session):
            return Archiving()
        return await self._archive(session, through, _Asking(self._background.slot))

    async def _archive(self, session: str, through: str | None, asking: _Asking) -> Archiving:
        """Up to a message, "" for all there is, None for what stands before the last reset."""
        async with self.erasure_lock.passing(), self._locks.setdefault(session, asyncio.Lock()):
            before = await self._heal(session)
            made: list[Episode] = []
            count, is_enough = 0, False
            for part in _due(await self._sessions.unarchived(session), through):
                rest = part
                while rest:
                    if is_enough:
                        return Archiving(made, count)
                    draft = await self._draft(Stretch(session, rest, before), asking)
                    if isinstance(draft, LLMError):
                        return Archiving(made, count, failure=draft.kind)
                    if not await self._still_there(session, rest[: draft.count]):
                        return Archiving(made, count)
                    made.append(await self._keep(session, draft.episode))
                    count += draft.count
                    rest, before = rest[draft.count :], draft.episode.scope
                    is_enough = len(made) == MOST_PIECES or self._setbacks.of(session) is not None
            return Archiving(made, count, is_whole=True)

    async def _heal(self, session: str) -> Scope | None:
        """Mark what is in an episode already; returns the scope of the newest one."""
        newest = next(iter(await self._episodes.of_session(session, 1)), None)
        if newest is None:
            return None
        owed = {message.id for part in await self._sessions.unarchived(session) for message in part}
        if newest.messages[1] in owed:
            _log.info("%s: episode %d is there already, its mark was not", session, newest.cursor)
            await self._mark(session, newest)
        return newest.scope

    async def _draft(self, stretch: Stretch, asking: _Asking) -> EpisodeDraft | LLMError:
        """The episode of the first piece, or why it has to wait."""
        session, least_tries = stretch.session, 2 if len(stretch.messages) == 1 else TRIES  # it gets no smaller
        while self._archivist.can_summarise(session) and self._setbacks.count(session) < least_tries:
            try:
                draft = await self._archivist.summarised(stretch, self._setbacks.count(session), asking.slot)
            except LLMError as error:
                _log.warning("%s could not be summarised: %s", session, error)
                wait = await self._setbacks.add(session, error)
                if wait is None or not (asking.patient or self._setbacks.is_enough(session, error)):
                    return error
                await self._clock.sleep(wait)
            else:
                await self._setbacks.clear(session)
                return draft
        await self._setbacks.given_up(session)
        return await self._archivist.raw(stretch)

    async def _still_there(self, session: str, messages: Sequence[Message]) -> bool:
        """True if nobody erased any of these meanwhile."""
        left = {message.id for part in await self._sessions.unarchived(session) for message in part}
        return all(message.id in left for message in messages)

    async def _keep(self, session: str, episode: Episode) -> Episode:
        kept = await self._episodes.append(episode)
        await self._mark(session, kept)
        _log.info("%s: episode %d of messages %s", session, kept.cursor, " to ".join(kept.messages))
        return kept

    async def _mark(self, session: str, episode: Episode) -> None:
        at = self._clock.now().isoformat(timespec="milliseconds")
        mark = Archived(at=at, through=episode.messages[1], cursor=episode.cursor)
        await self._sessions.append(await self._sessions.load(session), mark)


def _due(parts: Sequence[Sequence[Message]], through: str | None) -> Sequence[Sequence[Message]]:
    """Return the part of these conversations that is to be archived."""
    if through == "":
        return parts
    if through is None:
        return parts[:-1]
    for number, part in enumerate(parts):
        ids = [message.id for message in part]
        if through in ids:
            return [*parts[:number], part[: ids.index(through) + 1]]
    return ()


def _age(at: str, now: datetime) -> float:
    """Seconds; of a time that cannot be read, as if it were long ago."""
    moment = parse_time(at)
    return (now - moment).total_seconds() if moment else float("inf")

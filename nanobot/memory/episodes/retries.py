"""Retries of summaries: failures, the time of the next try, and sentences about them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

from nanobot.errors import LLMError, LLMErrorKind
from nanobot.i18n import Language, say
from nanobot.ports import Clock, DreamBook, SummaryFailure

TRIES = 3
"""Failures after which the turns themselves are archived."""

WAITS = (2.0, 8.0)
"""Seconds before the second and the third try."""

LEFT_ALONE = 600.0
"""Seconds for which nothing is asked in the background after that."""

LONGEST_WAIT = 60.0
"""Seconds; who is to wait longer, comes again another time."""

_MOST_SESSIONS = 50
"""Sessions whose useless answers are counted on disk."""

_OF_THE_MODEL: tuple[LLMErrorKind, ...] = (
    "auth", "unset", "model", "quota", "rate_limit", "network", "proxy", "timeout", "server", "engine"
)  # fmt: skip
"""Failures that do not depend on what is asked: other sessions would meet them, too."""

_OUTAGES: tuple[LLMErrorKind, ...] = ("network", "proxy")
"""Failures of the way to the model: it has not said anything of what it was to summarise."""

_CAUSES: Mapping[LLMErrorKind, str] = {
    "auth": "no_access",
    "unset": "no_access",
    "model": "no_access",
    "quota": "no_quota",
    "rate_limit": "busy",
    "server": "busy",
    "timeout": "unreachable",
    "network": "unreachable",
    "proxy": "unreachable",
    "engine": "no_access",
    "context": "unusable",
    "output": "unusable",
    "request": "unusable",
    "filtered": "unusable",
    "empty": "unusable",
    "protocol": "unusable",
    "cut": "unreachable",
}


def cause(kind: str, language: Language) -> str:
    """A kind of LLMError, or another reason for which nothing was summarised, as part of a sentence."""
    known = next((_CAUSES[one] for one in get_args(LLMErrorKind) if one == kind), kind)
    return say(f"consolidation.{known}", language)


@dataclass(frozen=True, slots=True)
class Setback:
    """Reason why a session is not archived now, and the seconds until the next try."""

    kind: LLMErrorKind
    seconds: float


class SummaryRetries:
    """Counts the failures of each session since something went well there, and keeps the last one on disk.

    A process that begins goes on counting where the one before it met answers about the same session that were no
    summaries: else whoever starts one for each summary would never get further. Methods that await raise StoreError.
    """

    def __init__(self, clock: Clock, book: DreamBook) -> None:
        self.clock = clock
        self._book = book
        self._last: SummaryFailure | None = None  # None: not read yet
        self._counts: dict[str, int] = {}
        self._useless: dict[str, int] = {}
        self._outages: dict[str, int] = {}  # tries in a row that did not reach the model
        self._until: dict[str, float] = {}  # of sessions, and under "" of the model
        self._kinds: dict[str, LLMErrorKind] = {}

    def count(self, session: str) -> int:
        return self._counts.get(session, 0)

    def is_enough(self, session: str, error: LLMError) -> bool:
        """True if the answers about a session were useless as often as they may be."""
        return error.kind not in _OF_THE_MODEL and self._useless.get(session, 0) >= TRIES

    async def add(self, session: str, error: LLMError) -> float | None:
        """Count a failure; seconds to wait before the next try, None if that is for another time.

        To be told when to come again is no failure, nor is it one of the model not to be reached.
        """
        self._kinds[session] = error.kind
        if error.kind in _OF_THE_MODEL:
            self._kinds[""] = error.kind
        last = await self._read()
        at, digest, useless = self.clock.now().isoformat(timespec="seconds"), _digest(session), dict(last.useless)
        before = 0
        if error.kind not in _OF_THE_MODEL:
            before = min(useless.get(digest, 0), TRIES - 1)
            useless.pop(digest, None)  # the newest stands last
            self._useless[session] = useless[digest] = self._useless.get(session, before) + 1
        kept = dict(list(useless.items())[-_MOST_SESSIONS:])
        await self._note(SummaryFailure(error.kind, at, last.failures + 1, kept))
        asked_for = error.retry_after or 0.0
        if asked_for > LONGEST_WAIT:
            self._leave_alone(session, max(asked_for, LEFT_ALONE))
            return None
        if error.kind in _OUTAGES:
            return self._wait_out(session)
        count = self._counts[session] = self._counts.get(session, before) + 1
        return max(asked_for, WAITS[count - 1]) if count <= len(WAITS) else 0.0

    def _wait_out(self, session: str) -> float | None:
        """Seconds until the model may be reached again. What is owed stays owed, however long that takes."""
        count = self._outages[session] = self._outages.get(session, 0) + 1
        if count <= len(WAITS):
            return WAITS[count - 1]
        del self._outages[session]
        self._leave_alone(session, LEFT_ALONE)
        return None

    async def clear(self, session: str) -> None:
        """Something went well."""
        for name in (session, ""):
            self._counts.pop(name, None)
            self._outages.pop(name, None)
            self._until.pop(name, None)
            self._kinds.pop(name, None)
        last = await self._read()
        useless = self._without(session, last)
        if last.kind or useless != last.useless:
            await self._note(SummaryFailure(useless=useless))

    async def given_up(self, session: str) -> None:
        """The turns themselves are archived."""
        last = await self._read()
        useless = self._without(session, last)
        if last.failures or useless != last.useless:
            await self._note(replace(last, failures=0, useless=useless))
        if self._counts.pop(session, 0):
            self._leave_alone(session, LEFT_ALONE)

    def of(self, session: str) -> Setback | None:
        """True if nothing is asked for this session now."""
        now = self.clock.monotonic()
        until, name = max((self._until.get(name, now), name) for name in (session, ""))
        return Setback(self._kinds.get(name, "server"), until - now) if until > now else None

    async def _read(self) -> SummaryFailure:
        """The last failure; at first that of the process before this one."""
        if self._last is None:
            self._last = await self._book.summary_failure()
        return self._last

    def _without(self, session: str, last: SummaryFailure) -> dict[str, int]:
        """The counts of useless answers, with that of a session taken out."""
        self._useless.pop(session, None)
        digest = _digest(session)
        return {name: count for name, count in last.useless.items() if name != digest}

    async def _note(self, failure: SummaryFailure) -> None:
        self._last = failure
        await self._book.write_summary_failure(failure)

    def _leave_alone(self, session: str, seconds: float) -> None:
        until = self.clock.monotonic() + seconds
        self._until[session] = until
        if self._kinds.get(session) in _OF_THE_MODEL:
            self._until[""] = until


def _digest(session: str) -> str:
    return hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()[:16]

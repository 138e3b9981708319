"""The recall service: keeps the index up to date beside the conversations, and searches it."""

import asyncio
import logging
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC
from functools import partial
from threading import Lock
from typing import Any, TypeVar, cast

from nanobot.aio import shielded
from nanobot.authority import Authority, Scope, may_touch
from nanobot.errors import NanobotError, StoreError
from nanobot.memory.markdown import statements, without_comments, without_index
from nanobot.memory.notes import make_note
from nanobot.memory.recall.ports import (
    Hit,
    OpenRecall,
    ReadWritten,
    RecallIndex,
    RecallKeeper,
    RecallResult,
    SearchLimits,
    Source,
    Written,
    WrittenText,
)
from nanobot.memory.recall.search import LocalRecall
from nanobot.ports import Clock, DocumentText, ReadFrontmatter

# Texts of the files that people edit.


_BULLET = re.compile(r"(?:[-*+]|\d+[.)])\s+")
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})\)?[.。]?\s*$")


def written_reader(read_frontmatter: ReadFrontmatter) -> ReadWritten:
    """Return the reader of files that people edit: notes by paragraph, MEMORY.md and USER.md by line."""

    def read(source: Source, name: str, text: str) -> Written:
        if source == "note":
            return _note(name, text, read_frontmatter)
        lines = without_comments(without_index(text)).split("\n")
        return Written([WrittenText(line, _day(line)) for line in filter(None, map(_bare, statements(lines)))])

    return read


def _note(name: str, text: str, read_frontmatter: ReadFrontmatter) -> Written:
    """Return the summary of a note, then its paragraphs, headings and list items."""
    document = DocumentText(text)
    note = make_note(name, document, read_frontmatter(text), UTC)
    head, *more = list(_paragraphs(without_comments(note.body))) or [note.summary]
    if not head.startswith(note.summary.rstrip("…")):  # the summary is not just how the note begins
        head, more = note.summary, [head, *more]
    day = note.updated if note.updated in text else ""
    texts = [f"{note.name}: {head}", *more]
    links = [(link.kind, link.to) for link in note.links]
    return Written([WrittenText(text, _day(text) or day) for text in texts], links)


def _paragraphs(body: str) -> Iterator[str]:
    gathered: list[str] = []
    for line in [*body.split("\n"), ""]:
        begins = not line.strip() or line.startswith("#") or _BULLET.match(line.strip())
        if gathered and (begins or gathered[0].startswith("#")):
            yield " ".join(gathered).lstrip("#").strip()
            gathered = []
        if bare := _bare(line):
            gathered.append(bare)


def _bare(line: str) -> str:
    return _BULLET.sub("", line.strip(), count=1)


def _day(text: str) -> str:
    """Return the date at the end of a line: the day on which it was learnt."""
    match = _DATE.search(text)
    return match[1] if match else ""


# The service.


log = logging.getLogger(__name__)

PATIENCE = 2.0
"""Seconds that a search waits for the index to take in changes on the disk."""

HASTE = 0.15
"""Seconds that a turn waits for memories; after that it goes on without them."""

REST = 0.2
"""Seconds between a message and its indexing, so that the turn has the machine for itself."""

_SWITCH = 0.0005  # seconds after which the thread that reads lets the turns go on
_WORTH_TELLING = 4 << 20  # bytes; reading less takes a moment
_STEP = 10  # percent of progress between two lines in the log

T = TypeVar("T")


class _Ending(Exception):  # noqa: N818 - no mistake
    """End of the program while the index is being built; the next start goes on."""


class RecallService:
    """Owns the index. One thread writes it and another reads it, so that nobody waits who does not search.

    An index that is being built serves what it holds. Whatever goes wrong in it costs the search, not the bot: all of
    it can be made anew.
    """

    def __init__(self, open_recall: OpenRecall, clock: Clock) -> None:
        self._open_recall = open_recall
        self._clock = clock
        self._writing, self._reading = _threads()
        self._keeping = Lock()  # held by whoever uses the keeper
        self._index: RecallIndex
        self._keeper: RecallKeeper
        self._recall: LocalRecall | None = None  # once the index is open
        self._problem: StoreError | None = None
        self._tried = asyncio.Event()
        self._appended: dict[str, None] = {}
        self._something = asyncio.Event()
        self._is_ending = False
        self._unread = 1.0
        self.last_error = ""
        """Last indexing error, for the log; "" while the index is up to date."""

    async def run(self) -> None:
        """Bring the index up to date, and keep it so, until cancelled.

        Raises StoreError if it cannot be opened; it may be run again.
        """
        if self._is_ending:
            self._writing, self._reading = _threads()
            self._is_ending, self._recall = False, None
            self._tried.clear()
        try:
            await self._open()
            await self._attempt(self._sync, "everything")
            while True:
                if not await self._attempt(self._keeper.embed, "what texts mean"):
                    await self._something.wait()
                    await self._clock.sleep(REST)
                self._something.clear()
                await self._attempt(self._sync if self.last_error else self._take_in, "what was just said")
        finally:
            self._is_ending = True
            await shielded(asyncio.to_thread(self._close))

    def appended(self, session: str) -> None:
        """Note that a session has grown: it is indexed when somebody searches, or after REST."""
        self._appended[session] = None
        self._something.set()

    async def find(
        self, query: str, authority: Authority, *, k: int = 10, around: int = 0, but: tuple[str, str] | None = None
    ) -> RecallResult:
        """Search what somebody may see. Changes on the disk are indexed first."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._tried.wait(), PATIENCE)
        if self._problem:
            raise self._problem
        if self._recall is None or not may_touch(authority, authority.scope):
            return RecallResult((), self._unread)
        await self._up_to_date(self._sync, PATIENCE)
        self._something.set()  # what was taken in may be new to a model that reads what texts mean
        search = partial(self._find, query, authority.scope, k=k, around=around, but=but)
        return RecallResult(await self._read(search), self._unread)

    async def relevant(self, message: str, authority: Authority, *, k: int) -> Sequence[Hit]:
        """Return the memories worth showing with a message; none if they are not found within HASTE."""
        if not may_touch(authority, authority.scope):
            return ()
        try:
            async with asyncio.timeout(HASTE):
                await self._tried.wait()  # only the first turn of a process ever does
                return await self._read(partial(self._relevant, message, authority.scope.name, k))
        except TimeoutError:
            log.info("searching memories took longer than %d ms: the turn goes on without", HASTE * 1000)
        except StoreError as error:
            log.warning("memories could not be searched: %s", error)
        return ()

    @property
    def is_open(self) -> bool:
        """True if the index is open."""
        return self._recall is not None

    async def refresh(self) -> None:
        """Index changes on the disk at once; what is gone there is not found any more."""
        if self._recall is not None:
            await self._attempt(self._sync, "what changed")

    async def rebuild(self) -> None:
        """Build an open index anew, so that it holds nothing that no file holds. Raises StoreError."""
        try:
            await self._write(partial(self._keeper.rebuild, self._progress))
        except _Ending:
            raise StoreError("the search index could not be made anew: the program ends") from None
        self._unread = 0.0

    def _find(self, query: str, scope: Scope, *, k: int, around: int, but: tuple[str, str] | None) -> Sequence[Hit]:
        begun = self._index.turn_at(*but) if but else None
        before = (but[0], begun) if but and begun is not None else None
        within = SearchLimits(scopes=frozenset({scope.name}), before=before)
        recall = LocalRecall(self._index)
        return recall.search(query, now=self._clock.now(), k=k, within=within, around=around)

    def _relevant(self, message: str, scope: str, k: int) -> Sequence[Hit]:
        if self._recall is None:
            return ()
        if self._keeping.acquire(blocking=False):  # else it is being brought up to date, which may take a while
            try:
                self._take_in()
                self._keeper.look(scope)
            except (StoreError, OSError) as error:
                self._note("what changed", error)
            finally:
                self._keeping.release()
        within = SearchLimits(scopes=frozenset({scope}))
        return self._recall.relevant(message, now=self._clock.now(), k=k, within=within)

    def _take_in(self) -> None:
        """Index what was just said."""
        while self._appended:
            session, _ = self._appended.popitem()  # one at a time: others may be added meanwhile
            self._keeper.appended(session)

    async def _up_to_date(self, work: Callable[[], object], seconds: float) -> None:
        """Wait for indexing for at most so many seconds; it goes on behind the search."""
        done = self._write(work)
        done.add_done_callback(self._note_end)
        await asyncio.wait([done], timeout=seconds)

    async def _attempt(self, work: Callable[[], T], what: str) -> T | None:
        try:
            return await self._write(work)
        except StoreError as error:
            self._note(what, error)
            return None

    async def _open(self) -> None:
        try:
            self._index, self._keeper = await self._write(self._open_recall)
        except StoreError as error:
            self._problem = error
            self.last_error = str(error)
            raise
        else:
            self._problem = None
            self._recall = LocalRecall(self._index)
        finally:
            self._tried.set()

    def _note(self, what: str, error: Exception) -> None:
        log.warning("the search index could not take in %s: %s", what, error)
        self.last_error = str(error)

    def _note_end(self, done: "asyncio.Future[Any]") -> None:
        if not done.cancelled() and (error := done.exception()):
            self._note("what changed", cast("Exception", error))

    def _sync(self) -> None:
        before = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH)
        try:
            self._take_in()
            self._keeper.sync(self._progress)
        except _Ending:
            return
        finally:
            sys.setswitchinterval(before)
        self._unread, self.last_error = 0.0, ""

    def _progress(self, done: int, total: int) -> None:
        before, self._unread = self._unread, 1 - done / max(total, 1)
        if self._is_ending:
            raise _Ending
        if total > _WORTH_TELLING and int((1 - before) * 100) // _STEP != int(done * 100 / total) // _STEP:
            log.info("reading what was said, for the search: %d %%", done * 100 // total)

    def _write(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        def alone() -> T:
            with self._keeping:
                return work()

        return self._in(self._writing, alone)

    def _read(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        return self._in(self._reading, work)

    def _in(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> "asyncio.Future[T]":
        if self._is_ending:
            raise StoreError("the search index is closed: the program ends")
        return asyncio.get_running_loop().run_in_executor(threads, partial(_guarded, work))

    def _close(self) -> None:
        self._writing.shutdown()
        self._reading.shutdown()
        if self._recall is not None:
            self._keeper.close()


def _threads() -> tuple[ThreadPoolExecutor, ThreadPoolExecutor]:
    """Return the thread that writes and the one that reads."""
    return ThreadPoolExecutor(1, "recall-writing"), ThreadPoolExecutor(1, "recall-reading")


def _guarded(work: Callable[[], T]) -> T:
    """Run work at the boundary of the index: whatever goes wrong in it is raised as StoreError."""
    try:
        return work()
    except (StoreError, _Ending):
        raise
    except (NanobotError, OSError) as error:
        raise StoreError(str(error)) from error
    except Exception as error:
        log.exception("this should not have happened in the search index")
        raise StoreError(f"this should not have happened ({type(error).__name__})") from error

"""What Dream remembers about itself, on disk."""

import asyncio
from dataclasses import asdict, dataclass, field

from nanobot.errors import StoreError
from nanobot.ports import DreamRecord, SummaryFailure
from nanobot.store.cursor import read_cursor
from nanobot.store.private import write_private
from nanobot.store.state import read_state, write_state
from nanobot.uncancelled import to_the_end
from nanobot.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """As it stands in the file, where keys are texts."""

    last: str = ""
    outcome: str = ""
    failure: str = ""
    failures: int = 0
    not_before: str = ""
    day: str = ""
    runs: int = 0
    smaller: int = 0
    tries: dict[str, int] = field(default_factory=dict)
    set_aside: list[int] = field(default_factory=list)
    gave_up: dict[str, str] = field(default_factory=dict)


class DreamFiles:
    """The DreamBook on disk."""

    def __init__(self, workspace: Workspace) -> None:
        self._cursor = workspace.dream_cursor
        self._record = workspace.dreams
        self._summaries = workspace.summaries

    async def cursor(self) -> int:
        try:
            return await asyncio.to_thread(read_cursor, self._cursor)
        except OSError as error:
            raise StoreError(f"{self._cursor} could not be read: {error.strerror or error}") from error

    async def move(self, cursor: int) -> None:
        await to_the_end(asyncio.to_thread(write_private, self._cursor, f"{cursor}\n"))

    async def read(self) -> DreamRecord:
        found = await asyncio.to_thread(read_state, self._record, _Record, _Record())
        fields = {name: getattr(found, name) for name in _Record.__slots__}
        tries = {int(cursor): count for cursor, count in found.tries.items() if cursor.isdecimal()}
        gave_up = {int(cursor): model for cursor, model in found.gave_up.items() if cursor.isdecimal()}
        return DreamRecord(**{**fields, "tries": tries, "set_aside": tuple(found.set_aside), "gave_up": gave_up})

    async def write(self, record: DreamRecord) -> None:
        await to_the_end(asyncio.to_thread(write_state, self._record, asdict(record)))

    async def summary_failure(self) -> SummaryFailure:
        return await asyncio.to_thread(read_state, self._summaries, SummaryFailure, SummaryFailure())

    async def write_summary_failure(self, failure: SummaryFailure) -> None:
        await to_the_end(asyncio.to_thread(write_state, self._summaries, asdict(failure)))

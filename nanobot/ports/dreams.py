"""What Dream must remember about itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamRecord:
    """How Dream is doing. It holds nothing of what was said.

    `last` is when a run last came to its end, and `outcome` how; `failure` says why the last ones failed, "" if the
    last one did not, and `failures` how many in a row. None begins by itself before `not_before`. Times are RFC 3339.
    `runs` are those of `day` (2026-11-30) that asked a model. `smaller` says how often what is asked at once was
    halved. `tries` are the unusable answers to episodes, by cursor; `set_aside` the cursors that were given up,
    and `gave_up` by which model (its name; none where that was not noted).
    """

    last: str = ""
    outcome: str = ""
    failure: str = ""
    failures: int = 0
    not_before: str = ""
    day: str = ""
    runs: int = 0
    smaller: int = 0
    tries: Mapping[int, int] = field(default_factory=dict)
    set_aside: Sequence[int] = ()
    gave_up: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SummaryFailure:
    """The last failure to summarise what was said, since a summary last succeeded; `kind` is "" if there is none.

    `kind` is that of the LLMError, `at` RFC 3339, `failures` how many came in a row, of any session. `useless` counts
    the answers that were no summaries, by the digest of a session's name: it names nobody.
    """

    kind: str = ""
    at: str = ""
    failures: int = 0
    useless: dict[str, int] = field(default_factory=dict)


class DreamBook(Protocol):
    """Keeps it on disk. All methods raise StoreError."""

    async def cursor(self) -> int:
        """The last episode that was taken in; 0 at first."""
        ...

    async def move(self, cursor: int) -> None:
        """All through this episode is taken in, durably."""
        ...

    async def read(self) -> DreamRecord: ...

    async def write(self, record: DreamRecord) -> None:
        """Durably."""
        ...

    async def summary_failure(self) -> SummaryFailure: ...

    async def write_summary_failure(self, failure: SummaryFailure) -> None:
        """Durably."""
        ...

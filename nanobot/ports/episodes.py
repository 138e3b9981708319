"""What happened, and when: the numbered summaries of past turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from nanobot.authority import Origin, Scope


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that was said, with the ids of all messages it rests on (`session#id` outside of the episode's own).

    `confidence` is from 0 to 1.
    """

    text: str
    messages: Sequence[str]
    category: str = ""
    confidence: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A numbered summary of a piece of one session: a line of history.jsonl.

    `messages` is the first and the last id of that piece, in file order. `origin` is the least of its messages.
    `raw`: no model could summarise it, so `content` holds the turns themselves, shortened and redacted.
    `own`: if others had a part in it, those lines of `content` that the people's own words bear out.
    """

    cursor: int
    timestamp: str
    session: str
    scope: Scope
    origin: Origin
    messages: tuple[str, str]
    content: str
    facts: Sequence[Fact] = ()
    raw: bool = False
    own: Sequence[str] | None = None

    @property
    def shown(self) -> str:
        """The part of it that a prompt may hold: nothing that others brought in."""
        if self.own is None:
            return self.content if self.origin in (Origin.OWNER, Origin.PERSON) else ""
        return "\n".join(line for line in self.content.split("\n") if line in self.own)


class Episodes(Protocol):
    """history.jsonl: append-only, numbered from 1 on in the order of lines; only what was erased leaves gaps."""

    async def append(self, episode: Episode) -> Episode:
        """Add an episode durably; its `cursor` is given here, and it comes back with it.

        Costs the same however many there are. Raises StoreError; then nothing was added.
        """
        ...

    async def last(self) -> int:
        """The cursor of the newest episode; 0 if there is none."""
        ...

    async def after(self, cursor: int, limit: int) -> Sequence[Episode]:
        """The next episodes, oldest first."""
        ...

    async def newest(self, scope: Scope, limit: int, through: int | None = None) -> Sequence[Episode]:
        """The newest episodes of a scope, up to this number, newest first. Does not read the whole file."""
        ...

    async def get(self, cursor: int) -> Episode | None: ...

    async def of_session(self, session: str, limit: int, through: int | None = None) -> Sequence[Episode]:
        """The newest episodes of a session, up to this number, newest first.

        By them a start finds out what is archived already.
        """
        ...

"""A search that answers what it was told to."""

from collections.abc import Sequence
from dataclasses import replace

from nanobot.authority import Authority, Origin
from nanobot.errors import StoreError
from nanobot.memory.recall.ports import Hit, RecallResult, Related, SearchableText, Source


class ToldSearching:
    """Remembers what it was asked; `trouble` is raised in place of an answer."""

    def __init__(self, *hits: Hit, unread: float = 0.0, trouble: str = "") -> None:
        self._hits, self._unread, self._trouble = hits, unread, trouble
        self.asked: list[tuple[str, Authority, int, tuple[str, str] | None]] = []

    async def find(
        self, query: str, authority: Authority, *, k: int = 10, around: int = 0, but: tuple[str, str] | None = None
    ) -> RecallResult:
        self.asked.append((query, authority, k, but))
        if self._trouble:
            raise StoreError(self._trouble)
        return RecallResult([self._with(hit, around) for hit in self._hits], self._unread)

    def _with(self, hit: Hit, around: int) -> Hit:
        return hit if around else replace(hit, around=())


def said(
    text: str,
    *,
    source: Source = "session",
    position: int = 5,
    role: str = "user",
    speaker: str = "Ada",
    origin: Origin = Origin.OWNER,
) -> SearchableText:
    file = "memory/pump.md" if source in ("note", "memory") else "sessions/cli/a.jsonl"
    return SearchableText(
        key=position,
        source=source,
        file=file,
        session="cli:a",
        position=position,
        message="7",
        at="2026-05-07T09:30:00+02:00",
        when=0.0,
        day=0,
        role=role,
        speaker=speaker,
        origin=origin,
        text=text,
        words="",
    )


def hit(found: SearchableText, around: Sequence[SearchableText] = (), related: Sequence[Related] = ()) -> Hit:
    return Hit(found, 1.0, around, related)

"""A fact of the month, and the ways in which it is told."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from nanobot.authority import Scope
from nanobot.messages import Quote
from tests.month.cast import Place

Fate = Literal["stays", "undone", "undone and told again", "correction undone", "forgotten"]

USER, MEMORY, GREENHOUSE = "USER.md", "MEMORY.md", "greenhouse.md"


@dataclass(frozen=True, slots=True)
class Said:
    """Something that is said on a day; with it may come texts of others, and a text file."""

    day: int
    place: Place
    text: str
    quotes: Sequence[Quote] = ()
    file: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that is told, and what becomes of it.

    `file` is where it belongs, `mark` a word of it that stands in no other, `how` in which words it is told.
    `corrected` and `taken_back` say when and where that is told, `again` when the fact is told once more.
    """

    text: str
    mark: str
    file: str
    told: tuple[int, Place]
    corrected: tuple[int, Place, str] | None = None
    taken_back: tuple[int, Place] | None = None
    again: tuple[int, Place] | None = None
    fate: Fate = "stays"
    how: str = ""

    @property
    def memory(self) -> Scope:
        """Whose it is."""
        return self.told[1].memory

    @property
    def left(self) -> str:
        """What is remembered of it in the end, "" if nothing is."""
        if self.taken_back or self.fate in ("undone", "forgotten"):
            return ""
        return self.text if self.corrected is None or self.fate == "correction undone" else self.corrected[2]

    @property
    def gone(self) -> Sequence[str]:
        """The wordings of it that are not to be remembered in the end."""
        texts = [self.text, *([self.corrected[2]] if self.corrected else [])]
        return [text for text in texts if text != self.left]

    def sayings(self) -> Iterator[Said]:
        """All that is said of it."""
        is_chinese = not self.text.isascii()
        yield Said(*self.told, (self.how or "{}").format(self.text))
        if self.corrected:
            day, place, text = self.corrected
            yield Said(day, place, f"{'更正:' if is_chinese else 'Correction: '}{text}")
        if self.taken_back:
            yield Said(*self.taken_back, f"{'不再是这样:' if is_chinese else 'No longer so: '}{self.text}")
        if self.again:
            yield Said(*self.again, f"By the way, {self.text}")

"""By which words a text is recognised as one that tells what is to be forgotten."""

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from nanobot.text import well_formed

FORGOTTEN = "[forgotten]"
"""Stands where something was said, so that what stands around it stays whole."""

LEAST_COPY = 12
"""Characters of a line that is recognised wherever it was copied to; a shorter one may be anybody's.

One of a script without blanks says as much as two.
"""

_KEY = LEAST_COPY // 2  # characters by which lines are looked up

_FEW = 32
_COPYING = ("relevant_memories", '"role":"tool"')
"""Marks of copies in a conversation. Looking for many lines in everything takes too long."""

_ANSWERED = '"role":"assistant"'

_MOST_COMPARED = 40  # characters: what is longer may have been cut where it is shown
_MOST_SHOWN = 120  # characters
MOST_OF_A_LINE = 2_000
"""Characters that are shown of a line of a file that people write: nearly always all of it."""

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_OF_UNSPACED = re.compile(f"[{_UNSPACED}]")
_LETTER = rf"[^\W{_UNSPACED}]"
_NUMBERED = re.compile(r"^\s*(?:\d+[\t:|→]\s*)?")
_BULLET = re.compile(r"^(?:[-*+•>](?:\s+|$))+")
_DATE = re.compile(r" \(\d{4}-\d{2}-\d{2}\)$")
_ESCAPED = re.compile(r'\\(?:u([0-9a-fA-F]{4})|([ntr"/]))')
_SHORT = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True)
class ShippedTexts:
    """Texts that came with the program: nobody said them, so that they tell nothing, wherever they stand.

    `lines`, as `plain` has them, count each by itself; `passages` only where all their lines stand together, such as
    a comment with examples of what somebody could write. `files` are named as in the workspace.
    """

    lines: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    passages: tuple[tuple[str, ...], ...] = ()

    def marks(self, lines: Sequence[str]) -> Sequence[bool]:
        """Of each of these lines, which stand below each other, whether it came with the program."""
        found = [plain(line) in self.lines for line in lines]
        compared = [line.strip() for line in lines]
        for passage in self.passages:
            size = len(passage)
            for start, line in enumerate(compared):
                if line == passage[0] and tuple(compared[start : start + size]) == passage:
                    found[start : start + size] = [True] * size
        return found


@dataclass(frozen=True)
class TextMatcher:
    """Terms that must all stand in one line, and whole lines, as `plain` has them.

    The lines are of what goes: where one was copied to, the copy goes, too. What is `shipped` is never meant.
    """

    terms: tuple[str, ...] = ()
    lines: frozenset[str] = frozenset()
    shipped: ShippedTexts = field(default_factory=ShippedTexts)

    def name(self, text: str) -> bool:
        """True if all the terms stand in one line of the text. Case and width do not count; words are whole words."""
        return self.may_name(text) and any(self.named(text.split("\n")))

    def named(self, lines: Sequence[str]) -> Sequence[bool]:
        """Of each of these lines, which stand below each other, whether all the terms stand in it."""
        found = [bool(self.terms) and self._names(line) for line in lines]
        if not any(found):
            return found
        return [names and not shipped for names, shipped in zip(found, self.shipped.marks(lines), strict=True)]

    def may_name(self, text: str) -> bool:
        """A quick look whether `name` could say yes to this text, or to a part of it."""
        return bool(self.terms) and self._has_words(_folded(text))

    def may_show(self, text: str) -> bool:
        """A quick look whether `show` could say yes to this text, to a part of it, or to what JSON has made of it."""
        if len(self._beginnings) > _FEW:
            return any(mark in text for mark in _COPYING) or self.may_name(text)
        seen = _folded(text)
        return (bool(self.terms) and self._has_words(seen)) or any(begin in seen for begin in self._beginnings)

    def may_be_repeated(self, conversation: str) -> bool:
        """A quick look whether one of the lines may stand in an answer within this raw text of a conversation."""
        if len(self._beginnings) > _FEW:
            return _ANSWERED in conversation
        seen = _folded(conversation)
        return any(beginning in seen for beginning in self._beginnings)

    def tell(self, text: str) -> bool:
        """True if a line of the text names it, or is one of the lines."""
        return self.name(text) or (
            self._may_quote(text) and any(plain(line) in self._long for line in text.split("\n"))
        )

    def tell_all(self, line: str) -> bool:
        """True if this one line names it, or is one of the lines, however short."""
        return self.name(line) or plain(line) in self.lines - self.shipped.lines

    def show(self, text: str) -> bool:
        """True if the text tells it, or holds one of the lines, or the beginning of one, among other words."""
        return self.tell(text) or (self._may_quote(text) and any(self._quotes(line) for line in text.split("\n")))

    def without(self, text: str, *, quoted: bool = False) -> str:
        """The text without the lines that tell it; with `quoted` also without those that hold it among other words."""
        is_meant = self.show if quoted else self.tell
        if not is_meant(text):
            return text
        return "\n".join(line for line in text.split("\n") if not is_meant(line))

    def stand_in(self, data: bytes) -> bool:
        """True if these bytes, whatever they are, show it: as text, or as text that JSON has escaped."""
        return self.show(_read(data))

    def name_in(self, data: bytes) -> bool:
        """True if these bytes, whatever they are, name it."""
        return self.name(_read(data))

    def _has_words(self, seen: str) -> bool:
        return all(word in seen for word in self._words)

    def _names(self, line: str) -> bool:
        seen = _folded(line)
        return all(pattern.search(seen) for pattern in self._patterns)

    def _may_quote(self, text: str) -> bool:
        """A quick look whether one of the lines may stand in a text."""
        if not self._long or len(self._beginnings) > _FEW:
            return bool(self._long)
        seen = _normal(text)
        return any(beginning in seen for beginning in self._beginnings)

    def _quotes(self, line: str) -> bool:
        seen = _normal(line)
        for at in range(len(seen) - _KEY + 1):
            heads = self._by_start.get(seen[at : at + _KEY])
            if heads and any(seen.startswith(head, at) for head in heads):
                return True
        return False

    @cached_property
    def _long(self) -> frozenset[str]:
        return frozenset(line for line in self.lines - self.shipped.lines if is_long(line))

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        """Return the beginning of each line, up to a character that JSON would escape."""
        return frozenset(_unescaped(line[:_MOST_COMPARED]) for line in self._long)

    @cached_property
    def _by_start(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for line in self._long:
            found.setdefault(line[:_KEY], []).append(line[:_MOST_COMPARED])
        return found

    @cached_property
    def _words(self) -> Sequence[str]:
        """The longest word of each term."""
        return [max(_folded(term).split(), key=len, default="") for term in self.terms]

    @cached_property
    def _patterns(self) -> Sequence[re.Pattern[str]]:
        return [_pattern(term) for term in self.terms]


def terms_in(words: str) -> tuple[str, ...]:
    """Return a person's typed terms: each word is one, and so is a text in quotation marks."""
    found = re.findall(r'["“”]([^"“”]+)["“”]|([^\s"“”]+)', words)
    return tuple(dict.fromkeys(term for quoted, word in found if (term := " ".join((quoted or word).split()))))


def plain(line: str) -> str:
    """Return the key under which two lines are the same: words without number, bullet, date, case and full stop."""
    words = _BULLET.sub("", _NUMBERED.sub("", line, count=1).strip(), count=1)
    return _normal(_DATE.sub("", words)).rstrip(".。!！ ")


def is_long(line: str) -> bool:
    """True if a line, as `plain` has it, says enough to be known again."""
    return len(line) >= _KEY and len(line) + len(_OF_UNSPACED.findall(line)) >= LEAST_COPY


def lines_of(texts: Collection[str]) -> frozenset[str]:
    """The lines of these texts, as they are compared."""
    return frozenset(found for text in texts for line in text.split("\n") if (found := plain(line)))


def beginning(text: str, most: int = _MOST_SHOWN) -> str:
    """Return the beginning of a text, in one line, for people."""
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[:most].rstrip()} …"


def _normal(text: str) -> str:
    return " ".join(_folded(text).split())


def _folded(text: str) -> str:
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()


def _pattern(term: str) -> re.Pattern[str]:
    """A term with whole words at its ends; scripts that are written without blanks have none."""
    words = _folded(term).split()
    first, last = words[0][0], words[-1][-1]
    before = rf"(?<!{_LETTER})" if re.match(_LETTER, first) else ""
    after = rf"(?!{_LETTER})" if re.match(_LETTER, last) else ""
    return re.compile(before + r"\s+".join(map(re.escape, words)) + after)


def _unescaped(text: str) -> str:
    """Return its longest piece without what JSON writes otherwise."""
    return max(re.split(r'["\\\x00-\x1f]', text), key=len)


def _read(data: bytes) -> str:
    """Bytes as text, and what JSON has escaped in it as it was."""
    text = data.decode("utf-8", "replace")
    if "\\" not in text:
        return text
    return well_formed(_ESCAPED.sub(_as_it_was, text))


def _as_it_was(escaped: re.Match[str]) -> str:
    return chr(int(escaped[1], 16)) if escaped[1] else _SHORT.get(escaped[2], escaped[2])

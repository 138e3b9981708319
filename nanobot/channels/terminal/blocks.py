"""Growing Markdown, cut into its finished blocks, and the answer of a turn, as far as those are on the screen."""

import re
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

_LIST_MARKER = re.compile(r" {0,3}([-+*]|\d{1,9}[.)])(\s|$)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_LISTS = ("bullet_list_open", "ordered_list_open")

DEEPEST = 40
"""Levels of quotes and lists in each other, a list counting twice; the parser says nothing of what is deeper."""


@cache
def parser() -> MarkdownIt:
    """The Markdown that answers are written in.

    HTML and link definitions are text like any other: nothing that a model wrote may vanish.
    """
    return (
        MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST})
        .enable(["table", "strikethrough"])
        .disable("reference")
    )


class Blocks:
    """Takes a text in pieces, and gives its blocks as soon as nothing that follows can change them.

    A block is what stands at the top level of a document: a paragraph, a whole list, a fence, a table.
    In CommonMark a block is finished once the next one has begun, some already at a blank line. Where
    blocks begin is asked of the real parser, but only at lines where one may have ended, so that the
    work does not grow with the square of the text.
    """

    def __init__(self) -> None:
        self._rest = ""
        self._line = 0  # where the first line that has not been looked at begins in the rest
        self._blank = False  # the line before that one was blank
        self._last = ""  # the kind of the unfinished block, as the parser calls it, where it matters
        self._closing: re.Pattern[str] | None = None  # what ends the open fence

    @property
    def rest(self) -> str:
        """What is not finished yet."""
        return self._rest

    def feed(self, text: str) -> list[str]:
        """Take the next piece. Returns the blocks that it finished, each with the blank lines behind it."""
        self._rest += text
        finished: list[str] = []
        while (end := self._rest.find("\n", self._line)) >= 0:
            line = self._rest[self._line : end]
            self._line = end + 1
            if self._may_end(line):
                finished += self._cut()
            self._blank = not line.strip()
        return finished

    def _may_end(self, line: str) -> bool:
        """Whether a block may have ended with this line, or before it."""
        if self._closing:
            return self._closing.fullmatch(line) is not None
        if self._last in _LISTS:
            return self._blank and line[:1] not in ("", " ", "\t") and not _LIST_MARKER.match(line)
        if self._last == "code_block":
            return line[:4].strip() != "" and line[:1] != "\t"
        return bool(_FENCE.match(line)) or not (line.strip() or self._blank)

    def _cut(self) -> list[str]:
        """Take the finished blocks off the lines that have been looked at."""
        lines = self._rest[: self._line].split("\n")
        begun = _top_level(self._rest[: self._line])
        if not begun:
            return []
        self._closing = _open_fence(begun[-1], lines)
        self._last = begun[-1].type
        starts = [_start(token) for token in begun[1:]]
        if self._is_closed(lines[-2]):
            starts.append(len(lines) - 1)
        blocks = ["\n".join([*lines[a:b], ""]) for a, b in pairwise([0, *starts])]
        cut = sum(map(len, blocks))
        self._rest = self._rest[cut:]
        self._line -= cut
        return blocks

    def _is_closed(self, line: str) -> bool:
        """Whether the last block is finished, seen from this line, the newest."""
        if self._last == "fence":
            return self._closing is None
        return not line.strip() and self._last not in (*_LISTS, "code_block")


class PrintedAnswer:
    """Takes the pieces of an answer, and says what of it can be printed."""

    def __init__(self) -> None:
        self._blocks = Blocks()
        self._printed = ""
        self._complete = False  # what is printed was ended by a step; it may be a remark, or all of the answer

    @property
    def unfinished(self) -> str:
        """What has come and is not printed yet."""
        return self._blocks.rest

    def grow(self, piece: str) -> list[str]:
        """Returns the blocks that this piece finished."""
        if self._complete:
            self.forget()
        finished = self._blocks.feed(piece)
        self._printed += "".join(finished)
        return finished

    def step(self) -> list[str]:
        """What came is complete. Returns what remains of it."""
        rest, self._blocks = self._blocks.rest, Blocks()
        self._printed += rest
        self._complete = self._complete or bool(self._printed)
        return _if_any(rest)

    def restart(self) -> bool:
        """What came since the last step is void. Returns whether some of it is on the screen."""
        was_seen = bool(self._printed.strip()) and not self._complete
        self.forget()
        return was_seen

    def forget(self) -> None:
        """What is printed stands for itself: no part of what comes."""
        self._blocks, self._printed, self._complete = Blocks(), "", False

    def finish(self, text: str) -> tuple[list[str], bool]:
        """The whole answer is there. Returns what is not on the screen yet, and whether it contradicts what is."""
        seen, whole = self._printed.strip(), text.strip()
        contradicts = not whole.startswith(seen) and not self._complete
        missing = whole.removeprefix(seen)
        self.forget()
        return _if_any(missing), contradicts


def _if_any(text: str) -> list[str]:
    return [text] if text.strip() else []


def _top_level(text: str) -> list[Token]:
    tokens: list[Token] = []
    parser().block.parse(text, parser(), {}, tokens)
    return [token for token in tokens if token.level == 0 and token.nesting >= 0]


def _start(token: Token) -> int:
    return token.map[0] if token.map else 0


def _open_fence(token: Token, lines: list[str]) -> re.Pattern[str] | None:
    """What will end this block, if it is a fence that is still open."""
    if token.type != "fence" or token.map is None:
        return None
    closing = re.compile(rf" {{0,3}}{re.escape(token.markup)}{re.escape(token.markup[0])}*[ \t]*")
    first, end = token.map
    return None if end - first > 1 and closing.fullmatch(lines[end - 1]) else closing

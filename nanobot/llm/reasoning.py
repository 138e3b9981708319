"""Keeps a model's reasoning out of what people read."""

import re

from nanobot.llm.seen import Seen

_NAMES = ("think", "thinking", "thought")
_TAGS = tuple(f"<{slash}{name}>" for slash in ("", "/") for name in _NAMES)
_TAG = re.compile(rf"<(?P<close>/?)(?:{'|'.join(_NAMES)})>", re.IGNORECASE)
_MARK = re.compile(rf"{_TAG.pattern}|(?P<ticks>`+)|(?P<tildes>~+)", re.IGNORECASE)
_LONGEST = max(map(len, _TAGS))
_BLOCK = 3
"""So many backticks or tildes make a code block (CommonMark)."""
_LINE_HEAD = 200
"""How much of a line is kept to see what it begins with."""


class Visible:
    """The visible part of a text that arrives in pieces of any size.

    Reasoning stands between tags, anywhere outside code; the opening tag may be missing (some
    chat templates put it into the prompt), the closing one too. What cannot be decided yet is
    held back: a piece of a tag, a code span until it is closed or its line ends.
    A closing tag without an opening one makes void what stood before it. Who has seen that once
    sets `unopened`: then everything is held back until the closing tag, or the end.
    """

    def __init__(self, seen: Seen, *, unopened: bool = False) -> None:
        self.unopened = unopened
        self._seen = seen
        self._parts: list[str] = []
        self._pending = ""
        self._searched = 0
        self._reasoning = False
        self._waiting_for_close = unopened
        self._fence: re.Pattern[str] | None = None
        self._code_until = 0
        self._line = ""
        self._strip = False

    @property
    def text(self) -> str:
        """Everything that was shown and is not void."""
        return "".join(self._parts)

    @property
    def is_empty(self) -> bool:
        """Whether nothing came that may be part of the answer."""
        return not self.text.strip() and (self._reasoning or not self._pending.strip())

    def feed(self, piece: str) -> None:
        """Show what is certain by now."""
        self._pending += piece
        while self._pending and self._step(final=False):
            pass

    def end(self, *, cut: bool = False) -> None:
        """Nothing more comes: show the rest, without a piece of a tag.

        In a text that was cut off, what waits for its closing tag is taken for reasoning.
        """
        if self._waiting_for_close and cut:
            return
        self._waiting_for_close = False
        while self._pending and self._step(final=True):
            pass

    def _step(self, *, final: bool) -> bool:
        """Deal with the beginning of what is pending; False if more must come first."""
        if self._waiting_for_close:
            return self._hold()
        if self._reasoning:
            return self._drop()
        if self._fence is not None:
            return self._block(self._fence)
        if self._code_until:
            return self._span_of_lines(self._code_until, final=final)
        return self._prose(final=final)

    def _hold(self) -> bool:
        tag = _TAG.search(self._pending, self._searched)
        self._searched = max(0, len(self._pending) - _LONGEST)
        if tag is None:
            return False
        self._waiting_for_close = False
        if tag["close"]:  # after an opening tag this is text like any other
            self._close(tag.end())
        return True

    def _drop(self) -> bool:
        tag = _TAG.search(self._pending)
        while tag is not None and not tag["close"]:
            tag = _TAG.search(self._pending, tag.end())
        if tag is None:
            self._pending = self._pending[-_LONGEST:]
            return False
        self._close(tag.end())
        return True

    def _close(self, end: int) -> None:
        self._pending = self._pending[end:]
        self._reasoning = False
        self._strip = not self._parts or self._parts[-1][-1].isspace()

    def _block(self, closing: re.Pattern[str]) -> bool:
        line, newline, _ = self._pending.partition("\n")
        if newline and closing.fullmatch(self._line + line):
            self._fence = None
        self._emit(len(line) + len(newline))
        return True

    def _span_of_lines(self, ticks: int, *, final: bool) -> bool:
        closing = re.search(f"`{{{ticks},}}", self._pending)
        if closing is None:
            return self._emit(len(self._pending.rstrip("`")) if not final else len(self._pending))
        if closing.end() == len(self._pending) and not final:
            return self._emit(closing.start())
        self._code_until = 0
        return self._emit(closing.end())

    def _prose(self, *, final: bool) -> bool:
        mark = _MARK.search(self._pending)
        if mark is None:
            return self._plain(final=final)
        if mark["close"] is not None:
            return self._tag(mark)
        if mark.end() == len(self._pending) and not final:
            return self._emit(mark.start())
        if len(mark[0]) >= _BLOCK and self._begins_line(mark.start()):
            return self._open_block(mark, final=final)
        if mark["tildes"]:
            return self._emit(mark.end())
        return self._code(mark, final=final)

    def _plain(self, *, final: bool) -> bool:
        start = self._pending.rfind("<")
        tail = self._pending[start:].lower() if start >= 0 else ""
        if not tail or not any(tag.startswith(tail) for tag in _TAGS):
            return self._emit(len(self._pending))
        if not final:
            return self._emit(start)
        self._emit(start if len(tail) > 1 else len(self._pending))
        self._pending = ""
        return False

    def _tag(self, tag: re.Match[str]) -> bool:
        if not tag["close"]:
            self._emit(tag.start())
            self._pending = self._pending[len(tag[0]) :]
            self._reasoning = True
            return True
        self._parts.clear()
        self._line = ""
        self._seen.restart()
        self.unopened = True
        self._close(tag.end())
        return True

    def _open_block(self, mark: re.Match[str], *, final: bool) -> bool:
        end = self._pending.find("\n", mark.end())
        if end < 0 and not final:
            return self._emit(mark.start())
        info = self._pending[mark.end() : end if end >= 0 else None]
        if mark["ticks"] and "`" in info:
            return self._code(mark, final=final)
        self._fence = re.compile(rf"[\s>]*{re.escape(mark[0][0])}{{{len(mark[0])},}}\s*")
        return self._emit(end + 1 if end >= 0 else len(self._pending))

    def _code(self, mark: re.Match[str], *, final: bool) -> bool:
        ticks = len(mark[0])
        if ticks >= _BLOCK:
            self._code_until = ticks
            return self._emit(mark.end())
        line_end = self._pending.find("\n", mark.end())
        closing = re.compile(f"(?<!`)`{{{ticks}}}(?!`)").search(
            self._pending, mark.end(), line_end if line_end >= 0 else len(self._pending)
        )
        if closing and (final or closing.end() < len(self._pending)):
            return self._emit(closing.end())
        if closing is None and (final or line_end >= 0):
            return self._emit(mark.end())
        return self._emit(mark.start())

    def _begins_line(self, index: int) -> bool:
        return not (self._line + self._pending[:index]).rpartition("\n")[2].strip(" \t>")

    def _emit(self, end: int) -> bool:
        """Show the pending text up to here; whether there was any."""
        raw, self._pending = self._pending[:end], self._pending[end:]
        self._line = (self._line + raw).rpartition("\n")[2][:_LINE_HEAD]
        text = raw.lstrip() if self._strip else raw
        if text:
            self._strip = False
            self._parts.append(text)
            self._seen.text(text)
        return bool(raw)

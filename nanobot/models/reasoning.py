"""Reasoning and control tokens of a model, kept out of what people read; what they have seen so far."""

import re
from collections.abc import Iterable, Mapping

from nanobot.errors import LLMErrorKind
from nanobot.models.calls import CALL_MARKS, may_be_call
from nanobot.ports import Lacking, Stream

# Text that was shown.


class ShownStream:
    """Hands everything on to a stream, and takes text back only where there is some."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._any = False

    def text(self, delta: str) -> None:
        if delta:
            self._any = True
            self._stream.text(delta)

    def restart(self) -> None:
        if self._any:
            self._any = False
            self._stream.restart()

    def waiting(self, seconds: float, kind: LLMErrorKind) -> None:
        self._stream.waiting(seconds, kind)

    def fallback(self, preset: str, kind: LLMErrorKind) -> None:
        self._stream.fallback(preset, kind)

    def lacks(self, preset: str, what: Lacking) -> None:
        self._stream.lacks(preset, what)


# Reasoning and control tokens, kept out of what people read.
#
# How the families of models mark what is not for people stands in the tables at the head: a new family is a new line.


_XML = ("think", "thinking", "thought", "mm:think", "longcat_think")

REASONING: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    # DeepSeek, Qwen, MiniMax, GLM, Granite, Phi, Hunyuan, …; any of these closes any of them
    ((*(f"<{name}>" for name in _XML), "<|think|>"), (*(f"</{name}>" for name in _XML), "<|/think|>")),
    (("<seed:think>",), ("</seed:think>",)),  # Seed-OSS
    (("<seed:cot_budget_reflect>",), ("</seed:cot_budget_reflect>",)),
    (("[think]",), ("[/think]",)),  # Magistral
    (("◁think▷",), ("◁/think▷",)),  # Kimi
    (("<|start_thinking|>",), ("<|end_thinking|>",)),  # Command
    (("<|channel>",), ("<channel|>",)),  # Gemma 4
    (("<|inner_prefix|>",), ("<|inner_suffix|>",)),  # Apertus
)
"""What opens and what closes reasoning, in lower case. What closes it alone makes void what stood before it."""

OTHERS_TURNS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("<|im_start|>user", "<|im_start|>system", "<|im_start|>tool"), ("<|im_start|>assistant",)),
    (("<start_of_turn>user",), ("<start_of_turn>model",)),
    (("<|turn>user",), ("<|turn>model",)),
    (
        ("<|start_header_id|>user<|end_header_id|>", "<|start_header_id|>system<|end_header_id|>"),
        ("<|start_header_id|>assistant<|end_header_id|>",),
    ),
    (("<|user|>", "<|system|>", "<|observation|>"), ("<|assistant|>",)),
    (("<｜user｜>",), ("<｜assistant｜>",)),
    (("[inst]",), ("[/inst]",)),
)
"""A model that runs past its end writes what others would say: hidden up to where it speaks again."""

CONTROL = (
    "<|im_end|>", "<|im_start|>", "<|im_sep|>", "<|endoftext|>", "<|end_of_text|>", "<|begin_of_text|>",
    "<|startoftext|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>", "<|header_start|>assistant<|header_end|>",
    "<|end|>", "<|return|>", "<|call|>", "<|message|>", "<|constrain|>", "<|endofprompt|>",
    "<end_of_turn>", "<start_of_turn>", "<turn|>", "<|turn>", "<|tool_response>", "<bos>", "<eos>", "<pad>",
    "</s>", "[eos]", "<｜end▁of▁sentence｜>", "<｜begin▁of▁sentence｜>", "<|end_of_sentence|>",
    "<|start_of_role|>assistant<|end_of_role|>", "<|end_of_role|>", "<|start_response|>", "<|end_response|>",
    "<|start_of_turn_token|>", "<|end_of_turn_token|>", "<|chatbot_token|>", "<seed:bos>", "<seed:eos>",
    "]~!b[", "]~b]", "[e~[", "<|begin_of_box|>", "<|end_of_box|>", "<|assistant_start|>", "<|assistant_end|>",
    "[|endofturn|]", "[|assistant|]", "<|hy_eos|>", "<|minimax_eos|>",
)  # fmt: skip
"""Control tokens that servers let through, in lower case; hidden wherever they stand outside code."""

AT_START: Mapping[str, str] = {"<response>": "</response>", "<answer>": "</answer>", "<s>": "</s>"}
"""Marks around an answer as a whole, like tags of HTML: hidden only where nothing stands before them."""

WORDS: Mapping[str, tuple[str, ...]] = {
    "here is my thought process:": ("here is my response:", "here's my response:"),  # Granite 3.2
    "here's my thought process:": ("here is my response:", "here's my response:"),
    "analysis": ("assistantfinal",),  # gpt-oss behind a server that drops the marks
}
"""Words that open reasoning where an answer begins with them, if what closes it follows; else they are text."""

_HEADERS = ("<|channel|>", "<|start|>")  # gpt-oss: a header up to <|message|> says for whom the text behind it is
_MESSAGE = "<|message|>"
_LONGEST_HEADER = 200
_FOR_PEOPLE = ("final", "commentary", "")
_HEADER_ENDS = re.compile("|".join(map(re.escape, ("<|end|>", "<|return|>", "<|call|>", *_HEADERS))))


def _any_of(marks: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))), re.IGNORECASE)


_OPENED = {mark: _any_of(closes) for opens, closes in (*REASONING, *OTHERS_TURNS) for mark in opens}
_VOIDS = {mark for _, closes in REASONING for mark in closes}
_HIDDEN = {*CONTROL, *(mark for _, closes in OTHERS_TURNS for mark in closes), *AT_START.values()}
_ENDS = {*AT_START.values()} - {*CONTROL}
_ASIDES = {mark for opens, _ in OTHERS_TURNS for mark in opens}
_ALL = {*_OPENED, *_VOIDS, *_HIDDEN, *AT_START, *_HEADERS}
_THOUGHTS = _any_of({mark for opens, closes in REASONING for mark in (*opens, *closes)})
_LONGEST = max(map(len, {*_ALL, *CALL_MARKS}))
_BLOCK = 3
"""So many backticks or tildes make a code block (CommonMark)."""
_LINE_HEAD = 200
"""How much of a line is kept to see what it begins with."""
_LEAST = 4
"""Characters of a mark at the very end that are taken for one that was cut off."""


class _Marks:
    """Everything that is looked for in prose, with all beginnings of marks."""

    def __init__(self, marks: Iterable[str]) -> None:
        marks = set(marks)
        self.pattern = re.compile(rf"(?P<mark>{_any_of(marks).pattern})|(?P<ticks>`+)|(?P<tildes>~+)", re.IGNORECASE)
        self._beginnings = {mark[:size] for mark in marks for size in range(1, len(mark))}
        self._firsts = {mark[0] for mark in marks}

    def may_grow(self, text: str) -> bool:
        """True if a (longer) mark begins like this."""
        return text.lower() in self._beginnings

    def unfinished(self, text: str) -> int:
        """Return the start of a possible mark at the end of a text; its length if there is none."""
        for start in range(max(0, len(text) - _LONGEST), len(text)):
            if text[start].lower() in self._firsts and self.may_grow(text[start:]):
                return start
        return len(text)


_PLAIN = _Marks(_ALL)
_WITH_CALLS = _Marks({*_ALL, *CALL_MARKS})


class VisibleText:
    """The visible part of a text that arrives in pieces of any size.

    Reasoning stands between marks, anywhere outside code; the opening one may be missing (some
    chat templates put it into the prompt), the closing one too. What cannot be decided yet is
    held back: a piece of a mark, a code span until it is closed or its line ends.
    A closing mark without an opening one makes void what stood before it. Who has seen that once
    sets `unopened`: then everything is held back until the closing mark, or the end.
    With `calls`, a text from where a tool call is written in it is held back to its end, and is in `held`.
    """

    def __init__(self, seen: ShownStream, *, unopened: bool = False, calls: bool = False) -> None:
        self.unopened = unopened
        self._seen = seen
        self._marks = _WITH_CALLS if calls else _PLAIN
        self._looks_for_calls = calls
        self._parts: list[str] = []
        self._pending = ""
        self._searched = 0
        self._closing: re.Pattern[str] | None = None
        self._waiting_for: re.Pattern[str] | None = _THOUGHTS if unopened else None
        self._fence: re.Pattern[str] | None = None
        self._code_until = 0
        self._line = ""
        self._strip = False
        self._at_start = True
        self._wrapped: set[str] = set()
        self._tags: set[str] = set()
        self._behind_mark = False
        self._held: list[str] = []

    @property
    def text(self) -> str:
        """Everything that was shown and is not void."""
        return "".join(self._parts)

    @property
    def held(self) -> str:
        """The end of the text, from where a call is written in it."""
        return "".join(self._held)

    @property
    def is_empty(self) -> bool:
        """True if nothing came that may be part of the answer."""
        return not self.text.strip() and not self._held and (self._closing is not None or not self._pending.strip())

    def feed(self, piece: str) -> None:
        """Show what is certain by now."""
        if self._held:
            self._held.append(piece)
            return
        self._pending += piece
        while self._pending and self._step(final=False):
            pass

    def end(self, *, cut: bool = False) -> None:
        """Nothing more comes: show the rest, without a piece of a mark.

        In a text that was cut off, what waits for its closing mark is taken for reasoning.
        """
        if self._waiting_for is not None and cut:
            return
        self._waiting_for = None
        while self._pending and self._step(final=True):
            pass

    def release(self) -> None:
        """Show what was held back for a call: it is a text."""
        self._pending = self.held
        self._held.clear()
        self._marks, self._looks_for_calls = _PLAIN, False
        self.end()

    def _step(self, *, final: bool) -> bool:
        """Deal with the beginning of what is pending; False if more must come first."""
        if self._waiting_for is not None:
            return self._wait(self._waiting_for)
        if self._closing is not None:
            return self._drop(self._closing)
        if self._fence is not None:
            return self._block(self._fence)
        if self._code_until:
            return self._span_of_lines(self._code_until, final=final)
        if self._at_start:
            return self._begin(final=final)
        return self._prose(final=final)

    def _begin(self, *, final: bool) -> bool:
        """See whether the answer begins with words that open reasoning, or as a call of a tool does."""
        start = self._pending.lstrip().lower()
        if not start:
            return False if not final else self._emit(len(self._pending))
        if not final and any(words.startswith(start) for words in WORDS):
            return False
        closing = next((_any_of(closing) for words, closing in WORDS.items() if start.startswith(words)), None)
        if closing is not None and (not final or closing.search(self._pending)):
            self._waiting_for, self._at_start = closing, False
            return True
        is_call = may_be_call(self._pending) if self._looks_for_calls else False
        if is_call is None and not final:
            return False
        if is_call:
            return self._hold(0)
        if self._marks.may_grow(start) and not final:
            return False
        mark = self._marks.pattern.match(self._pending.lstrip())
        self._at_start = mark is not None and mark["mark"] is not None
        return self._prose(final=final)

    def _wait(self, closing: re.Pattern[str]) -> bool:
        mark = closing.search(self._pending, self._searched)
        self._searched = max(0, len(self._pending) - _LONGEST)
        if mark is None:
            return False
        self._waiting_for, self._searched = None, 0
        if mark[0].lower() not in _OPENED:  # after an opening mark this is text like any other
            self._close(mark.end())
        return True

    def _drop(self, closing: re.Pattern[str]) -> bool:
        mark = closing.search(self._pending)
        if mark is None:
            self._pending = self._pending[-_LONGEST:]
            return False
        self._close(mark.start() if mark[0] in _HEADERS else mark.end())
        return True

    def _close(self, end: int) -> None:
        """Go on behind what is hidden."""
        self._pending = self._pending[end:]
        self._closing = None
        self._strip = not self._parts or self._parts[-1][-1].isspace()
        self._at_start = not self.text.strip()
        self._behind_mark = True

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
        mark = self._marks.pattern.search(self._pending)
        if mark is None:
            return self._plain(final=final)
        if mark["mark"] is not None:
            if not final and self._marks.may_grow(self._pending[mark.start() :]):
                return self._emit(mark.start())
            return self._mark(mark, final=final)
        if not final and (start := self._marks.unfinished(self._pending)) < mark.start():
            return self._emit(start)
        if mark.end() == len(self._pending) and not final:
            return self._emit(mark.start())
        if len(mark[0]) >= _BLOCK and self._begins_line(mark.start()):
            return self._open_block(mark, final=final)
        if mark["tildes"]:
            return self._emit(mark.end())
        return self._code(mark, final=final)

    def _plain(self, *, final: bool) -> bool:
        start = self._marks.unfinished(self._pending)
        if not final:
            return self._emit(start)
        self._emit(start if len(self._pending) - start >= _LEAST else len(self._pending))
        self._pending = ""
        return False

    def _mark(self, mark: re.Match[str], *, final: bool) -> bool:
        name = mark[0].lower()
        if name in CALL_MARKS and self._looks_for_calls:
            return self._hold(mark.start())
        if name in _HEADERS:
            return self._header(mark, final=final)
        if name in _VOIDS:
            self._parts.clear()
            self._line = ""
            self._seen.restart()
            self.unopened = True
            self._close(mark.end())
            return True
        if not self._is_hidden(name, self._pending[: mark.start()]):
            return self._emit(mark.end())
        is_turn = self._begins_line(mark.start()) or (self._behind_mark and not self._pending[: mark.start()].strip())
        self._emit(mark.start())
        self._close(len(mark[0]))
        self._closing = _OPENED.get(name) if is_turn or name not in _ASIDES else None
        return True

    def _is_hidden(self, name: str, before: str) -> bool:
        """True if a mark is one where it stands: those that look like tags of HTML may be text."""
        if name in AT_START:
            is_first = not (self.text + before).strip()
            (self._wrapped if is_first else self._tags).add(AT_START[name])
            return is_first
        return name in self._wrapped if name in _ENDS else name not in self._tags

    def _header(self, mark: re.Match[str], *, final: bool) -> bool:
        """A header says in which channel, and to whom, the text behind it is said."""
        end = self._pending.find(_MESSAGE, mark.end())
        header = self._pending[mark.start() : end if end >= 0 else None]
        if len(header) > _LONGEST_HEADER:
            self._emit(mark.start())
            self._close(len(mark[0]))  # it is none
            return True
        if end < 0 and not final:
            return self._emit(mark.start())
        if " to=" in header and "to=assistant" not in header and self._looks_for_calls:
            return self._hold(mark.start())
        self._emit(mark.start())
        self._close(len(header) + len(_MESSAGE))
        channel = re.search(r"<\|channel\|>\s*(\w*)", header)
        is_own = not header.startswith("<|start|>") or header.startswith("<|start|>assistant")
        if not is_own or " to=" in header or (channel[1] if channel else "") not in _FOR_PEOPLE:
            self._closing = _HEADER_ENDS
        return True

    def _hold(self, start: int) -> bool:
        """From here on the text may be a call."""
        self._emit(start)
        self._held.append(self._pending)
        self._pending = ""
        return False

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
            self._behind_mark = self._behind_mark and text.isspace()
            self._parts.append(text)
            self._seen.text(text)
        return bool(raw)

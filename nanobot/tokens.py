"""Token estimates of texts, for models whose tokenizer nobody has.

A text is reduced to a few counts: how many words it has, how many letters, digits, Chinese characters
and so on. What one of each costs depends on the model. These costs are learned from the input tokens
that the endpoint reports, with a Kalman filter: it starts from what is usual, and each report corrects
the costs in proportion to how uncertain they still are and how much of each took part. A report says
most by its difference to the one before it in the same conversation: what both requests have in
common, and whatever the endpoint adds unseen, cancels out. Reports far under what was sent teach nothing.

Counts add up: those of a conversation grow with each message, and their cost is known at once, also
after the prices have changed. See docs/decisions/0003-token-estimates.md.
"""

import json
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import add, mul, sub
from typing import NamedTuple, Protocol

from nanobot.transcript import Message


class _Kind(NamedTuple):
    """Something that costs tokens: what one usually costs, how much models differ, and the limits of belief."""

    usual: float
    spread: float
    most: float
    least: float = 0.0


# Fitted on the tokenizers of GPT-4 and GPT-4o, Claude, Gemma 3, Llama 2 and 3, Qwen 3 and DeepSeek 3.
_KINDS = {
    "words": _Kind(0.84, 0.15, 2.0),
    "letters": _Kind(0.05, 0.03, 1.0),
    "digits": _Kind(0.92, 0.26, 2.0),
    "signs": _Kind(0.16, 0.05, 1.0),  # ASCII punctuation
    "runs": _Kind(0.71, 0.16, 2.0),  # of such signs
    "lines": _Kind(0.53, 0.26, 2.0),
    "gaps": _Kind(0.98, 0.21, 8.0),  # two and more blanks
    "han": _Kind(0.9, 0.28, 4.0, 0.2),  # and kana
    "wide": _Kind(0.4, 0.3, 4.0),  # punctuation of Chinese and of fine typography
    "foreign": _Kind(0.46, 0.15, 3.0, 0.1),  # letters of other alphabets
    "rest": _Kind(2.0, 1.0, 8.0),  # emoji, Hangul, rare characters
    "messages": _Kind(4.0, 1.5, 30.0),  # what stands around the text of a message
    "calls": _Kind(8.0, 4.0, 60.0),  # the same for a tool call or the schema of a tool
    "requests": _Kind(4.0, 30.0, 2000.0),  # what the endpoint adds by itself
}
_TEXT = 11  # so many kinds are found in texts
_NOISE = 0.06  # texts of the same kind differ by so much
_SURPRISE = 3.0  # a report further off than so many standard deviations is believed no more than that
_DRIFT = 0.002  # share of the first uncertainty that returns with each report, so that learning never ends
_CACHED = 20_000  # texts
_FAR_UNDER = 0.25  # more text that costs less than this share of the estimate was not read
_HALF = 0.5  # of a request as a whole, where there is no report before it to compare with
_SMALLEST_NEWS = 30  # tokens of growth from which that can be told at all
_TELLING = 200  # tokens of growth from which the window of a server that cuts can be told
_LEAST_WINDOW = 1000  # tokens; no server has a smaller one, so smaller reports mean something else

# Chinese and other alphabets are where tokenizers differ most. A model's name says what to begin with;
# the first text of the kind that is reported corrects it.
_FAMILIES: dict[str, dict[str, float]] = {
    r"gpt-?(4o|4\.1|5|oss)|\bo[134]\b": {"han": 0.85, "foreign": 0.34},
    r"gpt-?[34]": {"han": 1.23, "foreign": 0.61},
    r"claude": {"han": 1.1, "foreign": 0.65},
    r"qwen|qwq": {"han": 0.66, "foreign": 0.45},
    r"deepseek": {"han": 0.58, "foreign": 0.4},
    r"gemma|gemini": {"han": 0.69, "foreign": 0.31},
    r"llama-?[34]": {"han": 0.91, "foreign": 0.41},
    r"llama-?2|mistral|mixtral": {"han": 1.21, "foreign": 0.53},
    r"smollm|embedded": {"han": 1.84, "foreign": 0.93},
}


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of each kind of character: of a text, a message, a request. They can be added and subtracted."""

    values: tuple[int, ...] = (0,) * len(_KINDS)

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(tuple(map(add, self.values, other.values)))

    def __sub__(self, other: "Counts") -> "Counts":
        return Counts(tuple(map(sub, self.values, other.values)))


@dataclass(frozen=True, slots=True)
class Report:
    """The input tokens that an endpoint reported for a request with these counts."""

    counts: Counts
    tokens: int


class Described(Protocol):
    """Part of a tool that costs tokens: its description for the model."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, object]: ...


class TokenEstimator:
    """Estimates tokens for one model, and learns from what its endpoint reports."""

    def __init__(self, model: str = "", endpoint: str = "") -> None:
        """Start from what is usual; the model's name, where it is known, improves the start.

        What the `endpoint` sent beside its tool calls is sent back to it, and counts.
        """
        self._endpoint = endpoint
        self._kinds = _kinds_of(model)
        self._start()
        self._cache: dict[int, Counts] = {}
        self._disbelieved: tuple[int, int] | None = None
        self._cut_at = 0
        self._is_cut_told = False

    def take_cut(self) -> int:
        """Return, once, the tokens that the server seems to read of longer requests; 0 if there is nothing to tell."""
        if not self._cut_at or self._is_cut_told:
            return 0
        self._is_cut_told = True
        return self._cut_at

    def size(self, message: Message) -> int:
        """Tokens of a message, with what stands around it."""
        return self.tokens(self.count(message))

    def tokens(self, counts: Counts, after: Report | None = None) -> int:
        """Return the tokens of these counts, extrapolated from the last report of the conversation if there is one."""
        if after is not None:
            return after.tokens + self.tokens(counts - after.counts)
        return round(sum(map(mul, self._costs, counts.values), 0.0))

    def count(self, message: Message) -> Counts:
        """Count a message. Pictures are not counted."""
        texts = _texts_of(message, self._endpoint)
        key = hash((len(message.tool_calls), *texts))
        if key not in self._cache:
            if len(self._cache) >= _CACHED:
                self._cache.clear()
            self._cache[key] = Counts(_texts(texts) + _around(messages=1, calls=len(message.tool_calls)))
        return self._cache[key]

    def count_all(self, messages: Sequence[Message]) -> Counts:
        """The sum of the counts of messages; for those counted for the first time quicker than one by one."""
        texts = [text for message in messages for text in _texts_of(message, self._endpoint)]
        calls = sum(len(message.tool_calls) for message in messages)
        return Counts(_texts(texts) + _around(messages=len(messages), calls=calls))

    def count_request(self, tools: Iterable[Described]) -> Counts:
        """Count what a request holds besides its messages."""
        schemas = [text for tool in tools for text in (tool.name, tool.description, json.dumps(tool.parameters))]
        return Counts(_texts(schemas) + _around(calls=len(schemas) // 3, requests=1))

    def learn(self, counts: Counts, tokens: int, last: Report | None = None) -> Report | None:
        """Learn from the input tokens that the endpoint reported for a request with these counts.

        Returns the report that the conversation hands in with its next request as `last`. One far under what was
        sent is not believed: some servers cut a request to their own window without a word, and report what is left.
        """
        if self._is_cut(counts, tokens, last):
            self._disbelieve(self.tokens(counts), tokens)
            return last
        if tokens > self._cut_at:
            self._cut_at = 0  # the server was given more room
        report = Report(counts, tokens)
        news, cost = (counts, tokens) if last is None else (counts - last.counts, tokens - last.tokens)
        self._correct(news.values, cost)
        return report

    def _is_cut(self, counts: Counts, tokens: int, last: Report | None) -> bool:
        whole = self.tokens(counts)
        if whole > 2 * _LEAST_WINDOW and tokens < whole * _HALF:
            return True
        if last is None:
            return False
        news = self.tokens(counts - last.counts)
        return abs(news) >= _SMALLEST_NEWS and (tokens - last.tokens) / news < _FAR_UNDER

    def _disbelieve(self, size: int, tokens: int) -> None:
        """Two such reports that hardly differ, for requests that do, tell where the server cuts."""
        first = self._disbelieved
        if first is None or min(tokens, first[1]) < _LEAST_WINDOW:
            self._disbelieved = (size, tokens)
            return
        grown = abs(size - first[0])
        if grown < _TELLING:
            return
        if abs(tokens - first[1]) > grown * _HALF:
            self._disbelieved = (size, tokens)
            return
        if not self._cut_at:
            self._start()  # the last reports that were believed may have been cut a little already
        self._cut_at = max(tokens, first[1], self._cut_at)

    def _start(self) -> None:
        """Believe what is usual."""
        self._costs = [kind.usual for kind in self._kinds]
        self._doubt = [
            [kind.spread**2 * (i == j) for j in range(len(self._kinds))] for i, kind in enumerate(self._kinds)
        ]

    def _correct(self, x: Sequence[int], cost: float) -> None:
        """One step of the filter: `x` cost so many tokens together."""
        for i, kind in enumerate(self._kinds):
            self._doubt[i][i] = min(self._doubt[i][i] + _DRIFT * kind.spread**2, kind.spread**2)
        towards = [sum(map(mul, row, x)) for row in self._doubt]
        noise = 4.0 + (_NOISE * cost) ** 2
        variance = sum(map(mul, towards, x)) + noise
        limit = _SURPRISE * variance**0.5
        error = max(-limit, min(limit, cost - sum(map(mul, self._costs, x))))
        for i, kind in enumerate(self._kinds):
            corrected = self._costs[i] + towards[i] / variance * error
            self._costs[i] = min(kind.most, max(kind.least, corrected))
            self._doubt[i] = [self._doubt[i][j] - towards[i] * towards[j] / variance for j in range(len(x))]


def _kinds_of(model: str) -> list[_Kind]:
    """Return the usual rates, corrected for a family of models."""
    known = next((costs for name, costs in _FAMILIES.items() if re.search(name, model.lower())), {})
    return [
        kind._replace(usual=known[name], spread=kind.spread / 2) if name in known else kind
        for name, kind in _KINDS.items()
    ]


def _around(messages: int = 0, calls: int = 0, requests: int = 0) -> tuple[int, ...]:
    return messages, calls, requests


def _texts_of(message: Message, endpoint: str) -> list[str]:
    texts = [text for text in (message.context, message.content) if text]
    if message.endpoint and message.endpoint == endpoint and message.tool_calls:
        extras = [message.extra, *(call.extra for call in message.tool_calls)]
        texts += [json.dumps(extra, ensure_ascii=False) for extra in extras if extra]
    return texts + [text for call in message.tool_calls for text in (call.name, call.arguments)]


def _texts(texts: Iterable[str]) -> tuple[int, ...]:
    """The counts of several texts together. What stands between them belongs to no kind, and parts what does."""
    return _text("\0".join(texts))


_LETTERS = string.ascii_letters.encode()
_SIGNS = string.punctuation.encode()
_HAN = bytes(range(0xE3, 0xEA))  # first bytes of U+3000 to U+9FFF in UTF-8
_FOREIGN = bytes(range(0xC2, 0xE2))  # of U+0080 to U+1FFF
_REST = bytes([*range(0xEA, 0xEF), *range(0xF0, 0xF5)])
_GAP = re.compile(rb"[ \t]{2,}")


def _only(kept: bytes) -> bytes:
    return bytes(byte if byte in kept else ord(" ") for byte in range(256))


_ONLY_LETTERS = _only(_LETTERS)
_ONLY_SIGNS = _only(_SIGNS)
_CASES = bytes(ord("a") if chr(b).islower() else ord("A") if chr(b).isupper() else ord(" ") for b in range(128)).ljust(
    256
)


def _text(text: str) -> tuple[int, ...]:
    """The counts of a text, in the order of the kinds. Works on bytes, where this runs at tens of MB/s."""
    raw = text.encode("utf-8", "replace")
    count = raw.count
    ascii_counts = (
        len(raw.translate(_ONLY_LETTERS).split()) + raw.translate(_CASES).count(b"aA"),
        _many(raw, _LETTERS),
        _many(raw, string.digits.encode()),
        _many(raw, _SIGNS),
        len(raw.translate(_ONLY_SIGNS).split()),
        count(b"\n") - count(b"\n\n"),
        len(_GAP.findall(raw)) if b"  " in raw or b"\t" in raw else 0,  # the one expression that is slow
    )
    if raw.isascii():
        return ascii_counts + (0,) * (_TEXT - len(ascii_counts))
    in_han_block = count(b"\xe3\x80")  # U+3000 to U+303F: punctuation
    wide = in_han_block + count(b"\xe2") + count(b"\xef\xbc") + count(b"\xef\xbd")
    return *ascii_counts, _many(raw, _HAN) - in_han_block, wide, _many(raw, _FOREIGN), _many(raw, _REST)


def _many(raw: bytes, kept: bytes) -> int:
    return len(raw) - len(raw.translate(None, kept))

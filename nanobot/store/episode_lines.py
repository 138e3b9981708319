"""The lines of history.jsonl."""

import json
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from nanobot.authority import Origin, Scope
from nanobot.ports import Episode, Fact
from nanobot.store.jsonl import loads
from nanobot.store.private import utf8

T = TypeVar("T")


class Head(msgspec.Struct):
    """What tells one episode from another without reading all of it."""

    cursor: int
    session: str
    scope: str


class _Fact(msgspec.Struct, kw_only=True, omit_defaults=True):
    text: str
    category: str = ""
    confidence: float = 1.0
    messages: tuple[str, ...]


class _Episode(msgspec.Struct, kw_only=True, omit_defaults=True):
    cursor: int
    timestamp: str
    session: str
    scope: str
    origin: Origin
    messages: tuple[str, str]
    content: str
    facts: tuple[_Fact, ...] = ()
    raw: bool = False
    own: tuple[str, ...] | None = None


_head = msgspec.json.Decoder(Head).decode
_episode = msgspec.json.Decoder(_Episode).decode


def encode(episode: Episode) -> bytes:
    """One line, its newline included. A lone surrogate becomes U+FFFD; of `own`, only lines that are there are kept."""
    lines = episode.content.split("\n")
    row = _Episode(
        cursor=episode.cursor,
        timestamp=episode.timestamp,
        session=episode.session,
        scope=episode.scope.name,
        origin=episode.origin,
        messages=episode.messages,
        content=episode.content,
        facts=tuple(
            _Fact(text=fact.text, category=fact.category, confidence=fact.confidence, messages=tuple(fact.messages))
            for fact in episode.facts
        ),
        raw=episode.raw,
        own=None if episode.own is None else tuple(line for line in episode.own if line in lines),
    )
    try:
        return msgspec.json.encode(row) + b"\n"
    except UnicodeEncodeError:
        return utf8(json.dumps(msgspec.to_builtins(row), ensure_ascii=False, separators=(",", ":"))) + b"\n"


def decode(line: bytes) -> Episode:
    """What a line says; fields that a later version may know are left out. Raises ValueError."""
    row = _read(_episode, line)
    return Episode(
        cursor=row.cursor,
        timestamp=row.timestamp,
        session=row.session,
        scope=Scope(row.scope),
        origin=row.origin,
        messages=row.messages,
        content=row.content,
        facts=_facts(row.facts),
        raw=row.raw,
        own=row.own,
    )


def is_readable(line: bytes) -> bool:
    """Whether it is an episode."""
    try:
        decode(line)
    except ValueError:
        return False
    return True


def head(line: bytes) -> Head:
    """Number, session and scope of a line. Raises ValueError."""
    return _read(_head, line)


def _read(as_kind: Callable[[bytes], T], line: bytes) -> T:
    try:
        return as_kind(line)
    except ValueError:
        if rb"\ud" not in line and rb"\uD" not in line:
            raise
        return as_kind(utf8(json.dumps(loads(line), ensure_ascii=False)))  # legal JSON, but not to msgspec
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _facts(rows: Sequence[_Fact]) -> tuple[Fact, ...]:
    return tuple(Fact(row.text, row.messages, row.category, row.confidence) for row in rows)

"""Source of the configuration: YAML nodes with their lines, and the environment."""

import dataclasses
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from nanobot.errors import ConfigError, yaml_advice

# Nodes: values with their lines.


_LONGEST_SHOWN = 60
_PASSWORD = re.compile(r"(://[^/\s:@]*:)[^/\s@]*@")


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A line of a file, or a variable of the environment."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"line {self.line}"

    @property
    def folder(self) -> Path:
        """Folder that relative paths start from: beside the file, or the working directory for a variable."""
        return Path() if self.line is None else Path(self.source).parent


@dataclass(frozen=True, slots=True)
class Node:
    """A value: its dotted key and where it stands."""

    key: str
    place: SourcePlace

    def fail(self, text: str) -> NoReturn:
        """Raise the ConfigError that says so about this key."""
        raise ConfigError(self.sentence(text))

    def sentence(self, text: str) -> str:
        """The text about this key, with where it stands."""
        name = self.key or "the configuration"
        if self.place.line is None:
            return f"{name}, set by {self.place.source}, {text}"
        return f"{self.place.source}: {name} on line {self.place.line} {text}"

    @property
    def weight(self) -> int:
        """Number of values, with those that aliases repeat counted again."""
        return 1

    def __str__(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Scalar(Node):
    """A single value as it was typed. Only a plain one, without quotes, can be a number, true, false or null."""

    text: str
    plain: bool = True
    written: str | None = None  # what stood there before ${VAR} was filled in: only that is ever shown
    unset: str = ""  # what to say of a variable in it that is not set, to whoever needs the value

    @property
    def is_null(self) -> bool:
        return self.plain and self.text in ("", "~", "null", "Null", "NULL")

    @property
    def truth(self) -> bool | None:
        """True or False if that is what was typed: no other word is a boolean."""
        return {"true": True, "false": False}.get(self.text.lower()) if self.plain else None

    def __str__(self) -> str:
        text = _PASSWORD.sub(r"\1***@", self.text if self.written is None else self.written)
        if not text:
            return "empty"
        text = " ".join(text.splitlines())  # what is said about it is one line
        shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
        return f"'{shown}'" if self.plain else f"the text '{shown}'"


@dataclass(frozen=True, slots=True)
class Items(Node):
    """A list."""

    items: tuple[Node, ...]

    @property
    def weight(self) -> int:
        return 1 + sum(item.weight for item in self.items)

    def __str__(self) -> str:
        return "a list"


@dataclass(frozen=True, slots=True)
class KeyTable(Node):
    """Keys with their values."""

    entries: dict[str, Node]

    @property
    def weight(self) -> int:
        return 1 + sum(node.weight for node in self.entries.values())

    def __str__(self) -> str:
        return "a group of keys"


def is_null(node: Node | None) -> bool:
    """True if nothing was said: a key without a value is as good as no key."""
    return node is None or (isinstance(node, Scalar) and node.is_null)


# YAML: nothing in it is run, guessed or repeated without bound.


_MOST_BYTES = 1 << 20
_MOST_VALUES = 20_000  # aliases of aliases can stand for billions
_DEEPEST = 40
_FORBIDDEN = re.compile(
    "[^\\t\\n\\r -~\\x85\\xa0-\\ud7ff\\ue000-\\ufffd\U00010000-\U0010ffff]"
)  # what YAML has no place for
_INDICATOR = re.compile("[*&!%@`]")
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def read_file(path: Path) -> KeyTable | None:
    """The keys in a file; an empty one has none. None if there is no file. Raises ConfigError with file and line."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a pipe may wait for ever
            raise ConfigError(f"{path}: is not a plain file")
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        if path.is_symlink():
            raise ConfigError(f"{path}: is a link to a file that is not there") from None
        return None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise ConfigError(f"{path}: is larger than 1 MB; is it the configuration?")
    if data.startswith(_BYTE_ORDER_MARKS):
        raise ConfigError(f"{path}: begins with a byte order mark (BOM); save it as UTF-8 without one")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line}: is not UTF-8 text; save the file as UTF-8") from error
    node = read_text(text, str(path), "")
    return (
        node
        if isinstance(node, KeyTable)
        else KeyTable("", SourcePlace(str(path), 1), {})
        if _empty(node)
        else _no_keys(node)
    )


def read_text(text: str, source: str, key: str) -> Node:
    """Return the text of a node. Raises ConfigError.

    Args:
        text: YAML.
        source: the file it comes from, for places and messages.
        key: the dotted key that it is the value of; "" for the whole configuration.
    """
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder(source, yaml.parse(text, Loader=loader)).document(key)
    except yaml.MarkedYAMLError as error:
        raise ConfigError(_explain(text, source, error)) from error
    except yaml.reader.ReaderError as error:
        found = _FORBIDDEN.search(text)
        line = text.count("\n", 0, found.start()) + 1 if found else 1
        raise ConfigError(f"{source}, line {line}: holds an invisible control character; remove it") from error


class _Builder:
    """Makes nodes of YAML's events; a key's place is the key's own line, not its value's."""

    def __init__(self, source: str, events: Iterator[Any]) -> None:
        self._source = source
        self._events = events
        self._anchors: dict[str, Node] = {}

    def document(self, key: str) -> Node:
        node: Node = Scalar(key, SourcePlace(self._source, 1), "")
        documents = 0
        for event in self._events:
            if _is(event, "DocumentStart"):
                documents += 1
                if documents > 1:
                    self._fail(event, "a second document begins here (---); there can be only one")
                node = self._node(next(self._events), key, 0)
        return node

    def _node(self, event: Any, key: str, depth: int, place: SourcePlace | None = None) -> Node:
        if _is(event, "Alias"):
            return dataclasses.replace(self._anchored(event), key=key, place=place or self._place(event))
        if event.tag is not None:
            self._fail(event, f"tags such as {event.tag} mean nothing here; leave it out, or put the text into quotes")
        if depth > _DEEPEST:
            self._fail(event, "this is nested too deeply")
        node = self._value(event, key, depth, place or self._place(event))
        if node.weight > _MOST_VALUES:
            self._fail(event, f"aliases make more than {_MOST_VALUES} values of this")
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _anchored(self, event: Any) -> Node:
        if event.anchor not in self._anchors:
            self._fail(event, f"*{event.anchor} refers to nothing that stands before it")
        return self._anchors[event.anchor]

    def _value(self, event: Any, key: str, depth: int, place: SourcePlace) -> Node:
        if _is(event, "Scalar"):
            return Scalar(key, place, event.value, plain=not event.style)
        return self._items(key, depth, place) if _is(event, "SequenceStart") else self._table(key, depth, place)

    def _items(self, key: str, depth: int, place: SourcePlace) -> Items:
        items: list[Node] = []
        while not _is(event := next(self._events), "SequenceEnd"):
            items.append(self._node(event, f"{key}[{len(items)}]", depth + 1))
        return Items(key, place, tuple(items))

    def _table(self, key: str, depth: int, place: SourcePlace) -> KeyTable:
        entries: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        while not _is(event := next(self._events), "MappingEnd"):
            if not _is(event, "Scalar"):
                self._fail(event, "a key must be a word")
            name, at = event.value, self._place(event)
            if name in entries:
                self._fail(event, f"the key {name} stands here for the second time (first on {entries[name].place})")
            value = self._node(next(self._events), f"{key}.{name}" if key else name or "''", depth + 1, at)
            if name != "<<":
                entries[name] = value
            elif isinstance(value, KeyTable):
                merged |= value.entries
            else:
                self._fail(event, "<< takes the keys of another group: write <<: *its_anchor")
        return KeyTable(key, place, merged | entries)

    def _place(self, event: Any) -> SourcePlace:
        return SourcePlace(self._source, event.start_mark.line + 1)

    def _fail(self, event: Any, text: str) -> NoReturn:
        raise ConfigError(f"{self._source}, line {event.start_mark.line + 1}: {text}")


_TO_BE_CLOSED = ("while parsing a flow sequence", "while parsing a flow mapping", "while scanning a quoted scalar")
"""libyaml's words for what begins with a bracket, a brace or a quotation mark."""


def _is(event: Any, kind: str) -> bool:
    return type(event).__name__ == f"{kind}Event"


def _empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.is_null


def _no_keys(node: Node) -> NoReturn:
    raise ConfigError(f"{node.place.source}, {node.place}: must begin with a key such as `model: main`; it is {node}")


def _explain(text: str, source: str, error: Any) -> str:
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return f"{source}: is not YAML: {yaml_advice(error.problem)}"
    lines = text.splitlines() or [""]
    typed = lines[min(mark.line, len(lines) - 1)]
    where = f"{source}, line {mark.line + 1}"
    if "\t" in typed[: len(typed) - len(typed.lstrip())]:
        return f"{where}: is indented with a tab; YAML wants spaces"
    if "${" in typed:
        return f'{where}: is not YAML: put "${{…}}" into quotes inside of braces and brackets'
    if begins := _INDICATOR.search(typed[max(0, mark.column - 1) : mark.column + 1]):  # libyaml points behind some
        return f"{where}: a value that begins with {begins[0]} must stand in quotes"
    if error.context in _TO_BE_CLOSED:  # what was not closed is noticed later, somewhere
        began = f"{source}, line {error.context_mark.line + 1}"
        return f"{began}: is not YAML: {yaml_advice('unexpected end of stream')}, or a comma is missing"
    return f"{where}: is not YAML: {yaml_advice(error.problem)}"

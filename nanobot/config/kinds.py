"""What a value may be: how it is read, shown, and described to an editor."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

from nanobot.config.nodes import Items, Node, Scalar, Table

T = TypeVar("T")


class UnsetSecret(str):
    """A secret that stands in a variable which is not set here: nothing, and `sentence` says what is missing."""

    __slots__ = ("sentence",)
    sentence: str

    @classmethod
    def because(cls, sentence: str) -> "UnsetSecret":
        unset = cls()
        unset.sentence = sentence
        return unset


Schema = dict[str, Any]

MASK = "********"
WHOLE = re.compile(r"[+-]?[0-9]{1,300}")
NUMBER = re.compile(r"[+-]?(?:[0-9]{1,300}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
SECRET_NAME = re.compile(r"key|token|secret|passw|authorization|credential|cookie", re.IGNORECASE)


class UnfitError(ValueError):
    """A value that does not fit; the text, if there is any, says better than the kind what it must be."""


class Kind(Protocol[T]):
    """What a key's value may be."""

    @property
    def words(self) -> str:
        """The end of the sentence "must be …"."""
        ...

    @property
    def secret(self) -> bool:
        """Whether the value must not be shown."""
        ...

    def read(self, node: Node) -> T:
        """The value that a node stands for. Raises ConfigError."""
        ...

    def show(self, value: T) -> object:
        """The value as one would write it in YAML, secrets masked."""
        ...

    def schema(self) -> Schema:
        """The JSON schema of what one may write."""
        ...


@dataclass(frozen=True, slots=True)
class Single(Generic[T]):
    """A value without parts; `parse` raises UnfitError."""

    words: str
    parse: Callable[[str], T]
    json: Schema
    write: Callable[[T], object] = str
    quotes: bool = True  # whether it may stand in quotes
    secret: bool = False

    def read(self, node: Node) -> T:
        if isinstance(node, Scalar) and node.unset:
            if self.secret:  # it matters to whoever needs it, which few commands do
                return self.unset(node.sentence(node.unset))
            node.fail(node.unset)
        if not isinstance(node, Scalar) or node.is_null or (self.quotes and node.truth is not None):
            node.fail(f"must be {self.words}; it is {node}")
        shown = "something else, which is not shown" if self.secret and node.text else node
        if not self.quotes and not node.plain:
            node.fail(f"must be {self.words}, without quotes; it is {shown}")
        try:
            return self.parse(node.text)
        except UnfitError as why:
            node.fail(f"must be {str(why) or self.words}; it is {shown}")

    def unset(self, sentence: str) -> T:
        """The value of a secret that is not known here. All secrets are texts."""
        return cast("T", UnsetSecret.because(sentence))

    def show(self, value: T) -> object:
        return MASK if self.secret else self.write(value)

    def schema(self) -> Schema:
        return self.json


def or_word(kind: Single[T], word: str) -> Single[T | None]:
    """The same, or a word that means None."""
    return Single(
        words=f"{kind.words}, or {word}",
        parse=lambda text: None if text == word else kind.parse(text),
        json={"anyOf": [kind.json, {"const": word}]},
        write=lambda value: word if value is None else kind.write(value),
    )


@dataclass(frozen=True, slots=True)
class ListOf(Generic[T]):
    """Several of a kind. Nothing comes twice."""

    kind: Kind[T]

    @property
    def words(self) -> str:
        return f"a list, each item {self.kind.words}"

    @property
    def secret(self) -> bool:
        return self.kind.secret

    def read(self, node: Node) -> tuple[T, ...]:
        if not isinstance(node, Items):
            node.fail(f"must be {self.words}, in square brackets; it is {node}")
        return tuple(dict.fromkeys(self.kind.read(item) for item in node.items))

    def show(self, value: tuple[T, ...]) -> object:
        return [self.kind.show(item) for item in value]

    def schema(self) -> Schema:
        return {"type": "array", "items": self.kind.schema()}


@dataclass(frozen=True, slots=True)
class MapOf(Generic[T]):
    """Names that a person chose, each with a value of one kind. `name` says what a name may be."""

    kind: Kind[T]
    name: Single[str] | None = None

    @property
    def words(self) -> str:
        return f"a group of names, each with {self.kind.words}"

    @property
    def secret(self) -> bool:
        return self.kind.secret

    def read(self, node: Node) -> Mapping[str, T]:
        if not isinstance(node, Table):
            node.fail(f"must be {self.words}; it is {node}")
        if self.name is not None:
            for name, value in node.entries.items():
                self.name.read(Scalar(value.key, value.place, name))
        return {name: self.kind.read(value) for name, value in node.entries.items()}

    def show(self, value: Mapping[str, T]) -> object:
        if isinstance(self.kind, Anything):
            return self.kind.show(value)  # it looks at the names, too
        return {name: self.kind.show(item) for name, item in value.items()}

    def schema(self) -> Schema:
        schema: Schema = {"type": "object", "additionalProperties": self.kind.schema()}
        if self.name is not None:
            schema["propertyNames"] = {"pattern": self.name.json["pattern"]}
        return schema


@dataclass(frozen=True, slots=True)
class Anything:
    """What somebody else checks: an endpoint's own parameters, a plugin's settings."""

    words: str = "anything"
    secret: bool = False

    def read(self, node: Node) -> object:
        match node:
            case Table():
                return {name: self.read(value) for name, value in node.entries.items()}
            case Items():
                return [self.read(item) for item in node.items]
            case Scalar():
                if node.unset:
                    node.fail(node.unset)
                return _resolve(node)
        raise AssertionError(node)

    def show(self, value: object) -> object:
        if isinstance(value, Mapping):
            return {name: MASK if SECRET_NAME.search(name) else self.show(item) for name, item in value.items()}
        return [self.show(item) for item in value] if isinstance(value, list) else value

    def schema(self) -> Schema:
        return {}


def _resolve(node: Scalar) -> object:
    """What YAML 1.2 makes of it: only true and false are booleans, dates and times are text."""
    if not node.plain:
        return node.text
    if node.is_null:
        return None
    if node.truth is not None:
        return node.truth
    if WHOLE.fullmatch(node.text):
        return int(node.text)
    return float(node.text) if NUMBER.fullmatch(node.text) else node.text

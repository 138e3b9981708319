"""A group of keys, each declared once with its kind, default and meaning."""

import dataclasses
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from nanobot.config.source import KeyTable, Node, is_null
from nanobot.config.values import Kind, Schema, Single

T = TypeVar("T")


class Group(Protocol):
    """A frozen dataclass whose fields were made with the functions below."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]


G = TypeVar("G", bound=Group)


@dataclasses.dataclass(frozen=True, slots=True)
class Key:
    """Description of a key. `is_idle`: it is checked and kept, and has no effect yet."""

    name: str
    kind: Kind[Any]
    doc: str
    needed: bool
    default: object = None
    is_idle: bool = False

    def show(self, value: Any) -> object:
        """A value of the key as one would write it in YAML, secrets masked."""
        return None if value is None and self.default is None else self.kind.show(value)


def key(kind: Kind[T], default: T, doc: str, *, idle: bool = False) -> T:
    """Declare a key with a default; an `idle` one, with all that it holds, has no effect yet."""
    return cast("T", _field(kind, doc, idle=idle, default_factory=lambda: default))


def optional(kind: Kind[T], doc: str, *, idle: bool = False) -> T | None:
    """Declare a key that may be left out; `idle` as above."""
    return cast("T | None", _field(kind, doc, idle=idle, default=None))


def needed(kind: Kind[T], doc: str) -> T:
    """Declare a key without which its group means nothing."""
    return cast("T", _field(kind, doc))


def group(cls: type[G], doc: str, *, idle: bool = False) -> G:
    """Declare a group of keys that is always there; `idle` as above."""
    return cast("G", _field(Section(cls), doc, idle=idle, default_factory=cls))


def keys_of(cls: type[Group]) -> Iterator[Key]:
    """The keys of a group, in the order of their declaration."""
    for field in dataclasses.fields(cls):
        kind, doc, idle = field.metadata["kind"], field.metadata["doc"], field.metadata["idle"]
        if field.default_factory is not dataclasses.MISSING:
            yield Key(field.name, kind, doc, needed=False, default=field.default_factory(), is_idle=idle)
        else:
            yield Key(field.name, kind, doc, needed=field.default is dataclasses.MISSING, is_idle=idle)


@dataclasses.dataclass(frozen=True, slots=True)
class Section(Generic[G]):
    """The kind of a group of keys: it accepts them and no others."""

    cls: type[G]
    words: str = "a group of keys"
    secret: bool = False

    def read(self, node: Node) -> G:
        if not isinstance(node, KeyTable):
            node.fail(f"must be a group of keys ({', '.join(self.names)}); it is {node}")
        for name in node.entries:
            if name not in self.names:
                node.entries[name].fail(f"is not a key that nanobot knows{hint(name, self.names)}")
        values = {}
        for each in keys_of(self.cls):
            value = node.entries.get(each.name)
            if value is not None and not is_null(value):
                values[each.name] = each.kind.read(value)
            elif each.needed:
                node.fail(f"needs the key {each.name}: {each.doc}")
        return self.cls(**values)

    def show(self, value: G) -> object:
        return {each.name: each.show(getattr(value, each.name)) for each in keys_of(self.cls)}

    def schema(self) -> Schema:
        keys = list(keys_of(self.cls))
        schema: Schema = {
            "type": "object",
            "additionalProperties": False,
            "properties": {each.name: _property(each) for each in keys},
        }
        if required := [each.name for each in keys if each.needed]:
            schema["required"] = required
        return schema

    @property
    def names(self) -> list[str]:
        return [each.name for each in dataclasses.fields(self.cls)]


def hint(name: str, names: list[str]) -> str:
    """Return the probable meaning, as the end of a sentence."""
    close = get_close_matches(name.lower().replace("-", "_"), names, 1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else f"; here it knows {', '.join(sorted(names))}"


def _field(kind: Kind[Any], doc: str, *, idle: bool = False, **default: Any) -> object:
    metadata = {"kind": kind, "doc": f"Not yet: {doc}" if idle else doc, "idle": idle}
    return dataclasses.field(repr=not kind.secret, kw_only=True, metadata=metadata, **default)


def _property(each: Key) -> Schema:
    alternatives = [each.kind.schema()]
    if isinstance(each.kind, Single):
        alternatives.append({"$ref": "#/$defs/variable"})
    if not each.needed:
        alternatives.append({"type": "null"})
    described: Schema = {"description": each.doc, "anyOf": alternatives}
    if each.default is not None and not isinstance(each.kind, Section):
        described["default"] = each.kind.show(each.default)
    return described

"""What was written: values with their places, before anybody knows what they mean."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from nanobot.errors import ConfigError

_LONGEST_SHOWN = 60
_PASSWORD = re.compile(r"(://[^/\s:@]*:)[^/\s@]*@")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, or a variable of the environment."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"line {self.line}"

    @property
    def folder(self) -> Path:
        """Where relative paths start: beside the file, or for a variable where we are."""
        return Path() if self.line is None else Path(self.source).parent


@dataclass(frozen=True, slots=True)
class Node:
    """A value: its dotted key and where it stands."""

    key: str
    place: Place

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
        """How many values this is, what aliases repeat counted again."""
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
class Table(Node):
    """Keys with their values."""

    entries: dict[str, Node]

    @property
    def weight(self) -> int:
        return 1 + sum(node.weight for node in self.entries.values())

    def __str__(self) -> str:
        return "a group of keys"


def is_null(node: Node | None) -> bool:
    """Whether nothing was said: a key without a value is as good as no key."""
    return node is None or (isinstance(node, Scalar) and node.is_null)

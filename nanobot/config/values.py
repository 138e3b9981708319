"""Kinds of values: how each is read, shown, and described to an editor."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import time
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Generic, NamedTuple, NoReturn, Protocol, TypeVar, cast, get_args
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from nanobot.config.source import Items, KeyTable, Node, Scalar

# Kinds of values.


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
    """Type of a key's value."""

    @property
    def words(self) -> str:
        """The end of the sentence "must be …"."""
        ...

    @property
    def secret(self) -> bool:
        """True if the value must not be shown."""
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
        if not isinstance(node, KeyTable):
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
    """Value that somebody else checks: an endpoint's own parameters, a plugin's settings."""

    words: str = "anything"
    secret: bool = False

    def read(self, node: Node) -> object:
        match node:
            case KeyTable():
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
    """Resolve a scalar as YAML 1.2: only true and false are booleans, dates and times are text."""
    if not node.plain:
        return node.text
    if node.is_null:
        return None
    if node.truth is not None:
        return node.truth
    if WHOLE.fullmatch(node.text):
        return int(node.text)
    return float(node.text) if NUMBER.fullmatch(node.text) else node.text


# Numbers, durations, sizes, ids, addresses, choices.


_SPAN = re.compile(r"([0-9]{1,12}(?:\.[0-9]+)?)(ms|s|m|h|d)")
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]+)?) ?([KMG]?B)", re.IGNORECASE)
_BYTES = {"GB": 1 << 30, "MB": 1 << 20, "KB": 1 << 10, "B": 1}
_ID = r"-?[1-9][0-9]{0,19}"
_HOURS = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9]) ?- ?([01]?[0-9]|2[0-3]):([0-5][0-9])")
_SECRET_PART = re.compile(
    r"(://[^/\s:@]*:)[^/\s@]*(?=@)|((?:[?&]|^--?)[^=&#]*(?:key|token|secret|passw)[^=&#]*=)[^&#]*", re.IGNORECASE
)
_CRON = re.compile(r"@(?:hourly|daily|midnight|weekly|monthly|yearly|annually)|\S+(?:\s+\S+){4}")


_ZONE_LETTERS = r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)"
_ZONE_RULE = re.compile(rf"{_ZONE_LETTERS}[+-]?[0-9][0-9:]*(?:{_ZONE_LETTERS}.*)?")


class Listen(NamedTuple):
    """Address that a server listens on."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Hours(NamedTuple):
    """A part of the day; it may pass midnight."""

    start: time
    end: time

    def __str__(self) -> str:
        return f"{self.start:%H:%M}-{self.end:%H:%M}"


def text(words: str = "text") -> Single[str]:
    """Any text but an empty one."""
    return Single(words, _some_text, {"type": ["string", "number"]})


def secret(words: str, form: str = r"[!-~]+", looks: str = "one word of ASCII characters") -> Single[str]:
    """A key, token or password: one word, never shown. Blanks around it, as of a variable read from a file, go.

    `form` is the pattern of all of it, `looks` says it to a person.
    """

    def parse(typed: str) -> str:
        return typed.strip() if re.fullmatch(form, typed.strip()) else _unfit(f"{words}, {looks}")

    return Single(words, parse, {"type": ["string", "number"]}, secret=True)


def hidden(words: str) -> Single[str]:
    """One line of text that is never shown: a header, a variable for another program."""

    def parse(typed: str) -> str:
        return typed if typed.isprintable() else _unfit(f"{words} on one line")

    return Single(words, parse, {"type": ["string", "number"]}, secret=True)


def flag() -> Single[bool]:
    """True or false, and no other word."""

    def parse(typed: str) -> bool:
        return typed.lower() == "true" if typed.lower() in ("true", "false") else _unfit()

    return Single("true or false", parse, {"type": "boolean"}, write=bool, quotes=False)


def whole(low: int, high: int, example: int) -> Single[int]:
    """A whole number."""

    def parse(typed: str) -> int:
        value = int(typed) if WHOLE.fullmatch(typed) else _unfit()
        return value if low <= value <= high else _unfit(f"from {low} to {high}")

    json = {"type": "integer", "minimum": low, "maximum": high}
    return Single(f"a whole number such as {example}", parse, json, write=int, quotes=False)


def number(low: float, high: float, example: float) -> Single[float]:
    """A number."""

    def parse(typed: str) -> float:
        value = float(typed) if NUMBER.fullmatch(typed) else _unfit()
        return value if low <= value <= high else _unfit(f"from {low:g} to {high:g}")

    json = {"type": "number", "minimum": low, "maximum": high}
    return Single(f"a number such as {example:g}", parse, json, write=_short, quotes=False)


def duration(low: str, high: str) -> Single[float]:
    """A time span, read as seconds."""

    def parse(typed: str) -> float:
        value = _seconds(typed)
        return value if _seconds(low) <= value <= _seconds(high) else _unfit(f"from {low} to {high}")

    json = {"type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+$"}
    return Single("a duration such as 90s, 30m, 2h or 1d", parse, json, write=_span)


def size(low: str, high: str) -> Single[int]:
    """An amount of text, read as bytes; 1KB is 1,024 of them."""

    def parse(typed: str) -> int:
        value = _bytes(typed)
        return value if _bytes(low) <= value <= _bytes(high) else _unfit(f"from {low} to {high}")

    json = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?[KMGkmg]?[Bb]$"}
    return Single("a size such as 32KB or 1MB", parse, json, write=_amount)


def choice(literal: Any) -> Single[Any]:
    """One of the words of a Literal."""
    return word(*get_args(literal))


def word(*words: str) -> Single[Any]:
    """One of some words."""
    said = f"{', '.join(words[:-1])} or {words[-1]}"
    return Single(said, lambda typed: typed if typed in words else _unfit(), {"enum": list(words)})


def url(*schemes: str) -> Single[str]:
    """An address on the web."""

    def parse(typed: str) -> str:
        try:
            parts = urlsplit(typed)
            good = parts.scheme in schemes and parts.hostname and (parts.port or 1)
        except ValueError:  # a broken IPv6 address or port
            good = False
        return typed if good else _unfit()

    words = f"a URL that begins with {' or '.join(f'{scheme}://' for scheme in schemes)}"
    json = {"type": "string", "pattern": f"^({'|'.join(schemes)})://.+"}
    return Single(words, parse, json, write=without_secrets)


def endpoint() -> Single[str]:
    """The base URL of an OpenAI-compatible endpoint."""
    web = url("http", "https")

    def parse(typed: str) -> str:
        base = web.parse(typed).rstrip("/")
        if base.endswith(("/completions", "/models", "/responses", "/transcriptions")):
            return _unfit("the part of the URL that all requests share: it most often ends in /v1")
        return base

    return replace(web, words="the URL of an endpoint, such as https://api.example.com/v1", parse=parse)


def platform_id() -> Single[str]:
    """An id that a platform gave to a person or a chat."""

    def parse(typed: str) -> str:
        return typed if re.fullmatch(_ID, typed) else _unfit()

    words = "an id, which is a number such as 12345678 (a name does not do: anybody can take it)"
    return Single(words, parse, {"type": ["integer", "string"], "pattern": f"^{_ID}$"}, write=int)


def listen() -> Single[Listen]:
    """A host and a port."""

    def parse(typed: str) -> Listen:
        host, _, port = typed.rpartition(":")
        if not (host and re.fullmatch("[0-9]{1,5}", port) and int(port) < 1 << 16):
            return _unfit()
        return Listen(host.removeprefix("[").removesuffix("]"), int(port))

    json = {"type": "string", "pattern": "^.+:[0-9]{1,5}$"}
    return Single("host:port, such as 127.0.0.1:18790", parse, json, write=str)


def hours() -> Single[Hours]:
    """A part of the day."""

    def parse(typed: str) -> Hours:
        found = _HOURS.fullmatch(typed)
        if not found:
            return _unfit()
        return Hours(time(int(found[1]), int(found[2])), time(int(found[3]), int(found[4])))

    return Single('hours such as "08:00-22:00"', parse, {"type": "string", "pattern": f"^{_HOURS.pattern}$"}, write=str)


def cron() -> Single[str]:
    """Validate a rule as in a crontab."""

    def parse(typed: str) -> str:
        return typed if _CRON.fullmatch(typed) else _unfit()

    return Single('five fields as in a crontab, such as "30 3 * * *", or @daily', parse, {"type": "string"})


def timezone() -> Single[str]:
    """A time zone by its name in the IANA database."""

    def parse(typed: str) -> str:
        try:
            ZoneInfo(typed)
        except (KeyError, ValueError, OSError):
            return _unfit(_zone_hint(typed))
        return typed

    return Single("the name of a time zone, such as Europe/Berlin", parse, {"type": "string"})


def argument() -> Single[str]:
    """A word of a command line."""
    return replace(text("a word of the command"), write=without_secrets)


def without_secrets(address: str) -> str:
    """A URL, or a word of a command line, with the passwords and keys in it masked."""
    return _SECRET_PART.sub(lambda found: f"{found[1] or found[2]}***", address)


def secrets_in(address: str) -> list[str]:
    """Return the values that `without_secrets` masks."""
    return [found[0].removeprefix(found[1] or found[2]) for found in _SECRET_PART.finditer(address)]


def zone_mistake(variable: str) -> str:
    """Return the advice if TZ is no time zone, which the C library silently reads as UTC; else "".

    Besides names it knows rules such as CET-1CEST,M3.5.0,M10.5.0/3, and paths of files.
    """
    name = variable.removeprefix(":")
    if not name or _ZONE_RULE.fullmatch(name) or (name.startswith("/") and Path(name).is_file()):
        return ""
    try:
        timezone().parse(name)
    except UnfitError as error:
        return str(error)
    return ""


def _zone_hint(typed: str) -> str:
    zones = {zone.lower(): zone for zone in available_timezones()}
    if not zones:
        return "left out, for this machine has no time zones (`pip install tzdata` brings them)"
    cities = {zone.rpartition("/")[2]: zone for zone in sorted(zones)}
    wanted = typed.strip().lower().replace(" ", "_")
    close = get_close_matches(wanted, zones, 1) or [cities[city] for city in get_close_matches(wanted, cities, 1)]
    return f"the name of a time zone, such as {zones[close[0]] if close else 'Europe/Berlin or Asia/Shanghai'}"


def _unfit(better: str = "") -> NoReturn:
    raise UnfitError(better)


def _some_text(typed: str) -> str:
    return typed if typed.strip() else _unfit()


def _seconds(typed: str) -> float:
    spans = _SPAN.findall(typed)
    if not spans or "".join(map("".join, spans)) != typed:
        _unfit()
    return float(sum(float(count) * _SECONDS[unit] for count, unit in spans))


def _bytes(typed: str) -> int:
    found = _SIZE.fullmatch(typed)
    return int(float(found[1]) * _BYTES[found[2].upper()]) if found else _unfit()


def _span(seconds: float) -> str:
    unit = next((unit for unit, length in _SECONDS.items() if seconds >= length and seconds % length == 0), "ms")
    return f"{seconds / _SECONDS[unit]:.12g}{unit}"


def _amount(count: int) -> str:
    unit = next(unit for unit, length in _BYTES.items() if count % length == 0 and (count or unit == "B"))
    return f"{count // _BYTES[unit]}{unit}"


def _short(value: float) -> float | int:
    return int(value) if value == int(value) else value


# Files and folders.


EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class FilePath:
    """A file or folder; a relative one starts where the configuration file lies."""

    words: str = "a path"
    secret: bool = False

    def read(self, node: Node) -> Path:
        typed = text(self.words).read(node)
        try:
            return Path(node.place.folder, Path(typed).expanduser()).absolute()
        except RuntimeError:
            node.fail(f"begins with ~, but that home folder is unknown; it is {node}")

    def show(self, value: Path) -> str:
        return str(value)

    def schema(self) -> Schema:
        return {"type": "string"}


@dataclass(frozen=True, slots=True)
class ModelWeights:
    """The embedded model, or a file."""

    words: str = "embedded, or the path of a GGUF file"
    secret: bool = False

    def read(self, node: Node) -> str:
        typed = text(self.words).read(node)
        return typed if typed == EMBEDDED else str(FilePath().read(node))

    def show(self, value: str) -> str:
        return value

    def schema(self) -> Schema:
        return {"type": "string"}

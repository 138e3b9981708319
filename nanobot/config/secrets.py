"""The secrets that a configuration holds, so that others can keep them out of what they write."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from nanobot.config.kinds import SECRET_NAME, Anything, Kind, ListOf, MapOf, UnsetSecret
from nanobot.config.section import Section, keys_of
from nanobot.config.tree import Config
from nanobot.config.values import secrets_in
from nanobot.errors import ConfigError

SHORTEST_NAMED = 12
"""Characters of a variable of the environment that is taken for a secret by its name alone."""

_PLAIN = re.compile(r"[\s/\\]|^[a-z_.-]*$")
"""A path, several words, or a plain word."""

SHORTEST = 6
"""Characters; what is shorter guards nothing, and hiding it would hide ordinary words."""


def secrets_of(config: Config) -> frozenset[str]:
    """Keys, tokens and passwords, also those that stand in an address or in a plugin's settings."""
    return frozenset(secret for secret in _in_value(Section(Config), config) if len(secret) >= SHORTEST)


def secrets_here(config: Config, env: Mapping[str, str]) -> frozenset[str]:
    """The same, and what variables of the environment hold whose names say that it is secret.

    Paths (of agents, of files with a key in them) and what is short are none: they would hide ordinary words.
    """
    named = (value for name, value in env.items() if SECRET_NAME.search(name))
    return secrets_of(config) | {value for value in named if len(value) >= SHORTEST_NAMED and not _PLAIN.search(value)}


def known(secret: str | None) -> str:
    """A secret, by whoever needs it now; "" for none. Raises ConfigError if its variable is not set here."""
    if isinstance(secret, UnsetSecret):
        raise ConfigError(secret.sentence)
    return secret or ""


def _in_value(kind: Kind[Any], value: Any) -> Iterator[str]:
    if value is None:
        return
    match kind:
        case Section():
            for each in keys_of(kind.cls):
                yield from _in_value(each.kind, getattr(value, each.name))
        case ListOf():
            yield from chain.from_iterable(_in_value(kind.kind, item) for item in value)
        case MapOf(kind=Anything()) | Anything():
            yield from _in_setting("", value)
        case MapOf():
            yield from chain.from_iterable(_in_value(kind.kind, item) for item in value.values())
        case _ if isinstance(value, str):
            yield from [value] if kind.secret else secrets_in(value)


def _in_setting(name: str, value: object) -> Iterator[str]:
    """Of a value that somebody else checks, its name says what it is."""
    if isinstance(value, Mapping):
        for inner, item in value.items():
            yield from _in_setting(name if SECRET_NAME.search(name) else str(inner), item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _in_setting(name, item)
    elif isinstance(value, str):
        yield from [value] if SECRET_NAME.search(name) else secrets_in(value)

"""Model presets by name, and the secrets that a configuration holds."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

from nanobot.config.section import Section, keys_of
from nanobot.config.tree import Config, ModelPreset
from nanobot.config.values import EMBEDDED, SECRET_NAME, Anything, Kind, ListOf, MapOf, UnsetSecret, secrets_in
from nanobot.errors import ConfigError, StoreError
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER, Home

# Model presets.


def presets(config: Config, home: Home) -> Mapping[str, ModelPreset]:
    """Every model that can be chosen: the configured presets, the pulled models by their file's name, `embedded`.

    A configured preset hides another of the same name. Any GGUF file that a person puts there counts as pulled.
    """
    files = [path for path in sorted(home.models.glob("*.gguf")) if path.is_file()]
    return {
        **config.models,
        **{path.stem: ModelPreset(gguf=str(path)) for path in files if path.stem not in config.models},
        **({} if EMBEDDED in config.models else {EMBEDDED: ModelPreset(gguf=EMBEDDED)}),
    }


def chosen(config: Config, home: Home) -> str:
    """The name of the preset in use: `model`, else what was chosen with `use_model`, else the first, else `embedded`.

    A choice of what is not there any more does not count.
    """
    if config.model:
        return config.model
    if (name := _used(home)) in presets(config, home):
        return name
    return next(iter(config.models), EMBEDDED)


def why_unasked(preset: ModelPreset) -> str:
    """Return the unset variable that holds the secret of a preset; "" if it can be asked."""
    secrets = (preset.api_key, *preset.extra_headers.values())
    return next((secret.sentence for secret in secrets if isinstance(secret, UnsetSecret)), "")


def use_model(home: Home, name: str) -> None:
    """Make this preset the one in use where the configuration names none. It stays as its owner wrote it.

    Raises StoreError if the choice cannot be written down.
    """
    new = home.chosen_model.with_suffix(".new")
    try:
        home.root.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        new.touch(PRIVATE_FILE)
        new.write_text(f"{name}\n", encoding="utf-8")
        new.replace(home.chosen_model)
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        raise StoreError(f"{home.chosen_model} cannot be written: {error.strerror or error}") from error


def _used(home: Home) -> str:
    try:
        if not home.chosen_model.is_file():  # opening a pipe would wait for ever
            return ""
        return home.chosen_model.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


# Secrets of the configuration.


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

"""Loading: the file, the environment over it, then each key, then all of them together."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nanobot.config.presets import presets
from nanobot.config.section import Group, Section, hint, keys_of
from nanobot.config.source import Items, KeyTable, Node, Scalar, SourcePlace, is_null, read_file, read_text
from nanobot.config.tree import Config, ModelPreset
from nanobot.config.values import FilePath, Kind, MapOf, ModelWeights, Single
from nanobot.errors import ConfigError
from nanobot.workspace import Home

# Environment: NANOBOT_<SECTION>__<KEY> instead of a key, and ${VAR} inside of a value.


_PREFIX = "NANOBOT_"
_NOT_KEYS = frozenset({"NANOBOT_HOME"})
_VARIABLE = re.compile(r"\$?\$\{([^}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def override(table: KeyTable, root: Section[Any], env: Mapping[str, str]) -> KeyTable:
    """The keys, with those that the environment sets in their stead; a variable that is no key raises ConfigError."""
    names = sorted(name for name in env if name.startswith(_PREFIX) and name not in _NOT_KEYS)
    for name in sorted(names, key=lambda name: name.count("__")):  # what is more exact comes later and wins
        table = _put(table, root, name.removeprefix(_PREFIX).split("__"), SourcePlace(name), env[name])
    return table


def expand(node: Any, env: Mapping[str, str]) -> Any:
    """The node, with ${VAR} filled in and $${ turned into a literal ${; a value whose variable is not set says so.

    What is filled in is text: it is not read as YAML, nor expanded again.
    """
    match node:
        case KeyTable():
            entries = {name: expand(value, env) for name, value in node.entries.items()}
            return dataclasses.replace(node, entries=entries)
        case Items():
            return dataclasses.replace(node, items=tuple(expand(item, env) for item in node.items))
        case Scalar() if node.place.line is not None and "${" in node.text:
            text = _VARIABLE.sub(lambda found: _value(node, found, env), node.text)
            plain, unset = node.plain or text != node.text, _unset(node, env)
            return dataclasses.replace(node, text=text, written=node.text, plain=plain, unset=unset)
    return node


def _value(node: Scalar, found: re.Match[str], env: Mapping[str, str]) -> str:
    if found[0].startswith("$$"):
        return found[0][1:]
    if not _NAME.fullmatch(found[1]):
        node.fail(f"holds {found[0]}; between the braces stands the name of a variable (for a literal ${{ write $${{)")
    return env.get(found[1], found[0])


def _unset(node: Scalar, env: Mapping[str, str]) -> str:
    """Return the sentence about the first unset variable in a value; "" if all are set."""
    named = (found for found in _VARIABLE.finditer(node.text) if not found[0].startswith("$$"))
    missing = next((found for found in named if found[1] not in env), None)
    if missing is None:
        return ""
    return (
        f"uses {missing[0]}, but the environment has no {missing[1]}: set it in the shell that starts nanobot, "
        "or write the value into that line"
    )


def _put(table: KeyTable, kind: Section[Any] | MapOf[Any], path: list[str], place: SourcePlace, text: str) -> KeyTable:
    name = _name_in(table, kind, path[0], place)
    inner = _kind_of(kind, name)
    key = f"{table.key}.{name}" if table.key else name
    old = table.entries.get(name)
    if len(path) == 1:
        new = _read(text, inner, key, place)
    elif not isinstance(inner, Section | MapOf):
        raise ConfigError(f"{place.source}: {key} is a single value; set {_PREFIX}{key.upper().replace('.', '__')}")
    else:
        below = old if isinstance(old, KeyTable) else KeyTable(key, place, {})
        new = old if old and not is_null(old) and below is not old else _put(below, inner, path[1:], place, text)
    return dataclasses.replace(table, entries=table.entries | {name: new})


def _name_in(table: KeyTable, kind: Section[Any] | MapOf[Any], typed: str, place: SourcePlace) -> str:
    """The key that a part of a variable's name means: capitals, and - and . as _, do not count."""
    known = kind.names if isinstance(kind, Section) else list(table.entries)
    same = [name for name in known if re.sub(r"\W", "_", name).upper() == typed.upper()]
    if len(same) > 1:
        raise ConfigError(f"{place.source}: could mean {' or '.join(same)}; set it in the file")
    if same:
        return same[0]
    if isinstance(kind, Section) or not typed:
        inside = f" in {table.key}" if table.key else ""
        raise ConfigError(f"{place.source}: sets no key{inside} that nanobot knows{hint(typed, known)}")
    return typed.lower()


def _kind_of(kind: Section[Any] | MapOf[Any], name: str) -> Kind[Any]:
    if isinstance(kind, MapOf):
        return kind.kind
    cls: type[Group] = kind.cls
    return next(each.kind for each in keys_of(cls) if each.name == name)


def _read(text: str, kind: Kind[Any], key: str, place: SourcePlace) -> Node:
    if isinstance(kind, Single | FilePath | ModelWeights):
        return Scalar(key, place, text)  # a password may look like YAML and is none
    try:
        node: Node = _at(read_text(text, place.source, key), place)
    except ConfigError as error:
        raise ConfigError(f"{place.source} must be {kind.words}, as one writes it in YAML: {error}") from error
    return node


def _at(node: Any, place: SourcePlace) -> Any:
    match node:
        case KeyTable():
            entries = {name: _at(value, place) for name, value in node.entries.items()}
            return dataclasses.replace(node, place=place, entries=entries)
        case Items():
            return dataclasses.replace(node, place=place, items=tuple(_at(item, place) for item in node.items))
    return dataclasses.replace(node, place=place)


# Checks of several keys together.


_OF_AN_ENDPOINT = ("base_url", "model", "api_key", "extra_headers", "extra_body")


def check(config: Config, root: KeyTable, home: Home) -> None:
    """Raise ConfigError for keys that contradict each other. `root` is what the configuration was read from."""
    for name, preset in config.models.items():
        _check_preset(preset, _table(root, "models", name))
    names = list(presets(config, home))
    _check_name(config.model, root.entries.get("model"), names)
    if fallbacks := root.entries.get("fallbacks"):
        for name in config.fallbacks:
            _check_name(name, fallbacks, names)
    dream = _table(root, "memory", "dream")
    _check_name(config.memory.dream.model, dream.entries.get("model"), names)
    if not is_null(dream.entries.get("every")) and not is_null(dream.entries.get("cron")):
        dream.entries["cron"].fail("stands beside memory.dream.every: keep one of them")
    for name, server in config.tools.mcp.items():
        if (server.command is None) == (server.url is None):
            _table(root, "tools", "mcp", name).fail("needs either command, which starts it, or url, where it answers")


def _check_preset(preset: ModelPreset, table: KeyTable) -> None:
    if preset.gguf is None:
        if preset.base_url is None:
            table.fail("needs base_url, the URL of an endpoint (or gguf, a model that runs here)")
        if preset.model is None:
            table.fail("needs model: how the endpoint calls the model")
    else:
        for name in _OF_AN_ENDPOINT:
            if not is_null(table.entries.get(name)):
                table.entries[name].fail("belongs to an endpoint, but gguf says that the model runs here: keep one")
    if preset.max_output and preset.context_window and preset.max_output >= preset.context_window:
        table.entries["max_output"].fail(f"must leave room in the context window of {preset.context_window} tokens")


def _check_name(name: str | None, node: Node | None, names: list[str]) -> None:
    if name is not None and node is not None and name not in names:
        node.fail(f"names '{name}', but models has no such preset{hint(name, names)}")


def _table(root: KeyTable, *path: str) -> KeyTable:
    node: Any = root
    for name in path:
        node = node.entries.get(name) if isinstance(node, KeyTable) else None
    return node if isinstance(node, KeyTable) else KeyTable(".".join(path), root.place, {})


# Loading: the file, the environment over it, each key, all of them together.


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration and what it was read from; `path` is the file, whether or not it exists."""

    config: Config
    root: KeyTable
    path: Path


def read(home: Home, path: Path | None, workspace: Path | None, env: Mapping[str, str]) -> Loaded:
    """Read the configuration. Arguments and errors as of `load`."""
    file = path or home.config
    written = read_file(file)
    if written is None and path is not None:
        raise ConfigError(f"{path}: there is no such file")
    root = written or KeyTable("", SourcePlace(str(file), 1), {})
    root = expand(override(root, Section(Config), env), env)
    if workspace is not None:
        option = Scalar("workspace", SourcePlace("--workspace"), str(workspace))
        root = dataclasses.replace(root, entries=root.entries | {"workspace": option})
    config = Section(Config).read(root)
    if is_null(root.entries.get("workspace")):
        config = dataclasses.replace(config, workspace=home.workspace)
    check(config, root, home)
    return Loaded(config, root, file)

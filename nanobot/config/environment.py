"""What the environment adds: NANOBOT_<SECTION>__<KEY> instead of a key, and ${VAR} inside of a value."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from nanobot.config.kinds import Kind, MapOf, Single
from nanobot.config.nodes import Items, Node, Place, Scalar, Table, is_null
from nanobot.config.paths import FilePath, Weights
from nanobot.config.section import Group, Section, hint, keys_of
from nanobot.config.source import read_text
from nanobot.errors import ConfigError

_PREFIX = "NANOBOT_"
_NOT_KEYS = frozenset({"NANOBOT_HOME"})
_VARIABLE = re.compile(r"\$?\$\{([^}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def override(table: Table, root: Section[Any], env: Mapping[str, str]) -> Table:
    """The keys, with those that the environment sets in their stead; a variable that is no key raises ConfigError."""
    names = sorted(name for name in env if name.startswith(_PREFIX) and name not in _NOT_KEYS)
    for name in sorted(names, key=lambda name: name.count("__")):  # what is more exact comes later and wins
        table = _put(table, root, name.removeprefix(_PREFIX).split("__"), Place(name), env[name])
    return table


def expand(node: Any, env: Mapping[str, str]) -> Any:
    """The node, with ${VAR} filled in and $${ turned into a literal ${; a value whose variable is not set says so.

    What is filled in is text: it is not read as YAML, nor expanded again.
    """
    match node:
        case Table():
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
    """What to say of the first variable in a value that is not set; "" if all are."""
    named = (found for found in _VARIABLE.finditer(node.text) if not found[0].startswith("$$"))
    missing = next((found for found in named if found[1] not in env), None)
    if missing is None:
        return ""
    return (
        f"uses {missing[0]}, but the environment has no {missing[1]}: set it in the shell that starts nanobot, "
        "or write the value into that line"
    )


def _put(table: Table, kind: Section[Any] | MapOf[Any], path: list[str], place: Place, text: str) -> Table:
    name = _name_in(table, kind, path[0], place)
    inner = _kind_of(kind, name)
    key = f"{table.key}.{name}" if table.key else name
    old = table.entries.get(name)
    if len(path) == 1:
        new = _read(text, inner, key, place)
    elif not isinstance(inner, Section | MapOf):
        raise ConfigError(f"{place.source}: {key} is a single value; set {_PREFIX}{key.upper().replace('.', '__')}")
    else:
        below = old if isinstance(old, Table) else Table(key, place, {})
        new = old if old and not is_null(old) and below is not old else _put(below, inner, path[1:], place, text)
    return dataclasses.replace(table, entries=table.entries | {name: new})


def _name_in(table: Table, kind: Section[Any] | MapOf[Any], typed: str, place: Place) -> str:
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


def _read(text: str, kind: Kind[Any], key: str, place: Place) -> Node:
    if isinstance(kind, Single | FilePath | Weights):
        return Scalar(key, place, text)  # a password may look like YAML and is none
    try:
        node: Node = _at(read_text(text, place.source, key), place)
    except ConfigError as error:
        raise ConfigError(f"{place.source} must be {kind.words}, as one writes it in YAML: {error}") from error
    return node


def _at(node: Any, place: Place) -> Any:
    match node:
        case Table():
            entries = {name: _at(value, place) for name, value in node.entries.items()}
            return dataclasses.replace(node, place=place, entries=entries)
        case Items():
            return dataclasses.replace(node, place=place, items=tuple(_at(item, place) for item in node.items))
    return dataclasses.replace(node, place=place)

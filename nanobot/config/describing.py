"""The configuration, told: as it is in effect, as a JSON schema, as a table of every key."""

from collections.abc import Iterator
from typing import Any

import yaml

from nanobot.config.loading import Loaded
from nanobot.config.section import Section, keys_of
from nanobot.config.source import Items, KeyTable, Node, Scalar, is_null
from nanobot.config.tree import Config
from nanobot.config.values import Kind, MapOf, Schema


def effective(loaded: Loaded) -> str:
    """The whole tree as YAML, secrets masked; a comment says where a value comes from, if it is not the default."""
    return "\n".join(_lines(Section(Config), loaded.config, loaded.root, ""))


def schema() -> Schema:
    """A JSON schema of the file, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The configuration of nanobot",
        "$defs": {"variable": {"type": "string", "pattern": r"\$\{", "description": "A variable of the environment."}},
        **Section(Config).schema(),
    }


def table() -> str:
    """Every key with what it may be, its default and its meaning, in Markdown."""
    head = ["| key | may be | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*head, *_rows(Section(Config), "")])


def _lines(section: Section[Any], value: object, node: Node | None, indent: str) -> Iterator[str]:
    for each in keys_of(section.cls):
        item, inner = getattr(value, each.name), _inside(node, each.name)
        if isinstance(each.kind, Section) and item is not None:
            yield from _group(each.name, each.kind, item, inner, indent)
        elif isinstance(each.kind, MapOf) and isinstance(each.kind.kind, Section) and item:
            yield f"{indent}{each.name}:"
            for name, preset in item.items():
                yield from _group(name, each.kind.kind, preset, _inside(inner, name), f"{indent}  ")
        else:
            source = "" if inner is None or is_null(inner) else f"  # {inner.place}"
            yield f"{indent}{each.name}: {_flow(each.show(item))}{source}"


def _group(name: str, kind: Section[Any], value: object, node: Node | None, indent: str) -> Iterator[str]:
    yield f"{indent}{_flow(name)}:"
    yield from _lines(kind, value, node, f"{indent}  ")


def _inside(node: Node | None, name: str) -> Node | None:
    return node.entries.get(name) if isinstance(node, KeyTable) else None


def _flow(value: object) -> str:

    text: str = yaml.safe_dump([value], default_flow_style=True, allow_unicode=True, width=1 << 30, sort_keys=False)
    return text.strip()[1:-1]


def _rows(section: Section[Any], prefix: str) -> Iterator[str]:
    for each in keys_of(section.cls):
        name = f"{prefix}{each.name}"
        inner = each.kind
        if isinstance(inner, MapOf) and isinstance(inner.kind, Section):
            name, inner = f"{name}.NAME", inner.kind
        default = (
            "needed" if each.needed else "" if each.default is None else f"`{_flow(each.kind.show(each.default))}`"
        )
        words, shown = ("a group", "") if isinstance(inner, Section) else (each.kind.words, default)
        yield f"| `{name}` | {words} | {shown} | {each.doc} |"
        if isinstance(inner, Section):
            yield from _rows(inner, f"{name}.")


def literal_secrets(loaded: Loaded) -> list[str]:
    """The keys whose secrets stand in the file itself, not in a variable."""
    return list(_literals(Section(Config), loaded.root))


def _literals(kind: Kind[Any], node: Node | None) -> Iterator[str]:
    if isinstance(node, Scalar):
        if kind.secret and node.place.line is not None and node.written is None:
            yield node.key
    elif isinstance(node, KeyTable) and isinstance(kind, Section | MapOf):
        inner = {each.name: each.kind for each in keys_of(kind.cls)} if isinstance(kind, Section) else {}
        for name, value in node.entries.items():
            yield from _literals(kind.kind if isinstance(kind, MapOf) else inner[name], value)


def idle_keys(loaded: Loaded) -> list[str]:
    """The keys that are set and have no effect yet; of a group its own name."""
    return list(_idle(Section(Config), loaded.root))


def _idle(kind: Kind[Any], node: Node | None) -> Iterator[str]:
    if not isinstance(node, KeyTable):
        return
    if isinstance(kind, MapOf):
        for inside in node.entries.values():
            yield from _idle(kind.kind, inside)
    elif isinstance(kind, Section):
        for each in keys_of(kind.cls):
            value = node.entries.get(each.name)
            if each.is_idle and value is not None and not is_null(value):
                yield value.key
            elif not each.is_idle:
                yield from _idle(each.kind, value)


def unset_variables(node: Node) -> list[str]:
    """The keys whose values stand in variables that are not set here."""
    if isinstance(node, Scalar):
        return [node.key] if node.unset else []
    inside = node.entries.values() if isinstance(node, KeyTable) else node.items if isinstance(node, Items) else ()
    return [key for each in inside for key in unset_variables(each)]

"""Schemas of tools: msgspec Structs whose fields describe themselves."""

import re
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from nanobot.errors import ToolError

A = TypeVar("A", bound=msgspec.Struct)

_WHERE = re.compile(r"(?P<problem>.*) - at `\$\.(?P<field>[^`]*)`")
_WORDS = {"`str`": "text", "`int`": "a whole number", "`bool`": "true or false", "`float`": "a number"}


def parameters(arguments: type[msgspec.Struct]) -> Mapping[str, object]:
    """The JSON schema of a tool's arguments, in one piece as endpoints want it."""
    _, components = msgspec.json.schema_components([arguments])
    schema = components[arguments.__name__]
    return {key: schema[key] for key in ("type", "properties", "required", "additionalProperties")}


def parse(arguments: Mapping[str, object], into: type[A]) -> A:
    """The arguments as the tool's own type; null counts as not given, "3" as 3.

    Raises ToolError with a sentence that names the field and what was expected.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        return msgspec.convert(given, into, strict=False)
    except msgspec.ValidationError as error:
        raise ToolError(f"{_sentence(str(error))}. The arguments are: {_listing(into)}.") from None


def _sentence(problem: str) -> str:
    found = _WHERE.fullmatch(problem)
    if not found:
        return problem.replace("Object missing required field", "The call lacks").replace(
            "Object contains unknown field", "There is no argument"
        )
    expected = found["problem"]
    for code, words in _WORDS.items():
        expected = expected.replace(code, words)
    return f"`{found['field']}`: {expected[0].lower()}{expected[1:]}"


def _listing(into: type[msgspec.Struct]) -> str:
    fields = msgspec.structs.fields(into)
    return ", ".join(field.name if field.required else f"{field.name} (may be left out)" for field in fields)

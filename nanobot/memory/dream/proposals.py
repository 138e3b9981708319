"""What the model may propose, as it writes it: one form, in a tool call or as text."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from nanobot.memory.dream.refused import Refused
from nanobot.ports import Reply, ToolSpec

Do = Literal["add", "replace", "remove", "write", "merge", "drop"]

MOST = 100
"""Operations in one answer; what comes behind them is not looked at."""

_DO: tuple[Do, ...] = get_args(Do)
# What an operation rests on is needed too, by most; the gate sees to that.
_NEEDED: Mapping[Do, Sequence[str]] = {
    "add": ("file", "text"),
    "replace": ("file", "old", "text"),
    "remove": ("file", "old"),
    "write": ("note", "summary", "text"),
    "merge": ("note", "notes", "summary", "text"),
    "drop": ("note",),
}
_OTHER_NAMES = {"new": "text", "body": "text", "content": "text", "op": "do", "evidence": "from", "name": "note"}
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_ROW = {
    "do": {"type": "string", "enum": list(_DO)},
    "file": {"type": "string", "description": "of add, replace and remove: MEMORY.md, USER.md or another file shown"},
    "section": {"type": "string", "description": "of add: the heading to put it under; may be left out"},
    "old": {"type": "string", "description": "of replace and remove: the line, word for word as shown"},
    "text": {"type": "string", "description": "the new line; of write and merge: the whole text of the note"},
    "note": {"type": "string", "description": "of write, merge and drop: the name of the note"},
    "notes": _TEXTS | {"description": "of merge: the names of the notes that become one"},
    "summary": {"type": "string", "description": "of write and merge: what the note is about, in one line"},
    "type": {"type": "string", "description": "of write and merge: user, preference, project, reference or the like"},
    "from": _TEXTS | {"description": "what it rests on: numbers of episodes, of their facts, or ids of messages"},
}
TOOL = ToolSpec(
    "change_memory",
    "Change long-term memory. Give all operations in one call; an empty list if nothing is to be changed.",
    {
        "type": "object",
        "properties": {
            "operations": {
                "type": "array",
                "items": {"type": "object", "properties": _ROW, "required": ["do"]},
            }
        },
        "required": ["operations"],
    },
)

_FENCE = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)
_JSON = json.JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One operation that the model wants. What does not belong to its kind is empty; `file` may be a note's name."""

    do: Do
    file: str
    text: str = ""
    old: str = ""
    section: str = ""
    summary: str = ""
    type: str = ""
    notes: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What could be read of an answer: the proposals, and what is wrong with those that are none."""

    proposals: Sequence[Proposal]
    malformed: Sequence[str] = ()


def read_reply(reply: Reply) -> Answer | None:
    """The operations in an answer, wherever they stand; None if it holds no list of them."""
    sources = [call.arguments for call in reply.tool_calls if call.name == TOOL.name] or [reply.text]
    lists = [rows for rows in map(_rows, sources) if rows is not None]
    if not lists:
        return None
    proposals: list[Proposal] = []
    malformed: list[str] = []
    for number, row in enumerate([row for rows in lists for row in rows][:MOST], 1):
        try:
            proposals.append(_proposal(row))
        except Refused as refused:
            malformed.append(f"operation {number}: {refused.text}")
    return Answer(tuple(proposals), tuple(malformed))


def _rows(text: str) -> list[object] | None:
    """The list of operations in a text: as JSON alone, in a fence, or with words around it."""
    for candidate in (text, *_FENCE.findall(text), *_from_first_bracket(text)):
        try:
            value, _ = _JSON.raw_decode(candidate.strip())
        except (ValueError, RecursionError):
            continue
        if (rows := _list_in(value)) is not None:
            return rows
    return None


def _from_first_bracket(text: str) -> Iterator[str]:
    yield from (text[place:] for bracket in "{[" if (place := text.find(bracket)) >= 0)


def _list_in(value: object) -> list[object] | None:
    if isinstance(value, dict):
        inside = value.get("operations")
        if isinstance(inside, str):  # some models write the list as a text
            return _rows(inside)
        value = [value] if "do" in value or "op" in value else inside
    if isinstance(value, list) and all(isinstance(row, dict) for row in value):
        return value
    return None


def _proposal(row: object) -> Proposal:
    """Raises Refused."""
    assert isinstance(row, dict)  # noqa: S101  _list_in has seen to it
    given = {_OTHER_NAMES.get(str(name), str(name)): value for name, value in row.items() if value is not None}
    do = next((do for do in _DO if given.get("do") == do), None)
    if do is None:
        raise Refused("malformed", f'"do" must be one of {", ".join(_DO)}.')
    if do == "remove":
        given.setdefault("old", given.get("text"))
    missing = [name for name in _NEEDED[do] if not given.get(name) and given.get(name) != 0]
    if missing:
        raise Refused("malformed", f"{do} needs {', '.join(missing)}.")
    return Proposal(
        do=do,
        file=_word(given, "file" if "file" in _NEEDED[do] else "note"),
        text=_word(given, "text"),
        old=_word(given, "old"),
        section=_word(given, "section"),
        summary=_word(given, "summary"),
        type=_word(given, "type"),
        notes=_words(given, "notes"),
        evidence=_words(given, "from"),
    )


def _word(given: Mapping[str, object], name: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise Refused("malformed", f"{name} must be a text.")
    return value.strip()


def _words(given: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = given.get(name, [])
    rows = value if isinstance(value, list) else [value]
    if not all(isinstance(row, str | int | float) and not isinstance(row, bool) for row in rows):
        raise Refused("malformed", f"{name} must be a list of texts or numbers.")
    return tuple(str(row).strip() for row in rows)

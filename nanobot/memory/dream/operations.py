"""Operations that the model may propose, in a tool call or as text; their limits, and why one is refused."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from nanobot.ports import Reply, ToolSpec

# Refusals.


RefusalKind = Literal[
    "malformed",  # it cannot be read
    "target",  # no file of this scope that Dream may write
    "missing",  # no such line or note
    "evidence",  # what it rests on does not exist, or not in this scope
    "unsupported",  # what it rests on does not say so
    "origin",  # only a person's own words may say this
    "secret",  # nothing is left of it without its secrets
    "unsafe",  # invisible characters, tokens of a chat template, marks of our own
    "size",  # too long
    "share",  # it would take away too much at once
    "full",  # there are as many notes as there may be
    "differs",  # it would put into one what differs in a number, a name, a date or a negation
    "undone",  # somebody undid it, and nothing new speaks for it
    "late",  # the file has changed meanwhile, so that it makes no sense any more
]


class RefusedOperation(Exception):  # noqa: N818  an outcome, told to the model like any other
    """An operation that is not carried out; the text tells the model what to do about it."""

    def __init__(self, kind: RefusalKind, text: str) -> None:
        super().__init__(text)
        self.kind: RefusalKind = kind
        self.text = text


# Limits.


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamLimits:
    """Limits of Dream: the configured ones, and those of single steps.

    `steps` and `tokens` are model calls and tokens of one run, `seconds` how long it may ask; `runs_per_day` counts
    those that ask a model. `max_removed` is the share of a file that one run may remove. `batch` is in episodes,
    `fact` and `note` are in characters, `file` in bytes. A note is stale after so many days without a confirmation.
    """

    steps: int = 12
    tokens: int = 60_000
    seconds: float = 900.0
    runs_per_day: int = 24
    max_notes: int = 200
    max_removed: float = 0.25
    batch: int = 20
    fact: int = 500
    note: int = 16_000
    file: int = 128 * 1024
    stale_days: int = 90


# Proposals, as the model writes them: one form, in a tool call or as text.


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
    """Operation as the model proposes it. Fields of other kinds are empty; `file` may be the name of a note."""

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
class ParsedAnswer:
    """Proposals of an answer, and the faults of rows that are none."""

    proposals: Sequence[Proposal]
    malformed: Sequence[str] = ()


def read_reply(reply: Reply) -> ParsedAnswer | None:
    """Return the proposals of an answer, wherever they stand; None if it holds no list of them."""
    sources = [call.arguments for call in reply.tool_calls if call.name == TOOL.name] or [reply.text]
    lists = [rows for rows in map(_rows, sources) if rows is not None]
    if not lists:
        return None
    proposals: list[Proposal] = []
    malformed: list[str] = []
    for number, row in enumerate([row for rows in lists for row in rows][:MOST], 1):
        try:
            proposals.append(_proposal(row))
        except RefusedOperation as refused:
            malformed.append(f"operation {number}: {refused.text}")
    return ParsedAnswer(tuple(proposals), tuple(malformed))


def _rows(text: str) -> list[object] | None:
    """Return the list of operations in a text: JSON alone, in a fence, or with words around it."""
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
    """Raises RefusedOperation."""
    assert isinstance(row, dict)  # noqa: S101  _list_in has seen to it
    given = {_OTHER_NAMES.get(str(name), str(name)): value for name, value in row.items() if value is not None}
    do = next((do for do in _DO if given.get("do") == do), None)
    if do is None:
        raise RefusedOperation("malformed", f'"do" must be one of {", ".join(_DO)}.')
    if do == "remove":
        given.setdefault("old", given.get("text"))
    missing = [name for name in _NEEDED[do] if not given.get(name) and given.get(name) != 0]
    if missing:
        raise RefusedOperation("malformed", f"{do} needs {', '.join(missing)}.")
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
        raise RefusedOperation("malformed", f"{name} must be a text.")
    return value.strip()


def _words(given: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = given.get(name, [])
    rows = value if isinstance(value, list) else [value]
    if not all(isinstance(row, str | int | float) and not isinstance(row, bool) for row in rows):
        raise RefusedOperation("malformed", f"{name} must be a list of texts or numbers.")
    return tuple(str(row).strip() for row in rows)

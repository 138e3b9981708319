"""The head of a note: what stands between its `---` lines; and the lines below it that say something."""

import json
import re
from collections.abc import Sequence

from nanobot.memory.index import lines_of, newline_of
from nanobot.memory.markdown import statements

_MARK = re.compile(r"---\s*")
_KEY = re.compile(r"(\w+)\s*:")
_PLAIN = re.compile(r"[^\W\d_][\w ,./()'+-]*[\w.)]|\d{4}-\d{2}-\d{2}")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off"})
_OURS = ("name", "type", "summary", "updated")


def body_start(lines: Sequence[str]) -> int:
    """The number of the first line behind the head; 0 if there is none."""
    if not lines or not _MARK.fullmatch(lines[0].lstrip("\ufeff")):
        return 0
    return next((number + 1 for number, line in enumerate(lines) if number and _MARK.fullmatch(line)), 0)


def body_of(text: str) -> str:
    """A note without its head."""
    lines = lines_of(text)
    return "".join(lines[body_start(lines) :])


def facts_of(text: str) -> list[tuple[int, str]]:
    """The lines of a file that say something, with their numbers: no headings, comments, code, heads."""
    lines = lines_of(text)
    start = body_start(lines)
    said = statements([line.rstrip("\r\n") for line in lines[start:]])
    return [(start + number, words) for number, words in enumerate(said) if words]


def field_of(text: str, name: str) -> str:
    """What a head says under a key, as it stands there on one line; "" if it does not."""
    lines = lines_of(text)
    found = (line for line in lines[: body_start(lines)] if _key(line) == name)
    return next(found, "").partition(":")[2].strip().strip("\"'")


def note_text(old: str, body: str, *, name: str, kind: str, summary: str, day: str) -> str:
    """A note with a head of ours; whatever else its old head held stays."""
    end = newline_of(old) if old else "\n"
    values = {"name": name, "type": kind, "summary": summary, "updated": day}
    head = [f"{key}: {_value(value)}{end}" for key, value in values.items()]
    inside = end.join(body.strip("\r\n").splitlines())
    return "".join([f"---{end}", *head, *_others(old), f"---{end}", inside, end])


def touched(text: str, day: str) -> str:
    """A note whose head, if it has one, says that it was changed on this day."""
    lines = lines_of(text)
    stop = body_start(lines)
    head = [f"updated: {day}{newline_of(text)}" if _key(line) == "updated" else line for line in lines[:stop]]
    return "".join([*head, *lines[stop:]])


def _others(old: str) -> list[str]:
    """The lines of a head that are not ours, with those that belong to them."""
    lines = lines_of(old)
    kept: list[str] = []
    is_other = False
    for line in lines[1 : max(1, body_start(lines) - 1)]:
        if key := _key(line):
            is_other = key not in (*_OURS, "description")
        if is_other:
            kept.append(line)
    return kept


def _key(line: str) -> str:
    match = _KEY.match(line)
    return match[1] if match else ""


def _value(text: str) -> str:
    """As YAML reads it: JSON's texts are some of YAML's."""
    is_plain = _PLAIN.fullmatch(text) and text.casefold() not in _WORDS
    return text if is_plain else json.dumps(text, ensure_ascii=False)

"""A note: a topic's own file in memory/."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from pathlib import PurePath
from typing import Literal

from nanobot.memory.markdown import without_comments
from nanobot.ports import Document, Frontmatter
from nanobot.text import cleaned

ProblemKind = Literal["frontmatter", "updated", "relations", "unreadable", "unwritable", "name", "link"]

_LINK = re.compile(r"\[\[([^\[\]|#\n]+)(?:[|#][^\[\]\n]*)?\]\]")
_MOST_OF_SUMMARY = 160


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a file, for its owner; `detail` says where or why."""

    file: str
    kind: ProblemKind
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """From one note to another, by name; the kind is empty where the text just names it as [[name]]."""

    to: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """What is known of a note. `updated` is a date as 2026-11-02; a broken head costs all but name, date and body."""

    file: str
    type: str
    summary: str
    updated: str
    body: str
    links: Sequence[Link] = ()
    problems: Sequence[Problem] = ()

    @property
    def name(self) -> str:
        return PurePath(self.file).stem


def make_note(file: str, document: Document, head: Frontmatter, zone: tzinfo | None) -> Note:
    """Read a note. A file that is no UTF-8 text has no note; `zone` is where a day begins."""
    name = PurePath(file).stem
    links, bad_relations = _relations(head.fields.get("relations"))
    updated, bad_date = _updated(head.fields.get("updated"), document.modified, zone)
    summary = _word(head.fields, "summary") or _word(head.fields, "description")
    problems = (
        Problem(file, "frontmatter", head.problem),
        Problem(file, "updated", bad_date),
        Problem(file, "relations", bad_relations),
    )
    return Note(
        file=file,
        type=_word(head.fields, "type") or "note",
        summary=_short(summary or (name if head.problem else _first_words(head.body)) or name),
        updated=updated,
        body=head.body,
        links=tuple(dict.fromkeys([*links, *(Link(to.strip()) for to in _LINK.findall(head.body) if to.strip())])),
        problems=tuple(problem for problem in problems if problem.detail),
    )


def is_safe_name(file: str) -> bool:
    """Whether a file can be named in the index: one line, nothing invisible, nothing that ends the name."""
    return "`" not in file and file.isprintable() and cleaned(file) == file


def same_name(one: str, other: str) -> bool:
    """Whether two names mean the same note: case does not count, nor does the ending."""
    return _key(one) == _key(other)


def _key(name: str) -> str:
    return name.strip().casefold().removesuffix(".md")


def _word(fields: Mapping[str, object], key: str) -> str:
    """A field as one line; whatever is no text counts as not given."""
    value = fields.get(key)
    return " ".join(cleaned(value).split()) if isinstance(value, str) else ""


def _short(text: str) -> str:
    return text if len(text) <= _MOST_OF_SUMMARY else text[: _MOST_OF_SUMMARY - 1].rstrip() + "…"


def _first_words(body: str) -> str:
    lines = (line.strip().lstrip("#").strip() for line in without_comments(body).split("\n"))
    return " ".join(cleaned(next(filter(None, lines), "")).split())


def _updated(value: object, modified: float, zone: tzinfo | None) -> tuple[str, str]:
    """The day of the last change, as the head says or else as the disk does; and what is wrong with the head's."""
    on_disk = datetime.fromtimestamp(modified, zone).date().isoformat()
    if value is None:
        return on_disk, ""
    try:
        return date.fromisoformat(str(value).strip()[:10]).isoformat(), ""
    except ValueError:
        return on_disk, str(value)[:40] or "?"


def _relations(value: object) -> tuple[list[Link], str]:
    """The links of a head, and what is wrong with them."""
    if value is None:
        return [], ""
    rows: list[object] = value if isinstance(value, list) else [value]
    links = [_link(row) for row in rows]
    bad = next((str(row)[:80] for row, link in zip(rows, links, strict=True) if link is None), "")
    return [link for link in links if link], bad


def _link(row: object) -> Link | None:
    if not isinstance(row, dict) or not (to := _word(row, "to")):
        return None
    return Link(to, _word(row, "kind"))

"""The message of a version: readable by a person, with one line per operation that the program reads again."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from nanobot.authority import Origin

Verb = Literal["add", "replace", "remove", "confirm", "write", "delete", "merge"]
Kind = Literal["base", "hand", "remember", "tool", "dream", "restore", "undo", "forget"]

_VERBS: tuple[Verb, ...] = get_args(Verb)
_KINDS: tuple[Kind, ...] = get_args(Kind)
_SUBJECT = 100  # characters
_TRAILER = re.compile(r"([A-Z][A-Za-z]*(?:-[A-Z][A-Za-z]*)*): (.+)")
_BARE = re.compile(r"[\w.:@#%+/-]+", re.ASCII)
_JSON = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that was done to a memory file.

    add      the fact `text` is new in `file`
    replace  the fact `before` became `text`
    remove   the fact `text` is no longer there
    confirm  the fact or note `text` is as it was, and was said again
    write    the note `file` was written; `text` is its summary
    delete   the note `file` is gone
    merge    the notes `merged` became `file`

    `messages` are the ids of the messages, or episodes, that it rests on. `remark` is said when there is more to
    know about it: that new evidence brought back what had been undone.
    """

    verb: Verb
    file: str
    text: str = ""
    before: str = ""
    merged: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    remark: str = ""

    @property
    def says_nothing(self) -> bool:
        """Whether nobody learns from it what was written in the file."""
        return self.verb in ("write", "delete") and not self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What a version says about itself.

    `reason` is free text for people. `scopes` are the names of those whose memory it changed, `origin` that of the
    words that asked for it, `cursor` the last episode that Dream had taken in. `reverts` is the id of the version
    that it restores or undoes; `buried` and `lifted` are the tombstones that it made and took away. `proposal` is the
    id of what somebody said yes to, `agreed` who that was, as `channel:id`.
    """

    kind: Kind
    subject: str
    reason: str = ""
    operations: tuple[Operation, ...] = ()
    scopes: tuple[str, ...] = ()
    origin: Origin | None = None
    turn: str = ""
    cursor: int | None = None
    reverts: str = ""
    buried: tuple[str, ...] = ()
    lifted: tuple[str, ...] = ()
    proposal: str = ""
    agreed: str = ""


def write(commit: Commit) -> str:
    """The message. No text in it, whatever it holds, can look like another line, operation or trailer."""
    parts = [
        _one_line(commit.subject)[:_SUBJECT].rstrip() or commit.kind,
        "\n".join(f"> {line}" for line in map(_one_line, commit.reason.splitlines()) if line),
        "\n".join(map(_operation, commit.operations)),
        "\n".join(f"{name}: {_value(value)}" for name, value in _trailers(commit)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def parse(message: str) -> Commit | None:
    """What a message says, None if it is not one of ours. What cannot be read in it is left out."""
    paragraphs = message.rstrip("\n").split("\n\n")
    subject, middle, last = paragraphs[0], paragraphs[1:-1], paragraphs[-1]
    trailers = [_TRAILER.fullmatch(line) for line in last.split("\n")] if len(paragraphs) > 1 else []
    found: dict[str, list[str]] = {}
    for match in filter(None, trailers):
        found.setdefault(match[1], []).append(_unvalued(match[2]))
    kind = next((kind for kind in _KINDS if [kind] == found.get("Kind")), None)
    if kind is None or not all(trailers):
        return None
    lines = [line for paragraph in middle for line in paragraph.split("\n")]
    return Commit(
        kind=kind,
        subject=subject,
        reason="\n".join(line[2:] for line in lines if line[:1] == ">"),
        operations=tuple(_operations(lines)),
        scopes=tuple(found.get("Scope", ())),
        origin=next((origin for origin in Origin if [origin.value] == found.get("Origin")), None),
        turn=_first(found, "Turn"),
        cursor=_number(_first(found, "Dream-Cursor")),
        reverts=_first(found, "Reverts"),
        buried=tuple(found.get("Tombstone", ())),
        lifted=tuple(found.get("Lifted", ())),
        proposal=_first(found, "Proposal"),
        agreed=_first(found, "Agreed"),
    )


def following(message: str, ids: Mapping[str, str]) -> str:
    """The message with the ids of versions that have become others."""
    return re.sub(r"(?m)^Reverts: ([0-9a-f]{40})$", lambda found: f"Reverts: {ids.get(found[1], found[1])}", message)


def by_hand(paths: Sequence[str], *, is_first: bool) -> str:
    """The message for what people changed, or for what there was when the history began."""
    if is_first:
        return write(Commit(kind="base", subject="What was here when the history began"))
    names = ", ".join(path.rpartition("/")[2] for path in paths[:3])
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return write(Commit(kind="hand", subject=f"Edited by hand: {names}{more}"))


def _trailers(commit: Commit) -> Iterator[tuple[str, str]]:
    yield "Kind", commit.kind
    yield from (("Scope", scope) for scope in commit.scopes)
    if commit.origin is not None:
        yield "Origin", commit.origin.value
    if commit.turn:
        yield "Turn", commit.turn
    if commit.reverts:
        yield "Reverts", commit.reverts
    yield from (("Tombstone", name) for name in commit.buried)
    yield from (("Lifted", name) for name in commit.lifted)
    if commit.proposal:
        yield "Proposal", commit.proposal
    if commit.agreed:
        yield "Agreed", commit.agreed
    if commit.cursor is not None:
        yield "Dream-Cursor", str(commit.cursor)


def _operation(operation: Operation) -> str:
    """As `add "memory/MEMORY.md" "standup at 9:30" from ["01JD…"]`; each value is JSON, so it ends where it ends."""
    values = [f"{operation.verb} {_json(operation.file)}"]
    if operation.before:
        values.append(f"was {_json(operation.before)}")
    if operation.text:
        values.append(f"text {_json(operation.text)}")
    if operation.merged:
        values.append(f"of {_json(operation.merged)}")
    if operation.messages:
        values.append(f"from {_json(operation.messages)}")
    if operation.remark:
        values.append(f"remark {_json(operation.remark)}")
    return " ".join(values)


def _operations(lines: Sequence[str]) -> Iterator[Operation]:
    for line in lines:
        pairs = _pairs(line)
        verb = next((verb for verb in _VERBS if pairs and pairs[0][0] == verb), None)
        if verb is None or pairs is None:
            continue
        values = dict(pairs[1:])
        yield Operation(
            verb,
            str(pairs[0][1]),
            text=str(values.get("text", "")),
            before=str(values.get("was", "")),
            merged=_texts(values.get("of")),
            messages=_texts(values.get("from")),
            remark=str(values.get("remark", "")),
        )


def _pairs(line: str) -> list[tuple[str, object]] | None:
    """The words of a line, each with the JSON value behind it; None if it is not made like that."""
    pairs: list[tuple[str, object]] = []
    at = 0
    while at < len(line):
        word, blank, _ = line[at:].partition(" ")
        try:
            value, end = _JSON.raw_decode(line, at + len(word) + 1)
        except (ValueError, RecursionError):
            return None
        if not blank or line[end : end + 1] not in ("", " "):
            return None
        pairs.append((word, value))
        at = end + 1
    return pairs


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _json(value: str | Sequence[str]) -> str:
    """JSON in one visible line: what is not printable is escaped."""
    return "".join(char if _is_visible(char) else _escaped(char) for char in json.dumps(value, ensure_ascii=False))


def _value(value: str) -> str:
    return value if _BARE.fullmatch(value) else _json(value)


def _unvalued(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError:
        return text


def _one_line(text: str) -> str:
    return " ".join("".join(char if _is_visible(char) else " " for char in text).split())


def _is_visible(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1] if not char.isascii() else f"\\u{ord(char):04x}"


def _first(found: Mapping[str, Sequence[str]], name: str) -> str:
    return next(iter(found.get(name, ())), "")


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,18}", text, re.ASCII) else None

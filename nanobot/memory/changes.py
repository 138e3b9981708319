"""Changes of memory files, each kept as a version that says what it did, for whom and why."""

import difflib
import json
import logging
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self, get_args

from nanobot.authority import Authority, Origin, Role, Scope, least
from nanobot.errors import StoreError, VersionError
from nanobot.nlp.pasted import own_part
from nanobot.ports import Caller, Edit, FileDiff, SessionStore, VersionStore
from nanobot.text import as_name
from nanobot.transcript import Message

# Unified diff of a file in a version.


def patch(diff: FileDiff) -> str:
    """The unified diff, "" if the file is no text."""
    if any(b"\0" in side for side in (diff.before or b"", diff.after or b"")):
        return ""
    old = f"a/{diff.path}" if diff.before is not None else "/dev/null"
    new = f"b/{diff.path}" if diff.after is not None else "/dev/null"
    return "\n".join(difflib.unified_diff(_lines(diff.before), _lines(diff.after), old, new, lineterm=""))


def _lines(text: bytes | None) -> Sequence[str]:
    """The lines without their ends; one that has none at the end of a file says so, as git does."""
    if not text:
        return []
    lines = text.decode(errors="replace").split("\n")
    return lines[:-1] if not lines[-1] else [*lines[:-1], f"{lines[-1]}\n\\ No newline at end of file"]


# Message of a version: readable by a person, with one line per operation that the program reads again.


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
    """Operation on a memory file.

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
        """True if nobody learns from it what was written in the file."""
        return self.verb in ("write", "delete") and not self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Message of a version.

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
    """Parse the message of a version; None if it is not one of ours. Unreadable parts are left out."""
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
    """Line such as `add "memory/MEMORY.md" text "standup at 9:30" from ["01JD…"]`; each value is JSON."""
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


# Changes that somebody asked for, each kept as a version with its reason.


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """Requester of a change, and the place: a turn of a session, or a command, which no session holds.

    `session` is the session's key, `message` the id of the command's message on the bus; `person` is their id, and
    `name` what they are called.
    """

    session: str
    authority: Authority
    turn: str = ""
    message: str = ""
    person: str = ""
    name: str = ""

    @classmethod
    def in_turn(cls, caller: Caller) -> Self:
        """Whoever caused a turn."""
        return cls(caller.address.session_key, caller.authority, turn=caller.turn, person=caller.person)


@dataclass(frozen=True, slots=True)
class ChangeEvidence:
    """Evidence of a change: ids of messages as `session#id`, and the trust in the words of the turn.

    `others` is the least trusted origin of all that the model reads and that is not the person's own: in this turn,
    in those before it, in what the prompt tells of earlier conversations. None: whatever is written is their idea.
    `own_words` is what they themself said in the turn. In a group's memory the words of whoever is no owner stand
    behind their name, `speaker`: others read them, too.
    """

    messages: tuple[str, ...]
    origin: Origin
    others: Origin | None = None
    own_words: str = ""
    speaker: str = ""


Earlier = Callable[[str], Origin | None]
"""The least trusted origin of what the prompt of a session tells of earlier conversations; None if it tells nothing."""


class VersionedWriter:
    """Makes changes through the history, so that each says by whom and why."""

    def __init__(self, versions: VersionStore, sessions: SessionStore, earlier: Earlier = lambda _: None) -> None:
        self._versions = versions
        self._sessions = sessions
        self._earlier = earlier

    async def read(self, path: str) -> bytes | None:
        """The versioned part of a file, by its path in the workspace, as it is now; None if there is none."""
        return (await self._versions.files([path])).get(path)

    async def has_made(self, proposal: str, scope: str) -> bool:
        """True if a version that changed this scope says that it is the proposal with this id, and its files follow."""
        try:
            await self._versions.ensure()  # a process may have died between the version and its files
            made = [parse(version.message) for version in await self._versions.log()]
        except VersionError as error:
            log.debug("nothing is known of proposal %s: %s", proposal, error)
            return False
        return any(commit.proposal == proposal and scope in commit.scopes for commit in made if commit)

    async def evidence(self, asked: ChangeRequest) -> ChangeEvidence:
        """Return the evidence for a requester and for what the model read; anything unknown is not their own."""
        if not asked.turn:
            messages = (f"{asked.session}#{asked.message}",) if asked.message else ()
            return ChangeEvidence(messages, asked.authority.origin)
        try:
            session = await self._sessions.load(asked.session)
        except StoreError as error:
            log.warning("turn %s in %s: what was asked cannot be named: %s", asked.turn, asked.session, error)
            return ChangeEvidence((), asked.authority.origin, Origin.TOOL)
        said = [message for message in session.messages if message.turn == asked.turn]
        origins = [message.origin for message in said if message.origin]
        others = [*_others(session.messages, asked), *_earlier(self._earlier(asked.session), asked.authority.scope)]
        own = [message for message in said if message.role == "user" and _is_own(message, asked)]
        speaker = ""
        if asked.authority.scope.is_group and asked.authority.role is not Role.OWNER:
            others.append(Origin.PERSON)
            speaker = next((as_name(one.sender.name) for one in own if one.sender), "") or asked.person or "?"
        return ChangeEvidence(
            tuple(f"{asked.session}#{message.id}" for message in said if message.role == "user"),
            least(asked.authority.origin, *origins),
            least(*others) if others else None,
            "\n".join(own_part(message.content or "") for message in own),
            speaker,
        )

    async def keep(self, edits: Mapping[str, Edit], commit: Commit) -> bool:
        """Change files as one version; where there is no git, without one.

        False if the history cannot do it now, for a reason that /status tells, or does not keep such a file. Then
        nothing was changed: whoever asked writes without it, and what they write counts as a hand edit.
        Raises VersionError `conflict` if a file is not as the edits say that it was.
        """
        try:
            await self._versions.commit(edits, write(commit))
        except VersionError as error:
            if error.kind == "conflict":
                raise
            log.warning("%s: changed without a version: %s", ", ".join(edits), error)
            return False
        return True


_OWN = {True: (Origin.OWNER,), False: (Origin.OWNER, Origin.PERSON)}
"""The origins of the words of whose memory it is, by whether that is the owners'. In a group, each is somebody else."""


def _others(messages: Sequence[Message], asked: ChangeRequest) -> Iterator[Origin]:
    """The origins of all that stands in a conversation and is not of whoever asked.

    What the model itself says comes from what stands before it. A memory that a file holds was let in there before.
    """
    scope = asked.authority.scope
    if messages and messages[0].role != "user":  # the turn began with what is not in view any more
        yield Origin.TOOL
    for message in messages:
        if message.role == "user" and not _is_own(message, asked):
            yield Origin.QUOTED
        if message.role == "tool" and message.origin not in _OWN[scope.is_owner]:
            yield message.origin or Origin.TOOL
        if Origin.QUOTED in message.origins:
            yield Origin.QUOTED
        if any(not file.is_sound for file in message.files):
            yield Origin.TOOL
        yield from _earlier(message.recalled or _of_old(message), scope)


def _is_own(message: Message, asked: ChangeRequest) -> bool:
    """True if a user's message is in the words of whoever asked: any owner, where it is the owners' memory."""
    scope = asked.authority.scope
    if scope.is_group:
        return message.sender is not None and message.sender.id == asked.person
    return (message.origin or Origin.PERSON) in _OWN[scope.is_owner]


def _earlier(origin: Origin | None, scope: Scope) -> Iterator[Origin]:
    """The origin of what was said in other conversations, or before, unless it is the person's own."""
    if origin and (scope.is_group or origin not in _OWN[scope.is_owner]):
        yield least(origin, Origin.QUOTED) if scope.is_group else origin


def _of_old(message: Message) -> Origin | None:
    """The same of a line from before `recalled` was written: what a file held was a tool's there."""
    return message.reminded if message.reminded is not Origin.TOOL else None

"""Writing and editing files; exact text is replaced, and where it does not match, the reason is told."""

import asyncio
import re
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches, unified_diff
from functools import partial
from heapq import nlargest
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Annotated, TypeVar

import msgspec

from nanobot import text as shown
from nanobot.authority import Authority, Role
from nanobot.errors import ToolError, VersionError
from nanobot.i18n import Language, say
from nanobot.ports import Caller, Edit, Judgement, ToolResult, ToolSpec
from nanobot.text import Text, decode, escaped, one_line
from nanobot.tools import schema
from nanobot.tools.approval import MOST, ApprovalRequest, ShownText
from nanobot.tools.paths import MAX_FILE, Disk, ToolPath, changed_meanwhile
from nanobot.tools.policy import ToolPolicy

# Replacing exact text.


_EDIT_COMPARED = 5_000  # lines looked at for a near miss
_JUDGED = 20  # of them that are compared letter by letter, which is slow


def replace(content: str, old: str, new: str, *, everywhere: bool, newline: str) -> tuple[str, list[int]]:
    """The content with `new` for `old`, and the lines where it stood.

    Both kinds of line ends match each other; those of `new` become `newline`.
    Raises ToolError with the reason if `old` is not there, or there more than once and not meant everywhere.
    """
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not old:
        raise ToolError("old_text is empty. Give the text to replace; write_file makes new files.")
    if old == new:
        raise ToolError("old_text and new_text are the same, there is nothing to change.")
    found = _places(content, old)
    if not found:
        raise ToolError(_why_not(content, old))
    lines = [content.count("\n", 0, start) + 1 for start, _ in found[:20]]
    if len(found) > 1 and not everywhere:
        places = ", ".join(map(str, lines)) + (", …" if len(found) > len(lines) else "")
        raise ToolError(
            f"old_text stands there {len(found)} times (lines {places}). "
            "Add lines around it until it is the only one, or set everywhere to true."
        )
    pieces, end = [], 0
    for start, stop in found:
        pieces += [content[end:start], new.replace("\n", newline)]
        end = stop
    return "".join([*pieces, content[end:]]), lines


def _places(content: str, old: str) -> list[tuple[int, int]]:
    """Return the positions of a text, by either kind of line end; in linear time, whatever the text."""
    plain = content.replace("\r\n", "\n")
    shorter = [match.start() - number for number, match in enumerate(re.finditer("\r\n", content))]  # in `plain`
    found, at = [], plain.find(old)
    while at >= 0:
        end = at + len(old)
        found.append((at + bisect_left(shorter, at), end + bisect_left(shorter, end)))
        at = plain.find(old, end)
    return found


def _why_not(content: str, old: str) -> str:
    lines = content.replace("\r\n", "\n").split("\n")
    wanted = old.strip("\n").split("\n")
    return (
        _differs_in(lines, wanted, "white space", lambda line: "".join(line.split()))
        or _differs_in(lines, wanted, "capital letters", str.casefold)
        or _nearest(lines, wanted)
    )


def _differs_in(lines: list[str], wanted: list[str], what: str, alike: Callable[[str], str]) -> str | None:
    """A sentence if the text is there but for one kind of difference."""
    have, want = ("\n".join(["", *map(alike, some), ""]) for some in (lines, wanted))
    at = have.find(want) if want.strip() else -1
    if at < 0:
        return None
    number = have.count("\n", 0, at)
    pairs = zip(lines[number:], wanted, strict=False)
    offset, (line, asked) = next(
        ((offset, pair) for offset, pair in enumerate(pairs) if pair[0] != pair[1]),
        (0, (lines[number], wanted[0])),
    )
    return (
        f"old_text is not there, but line {number + offset + 1} differs from it only in {what}: "
        f"the file has {line[:200]!r}, old_text has {asked[:200]!r}."
    )


def _nearest(lines: list[str], wanted: list[str]) -> str:
    """Return the line closest to the most telling line of the text."""
    key = max(wanted, key=lambda line: len(line.strip()))
    if key in lines:
        return (
            f"old_text is not there. Line {lines.index(key) + 1} of the file, {one_line(key)!r}, is as in old_text, "
            "but the lines around it are not. Read them again."
        )
    words = set(re.findall(r"\w+", key))
    some = lines if len(lines) <= _EDIT_COMPARED else [line for line in lines if words & set(re.findall(r"\w+", line))]
    pairs = _pairs(key[:500])
    likely = nlargest(
        _JUDGED, (line[:500] for line in some[:_EDIT_COMPARED]), key=lambda line: _share(_pairs(line), pairs)
    )
    near = get_close_matches(key[:500], likely, n=1)
    if not near:
        return "old_text is not there, nor anything like it. Read the file again."
    number = next(number for number, line in enumerate(lines, 1) if line[:500] == near[0])
    return f"old_text is not there. Nearest is line {number}: {near[0][:200]!r}. Read it again and copy it exactly."


def _pairs(line: str) -> frozenset[str]:
    """The letters of a line, two by two."""
    return frozenset(map("".join, pairwise(line)))


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (len(one | other) or 1)


# Tools that write and edit files.


Judge = Callable[[PurePosixPath, Edit, Caller], Awaitable[Judgement]]
"""Reads a change of a file that prompts carry, by its path in the workspace; says whether it may be made."""

Propose = Callable[[PurePosixPath, Edit, Caller], Awaitable[str]]
"""Lets such a change wait for a yes, durably; returns why that cannot be, "" if it is done."""

T = TypeVar("T")

StagedBy = Callable[[Caller], Awaitable[Mapping[str, Edit]]]
"""Returns what the caller's turn has proposed until now, by path in the workspace."""

OnNote = Callable[[Path], str]
"""Told of a file under memory/ that was written; returns its line in the index of notes ("" if it has none)."""

Keep = Callable[[PurePosixPath, Edit, Caller], Awaitable[bool]]
"""Changes a file that is versioned, by its path in the workspace; False leaves that to the tool.

Raises VersionError `conflict` if the file is not as the edit says that it was.
"""

_UTF8 = Text("", "utf-8")
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_COMPARED = 1_000  # lines that are compared with each other: the time for that can grow with their square
_NOT_TEXT = "{name} is not a text file, it cannot be edited."


def as_staged(place: ToolPath, staged: Mapping[str, Edit], read: Callable[[ToolPath], T]) -> bytes | T:
    """Return a file as the turn has proposed it, be it empty; without a proposal, what `read` gives."""
    proposed = staged[str(place.inside)].after if place.is_in(staged) else None
    return read(place) if proposed is None else proposed


async def nothing_staged(_: Caller) -> Mapping[str, Edit]:
    return {}


@dataclass(frozen=True, slots=True)
class Remembering:
    """Companion of a change to a remembered file; None if there is none."""

    judge: Judge | None = None
    on_note: OnNote | None = None
    keep: Keep | None = None
    propose: Propose | None = None
    staged: StagedBy = nothing_staged


NOTHING_MORE = Remembering()


class WriteArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, msgspec.Meta(description="Relative to the workspace; missing folders are made")]
    content: Annotated[str, msgspec.Meta(description="The whole text of the file")]


class EditArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, msgspec.Meta(description="Relative to the workspace")]
    old_text: Annotated[str, msgspec.Meta(description="What stands there now, exactly, with enough around it")]
    new_text: Annotated[str, msgspec.Meta(description="What is to stand there instead")]
    everywhere: Annotated[bool, msgspec.Meta(description="Replace it wherever it stands")] = False


@dataclass(frozen=True, slots=True)
class FileDraft:
    """A change that has not been made yet; `done` is what the model reads once it has."""

    place: ToolPath
    before: bytes | None
    after: bytes
    done: str

    @property
    def edit(self) -> Edit:
        return Edit(self.before, self.after)


class FileWriter:
    """Carries out drafts: asks the owner where their yes is needed, refuses what must not be remembered."""

    def __init__(self, disk: Disk, policy: ToolPolicy, remembering: Remembering) -> None:
        self.disk = disk
        self._policy = policy
        self._remembering = remembering

    async def carry_out(self, make: Callable[[Authority, Mapping[str, Edit]], FileDraft], caller: Caller) -> ToolResult:
        """Make the draft, in a thread, and what it says come true, or propose it. Raises ToolError; then nothing has
        changed.

        `make` is told what the turn has proposed until now: it reads such a file as it shall be.
        """
        staged = await self._remembering.staged(caller)
        draft = await asyncio.to_thread(make, caller.authority, staged)
        place = draft.place
        if len(draft.after) > MAX_FILE:
            raise ToolError(f"That is too much for one file: {len(draft.after):,} bytes, the limit is {MAX_FILE:,}.")
        judgement = await self._judged(draft, caller)
        if judgement.verdict == "refuse":
            raise ToolError(f"{place.name} was not changed: {judgement.reason}")
        if self._policy.rule(caller.authority, place.risk) == "deny":
            raise ToolError(_only_owner(place))
        if self._remembering.propose and (judgement.verdict == "propose" or place.is_in(staged)):
            return await self._propose(draft, caller, self._remembering.propose)
        if self._policy.rule(caller.authority, place.risk) == "ask":
            await self._ask(draft, caller)
        if not await self._is_kept(draft, caller):
            await asyncio.to_thread(self.disk.replace, place, draft.before, draft.after)
        line = await asyncio.to_thread(self._index_line, place)
        done = f"{draft.done} Its line in the index: {line}" if line else draft.done
        return ToolResult(done, caller.authority.origin)  # it tells nothing that the turn did not hold already

    async def _judged(self, draft: FileDraft, caller: Caller) -> Judgement:
        judge = self._remembering.judge
        if judge is None or not draft.place.is_carried:
            return Judgement("write")
        return await judge(draft.place.inside, draft.edit, caller)

    async def _propose(self, draft: FileDraft, caller: Caller, propose: Propose) -> ToolResult:
        name, scope = draft.place.name, caller.authority.scope
        if reason := await propose(draft.place.inside, draft.edit, caller):
            raise ToolError(f"{name} was not changed: {reason}")
        is_owners = scope.is_group and caller.authority.role is not Role.OWNER
        who = "an owner of the bot has to say yes" if is_owners else "the user is asked"
        if is_owners:
            who += " (what the user says in this very message may stand there at once, as Name said: “their words”)"
        return ToolResult(
            f"{name} is not changed yet. Since you have read what is not the user's own words, the change is proposed: "
            f"all of it is shown to them at the end of your answer, and {who}. You read the file as it would be. Do "
            "not say that it is done or remembered, do not ask for the yes yourself, and do not try another way.",
            caller.authority.origin,
        )

    def _index_line(self, place: ToolPath) -> str:
        on_note = self._remembering.on_note
        return on_note(place.path) if on_note and place.is_note else ""

    async def _is_kept(self, draft: FileDraft, caller: Caller) -> bool:
        """True if the change is made, as a version. Raises ToolError."""
        place, keep = draft.place, self._remembering.keep
        if keep is None or not place.is_versioned:
            return False
        try:
            return await keep(place.inside, draft.edit, caller)
        except VersionError:
            raise changed_meanwhile(place) from None

    async def _ask(self, draft: FileDraft, caller: Caller) -> None:
        name = draft.place.name
        change = await asyncio.to_thread(preview, draft.edit) or say("tools.only_bytes", caller.language)
        if (length := len(await asyncio.to_thread(escaped, change))) > MOST:
            raise ToolError(
                f"{name} was not changed: the owner has to read all of it before they say yes, and {length:,} "
                f"characters are too many, the limit is {MOST:,}. Make the change in several smaller ones."
            )
        if draft.place.is_remembered:  # what comes later may be somebody else's idea: a yes is for this change alone
            sentence, grant = "tools.may_order", f"write {name}: {draft.after!r}"
        else:
            sentence = "tools.may_change" if draft.place.is_opened else "tools.may_write"
            grant = f"write {name}"
        count = await asyncio.to_thread(_lines_lost, draft)
        note = say("tools.all_replaced", caller.language, path=shown.code(name), count=count) if count else ""
        await self._policy.permit(
            caller,
            draft.place.risk,
            ApprovalRequest(sentence, change, "diff", grant, name, note),
            _only_owner(draft.place),
            f"The owner said no: {name} stays as it is. Do not try another way.",
        )


def _only_owner(place: ToolPath) -> str:
    return f"Only the owner may have {place.name} changed."


class WriteFile:
    """Writes a whole file."""

    spec = ToolSpec(
        "write_file",
        "Write a file, new or in place of the old one. To change a part of a file, use edit_file.",
        schema.parameters(WriteArguments),
    )

    def __init__(self, writer: FileWriter) -> None:
        self._writer = writer

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        return say("doing.write", language, what=shown.argument(arguments, "path"))

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        wanted = schema.parse(arguments, WriteArguments)
        return await self._writer.carry_out(lambda authority, staged: self._draft(wanted, authority, staged), caller)

    def _draft(self, wanted: WriteArguments, authority: Authority, staged: Mapping[str, Edit]) -> FileDraft:
        disk = self._writer.disk
        place = disk.sandbox.locate(wanted.path, authority)
        before = as_staged(place, staged, disk.read_if_any)
        if before is None:
            after = _encoded(_UTF8, wanted.content)
            return FileDraft(place, before, after, f"{place.name} is a new file: {len(after):,} bytes.")
        after, remark = _in_place_of(before, wanted.content)
        return FileDraft(place, before, after, f"{place.name} was replaced: {len(after):,} bytes{remark}.")


class EditFile:
    """Replaces a piece of a file."""

    spec = ToolSpec(
        "edit_file",
        "Replace a piece of text in a file. old_text must stand there exactly once, unless everywhere is true.",
        schema.parameters(EditArguments),
    )

    def __init__(self, writer: FileWriter) -> None:
        self._writer = writer

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        return say("doing.edit", language, what=shown.argument(arguments, "path"))

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        wanted = schema.parse(arguments, EditArguments)
        return await self._writer.carry_out(lambda authority, staged: self._draft(wanted, authority, staged), caller)

    def _draft(self, wanted: EditArguments, authority: Authority, staged: Mapping[str, Edit]) -> FileDraft:
        disk = self._writer.disk
        place = disk.sandbox.locate(wanted.path, authority)
        before = as_staged(place, staged, disk.read)
        text = decode(before)
        if text is None:
            raise ToolError(_NOT_TEXT.format(name=place.name))
        if not text.is_exact:
            raise ToolError(f"{place.name} has bytes that are broken in {text.encoding}; an edit would lose them.")
        content, lines = replace(
            text.content, wanted.old_text, wanted.new_text, everywhere=wanted.everywhere, newline=text.newline
        )
        where = f"line {lines[0]}" if len(lines) == 1 else f"{len(lines)} places, from line {lines[0]}"
        return FileDraft(place, before, _encoded(text, content), f"{place.name} was changed at {where}.")


def _encoded(text: Text, content: str) -> bytes:
    try:
        return text.encode(content)
    except UnicodeEncodeError as error:
        character = content[error.start : error.end][:1]
        raise ToolError(f"The text holds {character!r}, which cannot be written in {text.encoding}.") from None


def _in_place_of(before: bytes, content: str) -> tuple[bytes, str]:
    """A new text as the file there is written, its encoding and its line ends, and what to say of these."""
    old = decode(before)
    if old is None or not old.content:
        return _encoded(_UTF8, content), ""
    ends = "CRLF line ends" if old.newline == "\r\n" else ""
    if ends:
        content = content.replace("\r\n", "\n").replace("\n", "\r\n")
    new_ends = "" if ends or "\r\n" not in content else ", with CRLF line ends now (it had LF)"
    try:
        after = old.encode(content)
    except UnicodeEncodeError:
        return _encoded(
            _UTF8, content
        ), f", in UTF-8 now (it was in {old.encoding}, which lacks some characters){new_ends}"
    kept = [name for name in (old.encoding if after != content.encode(errors="replace") else "", ends) if name]
    return after, (f" ({', '.join(kept)}, as before)" if kept else "") + new_ends


def _lines(data: bytes | None) -> list[str]:
    """All of it, whether it is a text or not: nothing that is written goes unseen."""
    text = decode(data or b"") or Text((data or b"").decode("utf-8", "surrogateescape"), "utf-8")
    is_windows = text.content.count("\r\n") == text.content.count("\n")
    lines = text.content.replace("\r\n", "\n").split("\n") if is_windows else text.content.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _lines_lost(draft: FileDraft) -> int:
    """Return the number of lines that a file loses as a whole; 0 if any line stays."""
    before = [line for line in _lines(draft.before) if line.strip()]
    return 0 if set(before) & set(_lines(draft.after)) else len(before)


def preview(edit: Edit) -> str:
    """The change, line by line and to the letter; "" if no line is another one."""
    return "\n".join(_changes(_lines(edit.before), _lines(edit.after)))


def _changes(before: list[str], after: list[str]) -> Sequence[str]:
    """Return the changed parts; one part for all where much lies between the first and the last."""
    shorter = min(len(before), len(after))
    head = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    tail = next((at for at in range(shorter - head) if before[-1 - at] != after[-1 - at]), shorter - head)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if max(len(old), len(new)) <= _COMPARED:
        above, below = max(0, head - 1), max(0, tail - 1)  # with a line of what stays
        old, new = before[above : len(before) - below], after[above : len(after) - below]
        rows = list(unified_diff(old, new, n=1, lineterm=""))[2:]
        return [_HUNK.sub(partial(_lower, above), row) for row in rows]
    where = f"@@ -{head + 1},{len(old)} +{head + 1},{len(new)} @@"
    return [where, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]


def _lower(lines: int, hunk: re.Match[str]) -> str:
    """The head of a hunk, so many lines further down."""
    return re.sub(r"(?<=[-+])\d+", lambda number: str(int(number[0]) + lines), hunk[0])


def change_shown(edits: Mapping[str, Edit], language: Language) -> tuple[str, str]:
    """Changes of files as somebody reads them who is to agree: all, and of what is long the beginning and the end, ""
    of what is not.
    """
    rows: list[str] = []
    for path, edit in edits.items():
        kind = "new" if edit.before is None else "gone" if edit.after is None else "changed"
        rows.append(f"=== {say(f'proposals.file_{kind}', language, path=path)} ===")
        rows.append(preview(edit) or say("tools.only_bytes", language))
    text = ShownText("\n".join(rows), "diff")
    return text.whole(language), text.ends(language) if text.is_long else ""

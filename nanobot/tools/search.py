"""Looking around: what is in a folder, where a file is, where a text stands."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated

import msgspec

from nanobot import text as shown
from nanobot.authority import Authority
from nanobot.errors import ToolError
from nanobot.i18n import Language, say
from nanobot.ports import Caller, ToolResult, ToolSpec
from nanobot.text import decode
from nanobot.tools import schema
from nanobot.tools.output import HIDDEN, Mask, Spill
from nanobot.tools.paths import Disk, FolderEntry, ToolPath

if TYPE_CHECKING:
    from re2 import Pattern

_SECONDS = 10.0
_MAX_FOUND = 500
_MAX_MATCHES = 200
_LINE = 300  # characters of a matching line that are shown
_LONGEST = 1_000  # characters of a pattern
_EXPRESSION_MEMORY = 8 << 20  # bytes that a compiled expression may take

_Path = Annotated[str, msgspec.Meta(description="The folder, relative to the workspace")]


class ListArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: _Path = "."


class FindArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[
        str,
        msgspec.Meta(max_length=_LONGEST, description="*.md for a name in any folder, or a path such as src/**/*.py"),
    ]
    path: _Path = "."


class GrepArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[
        str, msgspec.Meta(max_length=_LONGEST, description="A regular expression (RE2), looked for in each line")
    ]
    path: Annotated[str, msgspec.Meta(description="The folder or file, relative to the workspace")] = "."
    files: Annotated[
        str, msgspec.Meta(max_length=_LONGEST, description="Only in files whose name or path matches, such as *.md")
    ] = "**"
    ignore_case: Annotated[bool, msgspec.Meta(description="Whether capital letters do not count")] = False


class Search:
    """One walk through a folder on somebody's behalf; it ends by itself after some seconds, and then says so."""

    def __init__(self, disk: Disk, authority: Authority) -> None:
        self.disk = disk
        self.notes: list[str] = []
        self._authority = authority
        self._until = time.monotonic() + _SECONDS
        self._withdrawn = False

    async def run(self, work: "Callable[[Search], list[str]]") -> str:
        """Do the work in a thread; what it found, line by line, and what must be known about that."""
        try:
            lines = await asyncio.to_thread(work, self)
        finally:
            self._withdrawn = True  # a thread cannot be cancelled, but it looks here
        return "\n".join([*(lines or ["(nothing)"]), *(f"[{note}]" for note in self.notes)])

    @property
    def seconds_left(self) -> float:
        return 0.0 if self._withdrawn else self._until - time.monotonic()

    def locate(self, path: str) -> ToolPath:
        return self.disk.sandbox.locate(path, self._authority)

    def files(self, start: ToolPath, pattern: str) -> Iterator[ToolPath]:
        """The files below a folder that match, in order; or the one file."""
        if not self.disk.is_folder(start):
            yield start
            return
        for place, entry in self._walk(start):
            inside = PurePosixPath(place.path.relative_to(start.path))
            if entry.kind == "file" and matches(inside, pattern):
                yield place

    def entries(self, folder: ToolPath) -> Iterator[FolderEntry]:
        """Return the visible entries of a folder."""
        sandbox = self.disk.sandbox
        for entry in self.disk.entries(folder):
            if sandbox.may_see(sandbox.child(folder, entry.name), self._authority):
                yield entry

    def _walk(self, start: ToolPath) -> Iterator[tuple[ToolPath, FolderEntry]]:
        unreadable: list[str] = []
        for found in self.disk.walk(start, lambda place: self.disk.sandbox.may_see(place, self._authority), unreadable):
            if self.seconds_left <= 0:
                self.notes.append(f"stopped after {_SECONDS:.0f} seconds: there may be more, look in a smaller folder")
                break
            yield found
        if unreadable:
            self.notes.append(f"not readable: {', '.join(unreadable[:5])}{', …' if len(unreadable) > 5 else ''}")


def matches(path: PurePosixPath, pattern: str) -> bool:
    """True if a glob pattern fits: without a slash the name alone counts; ** is any number of folders."""
    if "/" not in pattern:
        return pattern == "**" or fnmatchcase(path.name, pattern)
    pieces = pattern.strip("/").split("/")
    at = _past_stars({0}, pieces)
    for part in path.parts:
        stays = {index for index in at if index < len(pieces) and pieces[index] == "**"}
        moves = {index + 1 for index in at - stays if index < len(pieces) and fnmatchcase(part, pieces[index])}
        at = _past_stars(stays | moves, pieces)
    return len(pieces) in at


def _past_stars(at: set[int], pieces: Sequence[str]) -> set[int]:
    """The places in a pattern that are reached when each ** may also stand for no folder at all."""
    reached = set(at)
    for index in range(len(pieces)):
        if index in reached and pieces[index] == "**":
            reached.add(index + 1)
    return reached


class ListDir:
    """Shows what is in a folder."""

    spec = ToolSpec("list_dir", "List a folder.", schema.parameters(ListArguments), reads_only=True)

    def __init__(self, disk: Disk, spill: Spill) -> None:
        self._disk = disk
        self._spill = spill

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        return say("doing.list", language, what=shown.argument(arguments, "path", say("doing.workspace", language)))

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        wanted = schema.parse(arguments, ListArguments)

        def work(search: Search) -> list[str]:
            return [_shown(entry) for entry in search.entries(search.locate(wanted.path))]

        text = await Search(self._disk, caller.authority).run(work)
        return ToolResult(await self._spill.fit(text, caller.authority.scope, "list"))


class FindFiles:
    """Finds files by name."""

    spec = ToolSpec("find_files", "Find files by name.", schema.parameters(FindArguments), reads_only=True)

    def __init__(self, disk: Disk, spill: Spill) -> None:
        self._disk = disk
        self._spill = spill

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        return say("doing.find", language, what=shown.argument(arguments, "pattern"))

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        wanted = schema.parse(arguments, FindArguments)

        def work(search: Search) -> list[str]:
            names = (place.name for place in search.files(search.locate(wanted.path), wanted.pattern))
            return _first(names, _MAX_FOUND, search)

        text = await Search(self._disk, caller.authority).run(work)
        return ToolResult(await self._spill.fit(text, caller.authority.scope, "find"))


class Grep:
    """Finds text in files."""

    spec = ToolSpec("grep", "Find text in files.", schema.parameters(GrepArguments), reads_only=True)

    def __init__(self, disk: Disk, spill: Spill) -> None:
        self._disk = disk
        self._spill = spill

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        return say("doing.grep", language, what=shown.argument(arguments, "pattern"))

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        wanted = schema.parse(arguments, GrepArguments)
        pattern = _compiled(wanted)

        def work(search: Search) -> list[str]:
            places = search.files(search.locate(wanted.path), wanted.files)
            return _first(_matching_lines(search, places, pattern, self._spill.mask), _MAX_MATCHES, search)

        text = await Search(self._disk, caller.authority).run(work)
        return ToolResult(await self._spill.fit(text, caller.authority.scope, "grep"))


def _shown(entry: FolderEntry) -> str:
    name = shown.name(entry.name)
    return {"folder": f"{name}/", "file": f"{name}  {entry.size:,} bytes", "link": f"{name}  (a link)"}.get(
        entry.kind, f"{name}  (a device or a pipe)"
    )


def _first(lines: Iterable[str], limit: int, search: Search) -> list[str]:
    first: list[str] = []
    for line in lines:
        if len(first) == limit:
            search.notes.append(f"stopped after {limit}: there are more, be more precise")
            break
        first.append(line)
    return first


def _compiled(wanted: GrepArguments) -> "Pattern":
    """Compile for an engine whose time grows with the text alone and whose memory is bounded."""
    import re2  # costs 15 ms, and only a search needs it

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _EXPRESSION_MEMORY
    options.case_sensitive = not wanted.ignore_case
    try:
        return re2.compile(wanted.pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise ToolError(f"{shown.one_line(wanted.pattern)} cannot be searched for: {_complaint(error)}.") from None


def _complaint(error: Exception) -> str:
    """Say why an expression was refused, with what to do where another engine would have taken it."""
    if isinstance(error, UnicodeEncodeError):
        return "it is not valid text"
    said = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
    if "invalid perl operator" in said or "invalid escape sequence: \\" in said:
        return f"{said} (there are no lookarounds and no back-references here: search for less, and look at the lines)"
    return f"it is not a regular expression, {said}"


def _matching_lines(search: Search, places: Iterable[ToolPath], pattern: "Pattern", mask: Mask) -> Iterator[str]:
    """Yield the lines as they may be seen: what is masked is not cut in two, and cannot be guessed bit by bit."""
    skipped, is_hidden = 0, False
    for place in places:
        try:
            text = decode(search.disk.read(place))
        except ToolError:
            text = None
        skipped += text is None
        masked = replace(text, content=mask(text.content)) if text else None
        for number, line in enumerate(masked.lines() if masked else [], 1):
            if match := pattern.search(line):
                is_hidden = is_hidden or masked != text
                yield f"{place.name}:{number}: {_around(line, match.start())}"
    if is_hidden:
        search.notes.append(HIDDEN.strip("[]"))
    if skipped:
        search.notes.append(f"{skipped} files are not text, too large or not readable")


def _around(line: str, at: int) -> str:
    start = 0 if len(line) <= _LINE else max(0, at - _LINE // 3)
    piece = line[start : start + _LINE]
    left_out = len(line) - len(piece)
    return f"{'…' if start else ''}{piece}{f' […, {left_out:,} more characters]' if left_out else ''}"

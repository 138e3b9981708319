"""Reading files, and looking around: what is in a folder, where a file is, where a text stands."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import msgspec

from nanobot import text as shown
from nanobot.authority import Authority, Origin
from nanobot.errors import ToolError
from nanobot.i18n import Language, say
from nanobot.messages import Attachment
from nanobot.ports import Caller, Edit, ToolResult, ToolSpec
from nanobot.text import Text, decode
from nanobot.tools import schema
from nanobot.tools.output import HIDDEN, MAX_RESULT, Mask, nothing_hidden
from nanobot.tools.paths import Disk, ToolPath
from nanobot.tools.writing import StagedBy, as_staged, nothing_staged

_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)

_Count = Annotated[int, msgspec.Meta(ge=1)]


class ReadArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, msgspec.Meta(description="Relative to the workspace, such as memory/garden.md")]
    start: Annotated[int, msgspec.Meta(ge=1, description="The first line to read, from 1")] = 1
    lines: Annotated[_Count | None, msgspec.Meta(description="How many lines; left out, as many as fit")] = None
    column: Annotated[int, msgspec.Meta(ge=1, description="Where in the first line to begin, if it is very long")] = 1


class ReadFile:
    """Shows a text file, a page at a time, or a picture."""

    spec = ToolSpec(
        "read_file",
        "Read a text file, or look at a picture. A long file comes in parts; the result says how to go on.",
        schema.parameters(ReadArguments),
        reads_only=True,
    )

    def __init__(
        self,
        disk: Disk,
        staged: StagedBy = nothing_staged,
        *,
        max_result: int = MAX_RESULT,
        mask: Mask = nothing_hidden,
    ) -> None:
        """`staged`: what the turn has proposed is read as it shall be. `max_result`: characters of one part.

        `mask` goes before a cut: half a secret would not be known any more.
        """
        self._disk = disk
        self._staged = staged
        self._max_result = max_result
        self._mask = mask

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        return say("doing.read", language, what=shown.argument(arguments, "path"))

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        wanted, staged = schema.parse(arguments, ReadArguments), await self._staged(caller)
        return await asyncio.to_thread(self._read, wanted, caller.authority, staged)

    def _read(self, wanted: ReadArguments, authority: Authority, staged: Mapping[str, Edit]) -> ToolResult:
        place = self._disk.sandbox.locate(wanted.path, authority)
        is_staged = place.is_in(staged)
        data = as_staged(place, staged, self._disk.read)
        if mime := _picture_type(data):
            return _picture(place, mime, len(data))
        text = decode(data)
        if text is None:
            raise ToolError(f"{place.name} is not a text file ({len(data):,} bytes of something else).")
        masked = replace(text, content=self._mask(text.content))
        part = _part(place.name, masked, wanted, self._max_result)
        is_hidden = masked != text and part != _part(place.name, text, wanted, self._max_result)
        was_let_in = place.is_carried and not is_staged  # whatever stands in memory was judged when it was written
        origin = authority.origin if was_let_in else Origin.TOOL
        return ToolResult(f"{part}\n{HIDDEN}" if is_hidden else part, origin)


def _picture_type(data: bytes) -> str | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for signature, mime in _PICTURES if data.startswith(signature)), None)


def _picture(place: ToolPath, mime: str, size: int) -> ToolResult:
    path = str(place.inside if place.in_workspace else place.path)
    return ToolResult(
        f"{place.name} is a picture ({mime}, {size:,} bytes). It comes with this result, for models that see.",
        files=(Attachment(path, mime, place.path.name),),
    )


def _part(name: str, text: Text, wanted: ReadArguments, limit: int) -> str:
    """The wanted lines as far as they fit, between what must be known about them."""
    lines = text.lines()
    if not any(line.strip() for line in lines):
        return f"({name} has nothing but {len(lines)} blank lines)" if lines else f"({name} is empty)"
    if wanted.start > len(lines):
        raise ToolError(f"{name} ends at line {len(lines)}; start {wanted.start} is behind it.")
    chosen = lines[wanted.start - 1 :][: wanted.lines]
    chosen[0] = chosen[0][wanted.column - 1 :]
    fitting = _fitting(chosen, limit)
    last = wanted.start + len(fitting) - 1
    notes = []
    if (wanted.start, wanted.column, last) != (1, 1, len(lines)):
        notes.append(f"lines {wanted.start} to {last} of {len(lines)}")
    if text.encoding != "utf-8":
        notes.append(f"written in {text.encoding}")
    if text.broken:
        notes.append(f"{text.broken} broken bytes shown as \ufffd")
    above = [f"[{name}: {', '.join(notes)}]"] if notes else []
    return "\n".join([*above, *fitting, *_how_to_go_on(lines, chosen, fitting, wanted)])


def _fitting(lines: list[str], limit: int) -> list[str]:
    """As many whole lines as fit; of a first line that does not fit, the beginning."""
    fitting = [lines[0][:limit]]
    room = limit - len(lines[0]) - 1
    for line in lines[1:]:
        if len(line) >= room:
            break
        fitting.append(line)
        room -= len(line) + 1
    return fitting


def _how_to_go_on(lines: list[str], chosen: list[str], fitting: list[str], wanted: ReadArguments) -> list[str]:
    if len(fitting[0]) < len(chosen[0]):
        length, column = len(lines[wanted.start - 1]), wanted.column + len(fitting[0])
        return [f"[line {wanted.start} has {length:,} characters; go on with start {wanted.start}, column {column}]"]
    if (following := wanted.start + len(fitting)) <= len(lines):
        return [f"[go on with start {following}]"]
    return []

"""Output of tools before the model reads it: secrets are masked, and what is too long goes to a file."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from nanobot.authority import Scope
from nanobot.errors import ToolError
from nanobot.i18n import Language
from nanobot.ids import new_id
from nanobot.ports import Caller, Tool, ToolResult
from nanobot.tools.paths import Disk, ToolPath
from nanobot.workspace import Workspace, folder_of

MAX_RESULT = 16_000
"""Characters of a tool's result that the model is shown at most, about 4,000 tokens of English."""

MAX_KEPT = 100_000_000
"""Bytes that a scope's spilled results may take up; beyond it the oldest make room."""


Mask = Callable[[str], str]
"""Takes the secrets of the configuration and of the environment out of a text."""

HIDDEN = "[A secret of the configuration or the environment stands here masked. Do not write the mask back.]"


def nothing_hidden(text: str) -> str:
    """The Mask of whoever has no secrets."""
    return text


class MaskedTool:
    """A tool whose results, and whose reasons for failing, hold no secrets, whoever wrote it."""

    def __init__(self, tool: Tool, mask: Mask) -> None:
        self.spec = tool.spec
        self._tool = tool
        self._mask = mask

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        seen = {name: _masked(value, self._mask) for name, value in arguments.items()}  # before they are cut
        return self._mask(self._tool.describe(seen, language))

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        try:
            result = await self._tool.run(arguments, caller)
        except ToolError as error:
            raise ToolError(self._mask(str(error))) from None
        text, printed = self._mask(result.text), self._mask(result.printed)
        return replace(result, text=text if text == result.text else f"{text}\n{HIDDEN}", printed=printed)


def _masked(value: object, mask: Mask) -> object:
    """Mask the texts of an argument, however deep."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {name: _masked(inner, mask) for name, inner in value.items()}
    return [_masked(inner, mask) for inner in value] if isinstance(value, list | tuple) else value


class Spill:
    """Keeps long results under the workspace's spill folder, each where only its scope can read it."""

    def __init__(
        self, workspace: Workspace, disk: Disk, *, max_result: int = MAX_RESULT, mask: Mask = nothing_hidden
    ) -> None:
        """`mask` goes before a cut: half a secret would not be known any more."""
        self.max_result = max_result
        self.mask = mask
        self._folder = PurePosixPath(workspace.spill.relative_to(workspace.root))
        self._disk = disk

    async def fit(self, text: str, scope: Scope, kind: str) -> str:
        """The text if it is short enough; else its head and tail, and where the whole is now."""
        if len(text) <= self.max_result:
            return text
        masked = await asyncio.to_thread(self.mask, text)
        text, hidden = masked, f"\n{HIDDEN}" if masked != text else ""
        head, tail = _ends(text, self.max_result)
        left_out = len(text) - len(head) - len(tail)
        try:
            where = await asyncio.to_thread(self._keep, text, scope, kind)
        except ToolError as error:
            lost = f"[… {left_out:,} characters are left out here, and could not be kept: {error} …]"
            return f"{head}\n{lost}\n{tail}{hidden}"
        first, last = head.count("\n") + 1, text.count("\n", 0, len(text) - len(tail)) + 1
        return (
            f"{head}\n[… {left_out:,} characters are left out here, lines {first} to {last}. "
            f"All of it is in {where}: read on with read_file, path {where}, start {first} …]\n{tail}{hidden}"
        )

    def _keep(self, text: str, scope: Scope, kind: str) -> str:
        folder = ToolPath(self._disk.sandbox.root, self._folder / folder_of(scope.name), in_workspace=True)
        place = self._disk.sandbox.child(folder, f"{kind}-{new_id()}.txt")
        self._disk.replace(place, None, text.encode("utf-8", "replace"))
        self._make_room(folder)
        return place.name

    def _make_room(self, folder: ToolPath) -> None:
        files = [entry for entry in self._disk.entries(folder) if entry.kind == "file"]
        total = sum(entry.size for entry in files)
        for entry in sorted(files, key=lambda entry: entry.changed)[:-1]:
            if total <= MAX_KEPT:
                return
            self._disk.remove(self._disk.sandbox.child(folder, entry.name))
            total -= entry.size


def _ends(text: str, limit: int) -> tuple[str, str]:
    """Head and tail of a long text, at line ends where that costs little: an error tends to stand at the end."""
    head, tail = text[: limit * 5 // 8], text[-(limit * 3 // 8) :]
    if (cut := head.rfind("\n")) > len(head) // 2:
        head = head[:cut]
    if 0 <= (cut := tail.find("\n")) < len(tail) // 2:
        tail = tail[cut + 1 :]
    return head, tail

"""Tools for tests."""

import asyncio
from collections.abc import Mapping

from nanobot.errors import ToolError
from nanobot.i18n import Language
from nanobot.ports import Caller, ToolResult, ToolSpec

_ANYTHING: Mapping[str, object] = {"type": "object", "properties": {}}


class Echo:
    """Says its arguments back, or fails as told by the argument `fail`."""

    def __init__(self, name: str = "echo", *, reads_only: bool = True) -> None:
        self.spec = ToolSpec(name, "Say it back.", _ANYTHING, reads_only=reads_only)
        self.calls: list[Mapping[str, object]] = []
        self.running = 0
        self.most_running = 0

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        return f"{self.spec.name} {arguments.get('text', '')}".strip()

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        self.calls.append(arguments)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        if arguments.get("fail") == "tool":
            raise ToolError("that did not work; do it otherwise")
        if arguments.get("fail") == "bug":
            raise ZeroDivisionError("secret detail")
        return ToolResult(str(arguments.get("text", "")))


class Hang:
    """Returns when it is released, or never."""

    spec = ToolSpec("hang", "Wait for ever.", _ANYTHING)

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.release = asyncio.Event()

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        return "hang"

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        self.started.set()
        await self.release.wait()
        return ToolResult("released")

"""What the tests of models share: somebody who watches an answer grow, and short ways to ask."""

import asyncio
from collections.abc import Callable

from nanobot.errors import LLMErrorKind
from nanobot.ports import Lacking, Request
from nanobot.transcript import Message
from tests.fakes.clock import FakeClock


class Watcher:
    """Sees what a person would see. Whenever the model is said to wait, the time passes at once."""

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.screen = ""
        self.screens: list[str] = []
        self.restarts = 0
        self.waits: list[tuple[float, LLMErrorKind]] = []
        self.fallbacks: list[tuple[str, LLMErrorKind]] = []
        self.lacking: list[Lacking] = []
        self._clock = clock
        self._changed = asyncio.Event()

    async def until(self, seen: Callable[[], bool]) -> None:
        """Wait until this is so; looked at whenever something was seen."""
        while not seen():
            self._changed.clear()
            await self._changed.wait()

    def text(self, delta: str) -> None:
        self.screen += delta
        self.screens.append(self.screen)
        self._changed.set()

    def restart(self) -> None:
        self.screen = ""
        self.restarts += 1

    def waiting(self, seconds: float, kind: LLMErrorKind) -> None:
        self.waits.append((seconds, kind))
        self._changed.set()
        if self._clock is not None:
            asyncio.get_running_loop().call_soon(self._clock.advance, seconds)

    def fallback(self, preset: str, kind: LLMErrorKind) -> None:
        self.fallbacks.append((preset, kind))

    def lacks(self, preset: str, what: Lacking) -> None:
        self.lacking.append(what)


def question(text: str = "hi") -> Request:
    return Request([Message(role="user", content=text)])

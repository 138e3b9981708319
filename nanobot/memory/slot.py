"""When the bot's own work may ask a model, while nobody watches the answer grow."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from nanobot.errors import LLMErrorKind
from nanobot.ports import Lacking, ModelInfo, Reply

Ask = Callable[[], Awaitable[Reply]]
"""Asks, and may be given up: then it is called anew."""


class Slot(Protocol):
    """Lets work ask a model at a time that suits."""

    async def __call__(self, model: ModelInfo, ask: Ask) -> Reply:
        """What the model answers. Raises what `ask` raises."""
        ...


async def at_once(model: ModelInfo, ask: Ask) -> Reply:
    """The slot of work that somebody waits for."""
    del model
    return await ask()


class Quiet:
    """For what a model is asked when no person waits for the words."""

    def text(self, delta: str) -> None: ...

    def restart(self) -> None: ...

    def waiting(self, seconds: float, kind: LLMErrorKind) -> None: ...

    def fallback(self, preset: str, kind: LLMErrorKind) -> None: ...

    def lacks(self, preset: str, what: Lacking) -> None: ...

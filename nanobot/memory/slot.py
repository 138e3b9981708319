"""When the bot's own work may ask a model."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from nanobot.ports import ModelInfo, Reply

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

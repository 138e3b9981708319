"""A tool for nanobot from a package of its own: it rolls a die."""

import secrets
from collections.abc import Mapping, Sequence

from nanobot.errors import ConfigError
from nanobot.i18n import Language
from nanobot.ports import Caller, Tool, ToolResult, ToolSpec


def tools(settings: Mapping[str, object]) -> Sequence[Tool]:
    """What nanobot calls: `settings` is what stands under plugins.dice in config.yaml."""
    sides = settings.get("sides", 6)
    if not isinstance(sides, int) or sides < 2:
        raise ConfigError("sides must be a whole number from 2 on")
    return [Dice(sides)]


class Dice:
    """Rolls a die."""

    def __init__(self, sides: int) -> None:
        self._sides = sides
        self.spec = ToolSpec(
            "roll_dice", f"Roll a die with {sides} sides.", {"type": "object", "properties": {}}, reads_only=True
        )

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        return "roll a die"

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        return ToolResult(str(secrets.randbelow(self._sides) + 1))

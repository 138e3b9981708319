"""How a conversation is made to fit when it has grown too long: each way has a name."""

from collections.abc import Mapping

from nanobot.memory.strategies.importance import importance, layered
from nanobot.memory.strategies.tokens import tokens, window
from nanobot.memory.strategies.view import Strategy, View

STRATEGIES: Mapping[str, Strategy] = {
    "window": window,
    "tokens": tokens,
    "summary": tokens,  # what differs is when it moves: once the summary is there
    "importance": importance,
    "layered": layered,
}

__all__ = ["STRATEGIES", "Strategy", "View"]

"""The keys of memory."""

from dataclasses import dataclass
from typing import Literal

from nanobot.config import values as v
from nanobot.config.kinds import or_word
from nanobot.config.section import group, key, optional

Selection = Literal["local", "llm", "off"]
Strategy = Literal["window", "tokens", "summary", "importance", "layered"]

_KB = 1024


@dataclass(frozen=True)
class Budget:
    """How much of each file the model reads; what is longer is cut with a visible mark."""

    memory: int = key(v.size("1KB", "1MB"), 32 * _KB, "Of memory/MEMORY.md.")
    soul: int = key(v.size("1KB", "1MB"), 16 * _KB, "Of SOUL.md.")
    user: int = key(v.size("1KB", "1MB"), 16 * _KB, "Of USER.md.")
    agents: int = key(v.size("1KB", "1MB"), 16 * _KB, "Of AGENTS.md.")
    tools: int = key(v.size("1KB", "1MB"), 16 * _KB, "Of TOOLS.md.")


@dataclass(frozen=True)
class Dream:
    """How past conversations become long-term memory."""

    every: float | None = key(or_word(v.duration("1m", "30d"), "off"), 7200.0, "How often it runs, or off.")
    cron: str | None = optional(v.cron(), "Instead of every: when, as in a crontab.")
    model: str | None = optional(v.text("the name of a preset"), "The preset it uses; the top-level one, if left out.")
    max_notes: int = key(v.whole(1, 10_000, 200), 200, "The most notes it keeps.")
    max_steps: int = key(v.whole(1, 1000, 12), 12, "The most model calls of one run.")
    max_tokens: int = key(v.whole(1000, 10**9, 60_000), 60_000, "The most tokens of one run.")
    max_removed: float = key(v.number(0, 1, 0.25), 0.25, "The share of a file that one run may remove.")
    runs_per_day: int = key(v.whole(0, 1440, 24), 24, "The most runs in a day.")


@dataclass(frozen=True)
class Memory:
    """What is remembered, and how."""

    budget: Budget = group(Budget, "How much of each file the model reads; 1KB is 1,024 bytes.")
    selection: Selection = key(
        v.choice(Selection), "local", "How relevant memories are chosen: by search here, by the model, or not at all."
    )
    semantic: str = key(
        v.text("off, auto or the name of a model"),
        "off",
        "Search by meaning: off, auto, or a model's name (needs the extra [semantic]).",
    )
    strategy: Strategy = key(v.choice(Strategy), "layered", "How a long conversation is made to fit the model.")
    archive_after: float = key(v.duration("1m", "365d"), 1800.0, "After how much silence a conversation is summarised.")
    compact_at: float = key(v.number(0.1, 0.95, 0.75), 0.75, "At which share of the context window it is summarised.")
    dream: Dream = group(Dream, "How past conversations become long-term memory.")

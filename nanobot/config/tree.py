"""The tree: every key that the configuration knows, with its kind, default and meaning."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import time
from pathlib import Path
from typing import Literal

from nanobot.config import values as v
from nanobot.config.channels import Discord, Telegram
from nanobot.config.kinds import Anything, ListOf, MapOf, or_word
from nanobot.config.memory import Memory
from nanobot.config.models import ModelPreset, Transcription
from nanobot.config.paths import FilePath
from nanobot.config.section import Section, group, key, optional
from nanobot.config.tools import Tools


@dataclass(frozen=True)
class Agent:
    """How a turn runs."""

    max_steps: int = key(v.whole(1, 1000, 40), 40, "The most model calls in one turn; then it sums up.")
    while_busy: Literal["steer", "queue"] = key(
        v.choice(Literal["steer", "queue"]),
        "steer",
        "What a message does that arrives during a turn: join it at its next step (steer), or wait (queue).",
    )
    parallel_sessions: int = key(v.whole(1, 10_000, 16), 16, "How many conversations may run side by side.")


@dataclass(frozen=True)
class Sessions:
    """How conversations are kept."""

    fsync: bool = key(v.flag(), True, "Whether each message is forced to the disk before the bot goes on.")


@dataclass(frozen=True)
class Limit:
    """What may be used up; nothing said means no limit."""

    tokens_per_day: int | None = optional(v.whole(0, 10**12, 200_000), "Tokens in a day.")
    cost_per_day: float | None = optional(v.number(0, 1e6, 2.5), "Money in a day, in the currency of the prices.")
    cost_per_month: float | None = optional(v.number(0, 1e6, 30), "Money in a month.")


@dataclass(frozen=True)
class Limits:
    """Limits on what models may use up."""

    total: Limit = group(Limit, "For everything together.")
    per_person: Limit = group(Limit, "For each person.")
    per_chat: Limit = group(Limit, "For each chat.")
    per_job: Limit = group(Limit, "For each job.")


@dataclass(frozen=True)
class Heartbeat:
    """When the bot looks by itself whether there is something to do."""

    every: float | None = key(or_word(v.duration("1m", "30d"), "off"), 1800.0, "How often it looks, or off.")
    hours: v.Hours = key(v.hours(), v.Hours(time(8), time(22)), "At which hours of the local day it looks.")


@dataclass(frozen=True)
class Jobs:
    """Bounds on reminders and other jobs."""

    per_chat: int = key(v.whole(0, 10_000, 50), 50, "The most jobs that one chat may have.")
    model_runs_per_day: int = key(v.whole(0, 100_000, 48), 48, "How often a day jobs may ask the model.")


@dataclass(frozen=True)
class Gateway:
    """The process that serves the channels."""

    health: v.Listen | None = key(
        or_word(v.listen(), "off"), v.Listen("127.0.0.1", 18790), "Where GET /health answers, or off."
    )
    drain: float = key(v.duration("0s", "1h"), 30.0, "How long running turns may take to finish when it stops.")


@dataclass(frozen=True)
class Log:
    """What is logged."""

    level: Literal["debug", "info", "warning", "error"] = key(
        v.choice(Literal["debug", "info", "warning", "error"]), "info", "From which severity on."
    )
    format: Literal["text", "json"] = key(
        v.choice(Literal["text", "json"]), "text", "For people (text), or one JSON object a line."
    )


@dataclass(frozen=True)
class Config:
    """Everything that can be configured."""

    workspace: Path = key(
        FilePath(), Path("~/.nanobot/workspace"), "The folder that shapes the bot and holds what it knows."
    )
    timezone: str | None = optional(v.timezone(), "The local time zone; the machine's, if left out.")
    language: Literal["auto", "en", "zh"] = key(
        v.choice(Literal["auto", "en", "zh"]), "auto", "Of the bot's own sentences; auto follows the person."
    )
    model: str | None = optional(
        v.text("the name of a preset"),
        "The preset in use; the first of models, if left out, and without any the embedded model.",
    )
    fallbacks: tuple[str, ...] = key(
        ListOf(v.text("the name of a preset")), (), "Presets that are asked in this order when the model fails."
    )
    models: Mapping[str, ModelPreset] = key(MapOf(Section(ModelPreset)), {}, "The presets, by names of your own.")
    agent: Agent = group(Agent, "How a turn runs.")
    sessions: Sessions = group(Sessions, "How conversations are kept.")
    memory: Memory = group(Memory, "What is remembered, and how.")
    telegram: Telegram | None = optional(Section(Telegram), "The Telegram bot; none, if left out.")
    discord: Discord | None = optional(Section(Discord), "The Discord bot; none, if left out.")
    transcription: Transcription | None = optional(Section(Transcription), "Who turns voice messages into text.")
    tools: Tools = group(Tools, "What the model may do.")
    limits: Limits = group(Limits, "What models may use up.", idle=True)
    heartbeat: Heartbeat = group(Heartbeat, "When the bot looks by itself whether there is something to do.", idle=True)
    jobs: Jobs = group(Jobs, "Bounds on reminders and other jobs.", idle=True)
    gateway: Gateway = group(Gateway, "The process that serves the channels.")
    log: Log = group(Log, "What is logged.")
    plugins: Mapping[str, object] = key(
        MapOf(Anything()), {}, "Settings of plugins, by the plugin's name; the plugin checks them."
    )

"""The tree: every key that the configuration knows, with its kind, default and meaning."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import time
from pathlib import Path
from typing import Any, Literal

from nanobot.config import values as v
from nanobot.config.section import Section, group, key, needed, optional
from nanobot.config.values import Anything, FilePath, ListOf, MapOf, ModelWeights, or_word
from nanobot.i18n import LANGUAGES
from nanobot.memory_files import AGENTS, BY_NAME, MEMORY, SOUL, TOOLS, USER
from nanobot.workspace import place_of

# Models.


Profile = Literal["full", "compact"]


@dataclass(frozen=True)
class Price:
    """Price of a million tokens."""

    input: float = key(v.number(0, 1e6, 1.25), 0.0, "What is read.")
    cached: float | None = optional(
        v.number(0, 1e6, 0.1), "What is read from the endpoint's cache; as input, if left out."
    )
    output: float = key(v.number(0, 1e6, 10), 0.0, "What is written.")


@dataclass(frozen=True)
class ModelPreset:
    """A model: an OpenAI-compatible endpoint (base_url, model), or a file that runs here (gguf)."""

    base_url: str | None = optional(v.endpoint(), "The endpoint; any that speaks the OpenAI protocol.")
    api_key: str | None = optional(v.secret("the key of the endpoint"), "The endpoint's key, where it wants one.")
    model: str | None = optional(v.text("the endpoint's name of the model"), "The model, as the endpoint calls it.")
    gguf: str | None = optional(ModelWeights(), "Instead of base_url: embedded, or the path of a GGUF file.")
    context_window: int | None = optional(
        v.whole(1024, 100_000_000, 128_000),
        "How many tokens the model can read; if left out, 32000, or what fits a local file.",
    )
    max_output: int | None = optional(
        v.whole(16, 10_000_000, 8000), "The most tokens of one answer; if left out, a quarter of the window up to 8000."
    )
    temperature: float | None = optional(v.number(0, 2, 0.3), "How freely it writes; the endpoint's own, if left out.")
    profile: Profile | None = optional(
        v.choice(Profile),
        "full, or compact for small models (short prompt, no tools); if left out, compact for a GGUF file only.",
    )
    vision: bool = key(v.flag(), False, "Whether it can look at pictures.")
    timeout: float | None = optional(
        v.duration("1s", "1h"),
        "How long one request may take; if left out, 2m, or 10m of a server in a private network.",
    )
    idle_timeout: float | None = optional(
        v.duration("1s", "1h"),
        "How long an answer may stand still; if left out, 45s, and 5m before a server in a private network begins.",
    )
    attempts: int = key(v.whole(1, 20, 4), 4, "How often a request is tried when the endpoint cannot answer.")
    extra_headers: Mapping[str, str] = key(MapOf(v.hidden("text")), {}, "HTTP headers that are sent along.")
    extra_body: Mapping[str, object] = key(
        MapOf(Anything()), {}, "Further parameters of the request, as the endpoint knows them."
    )
    price: Price | None = optional(
        Section(Price), "Per million tokens, in any one currency; cost limits need it.", idle=True
    )

    @property
    def compact(self) -> bool:
        """True if it gets the short prompt without tools."""
        return (self.profile or ("full" if self.gguf is None else "compact")) == "compact"


@dataclass(frozen=True)
class Transcription:
    """An OpenAI-compatible endpoint that turns speech into text."""

    base_url: str = needed(v.endpoint(), "The endpoint.")
    model: str = needed(v.text("the endpoint's name of the model"), "The model, as the endpoint calls it.")
    api_key: str | None = optional(v.secret("the key of the endpoint"), "The endpoint's key, where it wants one.")


# Memory.


Selection = Literal["local", "llm", "off"]
Strategy = Literal["window", "tokens", "summary", "importance", "layered"]

_KB = 1024


def _budget(name: str) -> int:
    file = BY_NAME[name]
    return key(v.size("1KB", "1MB"), file.budget, f"Of {place_of(file, 'owner')}.")


@dataclass(frozen=True)
class Budget:
    """Budget in bytes of each file in the prompt; a longer one is cut with a visible mark."""

    memory: int = _budget(MEMORY)
    soul: int = _budget(SOUL)
    user: int = _budget(USER)
    agents: int = _budget(AGENTS)
    tools: int = _budget(TOOLS)


@dataclass(frozen=True)
class DreamConfig:
    """Settings of Dream, which turns past conversations into long-term memory."""

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
    """Settings of memory."""

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
    dream: DreamConfig = group(DreamConfig, "How past conversations become long-term memory.")


# Tools.


Permission = Literal["ask", "allow", "deny"]


@dataclass(frozen=True)
class ExecConfig:
    """Running commands."""

    owner: Permission = key(v.choice(Permission), "ask", "For owners: ask each time, allow, or deny.")
    member: Permission = key(v.choice(Permission), "deny", "For members: ask, allow, or deny.")
    allow: tuple[str, ...] = key(
        ListOf(v.text("the beginning of a command")),
        ("git status",),
        "Commands that run without asking, whatever follows.",
    )
    timeout: float = key(v.duration("1s", "1d"), 60.0, "How long a command may run.")


@dataclass(frozen=True)
class Web:
    """Reading the web."""

    search: Literal["duckduckgo", "off"] = key(
        v.choice(Literal["duckduckgo", "off"]), "duckduckgo", "Where web searches go, or off."
    )
    allow_private: tuple[str, ...] = key(
        ListOf(v.text("a host or network")), (), "Hosts or networks inside your own network that may be read."
    )


@dataclass(frozen=True)
class McpServer:
    """A server of tools that speaks MCP: a command that is started, or a URL."""

    command: tuple[str, ...] | None = optional(
        ListOf(v.argument()), "The command that starts it, with its arguments; secrets belong into env."
    )
    url: str | None = optional(v.url("http", "https"), "Where it answers.")
    env: Mapping[str, str] = key(MapOf(v.hidden("text")), {}, "Variables that the command gets.")
    headers: Mapping[str, str] = key(MapOf(v.hidden("text")), {}, "HTTP headers that are sent to the URL.")


@dataclass(frozen=True)
class Tools:
    """Settings of the model's tools."""

    allowed_dirs: tuple[Path, ...] = key(
        ListOf(FilePath()), (), "Folders besides the workspace that the file tools may use."
    )
    exec: ExecConfig = group(ExecConfig, "Running commands.")
    web: Web = group(Web, "Reading the web.", idle=True)
    mcp: Mapping[str, McpServer] = key(
        MapOf(Section(McpServer)), {}, "Servers of tools, by names of your own.", idle=True
    )


# Channels.


Listening = Literal["mention", "reply", "open"]

_TELEGRAM_TOKEN = (
    r"[0-9]+:[A-Za-z0-9_-]+",
    "as @BotFather writes it: the bot's number, a colon, and some 35 letters and digits (123456789:AA…)",
)
_DISCORD_TOKEN = (
    r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+",
    "as the developer portal shows it under Bot: three long words with dots between them (not the application's id)",
)
_WEBHOOK_SECRET = (r"[A-Za-z0-9_-]{1,256}", "as Telegram takes it: 1 to 256 of A-Z, a-z, 0-9, _ and -")
_OWNERS = "Ids of the people whose bot it is; an empty list admits nobody (pairing adds)."
_MEMBERS = "Ids of people who may talk to it."
_STORE_ALL = "Ids of groups in which also what is not said to the bot is kept."
_STREAMING = "Whether answers appear while they are written."
_GROUPS = "when it answers (mention, reply or open). A group is served once an owner admits it."


def _groups() -> MapOf[Any]:
    return MapOf(v.choice(Listening), name=v.platform_id())


@dataclass(frozen=True)
class WebhookConfig:
    """Settings of Telegram's webhook, in place of polling."""

    url: str = needed(v.url("https"), "The public address that Telegram calls.")
    listen: str = key(v.text("an address of this machine"), "127.0.0.1", "Where the server listens.")
    port: int = key(v.whole(1, 65535, 8443), 8443, "At which port.")
    secret: str | None = optional(
        v.secret("a secret text", *_WEBHOOK_SECRET), "What Telegram sends along to prove itself; made up, if left out."
    )


@dataclass(frozen=True)
class TelegramConfig:
    """A bot on Telegram."""

    token: str = needed(v.secret("the bot's token", *_TELEGRAM_TOKEN), "The token that @BotFather gave.")
    owners: tuple[str, ...] = key(ListOf(v.platform_id()), (), _OWNERS)
    members: tuple[str, ...] = key(ListOf(v.platform_id()), (), _MEMBERS)
    groups: Mapping[str, Listening] = key(_groups(), {}, f"Group ids, each with {_GROUPS}")
    store_all: tuple[str, ...] = key(ListOf(v.platform_id()), (), _STORE_ALL)
    api_base: str = key(
        v.url("http", "https"), "https://api.telegram.org", "The Bot API; files come from {api_base}/file/bot…"
    )
    proxy: str | None = optional(v.url("http", "https", "socks5", "socks5h"), "A proxy on the way to Telegram.")
    webhook: WebhookConfig | None = optional(Section(WebhookConfig), "How Telegram reaches us; if left out, we ask it.")
    streaming: bool = key(v.flag(), True, _STREAMING)


@dataclass(frozen=True)
class CatchUpConfig:
    """Settings of catching up after a pause."""

    messages: int = key(
        v.whole(0, 1000, 50), 50, "At most so many messages of a chat that are for the bot; 0 for none."
    )
    age: float = key(v.duration("0s", "365d"), 86400.0, "None older than this.")


@dataclass(frozen=True)
class DiscordConfig:
    """A bot on Discord."""

    token: str = needed(v.secret("the bot's token", *_DISCORD_TOKEN), "The token from Discord's developer portal.")
    owners: tuple[str, ...] = key(ListOf(v.platform_id()), (), _OWNERS)
    members: tuple[str, ...] = key(ListOf(v.platform_id()), (), _MEMBERS)
    groups: Mapping[str, Listening] = key(_groups(), {}, f"Server or channel ids, each with {_GROUPS}")
    store_all: tuple[str, ...] = key(ListOf(v.platform_id()), (), _STORE_ALL)
    api_base: str = key(v.url("http", "https"), "https://discord.com/api/v10", "Discord's API.")
    bots: tuple[str, ...] = key(ListOf(v.platform_id()), (), "Ids of bots that may talk to it.")
    catch_up: CatchUpConfig = group(CatchUpConfig, "What is read that was said while it was away.")
    streaming: bool = key(v.flag(), True, _STREAMING)


@dataclass(frozen=True)
class AgentConfig:
    """Settings of turns."""

    max_steps: int = key(v.whole(1, 1000, 40), 40, "The most model calls in one turn; then it sums up.")
    while_busy: Literal["steer", "queue"] = key(
        v.choice(Literal["steer", "queue"]),
        "steer",
        "What a message does that arrives during a turn: join it at its next step (steer), or wait (queue).",
    )
    parallel_sessions: int = key(v.whole(1, 10_000, 16), 16, "How many conversations may run side by side.")


@dataclass(frozen=True)
class Sessions:
    """Settings of sessions."""

    fsync: bool = key(v.flag(), True, "Whether each message is forced to the disk before the bot goes on.")


@dataclass(frozen=True)
class UsageLimit:
    """Limits of usage; unset means none."""

    tokens_per_day: int | None = optional(v.whole(0, 10**12, 200_000), "Tokens in a day.")
    cost_per_day: float | None = optional(v.number(0, 1e6, 2.5), "Money in a day, in the currency of the prices.")
    cost_per_month: float | None = optional(v.number(0, 1e6, 30), "Money in a month.")


@dataclass(frozen=True)
class UsageLimits:
    """Limits on what models may use up."""

    total: UsageLimit = group(UsageLimit, "For everything together.")
    per_person: UsageLimit = group(UsageLimit, "For each person.")
    per_chat: UsageLimit = group(UsageLimit, "For each chat.")
    per_job: UsageLimit = group(UsageLimit, "For each job.")


@dataclass(frozen=True)
class Heartbeat:
    """Schedule on which the bot looks by itself for something to do."""

    every: float | None = key(or_word(v.duration("1m", "30d"), "off"), 1800.0, "How often it looks, or off.")
    hours: v.Hours = key(v.hours(), v.Hours(time(8), time(22)), "At which hours of the local day it looks.")


@dataclass(frozen=True)
class Jobs:
    """Bounds on reminders and other jobs."""

    per_chat: int = key(v.whole(0, 10_000, 50), 50, "The most jobs that one chat may have.")
    model_runs_per_day: int = key(v.whole(0, 100_000, 48), 48, "How often a day jobs may ask the model.")


@dataclass(frozen=True)
class GatewayConfig:
    """The process that serves the channels."""

    health: v.Listen | None = key(
        or_word(v.listen(), "off"), v.Listen("127.0.0.1", 18790), "Where GET /health answers, or off."
    )
    drain: float = key(v.duration("0s", "1h"), 30.0, "How long running turns may take to finish when it stops.")


@dataclass(frozen=True)
class LogConfig:
    """Settings of the log."""

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
    language: str = key(v.word("auto", *LANGUAGES), "auto", "Of the bot's own sentences; auto follows the person.")
    model: str | None = optional(
        v.text("the name of a preset"),
        "The preset in use; the first of models, if left out, and without any the embedded model.",
    )
    fallbacks: tuple[str, ...] = key(
        ListOf(v.text("the name of a preset")), (), "Presets that are asked in this order when the model fails."
    )
    models: Mapping[str, ModelPreset] = key(MapOf(Section(ModelPreset)), {}, "The presets, by names of your own.")
    agent: AgentConfig = group(AgentConfig, "How a turn runs.")
    sessions: Sessions = group(Sessions, "How conversations are kept.")
    memory: Memory = group(Memory, "What is remembered, and how.")
    telegram: TelegramConfig | None = optional(Section(TelegramConfig), "The Telegram bot; none, if left out.")
    discord: DiscordConfig | None = optional(Section(DiscordConfig), "The Discord bot; none, if left out.")
    transcription: Transcription | None = optional(Section(Transcription), "Who turns voice messages into text.")
    tools: Tools = group(Tools, "What the model may do.")
    limits: UsageLimits = group(UsageLimits, "What models may use up.", idle=True)
    heartbeat: Heartbeat = group(Heartbeat, "When the bot looks by itself whether there is something to do.", idle=True)
    jobs: Jobs = group(Jobs, "Bounds on reminders and other jobs.", idle=True)
    gateway: GatewayConfig = group(GatewayConfig, "The process that serves the channels.")
    log: LogConfig = group(LogConfig, "What is logged.")
    plugins: Mapping[str, object] = key(
        MapOf(Anything()), {}, "Settings of plugins, by the plugin's name; the plugin checks them."
    )

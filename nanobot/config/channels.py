"""The keys of the places where people talk to the bot."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nanobot.config import values as v
from nanobot.config.kinds import ListOf, MapOf
from nanobot.config.section import Section, group, key, needed, optional

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
class Webhook:
    """How Telegram reaches us, instead of our asking."""

    url: str = needed(v.url("https"), "The public address that Telegram calls.")
    listen: str = key(v.text("an address of this machine"), "127.0.0.1", "Where the server listens.")
    port: int = key(v.whole(1, 65535, 8443), 8443, "At which port.")
    secret: str | None = optional(
        v.secret("a secret text", *_WEBHOOK_SECRET), "What Telegram sends along to prove itself; made up, if left out."
    )


@dataclass(frozen=True)
class Telegram:
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
    webhook: Webhook | None = optional(Section(Webhook), "How Telegram reaches us; if left out, we ask it.")
    streaming: bool = key(v.flag(), True, _STREAMING)


@dataclass(frozen=True)
class CatchUp:
    """What is read after a pause."""

    messages: int = key(
        v.whole(0, 1000, 50), 50, "At most so many messages of a chat that are for the bot; 0 for none."
    )
    age: float = key(v.duration("0s", "365d"), 86400.0, "None older than this.")


@dataclass(frozen=True)
class Discord:
    """A bot on Discord."""

    token: str = needed(v.secret("the bot's token", *_DISCORD_TOKEN), "The token from Discord's developer portal.")
    owners: tuple[str, ...] = key(ListOf(v.platform_id()), (), _OWNERS)
    members: tuple[str, ...] = key(ListOf(v.platform_id()), (), _MEMBERS)
    groups: Mapping[str, Listening] = key(_groups(), {}, f"Server or channel ids, each with {_GROUPS}")
    store_all: tuple[str, ...] = key(ListOf(v.platform_id()), (), _STORE_ALL)
    api_base: str = key(v.url("http", "https"), "https://discord.com/api/v10", "Discord's API.")
    bots: tuple[str, ...] = key(ListOf(v.platform_id()), (), "Ids of bots that may talk to it.")
    catch_up: CatchUp = group(CatchUp, "What is read that was said while it was away.")
    streaming: bool = key(v.flag(), True, _STREAMING)

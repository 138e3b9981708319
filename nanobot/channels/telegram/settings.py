"""Settings of Telegram, its rate limits, and its ids."""

import hashlib
import json
from dataclasses import dataclass, field

from nanobot.channels.delivery.rate_limit import Pace, Rate
from nanobot.channels.registry import ChannelSettings
from nanobot.messages import Address, Sender
from nanobot.ports.gateway import HeldMessage

NAME = "telegram"
"""The channel's name, as in Address.channel and at the head of each id."""

PUBLIC_API = "https://api.telegram.org"

PACE = Pace(
    chat=(Rate(5, 4.0),),
    bot=(Rate(25, 1.0),),
    every=1.1,
    group=(Rate(5, 4.0), Rate(20, 60.0)),
    every_in_group=4.0,
    group_prefix="-",
)
"""One message a second in a chat, thirty in all, twenty a minute in a group: "My bot is hitting limits" in the
Bot FAQ of Telegram. Short bursts are tolerated. Groups have negative ids. Previews leave room for an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """Settings of the webhook: `url` is the public address; its path counts here, too. `secret` None: made up."""

    url: str
    listen: str = "127.0.0.1"
    port: int = 8443
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramSettings(ChannelSettings):
    """The section `telegram`. Files come from {api_base}/file/bot…; without a webhook the Bot API is polled."""

    token: str = field(repr=False)
    api_base: str = PUBLIC_API
    proxy: str | None = field(default=None, repr=False)
    webhook: Webhook | None = None

    @property
    def is_self_hosted(self) -> bool:
        """True if this is a server of one's own: it takes and gives larger files."""
        return self.api_base.rstrip("/") != PUBLIC_API

    def without_token(self, text: str) -> str:
        """A text that can be shown and logged."""
        return text.replace(self.token, "<token>")


# Ids.


HELD = f"{NAME}:held:"
"""How bookmarks begin that hold an update, as Telegram brought it, which is not on the bus yet."""


def inbound_id(chat: int, message: int) -> str:
    """The id of what a person wrote. `chat` is the chat's own id of now: a supergroup counts from 1 again."""
    return f"{NAME}:{chat}:{message}"


def edit_id(original: str, seconds: int, text: str) -> str:
    """The id of a new wording, of this time; two edits may come within a second."""
    return f"{original}:edit:{seconds}:{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:8]}"


def message_in(chat: int, inbound: str | None) -> int | None:
    """The number that a message with this id has in a chat; None if it is not from there."""
    channel, _, rest = (inbound or "").partition(":")
    where, _, number = rest.partition(":")
    number = number.partition(":")[0]  # behind it may follow what happened to it: an edit, a press
    return int(number) if (channel, where) == (NAME, str(chat)) and number.isdecimal() else None


def platform_id(chat: int, message: int) -> str:
    """The id under which delivery knows what we said."""
    return f"{chat}:{message}"


def placed(platform_id: str) -> tuple[int, int]:
    """Chat and number of what we said."""
    chat, _, message = platform_id.partition(":")
    return int(chat), int(message)


def held_message(name: str, value: str) -> HeldMessage | None:
    """The message in a bookmark with this name; None if it is something else, or nobody's."""
    if not name.startswith(HELD):
        return None
    try:
        update = json.loads(value)
        message = update.get("message") or update["edited_message"]
        chat, sender = message["chat"], message["from"]
        inbound = inbound_id(int(chat["id"]), int(message["message_id"]))
        if "message" not in update:
            text = message.get("text") or message.get("caption") or ""
            inbound = edit_id(inbound, int(message.get("edit_date", 0)), text)
        return HeldMessage(
            inbound,
            Address(NAME, str(chat["id"])),
            Sender(str(sender["id"])),
            is_alone=chat.get("type") == "private",
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None

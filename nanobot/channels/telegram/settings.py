"""Settings of Telegram."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from nanobot.channels.access import AccessPolicy
from nanobot.http import ServerLimits
from nanobot.i18n import Language
from nanobot.messages import Address, OutboundMessage
from nanobot.ports import Bookmarks, Clock, Media, Transcriber

PUBLIC_API = "https://api.telegram.org"


@dataclass(frozen=True, slots=True, kw_only=True)
class BotApiAccess:
    """Base address and token of the Bot API. Files come from {api_base}/file/bot…"""

    token: str = field(repr=False)
    api_base: str = PUBLIC_API
    proxy: str | None = field(default=None, repr=False)

    @property
    def is_self_hosted(self) -> bool:
        """True if this is a server of one's own: it takes and gives larger files."""
        return self.api_base.rstrip("/") != PUBLIC_API

    def without_token(self, text: str) -> str:
        """A text that can be shown and logged."""
        return text.replace(self.token, "<token>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """Settings of the webhook: `url` is the public address; its path counts here, too.

    `secret` None: made up; `limits` None: the usual ones.
    """

    url: str
    listen: str = "127.0.0.1"
    port: int = 8443
    secret: str | None = field(default=None, repr=False)
    limits: ServerLimits | None = None


@dataclass(frozen=True, slots=True)
class TelegramMenuCommand:
    """A command in the menu; `help` says in one line what it does, in each language."""

    name: str
    help: Mapping[Language, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramServices:
    """Services that the Telegram channel uses.

    `notify` sends what the channel itself has to say (Bus.send); `language` is the one spoken at an address;
    `changed` hears that `status` has changed.
    """

    door: AccessPolicy
    media: Media
    transcriber: Transcriber | None
    bookmarks: Bookmarks
    clock: Clock
    notify: Callable[[OutboundMessage], Awaitable[None]]
    language: Callable[[Address], Language]
    changed: Callable[[], None]

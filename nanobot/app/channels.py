"""The chat platforms, as configured."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nanobot import config as settings
from nanobot.app.plugins import plugin_channels
from nanobot.app.post import ChatChannel, Post
from nanobot.bus.spool import Spool
from nanobot.channels.access import Door
from nanobot.channels.delivery.deliverer import Deliverer
from nanobot.channels.delivery.pace import DISCORD, TELEGRAM, Pace
from nanobot.commands.router import Command
from nanobot.config import Config, known
from nanobot.i18n import Language
from nanobot.llm.endpoint import Endpoint
from nanobot.llm.transcribe import EndpointTranscriber
from nanobot.messages import Address
from nanobot.people.standing import TERMINAL
from nanobot.ports import Clock, Media, Transcriber

if TYPE_CHECKING:  # each costs half a second, and only those are imported that are configured
    from nanobot.channels.discord.channel import Discord
    from nanobot.channels.telegram.channel import Telegram


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What the channels use of the house."""

    door: Door
    media: Media
    transcriber: Transcriber | None
    spool: Spool
    clock: Clock
    commands: Sequence[Command]
    language: Callable[[Address], Language]
    changed: Callable[[], None]


def build_posts(config: Config, house: House) -> Sequence[Post]:
    """One for each platform that is configured."""
    return list(_posts(config, house))


def build_transcriber(config: Config, clock: Clock) -> EndpointTranscriber | None:
    """Who turns speech into text; None if nobody is configured."""
    says = config.transcription
    if says is None:
        return None
    return EndpointTranscriber(says.model, Endpoint(base_url=says.base_url, api_key=known(says.api_key)), clock)


def _posts(config: Config, house: House) -> Iterator[Post]:
    if config.telegram:
        how = "webhook" if config.telegram.webhook else "polling"
        yield _post(_telegram(config.telegram, house), house, TELEGRAM, how, streaming=config.telegram.streaming)
    if config.discord:
        yield _post(_discord(config.discord, house), house, DISCORD, "gateway", streaming=config.discord.streaming)
    taken = [TERMINAL, *(name for name in ("telegram", "discord") if getattr(config, name))]
    for channel in plugin_channels(config.plugins, house, taken):
        yield _post(channel, house, TELEGRAM, "", streaming=True)  # the calmer pace


def _post(channel: ChatChannel, house: House, pace: Pace, how: str, *, streaming: bool) -> Post:
    deliverer = Deliverer(house.spool, channel, house.clock, pace=pace, streaming=streaming, language=house.language)
    return Post(channel, deliverer, house.spool.publish, house.clock, how=how, changed=house.changed)


def _telegram(says: settings.Telegram, house: House) -> "Telegram":
    from nanobot.channels.telegram.channel import Telegram
    from nanobot.channels.telegram.settings import Access, MenuCommand, Webhook
    from nanobot.channels.telegram.settings import House as Around

    around = Around(
        door=house.door,
        media=house.media,
        transcriber=house.transcriber,
        bookmarks=house.spool,
        clock=house.clock,
        notify=house.spool.send,
        language=house.language,
        changed=house.changed,
    )
    menu = [MenuCommand(command.name, _help(command)) for command in house.commands if not command.in_terminal_only]
    hook = says.webhook
    webhook = (
        Webhook(url=hook.url, listen=hook.listen, port=hook.port, secret=known(hook.secret) or None) if hook else None
    )
    return Telegram(Access(token=known(says.token), api_base=says.api_base, proxy=says.proxy), around, menu, webhook)


def _discord(says: settings.Discord, house: House) -> "Discord":
    from nanobot.channels.discord.channel import Discord
    from nanobot.channels.discord.settings import CatchUp, MenuCommand, Settings, Surroundings

    around = Surroundings(
        door=house.door,
        media=house.media,
        bookmarks=house.spool,
        clock=house.clock,
        notify=house.spool.send,
        language=house.language,
        changed=house.changed,
    )
    catch_up = CatchUp(says.catch_up.messages, says.catch_up.age)
    menu = [MenuCommand(command.name, _help(command)) for command in house.commands if not command.in_terminal_only]
    return Discord(Settings(token=known(says.token), api_base=says.api_base, catch_up=catch_up), around, menu)


def _help(command: Command) -> Mapping[Language, str]:
    return {"en": command.help("en"), "zh": command.help("zh")}

"""Tools and channels that others have written: entry points of installed packages, named in the configuration.

Only what `plugins` names is loaded. A package offers a function under the plugin's name:

nanobot.tools     (settings) -> tools       called with what stands under plugins.NAME
nanobot.channels  (settings, house) -> channel  `house` is channels.House, the channel a post.ChatChannel
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from nanobot.errors import ConfigError, NanobotError
from nanobot.ports import Tool

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from nanobot.app.channels import House
    from nanobot.app.post import ChatChannel

Group = Literal["nanobot.tools", "nanobot.channels"]

Plugins = Mapping[str, object]
"""The settings of each plugin, by its name."""


def plugin_tools(plugins: Plugins, taken: Collection[str] = ()) -> list[Tool]:
    """The tools of all plugins; those of the house have the names that are `taken`.

    Raises ConfigError, with a sentence for whoever starts the bot.
    """
    tools, names = list[Tool](), _Names("tool", taken)
    for name, call in _offered(plugins, "nanobot.tools"):
        for tool in cast("Iterable[Tool]", call(name)):
            names.take(tool.spec.name, name)
            tools.append(tool)
    return tools


def plugin_channels(plugins: Plugins, house: "House", taken: Collection[str] = ()) -> "list[ChatChannel]":
    """The channels of all plugins; those of the house have the names that are `taken`. Raises ConfigError."""
    channels, names = list["ChatChannel"](), _Names("channel", taken)
    for name, call in _offered(plugins, "nanobot.channels"):
        channel = cast("ChatChannel", call(name, house))
        names.take(channel.name, name)
        channels.append(channel)
    return channels


def has_channels(plugins: Plugins) -> bool:
    """Whether a plugin is a place where people talk to the bot."""
    return any(True for _ in _offered(plugins, "nanobot.channels"))


class _Names:
    """Each is given once: of two tools one would be called, of two channels each would get half of the messages."""

    def __init__(self, what: str, taken: Collection[str]) -> None:
        self._what = what
        self._taken = set(taken)

    def take(self, name: str, plugin: str) -> None:
        if name in self._taken:
            raise ConfigError(
                f"plugins.{plugin}: there is another {self._what} called {name}. Have the plugin call its own "
                f"otherwise, or take plugins.{plugin} out of config.yaml"
            )
        self._taken.add(name)


def _offered(plugins: Plugins, group: Group) -> Iterator[tuple[str, Callable[..., object]]]:
    """The plugins that offer something of a kind: the name, and a function that takes it in place of its settings."""
    if not plugins:  # looking through what is installed takes a while
        return
    from importlib.metadata import entry_points

    every = entry_points()
    known = {entry.name for of in ("nanobot.tools", "nanobot.channels") for entry in every.select(group=of)}
    for name, settings in plugins.items():
        if name not in known:
            raise ConfigError(
                f"plugins.{name} has settings, but no package that is installed offers a plugin {name}: install it "
                f"into the environment of nanobot, or take plugins.{name} out of config.yaml"
            )
        for entry in every.select(group=group, name=name):
            yield name, _caller(entry, settings)


def _caller(entry: "EntryPoint", settings: object) -> Callable[..., object]:
    """The function behind an entry point, with its settings. What goes wrong in it becomes a sentence."""

    def call(name: str, *more: Any) -> object:
        try:
            made = entry.load()(settings or {}, *more)
            return list(made) if entry.group == "nanobot.tools" else made
        except NanobotError as error:
            raise ConfigError(f"plugins.{name}: {error}") from error
        except Exception as error:
            package = entry.dist.name if entry.dist else entry.value
            raise ConfigError(
                f"plugins.{name}: the plugin (package {package}) could not be loaded: {type(error).__name__}: {error}"
            ) from error

    return call

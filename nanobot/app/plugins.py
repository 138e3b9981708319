"""The channels that are configured, and tools and channels of installed packages (entry points)."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from nanobot.channels.registry import (
    BUILT_IN,
    ChannelServices,
    ChannelSettings,
    ChannelType,
    ChatChannel,
    built_in,
    read_settings,
)
from nanobot.config import Config, known
from nanobot.errors import ConfigError, NanobotError
from nanobot.people.people import TERMINAL
from nanobot.ports import Tool

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal["nanobot.tools", "nanobot.channels"]

Plugins = Mapping[str, object]
"""The settings of each plugin, by its name."""


@dataclass(frozen=True, slots=True)
class ConfiguredChannel:
    """A channel, and its section of the configuration: a built-in one's own, or `plugins.NAME`."""

    type: ChannelType[Any]
    key: str
    section: object
    package: str = ""
    """The package that offers it; "" for a built-in one."""

    @property
    def name(self) -> str:
        return self.type.name

    def settings(self) -> ChannelSettings:
        """The settings; a secret whose variable is not set here is empty. Raises ConfigError."""
        try:
            return cast("ChannelSettings", read_settings(self.type.settings, self.section))
        except ConfigError as error:
            raise ConfigError(f"{self.key}: {error}") from error

    def build(self, services: ChannelServices) -> ChatChannel:
        """Build the channel. Raises ConfigError, for all that goes wrong in a plugin."""
        settings = self.usable_settings()
        with _as_config_error(self.key, self.package):
            return self.type.build(settings, services)

    def usable_settings(self) -> ChannelSettings:
        """The settings with every secret. Raises ConfigError if the variable of one is not set here."""
        _check_secrets(self.section)
        return self.settings()


def _check_secrets(section: object) -> None:
    """Raise ConfigError for the first secret in a section, or in one inside it, that is not known here."""
    names = [each.name for each in fields(section)] if is_dataclass(section) else getattr(section, "__dict__", ())
    for name in names:
        value = getattr(section, name)
        if isinstance(value, str):
            known(value)
        else:
            _check_secrets(value)


def configured_channels(config: Config) -> list[ConfiguredChannel]:
    """The built-in channels with a section in the configuration, then those of plugins. Raises ConfigError."""
    channels = [
        ConfiguredChannel(built_in(name), key, section) for name, (key, section) in _built_in_sections(config).items()
    ]
    names = _UniqueNames("channel", [TERMINAL, *(channel.name for channel in channels)])
    for plugin, entry in _entry_points(config.plugins, "nanobot.channels"):
        offered = _load(plugin, entry)
        if not isinstance(offered, ChannelType):
            raise ConfigError(f"plugins.{plugin}: {entry.value} is no ChannelType (see docs/plugins.md)")
        names.take(offered.name, plugin)
        section = config.plugins[plugin] or {}
        channels.append(ConfiguredChannel(offered, f"plugins.{plugin}", section, _package_of(entry)))
    return channels


def has_channels(config: Config) -> bool:
    """True if people can talk to the bot elsewhere than in the terminal. Raises ConfigError."""
    return bool(_built_in_sections(config)) or any(True for _ in _entry_points(config.plugins, "nanobot.channels"))


def _built_in_sections(config: Config) -> dict[str, tuple[str, object]]:
    """Key and section of each built-in channel that is configured.

    A platform for which config/tree.py declares no section is configured under plugins.NAME.
    """
    own = {name: (name, section) for name in BUILT_IN if (section := getattr(config, name, None))}
    beside = {name: (f"plugins.{name}", config.plugins[name] or {}) for name in BUILT_IN if name in config.plugins}
    return own | {name: found for name, found in beside.items() if not hasattr(config, name)}


def plugin_tools(plugins: Plugins, taken: Collection[str] = ()) -> list[Tool]:
    """The tools of all plugins; those of the bot have the names that are `taken`. Raises ConfigError."""
    tools, names = list[Tool](), _UniqueNames("tool", taken)
    for plugin, entry in _entry_points(plugins, "nanobot.tools"):
        for tool in cast("Iterable[Tool]", _load(plugin, entry, plugins[plugin] or {})):
            names.take(tool.spec.name, plugin)
            tools.append(tool)
    return tools


class _UniqueNames:
    """Names in use: of two tools one would be called, of two channels each would get half of the messages."""

    def __init__(self, kind: str, taken: Collection[str]) -> None:
        self._kind = kind
        self._taken = set(taken)

    def take(self, name: str, plugin: str) -> None:
        if name in self._taken:
            raise ConfigError(
                f"plugins.{plugin}: there is another {self._kind} called {name}. Have the plugin call its own "
                f"otherwise, or take plugins.{plugin} out of config.yaml"
            )
        self._taken.add(name)


def _entry_points(plugins: Plugins, group: Group) -> Iterator[tuple[str, "EntryPoint"]]:
    """The entry points of a group that the configuration names, each with the plugin's name."""
    if not plugins:  # looking through what is installed takes a while
        return
    from importlib.metadata import entry_points  # slow to import, and needed with plugins only

    every = entry_points()
    offered = {entry.name for of in ("nanobot.tools", "nanobot.channels") for entry in every.select(group=of)}
    for name in plugins:
        if name not in offered and name not in BUILT_IN:
            raise ConfigError(
                f"plugins.{name} has settings, but no package that is installed offers a plugin {name}: install it "
                f"into the environment of nanobot, or take plugins.{name} out of config.yaml"
            )
        for entry in every.select(group=group, name=name):
            yield name, entry


def _load(plugin: str, entry: "EntryPoint", *settings: object) -> object:
    """Import an entry point, and call it if there are settings. Raises ConfigError for all that goes wrong in it."""
    with _as_config_error(f"plugins.{plugin}", _package_of(entry)):
        loaded = entry.load()
        return list(loaded(*settings)) if settings else loaded


def _package_of(entry: "EntryPoint") -> str:
    return entry.dist.name if entry.dist else entry.value


@contextmanager
def _as_config_error(key: str, package: str) -> Iterator[None]:
    """Turn an error into a ConfigError that names the key; bugs of others too, not those of the bot itself."""
    try:
        yield
    except NanobotError as error:
        raise ConfigError(f"{key}: {error}") from error
    except Exception as error:
        if not package:
            raise
        raise ConfigError(
            f"{key}: the plugin (package {package}) could not be loaded: {type(error).__name__}: {error}"
        ) from error

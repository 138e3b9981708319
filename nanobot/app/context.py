"""Run-time context that all builders share: configuration, paths, clock, log, models, people."""

import logging
import os
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from nanobot.app.plugins import configured_channels
from nanobot.bus.spool import Spool
from nanobot.commands.admin import Pairing
from nanobot.config import EMBEDDED, Config, ModelPreset, chosen, known, presets, secrets_here
from nanobot.core.agent import Models
from nanobot.errors import ConfigError
from nanobot.messages import OutboundMessage
from nanobot.models.dialect import ModelDialects
from nanobot.models.endpoint import Endpoint, is_near
from nanobot.models.fallback import Fallback, UnsetModel
from nanobot.models.local import WINDOW as LOCAL_WINDOW
from nanobot.models.local import LocalModel
from nanobot.models.openai import OpenAIModel
from nanobot.nlp.secrets import redact
from nanobot.ops.logs import Hide, Mask, log_to
from nanobot.people.people import People
from nanobot.ports import LLM, Bus, Clock, DurableBus, ModelInfo
from nanobot.sessions.store import REPLAY_BYTES
from nanobot.store.state import PeopleFile, StoredSessionModels, locked_state, read_state, write_state
from nanobot.workspace import Home, Workspace

# Context.


@dataclass(frozen=True, slots=True)
class AppContext:
    """Run-time context as whoever starts the bot provides it."""

    config: Config
    home: Home
    workspace: Workspace
    clock: Clock
    bus: Bus
    people: People | None = None
    """Who may talk, where somebody else asks that, too: the book is written by one."""
    is_beside: bool = False
    """Whether another process has the workspace, and what is remembered is only read."""


def open_log(config: Config, home: Home) -> None:
    """Begin the log of a process, as every one that works with memory has it. Raises WorkspaceError."""
    log_to(home.log, config.log.level, config.log.format, hiding(config))


def hiding(config: Config | None) -> Hide:
    """Make what keeps the secrets of the configuration and of the environment, and whatever looks like one, out."""
    mask = Mask(secrets_here(config, os.environ)) if config else Mask(())
    return lambda text: redact(mask(text))


# People and the bus.


def build_people(config: Config, workspace: Workspace, clock: Clock) -> People:
    """For one process, which holds the workspace when it first asks for somebody."""
    configured = {channel.name: channel.settings() for channel in configured_channels(config)}
    return People(PeopleFile(workspace), clock, configured)


def durable_bus(workspace: Workspace, clock: Clock) -> DurableBus:
    """Build the bus of a workspace that keeps messages on disk; it is opened by `async with`."""
    return Spool(workspace.spool, clock)


def pairing_without_gateway(people: People, workspace: Workspace, clock: Clock) -> Pairing:
    """For a process that holds the workspace and serves no chat platform: who is let in hears of it from the gateway,
    as soon as one runs."""

    async def send(message: OutboundMessage) -> None:
        async with durable_bus(workspace, clock) as spool:
            await spool.send(message)

    return Pairing(people, send)


# Models.


log = logging.getLogger(__name__)

OUTPUT = 8000
"""Tokens kept free for an answer where the configuration does not say, at most a quarter of the window."""

WINDOW = 32_000
"""Tokens that a model is taken to read where the configuration does not say."""

TIMEOUT, IDLE_TIMEOUT = 120.0, 45.0
"""Seconds for an attempt, and without progress in it, where the configuration does not say."""

TIMEOUT_NEAR, FIRST_TIMEOUT_NEAR = 600.0, 300.0
"""The same for a machine at home, and until it begins: it may load the model first, and it reads slowly."""

BYTES_PER_TOKEN = 16
"""More than any text has that is worth replaying; a session is read from its end as far as this reaches."""


def replay_bytes(config: Config) -> int:
    """Return the number of bytes of a session that are read at most: the largest window, with a good margin."""
    windows = [preset.context_window or WINDOW for preset in config.models.values()]
    return min(REPLAY_BYTES, BYTES_PER_TOKEN * max(windows, default=WINDOW))


def build_models(config: Config, home: Home, workspace: Workspace, clock: Clock) -> Models:
    """Every preset with its fallbacks; none is made before it is used."""
    configured = presets(config, home)

    path = workspace.endpoints
    dialects = ModelDialects(
        clock,
        partial(read_state, path, dict[str, dict[str, str]], {}),
        partial(write_state, path),
        partial(locked_state, path),
    )

    @cache  # a model that is a fallback of several is loaded once
    def model(name: str) -> LLM:
        return _model(name, configured[name], workspace, clock, dialects)

    def make(name: str) -> LLM:
        """The preset, and those that are asked when it fails. Raises ConfigError if no key of theirs is set here."""
        made: list[LLM] = []
        unset: list[ConfigError] = []
        names = list(dict.fromkeys([name, *config.fallbacks]))
        for each in names:
            try:
                made.append(model(each))
            except ConfigError as error:
                log.warning("%s is passed over: %s", each, error)
                unset.append(error)
                made.append(UnsetModel(ModelInfo(each, configured[each].model or each, WINDOW, OUTPUT), str(error)))
        if len(unset) == len(names):
            raise unset[0]
        return Fallback(made, clock) if len(made) > 1 else made[0]

    return Models(
        {name: partial(make, name) for name in configured}, chosen(config, home), StoredSessionModels(workspace)
    )


def _model(name: str, preset: ModelPreset, workspace: Workspace, clock: Clock, dialects: ModelDialects) -> LLM:
    window = preset.context_window or (WINDOW if preset.gguf is None else LOCAL_WINDOW)
    output = preset.max_output or min(OUTPUT, window // 4)
    info = ModelInfo(
        preset=name,
        model=preset.model or preset.gguf or name,
        context_window=window,
        max_output=output,
        compact=preset.compact,
        vision=preset.vision,
        one_by_one=preset.gguf is not None,
    )
    if preset.gguf is not None:
        return LocalModel(info, None if preset.gguf == EMBEDDED else Path(preset.gguf), clock, preset.temperature)
    near = is_near(preset.base_url or "")
    endpoint = Endpoint(
        base_url=preset.base_url or "",
        api_key=known(preset.api_key),
        temperature=preset.temperature,
        extra_headers={name: known(value) for name, value in preset.extra_headers.items()},
        extra_body=preset.extra_body,
        timeout=preset.timeout or (TIMEOUT_NEAR if near else TIMEOUT),
        idle_timeout=preset.idle_timeout or IDLE_TIMEOUT,
        first_timeout=preset.idle_timeout or (FIRST_TIMEOUT_NEAR if near else IDLE_TIMEOUT),
        attempts=preset.attempts,
        max_output=preset.max_output,
    )
    return OpenAIModel(info, endpoint, clock, workspace.root, dialects)

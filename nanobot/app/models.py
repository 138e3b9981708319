"""The models, as configured."""

import logging
from functools import cache, partial
from pathlib import Path

from nanobot.agent.models import Models
from nanobot.config import EMBEDDED, Config, ModelPreset, chosen, known, presets
from nanobot.errors import ConfigError
from nanobot.llm.dialect import ModelDialects
from nanobot.llm.endpoint import Endpoint, is_near
from nanobot.llm.fallback import Fallback, UnsetModel
from nanobot.llm.local import WINDOW as LOCAL_WINDOW
from nanobot.llm.local import LocalModel
from nanobot.llm.openai import OpenAIModel
from nanobot.ports import LLM, Clock, ModelInfo
from nanobot.store.models import SessionModels
from nanobot.store.sessions import REPLAY_BYTES
from nanobot.store.state import locked_state, read_state, write_state
from nanobot.workspace import Home, Workspace

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
    """How much of a session is read at most: what the largest window could hold, generously."""
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

    return Models({name: partial(make, name) for name in configured}, chosen(config, home), SessionModels(workspace))


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

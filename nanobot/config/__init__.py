"""One frozen tree from one YAML file and the environment.

tree.py declares the top of it, the modules named like sections declare these; values.py knows durations, sizes,
ids and the like, source.py YAML, environment.py variables, checks.py what keys must agree on.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from nanobot.config.loading import Loaded, read
from nanobot.config.presets import chosen, known, presets, secrets_here, secrets_of, use_model
from nanobot.config.tree import Config, DiscordConfig, Memory, ModelPreset, TelegramConfig, Tools, Transcription
from nanobot.config.values import EMBEDDED
from nanobot.workspace import Home

__all__ = [
    "EMBEDDED",
    "Config",
    "DiscordConfig",
    "Loaded",
    "Memory",
    "ModelPreset",
    "TelegramConfig",
    "Tools",
    "Transcription",
    "chosen",
    "known",
    "load",
    "presets",
    "read",
    "secrets_here",
    "secrets_of",
    "use_model",
]


def load(
    home: Home, path: Path | None = None, workspace: Path | None = None, env: Mapping[str, str] = os.environ
) -> Config:
    """The configuration; nothing is written. Durations are seconds, sizes bytes, paths absolute.

    Args:
        home: where the file lies if no path is given; there it may be missing.
        path: the file; must exist.
        workspace: instead of the configured one.
        env: variables for ${VAR} and overrides.

    Raises ConfigError, which names file, line and key and says what to write instead.
    """
    return read(home, path, workspace, env).config

"""How the configuration is read: the file, the environment over it, then each key, then all of them together."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nanobot.config.checks import check
from nanobot.config.environment import expand, override
from nanobot.config.nodes import Place, Scalar, Table, is_null
from nanobot.config.section import Section
from nanobot.config.source import read_file
from nanobot.config.tree import Config
from nanobot.errors import ConfigError
from nanobot.workspace import Home


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration and what it was read from; `path` is the file, whether or not it exists."""

    config: Config
    root: Table
    path: Path


def read(home: Home, path: Path | None, workspace: Path | None, env: Mapping[str, str]) -> Loaded:
    """Read the configuration. Arguments and errors as of `load`."""
    file = path or home.config
    written = read_file(file)
    if written is None and path is not None:
        raise ConfigError(f"{path}: there is no such file")
    root = written or Table("", Place(str(file), 1), {})
    root = expand(override(root, Section(Config), env), env)
    if workspace is not None:
        option = Scalar("workspace", Place("--workspace"), str(workspace))
        root = dataclasses.replace(root, entries=root.entries | {"workspace": option})
    config = Section(Config).read(root)
    if is_null(root.entries.get("workspace")):
        config = dataclasses.replace(config, workspace=home.workspace)
    check(config, root, home)
    return Loaded(config, root, file)

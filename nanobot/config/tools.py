"""The keys of what the model may do."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nanobot.config import values as v
from nanobot.config.kinds import ListOf, MapOf
from nanobot.config.paths import FilePath
from nanobot.config.section import Section, group, key, optional

Permission = Literal["ask", "allow", "deny"]


@dataclass(frozen=True)
class Exec:
    """Running commands."""

    owner: Permission = key(v.choice(Permission), "ask", "For owners: ask each time, allow, or deny.")
    member: Permission = key(v.choice(Permission), "deny", "For members: ask, allow, or deny.")
    allow: tuple[str, ...] = key(
        ListOf(v.text("the beginning of a command")),
        ("git status",),
        "Commands that run without asking, whatever follows.",
    )
    timeout: float = key(v.duration("1s", "1d"), 60.0, "How long a command may run.")


@dataclass(frozen=True)
class Web:
    """Reading the web."""

    search: Literal["duckduckgo", "off"] = key(
        v.choice(Literal["duckduckgo", "off"]), "duckduckgo", "Where web searches go, or off."
    )
    allow_private: tuple[str, ...] = key(
        ListOf(v.text("a host or network")), (), "Hosts or networks inside your own network that may be read."
    )


@dataclass(frozen=True)
class McpServer:
    """A server of tools that speaks MCP: a command that is started, or a URL."""

    command: tuple[str, ...] | None = optional(
        ListOf(v.argument()), "The command that starts it, with its arguments; secrets belong into env."
    )
    url: str | None = optional(v.url("http", "https"), "Where it answers.")
    env: Mapping[str, str] = key(MapOf(v.hidden("text")), {}, "Variables that the command gets.")
    headers: Mapping[str, str] = key(MapOf(v.hidden("text")), {}, "HTTP headers that are sent to the URL.")


@dataclass(frozen=True)
class Tools:
    """What the model may do."""

    allowed_dirs: tuple[Path, ...] = key(
        ListOf(FilePath()), (), "Folders besides the workspace that the file tools may use."
    )
    exec: Exec = group(Exec, "Running commands.")
    web: Web = group(Web, "Reading the web.", idle=True)
    mcp: Mapping[str, McpServer] = key(
        MapOf(Section(McpServer)), {}, "Servers of tools, by names of your own.", idle=True
    )

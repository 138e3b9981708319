"""The map of the disk: the one module that knows file names."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600

_HIDDEN_PARTS = frozenset({".git", ".nanobot", "sessions", "cron"})
_HIDDEN_IN_MEMORY = frozenset({"history.jsonl", ".cursor", ".dream_cursor", "tombstones"})
_GUARDED = frozenset({"agents.md", "tools.md"})


@dataclass(frozen=True, slots=True)
class Home:
    """What belongs to the person on this machine: ~/.nanobot, or where NANOBOT_HOME points."""

    root: Path

    @property
    def config(self) -> Path:
        return self.root / "config.yaml"

    @property
    def workspace(self) -> Path:
        """Where the workspace is unless the configuration says otherwise."""
        return self.root / "workspace"

    @property
    def models(self) -> Path:
        """Models that were pulled."""
        return self.root / "models"

    @property
    def terminal_history(self) -> Path:
        """What was typed in the terminal, for the arrow keys."""
        return self.root / "terminal_history"

    @property
    def log(self) -> Path:
        return self.root / "nanobot.log"


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder that a person edits to shape the bot, and where what it knows is kept."""

    root: Path

    @property
    def soul(self) -> Path:
        return self.root / "SOUL.md"

    @property
    def user(self) -> Path:
        return self.root / "USER.md"

    @property
    def agents(self) -> Path:
        return self.root / "AGENTS.md"

    @property
    def tools(self) -> Path:
        return self.root / "TOOLS.md"

    @property
    def memory(self) -> Path:
        """The folder of notes."""
        return self.root / "memory"

    @property
    def memory_file(self) -> Path:
        return self.memory / "MEMORY.md"

    @property
    def sessions(self) -> Path:
        return self.root / "sessions"

    @property
    def skills(self) -> Path:
        return self.root / "skills"

    @property
    def media(self) -> Path:
        """Files that people sent."""
        return self.root / "media"

    @property
    def spill(self) -> Path:
        """Tool results too long for the context."""
        return self.root / "spill"

    @property
    def cache(self) -> Path:
        """Derived; may be deleted at any time."""
        return self.root / ".nanobot" / "cache"

    @property
    def state(self) -> Path:
        """Not derived; belongs in a backup."""
        return self.root / ".nanobot" / "state"

    @property
    def lock(self) -> Path:
        return self.state / "lock"

    @property
    def session_names(self) -> Path:
        """The true keys of sessions whose file names had to be shortened."""
        return self.state / "session_names.json"

    @property
    def session_models(self) -> Path:
        """The presets that people chose for single sessions."""
        return self.state / "session_models.json"


def is_hidden(inside: PurePosixPath) -> bool:
    """Whether the model's file tools must not see this path, given relative to the workspace and resolved.

    Case does not count, nor do trailing dots and blanks: some file systems ignore them.
    """
    parts = [part.casefold().rstrip(". ") or part for part in inside.parts]
    if any(part in _HIDDEN_PARTS for part in parts[:1]) or ".git" in parts or ".nanobot" in parts:
        return True
    return "memory" in parts and any(part in _HIDDEN_IN_MEMORY for part in parts)


def is_guarded(inside: PurePosixPath) -> bool:
    """Whether the model may write here only with the owner's yes: what it reads there, it follows."""
    parts = [part.casefold().rstrip(". ") for part in inside.parts]
    return bool(parts) and (parts[0] == "skills" or (len(parts) == 1 and parts[0] in _GUARDED))

"""The map of the disk: the one module that knows file names."""

import errno
import os
import stat
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote

from nanobot.memory_files import (
    AGENTS,
    BY_NAME,
    FACT_FILES,
    FILES,
    HEARTBEAT,
    HISTORY,
    MEMORY,
    NOTES_FOLDER,
    SOUL,
    TOOLS,
    USER,
    MemoryFile,
)

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600

_NOT_KNOWN_THERE = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


def set_mode(file: int | Path, mode: int) -> bool:
    """Give a file of ours a mode; False where the file system refuses that to everybody, as shares of others do.

    Such a folder serves all the same: who mounted it has decided who may read it. Raises OSError of another kind.
    """
    if stat.S_IMODE(os.stat(file).st_mode) == mode:  # noqa: PTH116  it may be a descriptor
        return True
    try:
        os.chmod(file, mode)  # noqa: PTH101
    except OSError as error:
        if error.errno not in _NOT_KNOWN_THERE:
            raise
        return False
    return True


def make_private(folder: Path) -> bool | None:
    """Take a folder of ours from all others on this machine, if every one of them may look into it.

    Returns whether that worked: not where the file system keeps no permissions. None: there is nothing to do, or it is
    nothing of ours alone. What is open to a group was meant so.
    """
    try:
        found, real = folder.stat(), Path(os.path.realpath(folder))
        is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & stat.S_ISVTX
        is_for_more = any(real.is_relative_to(path) for path in _SYSTEM_FOLDERS) or _home().is_relative_to(real)
        if not found.st_mode & 0o007 or not is_ours or is_for_more:
            return None
        set_mode(folder, PRIVATE_FOLDER)
        return not folder.stat().st_mode & 0o077  # some file systems only seem to take it
    except OSError:
        return False


def _home() -> Path:
    return Path(os.path.realpath(Path.home()))


VERSIONED_FILES = tuple(sorted(file.name for file in FILES if file.versioned and not file.among_notes))
"""Files at the root."""

VERSIONED_FOLDERS = ("groups", "people", "skills")
"""With all that is in them; of memory/, only the notes and tombstones/."""

PLAIN_FILES = tuple(file.name for file in FILES if not file.versioned and not file.hidden)
"""Files at the root that people write, and git does not keep."""

_HIDDEN_PARTS = frozenset({".git", ".nanobot", "sessions", "cron"})
_HIDDEN_IN_MEMORY = frozenset({".cursor", ".dream_cursor", "tombstones"})
_HIDDEN_BEGINNINGS = tuple(file.name.casefold() for file in FILES if file.hidden)  # with what rotation appends
_GUARDED = frozenset(file.name.casefold() for file in FILES if file.guarded)
_GUARDED_OF_EACH = frozenset(file.name.casefold() for file in FILES if file.guarded and file.of == "each")
_FACTS = frozenset(name.casefold() for name in FACT_FILES)
_SECRETS = frozenset(
    {
        *(".aws", ".azure", ".docker", ".gnupg", ".kube", ".password-store", ".ssh", ".terraform.d"),
        *(".git-credentials", ".htpasswd", ".netrc", ".npmrc", ".pgpass", ".pypirc", "_netrc"),
        *("id_dsa", "id_ecdsa", "id_ed25519", "id_rsa"),
    }
)
_SECRET_ENDINGS = (".jks", ".kdbx", ".key", ".keystore", ".p12", ".pem", ".pfx", ".ppk")
_SYSTEM_FOLDERS = tuple(map(Path, ("/boot", "/dev", "/etc", "/proc", "/sys", "/usr", "/bin", "/sbin", "/lib")))
_SCOPE_FOLDERS = {"people": "person", "groups": "group"}
_SCOPED = frozenset({"media", "spill"})


@dataclass(frozen=True, slots=True)
class Home:
    """Files of the person on this machine: ~/.nanobot, or where NANOBOT_HOME points."""

    root: Path

    @property
    def config(self) -> Path:
        return self.root / "config.yaml"

    @property
    def workspace(self) -> Path:
        """Default path of the workspace."""
        return self.root / "workspace"

    @property
    def models(self) -> Path:
        """Models that were pulled."""
        return self.root / "models"

    @property
    def chosen_model(self) -> Path:
        """The name of the preset that `nanobot model use` chose."""
        return self.root / "chosen_model"

    @property
    def terminal_history(self) -> Path:
        """History of lines typed in the terminal, for the arrow keys."""
        return self.root / "terminal_history"

    @property
    def log(self) -> Path:
        return self.root / "nanobot.log"

    @property
    def closed(self) -> Sequence[Path]:
        """The files that no tool of the model reads or writes, wherever they lie."""
        return self.config, self.terminal_history, self.log, self.log.with_name(f"{self.log.name}.1")


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder that a person edits to shape the bot, and where what it knows is kept."""

    root: Path

    def file(self, name: str, scope: str = "owner") -> Path:
        """The file of this name in the table, as the scope with this name reads it."""
        return self.root / place_of(BY_NAME[name], scope)

    @property
    def soul(self) -> Path:
        return self.file(SOUL)

    @property
    def user(self) -> Path:
        return self.file(USER)

    @property
    def agents(self) -> Path:
        return self.file(AGENTS)

    @property
    def tools(self) -> Path:
        return self.file(TOOLS)

    @property
    def heartbeat(self) -> Path:
        return self.file(HEARTBEAT)

    @property
    def memory(self) -> Path:
        """The owners' folder of notes."""
        return self.root / NOTES_FOLDER

    @property
    def memory_file(self) -> Path:
        return self.file(MEMORY)

    def memory_of(self, scope: str) -> Path:
        """MEMORY.md of the scope with this name; its notes lie beside it."""
        return self.file(MEMORY, scope)

    @property
    def history(self) -> Path:
        """Episodes: summaries of what happened, one a line."""
        return self.file(HISTORY)

    @property
    def history_cursor(self) -> Path:
        """The number of the newest episode."""
        return self.memory / ".cursor"

    @property
    def dream_cursor(self) -> Path:
        """The number of the last episode that Dream has taken in."""
        return self.memory / ".dream_cursor"

    @property
    def versions(self) -> Path:
        """The history of the long-term files, where a person looks for it."""
        return self.memory / ".git"

    @property
    def versions_aside(self) -> Path:
        """The same, where it would lie in somebody else's repository."""
        return self.state / "memory.git"

    @property
    def versions_journal(self) -> Path:
        """The version whose files are being brought up to it."""
        return self.state / "versions_journal.json"

    @property
    def version_ids(self) -> Path:
        """New ids of versions after an erasure from the history."""
        return self.state / "version_ids.json"

    @property
    def dreams(self) -> Path:
        """State of Dream: failures, episodes set aside, runs of today."""
        return self.state / "dreams.json"

    @property
    def summaries(self) -> Path:
        """The last failure to summarise what was said, since a summary last succeeded."""
        return self.state / "summaries.json"

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
    def recall_index(self) -> Path:
        """The search index of everything that was said."""
        return self.cache / "recall.db"

    @property
    def state(self) -> Path:
        """Folder of state that is not derived, and belongs in a backup.

        An empty file `command_…` stands for a command that runs.
        """
        return self.root / ".nanobot" / "state"

    @property
    def lock(self) -> Path:
        return self.state / "lock"

    @property
    def next_lock(self) -> Path:
        """Held by a gateway that waits for the lock."""
        return self.state / "lock.next"

    @property
    def socket(self) -> Path:
        """Socket on which other commands reach the running gateway."""
        return self.state / "socket"

    @property
    def socket_elsewhere(self) -> Path:
        """Names the file in whose place the socket stands, where the system cannot take so long a path."""
        return self.state / "socket_elsewhere"

    @property
    def spool(self) -> Path:
        """Spool: unanswered messages, and those that wait to be delivered."""
        return self.state / "spool.db"

    @property
    def people(self) -> Path:
        """People let in by pairing, groups served, and codes that wait."""
        return self.state / "people.json"

    @property
    def session_names(self) -> Path:
        """The true keys of sessions whose file names had to be shortened."""
        return self.state / "session_names.json"

    @property
    def job_times(self) -> Path:
        """Start times of the program's own jobs."""
        return self.state / "job_times.json"

    @property
    def endpoints(self) -> Path:
        """Knowledge about the endpoints of models."""
        return self.state / "endpoints.json"

    @property
    def session_models(self) -> Path:
        """The presets that people chose for single sessions."""
        return self.state / "session_models.json"

    @property
    def forgetting(self) -> Path:
        """Journal of the erasure in progress; absent when it is done."""
        return self.state / "forgetting.json"

    @property
    def forget_questions(self) -> Path:
        return self.state / "forget_questions.json"

    @property
    def proposals(self) -> Path:
        """Changes that wait for somebody's yes."""
        return self.state / "proposals.json"

    @property
    def installed(self) -> Path:
        """The names of the template's files that were copied here."""
        return self.state / "installed.json"


def is_hidden(inside: PurePosixPath) -> bool:
    """True if the model's file tools must not see this path, given relative to the workspace and resolved.

    Case does not count, nor do trailing dots and blanks and invisible characters: some file systems ignore them.
    """
    parts = _plain(inside)
    if any(part in _HIDDEN_PARTS for part in parts[:1]) or is_hidden_elsewhere(inside):
        return True
    return NOTES_FOLDER in parts and any(
        part in _HIDDEN_IN_MEMORY or part.startswith(_HIDDEN_BEGINNINGS) for part in parts
    )


def is_hidden_elsewhere(inside: PurePosixPath) -> bool:
    """True if they must not see it in any other folder either: what is written to a `.git` is run later."""
    return any(part in (".git", ".nanobot") for part in _plain(inside))


def why_not_opened(folder: Path, home: Home, workspace: Workspace) -> str:
    """Return the reason why a folder cannot be opened to tools for a conversation; "" if it can."""
    real = Path(os.path.realpath(folder))
    own = [Path(os.path.realpath(path)) for path in (home.root, workspace.root)]
    if real.is_relative_to(own[1]):
        return "it is in the workspace, which is open anyway"
    if real.is_relative_to(own[0]) or any(path.is_relative_to(real) for path in own):
        return "nanobot's own configuration or memory lies in it"
    if _home().is_relative_to(real):
        return "it holds everything that is yours; go into the folder that you mean"
    if any(real.is_relative_to(path) for path in _SYSTEM_FOLDERS):
        return "it belongs to the system"
    inside = PurePosixPath(*real.parts[1:])
    return "it is a place of secrets, or of a tool's own" if is_secret(inside) or is_hidden_elsewhere(inside) else ""


def is_secret(inside: PurePosixPath) -> bool:
    """True if a name in a folder of the person's own says that it holds keys or passwords."""
    parts = _plain(inside)
    return any(part in _SECRETS or part.startswith(".env") or part.endswith(_SECRET_ENDINGS) for part in parts)


def is_guarded(inside: PurePosixPath) -> bool:
    """True if the model may write here only with the owner's yes: what it reads there, it follows."""
    parts = _plain(inside)
    if len(parts) == 3 and parts[0] in _SCOPE_FOLDERS:
        return parts[2] in _GUARDED_OF_EACH
    return bool(parts) and (parts[0] == "skills" or (len(parts) == 1 and parts[0] in _GUARDED))


def is_note(inside: PurePosixPath) -> bool:
    """True if this lies in a folder of notes, so that a change to it changes their index."""
    parts = _plain(inside)
    return parts[:1] == [NOTES_FOLDER] or (len(parts) > 2 and parts[0] in _SCOPE_FOLDERS)


def is_remembered(inside: PurePosixPath) -> bool:
    """True if what is written here is remembered: notes, files of facts, and all that a scope keeps."""
    parts = _plain(inside)
    return bool(parts) and (is_note(inside) or parts[0] in _SCOPE_FOLDERS or (len(parts) == 1 and parts[0] in _FACTS))


def is_versioned(inside: PurePosixPath) -> bool:
    """True if the history keeps this file, given relative to the workspace. What is hidden or compiled is not."""
    parts = inside.parts
    if not parts or any(part.startswith(".") or part == "__pycache__" for part in parts):
        return False
    if len(parts) == 1:
        return parts[0] in VERSIONED_FILES
    if parts[0] == NOTES_FOLDER:
        return (parts[2:] == () and parts[1].endswith(".md")) or (len(parts) == 3 and parts[1] == "tombstones")
    return parts[0] in VERSIONED_FOLDERS


def scope_of(inside: PurePosixPath) -> str:
    """The name of the scope that owns a path, given relative to the workspace and resolved.

    people/ and groups/ hold a folder for each scope of theirs, and so they do in media/ and spill/.
    All else is the owners'.
    """
    parts = list(zip(_plain(inside), inside.parts, strict=True))
    if parts and parts[0][0] in _SCOPED:
        del parts[0]
    kind = _SCOPE_FOLDERS.get(parts[0][0]) if len(parts) > 1 else None
    return f"{kind}:{unquote(parts[1][1])}" if kind else "owner"


def folder_of(scope: str) -> PurePosixPath:
    """Return the folder of a scope's files, relative to the workspace, media/ and spill/."""
    kind, colon, who = scope.partition(":")
    folders = {kind: folder for folder, kind in _SCOPE_FOLDERS.items()}
    return PurePosixPath(folders[kind], quote(who, safe="")) if colon else PurePosixPath()


def place_of(file: MemoryFile, scope: str) -> PurePosixPath:
    """Return the path of a scope's file of the table, relative to the workspace."""
    folder = folder_of(scope) if file.of == "each" else PurePosixPath()
    return (PurePosixPath(NOTES_FOLDER) if file.among_notes and not folder.parts else folder) / file.name


def _plain(inside: PurePosixPath) -> list[str]:
    """The parts of a path as the most forgiving file system sees them."""
    visible = ("".join(char for char in part if unicodedata.category(char) != "Cf") for part in inside.parts)
    return [part.casefold().rstrip(". ") or part for part in visible]

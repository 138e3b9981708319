"""Commands that may run without a question: words, never patterns over text that a shell would read otherwise."""

import os
import re
import shlex
import stat
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from nanobot.errors import ConfigError
from nanobot.workspace import is_hidden, scope_of

_SHELL = re.compile(r"[;&|<>()$`\\*?\[\]{}!#~^]|[^\S ]|[\x00-\x1f\x7f]")
"""What a shell would not pass on as it stands. A wrong alarm costs a question, a missed one a boundary."""

_ASSIGNMENT = re.compile(r"\w+\+?=")

_OF_GREP = "-d -D -f -r -R --dereference-recursive --devices --directories --file --recursive"
_OF_DIFFS = (
    "-c -L -u -U -W --binary --cc --check --color-words --dd --diff-merges --function-context --patch-with-raw "
    "--patch-with-stat --remerge-diff --unified --word-diff --word-diff-regex"
)
_DOES_MORE = {
    "du": "--exclude-from --files0-from",
    "egrep": _OF_GREP,
    "fgrep": _OF_GREP,
    "file": "-C -f -m --compile --files-from --magic-file",
    "find": "-exec -execdir -ok -okdir -delete -files0-from -fprint -fprint0 -fprintf -fls",
    "git": "-c -C -O -p -v --config-env --exec --exec-path --ext-diff --git-dir --open-files-in-pager --output "
    "--paginate --patch --pathspec-from-file --receive-pack --separate-git-dir --template --textconv --upload-pack "
    "--verbose --work-tree",
    "git log": _OF_DIFFS,
    "git stash": _OF_DIFFS,
    "grep": _OF_GREP,
    "sort": "-o -T --compress-program --files0-from --output --random-source --temporary-directory",
    "tar": "-F -I -T --checkpoint-action --files-from --info-script --new-volume-script --rmt-command --rsh-command "
    "--to-command --use-compress-program",
    "tree": "-o --fromfile",
    "wc": "--files0-from",
}
"""Options with which a program that looks harmless runs another, writes where it is told, or prints what it was not
pointed at; for git, those of all its commands and those of one."""

_NEVER = frozenset(["ack", "ag", "awk", "gawk", "mawk", "nawk", "pcregrep", "rg", "rgrep", "ripgrep", "sed", "zgrep"])
"""Programs that read whatever is below the folder, the conversations of others included, and those whose words are a
program of their own, which reads any file."""

_LONGEST_OPTION = 200
"""Characters; a value may stand anywhere in it."""

_NAMES_ONLY = frozenset(
    ["basename", "dirname", "du", "file", "find", "git", "ls", "mkdir", "pwd", "realpath", "rmdir", "stat", "tree"]
)
"""Programs that tell of a folder no more than names. Any other one might print what lies in it."""

_OF_GIT = frozenset(
    ("--help", "--version", "add", "branch", "checkout", "commit", "describe", "fetch", "init", "log", "ls-files",
     "ls-tree", "merge", "mv", "pull", "push", "remote", "reset", "restore", "rev-list", "rev-parse", "rm", "shortlog",
     "stash", "status", "switch", "tag", "version")
)  # fmt: skip
"""Commands of git that print no contents of files: the folder's history may hold the conversations of others."""


class AllowList:
    """Beginnings of commands, each a few words such as "git status"."""

    def __init__(self, entries: Sequence[str]) -> None:
        """Raises ConfigError for an entry that would allow everything, or nothing."""
        self.entries = tuple(entries)
        self._beginnings = [_beginning(entry) for entry in entries]

    @property
    def asked_anyway(self) -> Sequence[str]:
        """The entries of which no command runs without a question, since it might read what is not the owners'."""
        return [entry for entry, words in zip(self.entries, self._beginnings, strict=True) if _is_never(words)]

    def words(self, command: str, folder: Path, root: Path) -> list[str] | None:
        """The words to run, without a shell, if the command is on the list; else None.

        Args:
            command: as the model wrote it.
            folder: where it would run.
            root: the workspace; what is hidden there must not be named.
        """
        words = _words(command)
        for beginning in self._beginnings:
            if words and words[: len(beginning)] == beginning:
                return words if _is_harmless(words, folder, root) else None
        return None


def _beginning(entry: str) -> list[str]:
    words = _words(entry)
    if not words:
        raise ConfigError(
            f"tools.exec.allow: {entry!r} is not the beginning of a command. Write plain words such as 'git status', "
            "without patterns and shell syntax."
        )
    return words


def _words(command: str) -> list[str] | None:
    """The command's words, or None if a shell would make something else of it."""
    if _SHELL.search(command) or _ASSIGNMENT.match(command.strip()):
        return None
    try:
        return shlex.split(command)
    except ValueError:  # an open quotation mark
        return None


def _is_never(words: Sequence[str]) -> bool:
    """Whether what begins like this is always asked about."""
    return words[0] in _NEVER or (words[0] == "git" and len(words) > 1 and words[1] not in _OF_GIT)


def _is_harmless(words: list[str], folder: Path, root: Path) -> bool:
    """Whether nothing in the words makes the program do more than it seems, or look where it must not."""
    if _is_never(words) or words == ["git"]:
        return False
    program, rest = words[0], words[1:]
    if program == "tar" and rest and not rest[0].startswith("-"):
        rest[0] = f"-{rest[0]}"  # its letters may stand there without a dash
    options = f"{_DOES_MORE.get(program, '')} {_DOES_MORE.get(' '.join(words[:2]), '')}".split()
    names_only = program in _NAMES_ONLY
    return not any(_is_any_of(word, options) or _leads_away(word, folder, root, names_only=names_only) for word in rest)


def _is_any_of(word: str, options: Sequence[str]) -> bool:
    """Whether a word is one of the options, shortened, or with a value or other letters attached."""
    if not word.startswith("--"):
        return any(
            word == option or (len(option) == 2 and re.match(r"-\w+", word) and option[1] in word) for option in options
        )
    name = word.partition("=")[0]
    return len(name) > 2 and any(option.startswith(name) for option in options)


def _leads_away(word: str, folder: Path, root: Path, *, names_only: bool) -> bool:
    """Whether a word may name something that is not to be read; also behind an option, or as a part of the word."""
    parts = {word, *re.split(r"[=:@,\s]", word)}
    if word.startswith("-"):
        if len(word) > _LONGEST_OPTION:
            return True
        parts |= {word[start:] for start in range(1, len(word))}
    real = (Path(os.path.realpath(folder / part)) for part in parts if part)
    return any(_is_closed(path, folder, root, names_only=names_only) for path in real)


def _is_closed(path: Path, folder: Path, root: Path, *, names_only: bool) -> bool:
    """Whether a path lies outside of the folder, is hidden or another's, or may hold or be such a thing."""
    if not path.is_relative_to(folder):
        return True
    inside = PurePosixPath(path.relative_to(root))
    if is_hidden(inside) or scope_of(inside) != scope_of(PurePosixPath(folder.relative_to(root), "x")):
        return True
    if names_only:
        return False
    try:
        info = path.stat()
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(info.st_mode) or (stat.S_ISREG(info.st_mode) and info.st_nlink > 1)

"""Commands that may run without a question: words, never patterns over text that a shell would read otherwise."""

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from nanobot.errors import ConfigError
from nanobot.workspace import is_hidden, scope_of

_SHELL = re.compile(r"[;&|<>()$`\\*?\[\]{}!#~^]|[^\S ]|[\x00-\x1f\x7f]")
"""What a shell would not pass on as it stands. A wrong alarm costs a question, a missed one a boundary."""

_ASSIGNMENT = re.compile(r"\w+\+?=")

_DOES_MORE = {
    "find": "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls",
    "git": "-c -C -O -p -v --patch --verbose --config-env --exec --exec-path --ext-diff --git-dir "
    "--open-files-in-pager --output --receive-pack --textconv --upload-pack --work-tree",
    "grep": "-r -R -d -f --recursive --dereference-recursive --directories --file",
    "sort": "-o -T --compress-program --output --temporary-directory",
    "tar": "-F -I --checkpoint-action --info-script --new-volume-script --rmt-command --rsh-command --to-command "
    "--use-compress-program",
}
"""Options with which a program that looks harmless runs another, writes where it is told, or prints what it was not
pointed at."""

_READ_ALL = frozenset(("rg", "ag", "ack"))
"""Programs that read whatever is below the folder, the conversations of others included."""


class AllowList:
    """Beginnings of commands, each a few words such as "git status"."""

    def __init__(self, entries: Sequence[str]) -> None:
        """Raises ConfigError for an entry that would allow everything, or nothing."""
        self.entries = tuple(entries)
        self._beginnings = [_beginning(entry) for entry in entries]

    def words(self, command: str, folder: Path, root: Path) -> list[str] | None:
        """The words to run, without a shell, if the command is on the list; else None.

        Args:
            command: as the model wrote it.
            folder: where it would run.
            root: the workspace; what is hidden there must not be named.
        """
        words = _words(command)
        for beginning in self._beginnings:
            if words and words[: len(beginning)] == beginning and words[0] not in _READ_ALL:
                rest = words[len(beginning) :]
                does_more = any(_is_any_of(word, _DOES_MORE.get(words[0], "").split()) for word in rest)
                return None if does_more or any(_leads_away(word, folder, root) for word in rest) else words
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


def _is_any_of(word: str, options: Sequence[str]) -> bool:
    """Whether a word is one of the options, shortened, or with a value or other letters attached."""
    if not word.startswith("--"):
        return any(
            word == option or (len(option) == 2 and re.match(r"-\w+", word) and option[1] in word) for option in options
        )
    name = word.partition("=")[0]
    return len(name) > 2 and any(option.startswith(name) for option in options)


def _leads_away(word: str, folder: Path, root: Path) -> bool:
    """Whether a word may name something outside of the folder, hidden or another's; also as an option's value."""
    for part in {word, word.rpartition("=")[2], re.sub(r"^-\w", "", word)}:
        path = Path(os.path.realpath(folder / part))
        if not path.is_relative_to(folder):
            return True
        inside = PurePosixPath(path.relative_to(root))
        if is_hidden(inside) or scope_of(inside) != scope_of(PurePosixPath(folder.relative_to(root), "x")):
            return True
    return False

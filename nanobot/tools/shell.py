"""Running commands: the allow-list of what needs no question, and the tool."""

import asyncio
import os
import re
import shlex
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated

import msgspec

from nanobot import text
from nanobot.authority import Authority, Role
from nanobot.errors import ConfigError, ToolError
from nanobot.i18n import Language, say
from nanobot.ports import Caller, ToolResult, ToolSpec
from nanobot.tools import process, schema
from nanobot.tools.approval import ApprovalRequest
from nanobot.tools.output import Spill
from nanobot.tools.paths import Disk, ToolPath
from nanobot.tools.policy import ToolPolicy, is_for_owner
from nanobot.workspace import folder_of, is_hidden, scope_of

# Allow list: words, never patterns over text that a shell would read otherwise.


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
    """True if what begins like this is always asked about."""
    return words[0] in _NEVER or (words[0] == "git" and len(words) > 1 and words[1] not in _OF_GIT)


def _is_harmless(words: list[str], folder: Path, root: Path) -> bool:
    """True if nothing in the words makes the program do more than it seems, or look where it must not."""
    if _is_never(words) or words == ["git"]:
        return False
    program, rest = words[0], words[1:]
    if program == "tar" and rest and not rest[0].startswith("-"):
        rest[0] = f"-{rest[0]}"  # its letters may stand there without a dash
    options = f"{_DOES_MORE.get(program, '')} {_DOES_MORE.get(' '.join(words[:2]), '')}".split()
    names_only = program in _NAMES_ONLY
    return not any(_is_any_of(word, options) or _leads_away(word, folder, root, names_only=names_only) for word in rest)


def _is_any_of(word: str, options: Sequence[str]) -> bool:
    """True if a word is one of the options, shortened, or with a value or other letters attached."""
    if not word.startswith("--"):
        return any(
            word == option or (len(option) == 2 and re.match(r"-\w+", word) and option[1] in word) for option in options
        )
    name = word.partition("=")[0]
    return len(name) > 2 and any(option.startswith(name) for option in options)


def _leads_away(word: str, folder: Path, root: Path, *, names_only: bool) -> bool:
    """True if a word may name something that is not to be read; also behind an option, or as a part of the word."""
    parts = {word, *re.split(r"[=:@,\s]", word)}
    if word.startswith("-"):
        if len(word) > _LONGEST_OPTION:
            return True
        parts |= {word[start:] for start in range(1, len(word))}
    real = (Path(os.path.realpath(folder / part)) for part in parts if part)
    return any(_is_closed(path, folder, root, names_only=names_only) for path in real)


def _is_closed(path: Path, folder: Path, root: Path, *, names_only: bool) -> bool:
    """True if a path lies outside of the folder, is hidden or another's, or may hold or be such a thing."""
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


# Tool exec.


_MAX_COMMAND = 8_000  # characters: a person has to read it
_MOST_SHOWN = 40_000  # characters of output that a person is shown


class ExecArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, msgspec.Meta(description="The command line, as for sh")]


class ExecTool:
    """Runs a command in the folder of whoever asks, if its list of commands or a person allows it."""

    def __init__(self, policy: ToolPolicy, disk: Disk, spill: Spill, records: Path) -> None:
        """`records` is the folder in which is told what runs.

        Raises ConfigError if the policy's list of allowed commands cannot be used.
        """
        self._seconds = policy.commands.timeout
        self.spec = ToolSpec(
            "exec",
            f"Run a command in the workspace and read its output. It has {self._seconds:g} seconds and no input; "
            "nothing goes on in the background after it. The person may be asked first.",
            schema.parameters(ExecArguments),
        )
        self._policy = policy
        self._allowed = AllowList(policy.commands.allow)
        self._disk = disk
        self._spill = spill
        self._records = records

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        return say("doing.run", language, what=text.argument(arguments, "command"))

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        command = _checked(schema.parse(arguments, ExecArguments).command)
        if caller.authority.role is Role.GUEST:
            raise ToolError("Guests cannot have commands run.")
        place = self._disk.sandbox.opened(caller.authority)
        words: Sequence[str] | None = None
        if place is None:
            place = ToolPath(self._disk.sandbox.root, folder_of(caller.authority.scope.name), in_workspace=True)
            await asyncio.to_thread(self._disk.make_folder, place)
            if is_for_owner(caller.authority):
                words = await asyncio.to_thread(self._allowed.words, command, place.path, place.root)
        if words is None:  # in a folder that was opened for a conversation every command is asked about
            await self._permit(command, caller)
            words = ["/bin/sh", "-c", command]
        try:
            finished = await process.run(
                words,
                place.path,
                process.clean(os.environ),
                seconds=self._seconds,
                records=self._records,
                turn=caller.turn,
            )
        except OSError as error:
            raise ToolError(f"{text.one_line(words[0])} could not be started: {error.strerror}.") from error
        output = await self._spill.fit(finished.output, caller.authority.scope, "exec")
        for_person = await asyncio.to_thread(self._spill.mask, finished.output)  # before a cut, which leaves halves
        notes = self._notes(finished)
        return ToolResult("\n".join(filter(None, [output.rstrip("\n"), *notes])), printed=_printed(for_person, notes))

    def _notes(self, finished: process.FinishedCommand) -> list[str]:
        notes = [] if finished.output.strip() else ["[no output]"]
        if finished.timed_out:
            notes.append(f"[ended after {self._seconds:g} seconds, the limit; its processes are gone]")
        elif finished.code < 0:
            notes.append(f"[ended by signal {-finished.code}]")
        else:
            notes.append(f"[exit code {finished.code}]")
        if finished.left_running:
            notes.append("[what it had left running in the background was ended, too]")
        return notes

    async def _permit(self, command: str, caller: Caller) -> None:
        """Return if the command may run. Raises ToolError if not."""
        here = caller.authority.here
        sentence, where = ("tools.may_run_here", f" in {here}") if here else ("tools.may_run", "")
        await self._policy.permit(
            caller,
            "run",
            ApprovalRequest(sentence, command, "sh", f"run {command}{where}", here),
            f"This command may not be run here. {self._what_is_allowed(caller.authority)}",
            "The person said no to this command. Do not try it another way; ask what they want.",
        )

    def _what_is_allowed(self, authority: Authority) -> str:
        if not (self._allowed.entries and is_for_owner(authority)):
            return "No commands are allowed; use the other tools."
        return (
            f"Allowed are commands that begin with {', '.join(map(repr, self._allowed.entries))}, in plain words: "
            "no pipes, redirections, variables, patterns or second commands, and no paths that lead out."
        )


def _printed(output: str, notes: Sequence[str]) -> str:
    """For the person: the ends of it, and how it ended."""
    output = output.rstrip("\n")
    if (surplus := len(output) - _MOST_SHOWN) > 0:
        half = _MOST_SHOWN // 2
        output = f"{output[:half]}\n[… {surplus:,} characters are left out here …]\n{output[-half:]}"
    is_worth_telling = [note for note in notes if note not in ("[no output]", "[exit code 0]")]
    return text.visible("\n".join(filter(None, [output, *is_worth_telling])))


def _checked(command: str) -> str:
    command = command.strip()
    if not command:
        raise ToolError("The command is empty.")
    if len(command) > _MAX_COMMAND:
        raise ToolError(f"The command is too long to be read by a person: at most {_MAX_COMMAND:,} characters.")
    try:
        usable = b"\0" not in os.fsencode(command)
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise ToolError("The command holds a character that no command can hold (NUL, or half a surrogate pair).")
    return command

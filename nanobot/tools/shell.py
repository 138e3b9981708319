"""Running commands."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from nanobot.authority import Authority, Role
from nanobot.errors import ToolError
from nanobot.i18n import Language, say
from nanobot.ports import Caller, ToolResult, ToolSpec
from nanobot.tools import process, schema, shown
from nanobot.tools.allowlist import AllowList
from nanobot.tools.approval import Approval, ApprovalRequest
from nanobot.tools.disk import Disk
from nanobot.tools.paths import Place
from nanobot.tools.spill import Spill
from nanobot.workspace import folder_of

Rule = Literal["ask", "allow", "deny"]

_MAX_COMMAND = 8_000  # characters: a person has to read it
_MAX_REFUSALS = 3
_MOST_SHOWN = 40_000  # characters of output that a person is shown


@dataclass(frozen=True, slots=True)
class ExecPolicy:
    """Who may run what, and for how many seconds.

    `allow`: beginnings of commands that run for an owner without a question. They are no member's: what harms nobody
    may still print what is the owners'.
    """

    owner: Rule = "ask"
    member: Rule = "deny"
    allow: Sequence[str] = ()
    timeout: float = 60.0

    def rule(self, authority: Authority) -> Rule:
        """An owner who speaks in a group counts as a member there: commands reach all that is the owners'."""
        return self.owner if self.is_for_owner(authority) else self.member

    def is_for_owner(self, authority: Authority) -> bool:
        return authority.role is Role.OWNER and authority.scope.is_owner


class ExecArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, msgspec.Meta(description="The command line, as for sh")]


class Exec:
    """Runs a command in the folder of whoever asks, if its list of commands or a person allows it."""

    def __init__(self, policy: ExecPolicy, disk: Disk, spill: Spill, approval: Approval, records: Path) -> None:
        """`records` is the folder in which is told what runs.

        Raises ConfigError if the policy's list of allowed commands cannot be used.
        """
        self.spec = ToolSpec(
            "exec",
            f"Run a command in the workspace and read its output. It has {policy.timeout:g} seconds and no input; "
            "nothing goes on in the background after it. The person may be asked first.",
            schema.parameters(ExecArguments),
        )
        self._policy = policy
        self._allowed = AllowList(policy.allow)
        self._disk = disk
        self._spill = spill
        self._approval = approval
        self._records = records
        self._refused: dict[str, tuple[str, int]] = {}

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        return say("doing.run", language, what=shown.argument(arguments, "command"))

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        command = _checked(schema.parse(arguments, ExecArguments).command)
        if caller.authority.role is Role.GUEST:
            raise ToolError("Guests cannot have commands run.")
        place = self._disk.sandbox.opened(caller.authority)
        words: Sequence[str] | None = None
        if place is None:
            place = Place(self._disk.sandbox.root, folder_of(caller.authority.scope.name), in_workspace=True)
            await asyncio.to_thread(self._disk.make_folder, place)
            if self._policy.is_for_owner(caller.authority):
                words = await asyncio.to_thread(self._allowed.words, command, place.path, place.root)
        if words is None:  # in a folder that was opened for a conversation every command is asked about
            await self._permit(command, caller)
            words = ["/bin/sh", "-c", command]
        try:
            finished = await process.run(
                words,
                place.path,
                process.clean(os.environ),
                seconds=self._policy.timeout,
                records=self._records,
                turn=caller.turn,
            )
        except OSError as error:
            raise ToolError(f"{shown.one_line(words[0])} could not be started: {error.strerror}.") from error
        output = await self._spill.fit(finished.output, caller.authority.scope, "exec")
        for_person = await asyncio.to_thread(self._spill.mask, finished.output)  # before a cut, which leaves halves
        notes = self._notes(finished)
        return ToolResult("\n".join(filter(None, [output.rstrip("\n"), *notes])), printed=_printed(for_person, notes))

    def _notes(self, finished: process.Finished) -> list[str]:
        notes = [] if finished.output.strip() else ["[no output]"]
        if finished.timed_out:
            notes.append(f"[ended after {self._policy.timeout:g} seconds, the limit; its processes are gone]")
        elif finished.code < 0:
            notes.append(f"[ended by signal {-finished.code}]")
        else:
            notes.append(f"[exit code {finished.code}]")
        if finished.left_running:
            notes.append("[what it had left running in the background was ended, too]")
        return notes

    async def _permit(self, command: str, caller: Caller) -> None:
        """Return if the command may run. Raises ToolError if not, and after some refusals in a turn ends the matter."""
        rule = self._policy.rule(caller.authority)
        if rule == "allow":
            return
        if self._refusals(caller) >= _MAX_REFUSALS:
            raise ToolError(
                f"Stop: {_MAX_REFUSALS} commands were refused in this turn. Run no more of them; "
                "go on without, and tell the person what you would have run and why."
            )
        here = caller.authority.here
        sentence, where = ("tools.may_run_here", f" in {here}") if here else ("tools.may_run", "")
        request = ApprovalRequest(sentence, command, "sh", f"run {command}{where}", here)
        if rule == "ask" and await self._approval.given(caller, request):
            return
        self._refused[caller.address.session_key] = (caller.turn, self._refusals(caller) + 1)
        if rule == "ask":
            raise ToolError("The person said no to this command. Do not try it another way; ask what they want.")
        raise ToolError(f"This command may not be run here. {self._what_is_allowed(caller.authority)}")

    def _refusals(self, caller: Caller) -> int:
        turn, count = self._refused.get(caller.address.session_key, ("", 0))
        return count if turn == caller.turn else 0

    def _what_is_allowed(self, authority: Authority) -> str:
        if not (self._allowed.entries and self._policy.is_for_owner(authority)):
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
    return shown.visible("\n".join(filter(None, [output, *is_worth_telling])))


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

"""Policy in front of the tools: allows, asks about or denies a call by role, scope and risk."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nanobot.authority import Authority, Role
from nanobot.errors import ToolError
from nanobot.i18n import Language
from nanobot.ports import Caller, Risk, Tool, ToolResult
from nanobot.tools.approval import Approval, ApprovalRequest, Rule

MOST_REFUSALS = 3
"""Calls of one risk that may be refused in a turn; after them the model is told to stop."""

_Rules = tuple[Rule, Rule, Rule, Rule]
_TABLE: Mapping[Risk, _Rules] = {  # for the owner alone, the owner in a group, a member, a guest
    "read": ("allow", "allow", "allow", "allow"),
    "write": ("allow", "allow", "allow", "allow"),
    "steer": ("ask", "ask", "deny", "deny"),
    "outside": ("ask", "ask", "deny", "deny"),
    "send": ("ask", "deny", "deny", "deny"),
    "spend": ("ask", "deny", "deny", "deny"),
}


@dataclass(frozen=True, slots=True)
class ExecPolicy:
    """Rules of commands: who may run which, and for how many seconds.

    `allow`: beginnings of commands that run for an owner without a question. They are no member's: what harms nobody
    may still print what is the owners'.
    """

    owner: Rule = "ask"
    member: Rule = "deny"
    allow: Sequence[str] = ()
    timeout: float = 60.0


USUAL = ExecPolicy()


class ToolPolicy:
    """The one place that decides what a call may do, and that asks people about it.

    Whose files and memory a call reaches is the sandbox's matter: it shows everybody their own scope only.
    """

    def __init__(self, approval: Approval, commands: ExecPolicy = USUAL) -> None:
        self._approval = approval
        self.commands = commands
        self._table: Mapping[Risk, _Rules] = {
            **_TABLE,
            "run": (commands.owner, commands.member, commands.member, "deny"),
        }
        self._refused: dict[tuple[str, Risk], tuple[str, int]] = {}

    def rule(self, authority: Authority, risk: Risk) -> Rule:
        """Return the rule for a call of this risk on this authority."""
        alone, in_group, member, guest = self._table[risk]
        if authority.role is Role.OWNER:
            return alone if is_for_owner(authority) else in_group
        return member if authority.role is Role.MEMBER else guest

    async def permit(self, caller: Caller, risk: Risk, request: ApprovalRequest, denied: str, declined: str) -> None:
        """Return if a call may be made, after a yes where the rule demands one.

        Args:
            caller: on whose behalf.
            risk: of this call.
            request: the question.
            denied: what the model is told where the rule forbids it.
            declined: what it is told after a no.

        Raises:
            ToolError: the call may not be made; after some refusals in a turn it says to stop.
        """
        rule = self.rule(caller.authority, risk)
        if rule == "allow":
            return
        if self._refusals(caller, risk) >= MOST_REFUSALS:
            raise ToolError(
                f"Stop: {MOST_REFUSALS} {'commands' if risk == 'run' else 'calls like this'} were refused in this "
                "turn. Run no more of them; go on without, and tell the person what you would have run and why."
            )
        if rule == "ask" and await self._approval.ask(caller, request):
            return
        self._refused[caller.address.session_key, risk] = (caller.turn, self._refusals(caller, risk) + 1)
        raise ToolError(declined if rule == "ask" else denied)

    def _refusals(self, caller: Caller, risk: Risk) -> int:
        turn, count = self._refused.get((caller.address.session_key, risk), ("", 0))
        return count if turn == caller.turn else 0


def is_for_owner(authority: Authority) -> bool:
    """True if an owner speaks for themselves; in a group they count as a member."""
    return authority.role is Role.OWNER and authority.scope.is_owner


class PermittedTool:
    """Tool whose calls pass the policy first, by the risk that its spec declares.

    A tool that declares none asks the policy itself, by what a call touches, or is trusted as a whole.
    """

    def __init__(self, tool: Tool, policy: ToolPolicy) -> None:
        self.spec = tool.spec
        self._tool = tool
        self._policy = policy

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        return self._tool.describe(arguments, language)

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        if risk := self.spec.risk:
            name, call = self.spec.name, json.dumps(arguments, ensure_ascii=False, indent=1)
            await self._policy.permit(
                caller,
                risk,
                ApprovalRequest("tools.may_use", call, "json", f"call {name} {call}", name),
                f"{name} is not for whoever speaks here. Go on without it.",
                f"The person said no to this use of {name}. Do not try it another way; ask what they want.",
            )
        return await self._tool.run(arguments, caller)

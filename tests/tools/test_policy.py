"""Who may have what done: one table, and one way to ask."""

import json
from collections.abc import Mapping
from typing import get_args

import pytest

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.errors import ToolError
from nanobot.i18n import Language
from nanobot.messages import Address
from nanobot.ports import Caller, Risk, ToolResult, ToolSpec
from nanobot.tools.approval import Approval, Rule
from nanobot.tools.policy import MOST_REFUSALS, ExecPolicy, PermittedTool, ToolPolicy
from tests.tools.desk import Person

GROUP = Scope.group("telegram", "-1")
ADA = Scope.person("telegram", "2")

TABLE: Mapping[Risk, tuple[Rule, Rule, Rule, Rule]] = {
    # the owner alone, the owner in a group, a member, a guest
    "read": ("allow", "allow", "allow", "allow"),
    "write": ("allow", "allow", "allow", "allow"),
    "steer": ("ask", "ask", "deny", "deny"),
    "outside": ("ask", "ask", "deny", "deny"),
    "run": ("ask", "deny", "deny", "deny"),
    "send": ("ask", "deny", "deny", "deny"),
    "spend": ("ask", "deny", "deny", "deny"),
}


def by(role: Role, scope: Scope, turn: str = "t1") -> Caller:
    return Caller(Address("telegram", "1"), Authority(role, scope, Origin.PERSON), turn, "en", "1")


OWNER, IN_GROUP = by(Role.OWNER, Scope.owner()), by(Role.OWNER, GROUP)
MEMBER, GUEST = by(Role.MEMBER, ADA), by(Role.GUEST, ADA)


class Sender:
    """Sends something somewhere, if it may."""

    def __init__(self, risk: Risk | None) -> None:
        self.spec = ToolSpec("mail", "Send a mail.", {"type": "object"}, risk=risk)
        self.sent: list[Mapping[str, object]] = []

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        return "send a mail"

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        self.sent.append(arguments)
        return ToolResult("sent")


@pytest.mark.parametrize("risk", get_args(Risk))
def test_role_scope_and_risk_decide(risk: Risk) -> None:
    policy = ToolPolicy(Approval(Person()))

    assert tuple(policy.rule(one.authority, risk) for one in (OWNER, IN_GROUP, MEMBER, GUEST)) == TABLE[risk]


@pytest.mark.parametrize(("owner", "member"), [("allow", "ask"), ("deny", "allow")])
def test_the_configuration_says_who_has_commands_run_but_guests_never(owner: Rule, member: Rule) -> None:
    policy = ToolPolicy(Approval(Person()), ExecPolicy(owner=owner, member=member))

    found = [policy.rule(one.authority, "run") for one in (OWNER, IN_GROUP, MEMBER, GUEST)]

    assert found == [owner, member, member, "deny"]


async def test_a_tool_that_sends_shows_the_owner_all_of_a_call_before_it_is_made() -> None:
    person, sender = Person(), Sender("send")
    person.answers = ["once"]

    result = await PermittedTool(sender, ToolPolicy(Approval(person))).run({"to": "eva@example.com"}, OWNER)

    assert (result.text, sender.sent) == ("sent", [{"to": "eva@example.com"}])
    assert json.dumps({"to": "eva@example.com"}, indent=1) in person.questions[0]
    assert "mail" in person.questions[0]


async def test_a_no_is_a_no_and_after_some_the_model_is_told_to_stop() -> None:
    person, sender = Person(), Sender("send")
    person.answers = ["no"] * (MOST_REFUSALS + 1)
    tool = PermittedTool(sender, ToolPolicy(Approval(person)))

    for number in range(MOST_REFUSALS):
        with pytest.raises(ToolError, match="said no to this use of mail"):
            await tool.run({"to": number}, OWNER)
    with pytest.raises(ToolError, match=r"^Stop: 3 calls like this"):
        await tool.run({"to": "another"}, OWNER)
    assert len(person.questions) == MOST_REFUSALS
    with pytest.raises(ToolError, match="said no"):
        await tool.run({"to": "in the next turn"}, by(Role.OWNER, Scope.owner(), "t2"))
    assert sender.sent == []


@pytest.mark.parametrize("caller", [MEMBER, IN_GROUP, GUEST], ids=["member", "owner in a group", "guest"])
async def test_nobody_else_has_anything_sent_and_nobody_is_asked(caller: Caller) -> None:
    person, sender = Person(), Sender("send")

    with pytest.raises(ToolError, match="not for whoever speaks here"):
        await PermittedTool(sender, ToolPolicy(Approval(person))).run({}, caller)

    assert (sender.sent, person.questions) == ([], [])


async def test_a_tool_that_declares_no_risk_decides_by_itself() -> None:
    sender = Sender(None)

    await PermittedTool(sender, ToolPolicy(Approval(Person()))).run({}, MEMBER)

    assert sender.sent == [{}]

"""/help lists what one may use."""

from dataclasses import replace

import pytest

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.commands.session import help_command
from nanobot.core.commands import Command, CommandAnswer, CommandCall
from nanobot.messages import Address, InboundMessage, Sender


async def nothing(_: CommandCall) -> CommandAnswer:
    return CommandAnswer("")


async def test_a_command_is_listed_for_those_who_may_use_it() -> None:
    listed = help_command([Command("new", nothing), Command("pair", nothing, role=Role.OWNER)])

    async def names(role: Role, typed: str = "/help", channel: str = "telegram") -> list[str]:
        message = InboundMessage(
            id="m",
            address=Address(channel, "2"),
            sender=Sender("2"),
            authority=Authority(role, Scope.person("telegram", "2"), Origin.PERSON),
            text=typed,
        )
        text = (await listed.handler(CommandCall(message, typed.partition(" ")[2], "en"))).text
        return [row.partition(":")[0] for row in text.splitlines()]

    assert await names(Role.OWNER) == ["/help", "/new", "/pair"]
    assert await names(Role.MEMBER) == ["/help", "/new"]
    assert (await names(Role.MEMBER, "/start"))[0].startswith("Hello!")
    assert await names(Role.OWNER, "/help /pair") == await names(Role.OWNER, "/help pair") == ["/pair"]
    assert await names(Role.MEMBER, "/help pair") == ["/help", "/new"]
    assert await names(Role.MEMBER, channel="cli") == ["/help", "/new", "To leave"]


@pytest.mark.parametrize("scope", [Scope.person("telegram", "2"), Scope.group("telegram", "-1")])
def test_what_a_group_shares_is_for_owners_there(scope: Scope) -> None:
    member = Authority(Role.MEMBER, scope, Origin.PERSON)
    everywhere, shared, owners = (
        Command("status", nothing),
        Command("new", nothing, role_in_group=Role.OWNER),
        Command("dream", nothing, role=Role.OWNER),
    )

    may = [command.may(member) for command in (everywhere, shared, owners)]

    assert may == [True, not scope.is_group, False]
    assert all(command.may(replace(member, role=Role.OWNER)) for command in (everywhere, shared, owners))

"""/help lists what one may use."""

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.commands.router import Answer, Call, Command
from nanobot.commands.session import help_command
from nanobot.messages import Address, InboundMessage, Sender


async def nothing(_: Call) -> Answer:
    return Answer("")


async def test_a_command_is_listed_for_those_who_may_use_it() -> None:
    listed = help_command([Command("new", nothing), Command("pair", nothing, role=Role.OWNER)])

    async def names(role: Role) -> list[str]:
        message = InboundMessage(
            id="m",
            address=Address("telegram", "2"),
            sender=Sender("2"),
            authority=Authority(role, Scope.person("telegram", "2"), Origin.PERSON),
            text="/help",
        )
        text = (await listed.handler(Call(message, "", "en"))).text
        return [row.partition(":")[0] for row in text.splitlines()]

    assert await names(Role.OWNER) == ["/help", "/new", "/pair"]
    assert await names(Role.MEMBER) == ["/help", "/new"]

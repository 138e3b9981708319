"""What waits is answered as what its sender is when its turn comes, in the memory of then; after a restart, too."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.bus.spool import Spool
from nanobot.messages import Address, InboundMessage, Sender
from nanobot.people.people import MACHINE, ConfiguredPeople, People, as_of_now, authority_of
from nanobot.ports import Delivery, Reply, Request, Stream
from nanobot.store.state import PeopleFile
from nanobot.workspace import Workspace
from tests.fakes.bot import Bot
from tests.fakes.clock import FakeClock
from tests.fakes.llm import HANG, ScriptedLLM, says

HERE = Address("discord", "7")
BEN = "2"
SECRETS = {"owner": "canary of the owners", "telegram-1": "canary of Ada", "discord-2": "canary of Ben"}


class Slow(ScriptedLLM):
    """Answers when it may."""

    def __init__(self, *answers: Reply) -> None:
        super().__init__(*answers)
        self.may_answer = asyncio.Event()

    async def complete(self, request: Request, stream: Stream) -> Reply:
        reply = await super().complete(request, stream)
        await self.may_answer.wait()
        return reply


Change = Callable[[People], Awaitable[object]]


def people_at(root: Path) -> People:
    """Ada is a member on Telegram, and Ben on Discord."""
    configured = {"telegram": ConfiguredPeople(members=["1"]), "discord": ConfiguredPeople(members=[BEN])}
    return People(PeopleFile(Workspace(root)), FakeClock(), configured)


async def link(people: People) -> None:
    await people.link((await people.link_code("telegram", "1")).code, "discord", BEN)


async def make_owner(people: People) -> None:
    asking = await people.code_for("discord", Sender(BEN, "Ben"), "7")
    assert asking
    await people.approve(asking.code, MACHINE, owner=True)


async def nothing(people: People) -> None: ...


CHANGES: dict[str, tuple[Change, Change, str, str]] = {
    "linked": (nothing, link, "discord-2", "telegram-1"),
    "parted": (link, lambda people: people.unlink("discord", BEN), "telegram-1", "discord-2"),
    "made an owner": (nothing, make_owner, "discord-2", "owner"),
    "owner removed": (make_owner, lambda people: people.revoke("discord", BEN, MACHINE), "owner", "discord-2"),
}
"""What they are at first, what changes, and whose memory they see before and after."""


def remember(root: Path) -> None:
    for name, secret in SECRETS.items():
        folder = root / "memory" if name == "owner" else root / "people" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "MEMORY.md").write_text(f"- {secret}\n", encoding="utf-8")


def said(people: People, text: str) -> InboundMessage:
    """As the door lets it in now."""
    authority = authority_of(people, "discord", BEN, people.role("discord", BEN), None)
    return InboundMessage(id=text, address=HERE, sender=Sender(BEN, "Ben"), authority=authority, text=text)


@asynccontextmanager
async def gateway(root: Path, people: People, model: ScriptedLLM) -> AsyncIterator[tuple[Bot, Spool]]:
    Workspace(root).state.mkdir(parents=True, exist_ok=True)
    async with Spool(Workspace(root).state / "spool.db", FakeClock()) as spool:
        bot = Bot(root, model, bus=spool, steer=False, standing=partial(as_of_now, people))
        async with bot.running():
            yield bot, spool


async def answered(spool: Spool, text: str) -> None:
    async with asyncio.timeout(20):
        while True:
            delivery = await spool.outgoing("discord")
            if isinstance(delivery, Delivery):
                await spool.delivered(delivery.message.id)
                if delivery.message.text == text:
                    return


def sees(model: ScriptedLLM) -> list[str]:
    """Whose memory stands in the last request."""
    read = "\n".join(f"{line.context or ''}{line.content or ''}" for line in model.requests[-1].messages)
    return [name for name, secret in SECRETS.items() if secret in read]


@pytest.mark.parametrize(("at_first", "change", "before", "after"), CHANGES.values(), ids=CHANGES.keys())
async def test_a_message_that_waits_in_its_lane_is_answered_in_the_memory_of_now(
    tmp_path: Path, at_first: Change, change: Change, before: str, after: str
) -> None:
    remember(tmp_path)
    people, model = people_at(tmp_path), Slow(says("one"), says("done"))
    await at_first(people)
    async with gateway(tmp_path, people, model) as (_, spool):
        await spool.publish(said(people, "first"))
        await model.asked.wait()
        await spool.publish(said(people, "second"))
        assert sees(model) == [before]
        await change(people)
        model.may_answer.set()
        await answered(spool, "done")

    assert sees(model) == [after]


@pytest.mark.parametrize("begun", [False, True], ids=["waiting", "begun"])
@pytest.mark.parametrize(("at_first", "change", "before", "after"), CHANGES.values(), ids=CHANGES.keys())
async def test_a_message_that_a_restart_finds_is_answered_in_the_memory_of_now(
    tmp_path: Path, at_first: Change, change: Change, before: str, after: str, begun: bool
) -> None:
    remember(tmp_path)
    people = people_at(tmp_path)
    await at_first(people)
    if begun:
        hanging = ScriptedLLM(HANG)
        async with gateway(tmp_path, people, hanging) as (_, spool):
            await spool.publish(said(people, "first"))
            await hanging.asked.wait()
        assert sees(hanging) == [before]
    else:
        Workspace(tmp_path).state.mkdir(parents=True, exist_ok=True)
        async with Spool(Workspace(tmp_path).state / "spool.db", FakeClock()) as spool:
            await spool.publish(said(people, "first"))
    await change(people)

    model = ScriptedLLM(says("done"))
    async with gateway(tmp_path, people_at(tmp_path), model) as (bot, spool):
        await answered(spool, "done")
        scopes = [line.scope for line in await bot.store.messages(HERE.session_key) if line.role == "user"]

    assert sees(model) == [after]
    assert [content for _, content in model.seen].count("first") == 1
    expected = Scope.owner() if after == "owner" else Scope(f"person:{after}")
    assert scopes[-1] == expected.name


async def test_who_was_shown_out_while_they_waited_gets_no_turn_after_a_restart(tmp_path: Path) -> None:
    people = People(PeopleFile(Workspace(tmp_path)), FakeClock(), {})
    asking = await people.code_for("discord", Sender(BEN, "Ben"), "7")
    assert asking
    await people.approve(asking.code, MACHINE)
    authority = Authority(Role.OWNER, Scope.owner(), Origin.OWNER)
    message = InboundMessage(id="m", address=HERE, sender=Sender(BEN, "Ben"), authority=authority, text="hi")
    Workspace(tmp_path).state.mkdir(parents=True, exist_ok=True)
    async with Spool(Workspace(tmp_path).state / "spool.db", FakeClock()) as spool:
        await spool.publish(message)
    await people.revoke("discord", BEN, MACHINE)

    model = ScriptedLLM(says("done"))
    async with gateway(tmp_path, people, model) as (_, spool), asyncio.timeout(20):
        while (await spool.backlog()).waiting_in:  # noqa: ASYNC110  the spool tells nobody
            await asyncio.sleep(0.005)

    assert model.requests == []

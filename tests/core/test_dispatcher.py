"""Who deals with a message, and that whatever goes wrong with one stays with it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope
from nanobot.bus.memory import MemoryBus
from nanobot.bus.spool import Spool
from nanobot.core.commands import Command, CommandAnswer, CommandCall, Router
from nanobot.errors import StoreError
from nanobot.i18n import say
from nanobot.ids import new_id
from nanobot.messages import Address, InboundMessage, OutboundMessage, Sender
from nanobot.people.people import MACHINE, as_of_now
from nanobot.ports import LLM, Bus, Delivery
from nanobot.workspace import Workspace
from tests.fakes.bot import ADDRESS, Bot
from tests.fakes.clock import FakeClock
from tests.fakes.llm import HANG, ScriptedLLM, says
from tests.fakes.people import STRANGER, some_people

KEY = ADDRESS.session_key
BUG = say("command.bug", "en")


class Desk(Bot):
    """With commands of its own: /ask asks; /slow, /long and /once never end, the last two run at once."""

    def _router(self) -> Router:
        self.at_work = asyncio.Event()
        names = ("new", "stop")
        return Router(
            [
                *(command for command in super()._router().commands if command.name in names),
                Command("ask", self._ask, immediate=True),
                Command("slow", self._hang),
                Command("long", self._hang, immediate=True, in_order=False),
                Command("once", self._hang, immediate=True, once=True),
            ]
        )

    async def _ask(self, call: CommandCall) -> CommandAnswer:
        return CommandAnswer("Shall I?", yes="/new", no="/no")

    async def _hang(self, call: CommandCall) -> CommandAnswer:
        self.at_work.set()
        await asyncio.Event().wait()
        return CommandAnswer("never")


def said(text: str, name: str = "") -> InboundMessage:
    return InboundMessage(
        id=name or text, address=ADDRESS, sender=Sender("1", "Ada"), authority=OWNER_IN_TERMINAL, text=text
    )


class FullFor(MemoryBus):
    """A disk that has no room for what is sent with such an id."""

    def __init__(self, is_full: Callable[[str], bool]) -> None:
        super().__init__()
        self._is_full = is_full
        self.refused: list[str] = []

    async def send(self, message: OutboundMessage) -> None:
        if self._is_full(message.id):
            self.refused.append(message.id)
            raise StoreError("the spool could not be written: No space left on device.")
        await super().send(message)


class Poisoned(MemoryBus):
    """A message with this text cannot be begun, for a reason that nobody thought of."""

    async def begin(self, message: InboundMessage) -> int:
        if message.text == "poison":
            raise ZeroDivisionError
        return await super().begin(message)


@asynccontextmanager
async def desk(root: Path, *models: LLM, bus: Bus | None = None) -> AsyncIterator[Desk]:
    async with Desk(root, *models, bus=bus).running() as running:
        assert isinstance(running, Desk)
        yield running


@asynccontextmanager
async def spooled(root: Path, *models: LLM) -> AsyncIterator[tuple[Desk, Spool]]:
    state = Workspace(root).state
    state.mkdir(parents=True, exist_ok=True)
    async with Spool(state / "spool.db", FakeClock()) as spool, desk(root, *models, bus=spool) as running:
        yield running, spool


async def hears(bus: Bus) -> OutboundMessage:
    """The next thing that is said; of a spool it is delivered, too."""
    async with asyncio.timeout(120):
        while True:
            if isinstance(bus, Spool) and isinstance(delivery := await bus.outgoing("cli"), Delivery):
                await bus.delivered(delivery.message.id)
                return delivery.message
            if isinstance(bus, MemoryBus) and isinstance(message := await bus.outgoing(), OutboundMessage):
                return message


async def at_once() -> None: ...


async def users_words(bot: Bot) -> list[str | None]:
    return [line.content for line in await bot.store.messages(KEY) if line.role == "user"]


async def test_a_disk_that_is_full_when_somebody_is_reminded_ends_nothing(tmp_path: Path) -> None:
    bus = FullFor(lambda name: name.endswith(":missed"))
    async with desk(tmp_path, ScriptedLLM(says("Hello?")), bus=bus) as bot:
        await bus.publish(said("/ask"))
        assert (await hears(bus)).text == "Shall I?"
        await bus.publish(said("hi"))
        await hears(bus)
        await bus.publish(said("yes"))
        assert (await hears(bus)).text == "Hello?"
        assert bus.refused == ["yes:missed"]
        assert await users_words(bot) == ["hi", "yes"]


async def test_a_late_yes_is_told_how_to_give_it_and_no_model_reads_it(tmp_path: Path) -> None:
    bus = MemoryBus()
    async with desk(tmp_path, ScriptedLLM(says("Hello.")), bus=bus) as bot:
        for words, heard in (("/ask", "Shall I?"), ("hi", "Hello."), ("yes", "/new"), ("好", "/new"), ("hi", "Hello.")):
            await bus.publish(replace(said(words), id=new_id()))
            assert (await hears(bus)).text.endswith(heard)
        assert await users_words(bot) == ["hi", "hi"]


@pytest.mark.parametrize("to_bot", [True, False])
async def test_a_message_that_meets_a_bug_is_told_so_and_the_next_is_answered(tmp_path: Path, to_bot: bool) -> None:
    bus = Poisoned()
    async with desk(tmp_path, ScriptedLLM(says("Hello.")), bus=bus):
        await bus.publish(replace(said("poison"), to_bot=to_bot))
        notice = await hears(bus)
        await bus.publish(said("hi"))
        assert (await hears(bus)).text == "Hello."

    assert (notice.text, notice.reply_to, notice.failed) == (BUG, "poison", True)


async def test_a_bug_before_a_message_is_in_its_lane_is_told_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = MemoryBus()
    async with desk(tmp_path, ScriptedLLM(says("Hello.")), bus=bus) as bot:
        hint = bot.questions.hint

        def meets_a_bug(message: InboundMessage) -> bool:
            return hint(message) if message.text != "poison" else bool(1 / 0)

        monkeypatch.setattr(bot.questions, "hint", meets_a_bug)
        await bus.publish(said("poison"))
        notice = await hears(bus)
        await bus.publish(said("hi"))
        answer = await hears(bus)
        assert await users_words(bot) == ["hi"]

    assert (notice.text, answer.text) == (BUG, "Hello.")


async def test_a_turn_that_is_put_off_begins_again_with_all_that_had_joined_it(tmp_path: Path) -> None:
    llm, bus = ScriptedLLM(HANG, says("Two it is.")), MemoryBus()
    async with desk(tmp_path, llm, bus=bus) as bot:
        await bus.publish(said("one"))
        await llm.asked.wait()
        await bus.publish(said("two"))
        await bus.publish(said("three"))
        async with asyncio.timeout(120):
            while bot.lanes.waiting(KEY) < 2:  # noqa: ASYNC110  nobody tells of it
                await asyncio.sleep(0)
            async with bot.lanes.still(at_once):
                assert not bot.lanes.is_busy(KEY)
                assert bot.lanes.waiting(KEY) == 3
        assert (await hears(bus)).text == "Two it is."
        assert await users_words(bot) == ["one", "two", "three"]
        assert [line.incomplete for line in await bot.store.messages(KEY)] == [None] * 4


async def test_on_a_disk_a_turn_that_is_put_off_is_answered_once(tmp_path: Path) -> None:
    llm = ScriptedLLM(HANG, says("Here."))
    async with spooled(tmp_path, llm) as (bot, spool):
        await spool.publish(said("where?"))
        await llm.asked.wait()
        async with bot.lanes.still(at_once):
            pass
        answer = await hears(spool)
        assert await users_words(bot) == ["where?"]
        async with asyncio.timeout(120):
            while (await spool.backlog()).being_answered:
                pass

    assert (answer.text, answer.reply_to) == ("Here.", "where?")


async def test_of_what_is_put_off_nothing_that_is_forgotten_begins_again(tmp_path: Path) -> None:
    llm, bus = ScriptedLLM(HANG, says("Hello.")), MemoryBus()
    async with desk(tmp_path, llm, bus=bus) as bot:
        await bus.publish(said("the secret"))
        await llm.asked.wait()
        async with asyncio.timeout(120), bot.lanes.still(at_once):
            bot.lanes.drop(lambda message: "secret" in message.text)
        await bus.publish(said("hi"))
        assert (await hears(bus)).reply_to == "hi"


async def test_a_command_that_was_stopped_does_not_run_at_the_next_start(tmp_path: Path) -> None:
    async with spooled(tmp_path, ScriptedLLM(says("Hello."))) as (bot, spool):
        await spool.publish(said("/slow"))
        await bot.at_work.wait()
        assert (await spool.backlog()).being_answered == 1
        await spool.publish(said("/stop"))
        assert (await hears(spool)).text == say("command.stopped", "en")

    async with spooled(tmp_path, ScriptedLLM(says("Hello."))) as (bot, spool):
        await spool.publish(said("hi"))
        assert (await hears(spool)).text == "Hello."
        assert not bot.at_work.is_set()


async def test_a_command_that_takes_the_process_down_is_set_aside_in_the_end(tmp_path: Path) -> None:
    async with spooled(tmp_path, ScriptedLLM(says("Hello."))) as (bot, spool):
        await spool.publish(said("/long"))

    async def ends_with_a_bug() -> None:
        async with spooled(tmp_path, ScriptedLLM(says("Hello."))) as (bot, _), asyncio.timeout(120):
            await bot.at_work.wait()
            raise MemoryError

    for _ in range(3):
        with pytest.raises(MemoryError):
            await ends_with_a_bug()
    async with spooled(tmp_path, ScriptedLLM(says("Hello."))) as (bot, spool):
        assert [message.text for message in await spool.set_aside()] == ["/long"]
        assert not bot.at_work.is_set()


async def test_what_died_beside_others_is_answered_alone_and_only_the_deadly_one_is_set_aside(tmp_path: Path) -> None:
    innocent = replace(said("hi"), address=Address("cli", "b"))

    async def dies(model: LLM, *at_work: str) -> None:
        async with spooled(tmp_path, model) as (bot, spool), asyncio.timeout(120):
            await spool.publish(innocent)
            await spool.publish(said("/slow"))
            await bot.at_work.wait()
            assert list(spool._begun) == list(at_work)
            raise MemoryError

    for _ in range(2):
        with pytest.raises(MemoryError):
            await dies(ScriptedLLM(HANG), "hi", "/slow")
    with pytest.raises(MemoryError):
        await dies(ScriptedLLM(says("Hello.")), "/slow")
    async with spooled(tmp_path, ScriptedLLM()) as (_, spool):
        assert [message.id for message in await spool.set_aside()] == ["/slow"]
        assert (await hears(spool)).text == "Hello."


async def test_what_may_be_done_once_is_not_done_again_after_the_process_ended_in_it(tmp_path: Path) -> None:
    async with spooled(tmp_path, ScriptedLLM(says("Hello."))) as (bot, spool):
        await spool.publish(said("/once"))
        await bot.at_work.wait()

    async with spooled(tmp_path, ScriptedLLM(says("Hello."))) as (bot, spool):
        assert (await hears(spool)).text == say("command.begun_before", "en", command="once")
        await spool.publish(said("/once", "again"))
        await bot.at_work.wait()


async def test_who_was_shown_out_is_answered_nothing_that_they_wrote_before(tmp_path: Path) -> None:
    people = some_people()
    code = await people.code_for("telegram", Sender(STRANGER), "5")
    assert code
    await people.approve(code.code, MACHINE)
    at = Address("telegram", "5")
    theirs = Authority(Role.MEMBER, Scope.person("telegram", STRANGER), Origin.PERSON)
    model = ScriptedLLM(HANG, says("to the owner"))
    desk = Desk(tmp_path, model, standing=partial(as_of_now, people))
    async with desk.running():
        for text in ("first", "second", "/ask"):
            message = replace(said(text), address=at, sender=Sender(STRANGER), authority=theirs)
            await desk.bus.publish(message)
            if text == "first":
                await model.asked.wait()
        assert (await desk.hear()).text == "Shall I?"

        await people.revoke("telegram", STRANGER, MACHINE)
        await desk.bus.publish(replace(said("/stop"), address=at, sender=Sender(STRANGER), authority=theirs))
        await desk.lanes.stop(at.session_key)
        desk.lanes.put(replace(said("third"), address=at, sender=Sender(STRANGER), authority=theirs))
        answer = await desk.ask("hello")

    assert answer.text == "to the owner"
    assert len(model.requests) == 2


async def test_in_a_group_members_stop_what_they_began_and_leave_the_rest_to_owners(tmp_path: Path) -> None:
    group = Address("telegram", "-1")
    scope = Scope.group("telegram", "-1")
    model = ScriptedLLM(HANG)
    desk = Desk(tmp_path, model)

    async def says_in_group(text: str, who: str, role: Role = Role.MEMBER) -> None:
        origin = Origin.OWNER if role is Role.OWNER else Origin.PERSON
        await desk.bus.publish(
            replace(said(text, new_id()), address=group, sender=Sender(who), authority=Authority(role, scope, origin))
        )

    async def answer(text: str, who: str, role: Role = Role.MEMBER) -> str:
        await says_in_group(text, who, role)
        return (await desk.hear()).text

    async with desk.running():
        await says_in_group("tell me a story", "owner", Role.OWNER)
        await model.asked.wait()
        assert await answer("/stop", "bob") == say("command.not_yours_to_stop", "en")
        assert await answer("/stop", "owner", Role.OWNER) == say("command.stopped", "en")
        assert await answer("/new", "bob") == say("command.not_allowed_in_group", "en", command="new")
        for who, role in (("bob", Role.MEMBER), ("owner", Role.OWNER)):
            model.asked.clear()
            await says_in_group("and another", "bob")
            await model.asked.wait()
            assert await answer("/stop", who, role) == say("command.stopped", "en")


async def test_what_a_group_says_among_itself_is_no_command(tmp_path: Path) -> None:
    async with desk(tmp_path, ScriptedLLM()) as bot:
        for text in ("/ask", "/ask@OtherBot", "/nosuch"):
            overheard = replace(said(text, f"overheard {text}"), to_bot=False)
            await bot.bus.publish(overheard)
            await bot.bus.publish(edited(overheard, "/ask", "edit"))
        await bot.bus.publish(said("/ask"))
        assert (await hears(bot.bus)).reply_to == "/ask"


def edited(before: InboundMessage, text: str, name: str = "edit") -> InboundMessage:
    return replace(before, id=f"{before.id}:{name}", text=text, corrects=before.id)


async def test_a_command_does_not_run_again_because_its_message_was_edited(tmp_path: Path) -> None:
    async with desk(tmp_path, ScriptedLLM()) as bot:
        first = said("/ask")
        await bot.bus.publish(first)
        assert (await hears(bot.bus)).text == "Shall I?"
        await bot.bus.publish(edited(first, "/ask", "unchanged"))
        await bot.bus.publish(edited(first, "/ask me"))
        assert (await hears(bot.bus)).text == say("command.edited", "en")


async def test_an_edit_of_what_nobody_knows_any_more_runs_no_command(tmp_path: Path) -> None:
    async with desk(tmp_path, ScriptedLLM()) as bot:
        await bot.bus.publish(edited(said("/ask", "long ago"), "/ask"))
        assert (await hears(bot.bus)).text == say("command.edited", "en")


@pytest.mark.parametrize("mistyped", ["ask", "/aks"])
async def test_an_edit_that_makes_it_a_command_runs_it(tmp_path: Path, mistyped: str) -> None:
    async with desk(tmp_path, ScriptedLLM(says("What?"))) as bot:
        first = said(mistyped)
        await bot.bus.publish(first)
        await hears(bot.bus)
        await bot.bus.publish(edited(first, "/ask"))
        assert (await hears(bot.bus)).text == "Shall I?"


async def test_a_command_that_has_not_begun_gives_way_to_its_new_wording(tmp_path: Path) -> None:
    async with desk(tmp_path, ScriptedLLM(HANG)) as bot:
        await bot.bus.publish(said("think"))
        first = said("/slow")
        await bot.bus.publish(first)
        assert (await hears(bot.bus)).text == say("command.waits", "en", command="slow")
        await bot.bus.publish(edited(first, "/new"))
        assert (await hears(bot.bus)).text == say("command.waits", "en", command="new")
        assert [message.text for waiting in bot.lanes.left() for message in waiting if message.text != "think"] == [
            "/new"
        ]

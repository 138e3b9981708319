"""Terminals at the gateway's desk: who sees what, and what waits for whom."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from nanobot.bus.spool import Spool
from nanobot.channels.socket.client import JoinedTerminal, NotTakenError, SteadyChannel
from nanobot.channels.socket.server import (
    FROM_GATEWAY,
    ONCE,
    FromGateway,
    MessageRefused,
    MessageShown,
    MessageTaken,
    Say,
    Send,
    SessionSwitched,
    TerminalServer,
    TurnShown,
    Welcome,
    speaks,
)
from nanobot.channels.terminal.dialogue import Dialogue
from nanobot.channels.terminal.oneshot import OneShot
from nanobot.channels.terminal.person import words
from nanobot.errors import StoreError
from nanobot.messages import Address, InboundMessage, OutboundMessage, Progress
from nanobot.ports import Publish
from tests.fakes.clock import FakeClock
from tests.fakes.talker import CHOICES, english

HERE = Address("cli", "default")
T = TypeVar("T")


class FakeWire:
    """The terminal's end is `say`, `next` and `leave`; lines pass through JSON, as they do on a socket."""

    def __init__(self) -> None:
        self._to_gateway: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._to_terminal: asyncio.Queue[bytes] = asyncio.Queue()

    async def read(self, decoder: msgspec.json.Decoder[T]) -> T | None:
        line = await self._to_gateway.get()
        return None if line is None else decoder.decode(line)

    def write(self, line: object) -> None:
        self._to_terminal.put_nowait(msgspec.json.encode(line))

    def say(self, line: object) -> None:
        self._to_gateway.put_nowait(msgspec.json.encode(line))

    def leave(self) -> None:
        self._to_gateway.put_nowait(None)

    async def next(self) -> FromGateway:
        return FROM_GATEWAY.decode(await self.next_line())

    async def next_line(self) -> bytes:
        async with asyncio.timeout(120):
            return await self._to_terminal.get()

    async def next_text(self) -> str:
        frame = await self.next()
        assert isinstance(frame, Send)
        return frame.message.text

    @property
    def end(self) -> "TerminalsEnd":
        """What a program at the terminal's end holds."""
        return TerminalsEnd(self)

    @property
    def has_heard_all(self) -> bool:
        return self._to_terminal.empty()


class TerminalsEnd:
    def __init__(self, wire: FakeWire) -> None:
        self._wire = wire

    async def read(self, decoder: msgspec.json.Decoder[T]) -> T | None:
        return decoder.decode(await self._wire.next_line())

    def write(self, line: object) -> None:
        self._wire.say(line)


class Scene:
    def __init__(self, spool: Spool) -> None:
        self.spool = spool
        self.desk = TerminalServer(spool, lambda *_: Welcome("hello", False, "en", []), lambda _: "en")

    @asynccontextmanager
    async def attached(self, *words: str) -> AsyncIterator[FakeWire]:
        wire = FakeWire()
        task = asyncio.create_task(self.desk.attach(words or ["default"], wire))
        assert isinstance(await wire.next(), Welcome)
        try:
            yield wire
        finally:
            wire.leave()
            await task

    async def says(self, id: str, text: str, at: Address = HERE, reply_to: str | None = None) -> None:  # noqa: A002
        await self.spool.send(OutboundMessage(id=id, address=at, text=text, reply_to=reply_to))

    async def settled(self) -> None:
        """Wait until everything was shown that somebody is there for."""
        async with asyncio.timeout(120):
            await self.spool.quiet("cli", self.desk.is_watched)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with AsyncExitStack() as stack:
        spool = await stack.enter_async_context(Spool(tmp_path / "spool.db", FakeClock()))
        scene = Scene(spool)
        tasks = [asyncio.create_task(work) for work in (scene.desk.run(), scene.desk.listen(spool.publish))]
        await asyncio.sleep(0)
        yield scene
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def test_what_waits_is_shown_in_order_to_who_attaches_there_and_to_nobody_else(scene: Scene) -> None:
    await scene.says("1", "first")
    await scene.says("2", "second")
    async with scene.attached("other") as other, scene.attached() as wire:
        for number, text in (("1", "first"), ("2", "second")):
            assert await wire.next_text() == text
            wire.say(MessageShown(number))
        await scene.settled()
        assert other.has_heard_all
    assert (await scene.spool.backlog()).waiting_out == {}


async def test_what_was_not_shown_to_the_end_is_shown_to_the_next(scene: Scene) -> None:
    await scene.says("1", "first")
    async with scene.attached() as wire:
        assert await wire.next_text() == "first"
    async with scene.attached() as wire:
        assert await wire.next_text() == "first"
        wire.say(MessageShown("1"))
        await scene.settled()


async def test_all_terminals_of_a_conversation_see_it_and_one_of_them_suffices(scene: Scene) -> None:
    async with scene.attached() as one, scene.attached() as two:
        await scene.says("1", "first")
        assert [await one.next_text(), await two.next_text()] == ["first", "first"]
        two.say(MessageShown("1"))
        await scene.says("2", "second")
        one.say(MessageShown("1"))  # late, and no matter
        assert [await one.next_text(), await two.next_text()] == ["second", "second"]
        one.say(MessageShown("2"))
        await scene.settled()


async def test_what_is_said_is_taken_by_the_bus_as_the_owner_s(scene: Scene) -> None:
    async with scene.attached() as wire:
        wire.say(Say("cli:default:1", "hello"))
        assert await wire.next() == MessageTaken("cli:default:1")
    message = await scene.spool.receive()
    assert (message.id, message.address, message.text, message.sender.id) == ("cli:default:1", HERE, "hello", "local")


async def test_while_the_gateway_ends_nothing_is_taken(scene: Scene) -> None:
    desk = TerminalServer(scene.spool, lambda *_: Welcome("hello", False, "en", []), lambda _: "en")
    wire = FakeWire()
    task = asyncio.create_task(desk.attach(["default"], wire))
    await wire.next()
    wire.say(Say("cli:default:1", "hello"))
    assert isinstance(await wire.next(), MessageRefused)
    wire.leave()
    await task


async def test_one_question_sees_its_own_turn_only_if_a_terminal_watches_the_rest(scene: Scene) -> None:
    async with scene.attached() as terminal, scene.attached("default", ONCE) as script:
        script.say(Say("cli:default:1", "what time is it?"))
        assert await script.next() == MessageTaken("cli:default:1")
        assert (await scene.spool.receive()).sender.id == "script"
        for turn, began in (("of the terminal", "cli:default:0"), ("of the script", "cli:default:1")):
            scene.spool.show(Progress(address=HERE, turn=turn, kind="started", text=began))
            scene.spool.show(Progress(address=HERE, turn=turn, kind="ended"))
        await scene.says("a", "To the terminal.", reply_to="cli:default:0")
        asked = await terminal.next()
        assert isinstance(asked, TurnShown)
        assert asked.progress.text == "In another terminal: what time is it?"
        for _ in range(4):
            assert isinstance(await terminal.next(), TurnShown)
        assert await terminal.next_text() == "To the terminal."
        terminal.say(MessageShown("a"))
        await scene.says("b", "To the script.", reply_to="cli:default:1")

        kinds = [await script.next(), await script.next()]
        assert [frame.progress.turn for frame in kinds if isinstance(frame, TurnShown)] == ["of the script"] * 2
        assert await script.next_text() == "To the script."
        script.say(MessageShown("b"))
        await scene.settled()


async def test_one_question_refuses_what_is_asked_back_and_has_its_answer_with_nothing_left_over(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    channel = OneShot(HERE, "run date", english)
    async with scene.attached("default", ONCE) as wire, asyncio.timeout(120):
        asking = asyncio.create_task(
            JoinedTerminal(wire.end, Welcome("hello", False, "en", [])).run(channel, HERE, once=True)
        )
        asked = await scene.spool.receive()
        question = OutboundMessage(id="q", address=HERE, text="May I?", kind="question", buttons=CHOICES)
        await scene.spool.send(question)
        refused = await scene.spool.receive()
        assert (refused.answers, refused.text) == ("q", "no")
        answer = OutboundMessage(id="a", address=HERE, text="Then not.", reply_to=asked.id)
        await scene.spool.finish([asked, refused], answer)
        await asking
        await scene.settled()
    assert channel.report()
    assert capsys.readouterr().out == "Then not.\n"
    assert (await scene.spool.backlog()).waiting_out == {}


async def test_one_question_shows_what_waited_if_nobody_else_can(scene: Scene) -> None:
    await scene.says("1", "left from before")
    async with scene.attached("default", ONCE) as script:
        assert await script.next_text() == "left from before"
        script.say(MessageShown("1"))
        await scene.settled()


async def test_who_comes_in_the_middle_of_an_answer_sees_it_as_a_whole(scene: Scene) -> None:
    async with scene.attached() as early:
        for kind, text in (("started", "m"), ("text", "Half an "), ("text", "ans")):
            scene.spool.show(Progress(address=HERE, turn="t", kind=kind, text=text))  # type: ignore[arg-type]
        for _ in range(3):
            await early.next()
        async with scene.attached() as late:
            scene.spool.show(Progress(address=HERE, turn="t", kind="text", text="wer"))
            await scene.says("1", "Half an answer")
            scene.spool.show(Progress(address=HERE, turn="t", kind="ended"))
            assert isinstance(await early.next(), TurnShown)
            started, answer, ended = await late.next(), await late.next(), await late.next()
            assert isinstance(started, TurnShown)
            assert isinstance(answer, Send)
            assert isinstance(ended, TurnShown)
            assert (started.progress.kind, answer.message.text, ended.progress.kind) == (
                "started",
                "Half an answer",
                "ended",
            )
            late.say(MessageShown("1"))
            await scene.settled()


async def test_a_terminal_that_goes_on_with_another_conversation_sees_and_says_what_is_in_that(scene: Scene) -> None:
    elsewhere = Address("cli", "work")
    await scene.says("w1", "waits for work", at=elsewhere)
    async with scene.attached() as wire:
        await scene.says("d1", "in default")
        assert await wire.next_text() == "in default"
        wire.say(MessageShown("d1"))
        wire.say(SessionSwitched("work"))
        assert await wire.next_text() == "waits for work"
        wire.say(MessageShown("w1"))
        wire.say(Say("s1", "hello", here="/project"))
        assert await wire.next() == MessageTaken("s1")
        message = await scene.spool.receive()
        assert (message.address, message.authority.here) == (elsewhere, "/project")
        await scene.says("d2", "for nobody")
        await scene.says("w2", "more work", at=elsewhere)
        assert await wire.next_text() == "more work"
        wire.say(MessageShown("w2"))
        await scene.settled()
    async with scene.attached() as wire:
        assert await wire.next_text() == "for nobody"


class Lines:
    """A channel where a person types: what it prints is what a terminal would."""

    name = "cli"

    def __init__(self) -> None:
        self.dialogue = Dialogue(HERE, english)
        self.printed: asyncio.Queue[str] = asyncio.Queue()
        self.typed: asyncio.Queue[InboundMessage | None] = asyncio.Queue()

    async def listen(self, publish: Publish) -> None:
        while message := await self.typed.get():
            await publish(message)

    async def send(self, message: OutboundMessage) -> None:
        for piece in self.dialogue.message(message):
            self.printed.put_nowait(piece.text)

    async def show(self, progress: Progress) -> None:
        self.dialogue.progress(progress)

    def say(self, text: str) -> None:
        if choice := self.dialogue.choose(text):
            question, value = choice
            self.typed.put_nowait(words(HERE, value, answers=question))
        else:
            self.dialogue.heard(text)
            self.typed.put_nowait(words(HERE, text))


class FullDisk:
    """Where messages are put down: nothing is, while it `is_full`."""

    def __init__(self) -> None:
        self.is_full = True
        self.taken: asyncio.Queue[str] = asyncio.Queue()

    async def publish(self, message: InboundMessage) -> None:
        if self.is_full:
            raise StoreError("no space is left on the disk")
        self.taken.put_nowait(message.text)


@asynccontextmanager
async def joined_to(desk: TerminalServer, disk: FullDisk, steady: SteadyChannel) -> AsyncIterator["asyncio.Task[None]"]:
    """A terminal at a desk whose messages go to this disk."""
    wire = FakeWire()
    serving = [asyncio.create_task(work) for work in (desk.listen(disk.publish), desk.attach(["default"], wire))]
    joined = await JoinedTerminal.join(wire.end)
    async with asyncio.timeout(120):
        running = asyncio.create_task(joined.run(steady, HERE))
        try:
            yield running
        finally:
            for task in (running, *serving):
                task.cancel()
            await asyncio.wait([running, *serving])
            await steady.aclose()


async def test_what_cannot_be_put_down_is_told_and_the_prompt_is_free_again() -> None:
    desk = TerminalServer(None, lambda *_: Welcome("hello", False, "en", []), lambda _: "en")
    disk, lines = FullDisk(), Lines()
    steady = SteadyChannel(lines)
    steady.is_durable = True
    async with joined_to(desk, disk, steady):
        lines.say("remember the milk")
        assert "no space is left on the disk. Please say it again" in await lines.printed.get()
        assert not lines.dialogue.is_busy
        assert not steady.owed
        disk.is_full = False
        lines.say("remember the bread")
        assert await disk.taken.get() == "remember the bread"


async def test_an_answer_that_cannot_be_put_down_is_asked_for_again() -> None:
    desk = TerminalServer(None, lambda *_: Welcome("hello", False, "en", []), lambda _: "en")
    disk, lines = FullDisk(), Lines()
    async with joined_to(desk, disk, SteadyChannel(lines)):
        desk.pass_on(OutboundMessage(id="q", address=HERE, text="May I?", kind="question", buttons=CHOICES))
        asked = [await lines.printed.get() for _ in range(3)]
        assert asked[0] == "May I?"
        lines.say("1")
        assert "no space is left on the disk" in await lines.printed.get()
        assert [await lines.printed.get() for _ in range(3)] == asked
        disk.is_full = False
        lines.say("1")
        assert await disk.taken.get() == CHOICES[0].value


async def test_one_question_that_cannot_be_put_down_ends_with_the_reason() -> None:
    desk = TerminalServer(None, lambda *_: Welcome("hello", False, "en", []), lambda _: "en")
    disk, lines = FullDisk(), Lines()
    async with joined_to(desk, disk, SteadyChannel(lines, is_once=True)) as running:
        lines.say("what is it?")
        with pytest.raises(NotTakenError, match="no space is left on the disk"):
            await running


async def test_a_terminal_says_its_language_and_a_script_changes_nobodys(tmp_path: Path) -> None:
    told = list[str | None]()

    def welcome(_: Address, language: str | None) -> Welcome:
        told.append(language)
        return Welcome("hello", False, "en", [])

    async with Spool(tmp_path / "spool.db", FakeClock()) as spool:
        scene = Scene(spool)
        scene.desk = TerminalServer(spool, welcome, lambda _: "en")
        async with scene.attached("default", speaks("zh")), scene.attached("default", ONCE, speaks("en")):
            pass
        async with scene.attached("default", ONCE, speaks("en")):
            pass

    assert told == ["zh", None, "en"]

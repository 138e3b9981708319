"""A terminal's side of the gateway that it joined."""

import asyncio
from collections import deque
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace

from nanobot.aio import shielded
from nanobot.channels.socket.server import (
    FROM_GATEWAY,
    Commands,
    FrameWire,
    MessageRefused,
    MessageShown,
    MessageTaken,
    Say,
    Send,
    SessionSwitched,
    TurnShown,
    Welcome,
)
from nanobot.channels.terminal.person import words
from nanobot.errors import NanobotError, WorkspaceError
from nanobot.i18n import Language, say
from nanobot.ids import new_id
from nanobot.messages import Address, InboundMessage, OutboundMessage, Progress
from nanobot.ports import Channel, Publish

REMEMBERED = 1000
"""Ids of messages that were shown: what the next one shows again is not said twice."""

STOPPING = 5.0
"""Seconds in which a turn that is stopped has usually ended; nobody waits longer for that to leave."""


class LeftAloneError(NanobotError):
    """The gateway is gone, or does not take anything any more; the text says what becomes of what was said."""


class NotTakenError(NanobotError):
    """The gateway could not deal with what was said, and it is not owed to the next one; the text says why."""


class JoinedTerminal:
    """The bot, as far as a terminal sees it, in the process of the gateway."""

    def __init__(self, wire: FrameWire, welcome: Welcome) -> None:
        self._wire = wire
        self._welcome = welcome
        self._language: Language = welcome.language
        self._taking: dict[str, asyncio.Future[None]] = {}
        self._turn: str | None = None  # that runs in the conversation
        self._stop: str | None = None  # the message that asked for its end
        self._stopped = asyncio.Event()

    @classmethod
    async def join(cls, wire: FrameWire) -> "JoinedTerminal":
        """Over a connection on which it was asked to be attached. Raises WorkspaceError."""
        welcome = await wire.read(FROM_GATEWAY)
        if not isinstance(welcome, Welcome):
            raise WorkspaceError("The gateway ended just now. `nanobot gateway` starts it again.")
        return cls(wire, welcome)

    @property
    def models(self) -> Sequence[str]:
        """The presets that may be chosen."""
        return self._welcome.models

    def menu(self, _: Address) -> Commands:
        """The slash commands and what they do."""
        return self._welcome.commands

    def language(self, _: Address) -> Language:
        """The language of the bot's own sentences at the moment."""
        return self._language

    def greeting(self, _: Address) -> str:
        """Sentence that names the model, and tells how to have a better one."""
        return self._welcome.greeting

    def is_demo(self, _: Address) -> bool:
        """True if it is the embedded model that answers."""
        return self._welcome.is_demo

    @property
    def is_gateway(self) -> bool:
        """True if what is taken there is on disk, and answered by the next one if this one ends."""
        return self._welcome.is_gateway

    async def run(self, channel: Channel, address: Address, *, once: bool = False, owed: Collection[str] = ()) -> None:
        """Serve a channel until its `listen` returns. Raises LeftAloneError when the gateway ends first.

        `once`: there is one question, and if this is cancelled, its turn is stopped. Otherwise turns go on without us.
        """
        hearing = asyncio.create_task(self._hear(channel))
        listening = asyncio.create_task(channel.listen(self._publish))
        try:
            await asyncio.wait([hearing, listening], return_when=asyncio.FIRST_COMPLETED)
            if listening.done():
                listening.result()  # raises what went wrong
                return
            hearing.result()
            raise LeftAloneError(say("gateway.lost_untaken" if self._taking else "gateway.lost", self._language))
        except asyncio.CancelledError:
            if once and self._turn:
                await shielded(self._stop_turn(address))
            raise
        finally:
            for taking in self._taking.values():  # whoever waits for that is told
                if not taking.done():
                    taking.set_exception(LeftAloneError(say("gateway.lost_untaken", self._language)))
            for task in (listening, hearing):
                task.cancel()
            await asyncio.wait([hearing, listening])

    async def move(self, address: Address) -> None:
        """The terminal goes on with another conversation."""
        self._turn = None
        self._wire.write(SessionSwitched(address.chat))

    async def _publish(self, message: InboundMessage) -> None:
        taken = self._taking[message.id] = asyncio.get_running_loop().create_future()
        self._wire.write(said(message))
        try:
            await taken
        finally:
            del self._taking[message.id]

    async def _stop_turn(self, address: Address) -> None:
        stop = words(address, "/stop")
        self._stop = stop.id
        self._wire.write(Say(stop.id, stop.text))
        with suppress(TimeoutError):
            async with asyncio.timeout(STOPPING):
                await self._stopped.wait()

    async def _hear(self, channel: Channel) -> None:
        """Show what comes, until the gateway ends."""
        while frame := await self._wire.read(FROM_GATEWAY):
            match frame:
                case Send(message, language):
                    self._language = language
                    await channel.send(message)
                    self._wire.write(MessageShown(message.id))
                    if self._stop is not None and message.reply_to == self._stop:
                        self._stopped.set()
                case TurnShown(progress):
                    self._follow(progress)
                    await channel.show(progress)
                case MessageTaken(message_id) if message_id in self._taking and not self._taking[message_id].done():
                    self._taking[message_id].set_result(None)
                case MessageRefused(message_id, text) if (
                    message_id in self._taking and not self._taking[message_id].done()
                ):
                    error = NotTakenError(text) if frame.for_good else LeftAloneError(text)
                    self._taking[message_id].set_exception(error)

    def _follow(self, progress: Progress) -> None:
        if progress.kind == "started":
            self._turn = progress.turn
        elif progress.kind == "ended":
            self._turn = None


class SteadyChannel:
    """A Channel that outlives whoever serves it: what was said and is not answered is said again to the next one."""

    def __init__(self, channel: Channel, *, is_once: bool = False) -> None:
        """`is_once`: there is one question, and whoever asked it does not wait for a gateway to come back."""
        self.name = channel.name
        self._is_once = is_once
        self.is_durable = False
        """Whether whoever serves it keeps on disk what it takes."""
        self._channel = channel
        self._owed: dict[str, InboundMessage] = {}
        self._turns: dict[str, str] = {}  # running ones, and the messages that they answer
        self._questions: dict[str, OutboundMessage] = {}  # that running turns wait for
        self._shown: deque[str] = deque(maxlen=REMEMBERED)
        self._publish: Publish | None = None
        self._listening: asyncio.Task[None] | None = None

    @property
    def owed(self) -> Sequence[str]:
        """The ids of what was said and neither answered nor taken for good."""
        return list(self._owed)

    @property
    def is_over(self) -> bool:
        """True if the person has left."""
        return self._listening is not None and self._listening.done()

    async def listen(self, publish: Publish) -> None:
        """Hand on what the person says until they leave; the first time for each who serves, what is owed, too."""
        self._publish = publish
        try:
            for message in list(self._owed.values()):
                await self._hand_on(replace(message, again=True))
            if self._listening is None:
                self._listening = asyncio.create_task(self._channel.listen(self._said))
            await asyncio.shield(self._listening)
        finally:
            self._publish = None

    async def pause(self, seconds: float) -> bool:
        """Let the person go on while nobody serves; whether they are still there."""
        if self._listening is not None:
            await asyncio.wait([self._listening], timeout=seconds)
        return not self.is_over

    async def aclose(self) -> None:
        """The person is not heard any more. Raises what went wrong while they were."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait([self._listening])

    async def send(self, message: OutboundMessage) -> None:
        if message.id in self._shown:
            return
        await self._channel.send(message)
        self._shown.append(message.id)
        if message.holds_up_a_turn:
            self._questions[message.id] = message
        if message.reply_to and message.id != f"{message.reply_to}:hint":
            self._owed.pop(message.reply_to, None)

    async def show(self, progress: Progress) -> None:
        if progress.kind == "started":
            self._turns[progress.turn] = progress.text
        await self._channel.show(progress)
        if progress.kind == "ended":
            self._owed.pop(self._turns.pop(progress.turn, ""), None)
            self._questions.clear()

    async def _said(self, message: InboundMessage) -> None:
        if message.answers is None and message.text != "/stop":
            self._owed[message.id] = message
        if self._publish is not None:
            await self._hand_on(message)

    async def _hand_on(self, message: InboundMessage) -> None:
        publish = self._publish
        if publish is None:
            return
        try:
            await publish(message)
        except LeftAloneError:  # it is owed to the next one, if anybody can wait for that
            if self.is_durable and self._is_once:
                raise
        except NotTakenError as error:
            self._owed.pop(message.id, None)
            if self._is_once:
                raise
            await self._tell_not_taken(message, str(error))
        else:
            if self.is_durable:
                self._owed.pop(message.id, None)

    async def _tell_not_taken(self, message: InboundMessage, reason: str) -> None:
        """Say why; what was being answered is asked again, since the turn goes on waiting for it."""
        notice = OutboundMessage(id=new_id(), address=message.address, text=reason, kind="notice")
        await self._channel.send(notice)
        if question := self._questions.get(message.answers or ""):
            await self._channel.send(question)


def said(message: InboundMessage) -> Say:
    """Return a person's words as a frame."""
    return Say(
        message.id,
        message.text,
        message.answers,
        list(message.quotes),
        list(message.files),
        message.model,
        message.authority.here,
        message.again,
    )

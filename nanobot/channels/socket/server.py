"""The terminal server: the gateway's side of terminals that join it, and what both say to each other."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Protocol, TypeVar

import msgspec

from nanobot.channels.terminal.person import NAME, PERSON, SCRIPT, at, words
from nanobot.errors import NanobotError
from nanobot.i18n import LANGUAGES, Language, say
from nanobot.messages import Address, Attachment, InboundMessage, OutboundMessage, Progress, Quote
from nanobot.ports import Delivery, Outbox, Publish

# Messages of the protocol.


T = TypeVar("T")


class FrameWire(Protocol):
    """One connection, line by line; writing never waits."""

    async def read(self, decoder: msgspec.json.Decoder[T]) -> T | None:
        """The next line; None at the end."""
        ...

    def write(self, line: object) -> None:
        """Send a line; lost if nobody is there any more."""
        ...


class Welcome(msgspec.Struct, tag=True):
    """The gateway's first word: what a terminal needs for its prompt."""

    greeting: str
    is_demo: bool
    language: Language
    commands: list[tuple[str, str]]  # slash commands and what they do
    models: list[str] = []  # presets that may be chosen
    is_gateway: bool = True  # what it took is on disk; else another terminal's process answers


class MessageTaken(msgspec.Struct, tag=True):
    """Frame: the words are on disk, and will be answered."""

    id: str


class MessageRefused(msgspec.Struct, tag=True):
    """Frame: the words were not taken; the text says why."""

    id: str
    text: str
    for_good: bool = False  # it could not be dealt with; else whoever serves next takes it


class Send(msgspec.Struct, tag=True):
    """A message to be shown; the language is the conversation's at the moment."""

    message: OutboundMessage
    language: Language


class TurnShown(msgspec.Struct, tag=True):
    """Frame: the progress of a running turn."""

    progress: Progress


class Say(msgspec.Struct, tag=True):
    """The terminal's: what the person says. Who they are is not theirs to say."""

    id: str
    text: str
    answers: str | None = None
    quotes: list[Quote] = []  # texts that came along: of files, of commands, piped in
    files: list[Attachment] = []
    model: str = ""  # the preset that answers this one
    here: str = ""  # the folder that they opened for the conversation
    again: bool = False  # it was said to a process that ended


class SessionSwitched(msgspec.Struct, tag=True):
    """The terminal's: the person goes on with the conversation of this name."""

    chat: str


class MessageShown(msgspec.Struct, tag=True):
    """The terminal's: the message has been shown."""

    id: str


FromGateway = Welcome | MessageTaken | MessageRefused | Send | TurnShown
FromTerminal = Say | SessionSwitched | MessageShown

FROM_GATEWAY: msgspec.json.Decoder[FromGateway] = msgspec.json.Decoder(FromGateway)
FROM_TERMINAL: msgspec.json.Decoder[FromTerminal] = msgspec.json.Decoder(FromTerminal)

Commands = Sequence[tuple[str, str]]


# The server.


log = logging.getLogger(__name__)

Recover = Callable[[Address, Sequence[str]], Awaitable[None]]

ONCE = "once"
"""What somebody says who attaches for one question: they see what concerns it, and nothing else."""

_SPEAKS = {f"language:{language}": language for language in LANGUAGES}


def speaks(language: Language) -> str:
    """Return the language that a terminal declares when it attaches."""
    return f"language:{language}"


class TerminalServer:
    """The channel of all conversations in terminals, whether one is attached to them or not.

    What cannot be shown because nobody is attached waits in the outbox. Who attaches to a conversation sees what
    waits, then everything that is said and done in it.
    """

    name = NAME

    def __init__(
        self,
        outbox: Outbox | None,
        welcome: Callable[[Address, Language | None], Welcome],
        language: Callable[[Address], Language],
        recover: Recover | None = None,
    ) -> None:
        """
        Args:
            outbox: what waits to be shown; None where nothing waits, and all is passed on.
            welcome: what a terminal is told first; it may have said which language it speaks.
            language: the one spoken at an address.
            recover: called for each terminal that came, with the ids of what it is about to say again.
        """
        self._outbox = outbox
        self._welcome = welcome
        self._language = language
        self._recover = recover
        self._publish: Publish | None = None
        self._attached: list[_Attached] = []
        self._waiting: dict[Address, OutboundMessage] = {}  # to be shown next, in each conversation
        self._running: dict[Address, str] = {}  # turns

    async def listen(self, publish: Publish) -> None:
        """Take what is said until cancelled; afterwards who says something is told to wait for the next start."""
        self._publish = publish
        try:
            await asyncio.Event().wait()
        finally:
            self._publish = None

    async def run(self) -> None:
        """Show what the bot says until cancelled. Raises StoreError when the outbox cannot be read."""
        if self._outbox is None:
            return
        self._outbox.take_back(self.name)
        self._waiting.clear()
        while True:
            item = await self._outbox.outgoing(self.name)
            if isinstance(item, Delivery):
                self._waiting[item.message.address] = item.message
                self._send_waiting(item.message.address, self._attached)
            else:
                self._show(item)

    def is_watched(self, address: Address) -> bool:
        """True if a terminal is attached that shows what is said there."""
        return any(terminal.address == address for terminal in self._attached)

    async def attach(self, args: Sequence[str], wire: FrameWire) -> None:
        """Serve a terminal until it leaves.

        The words are the conversation's name, for one question ONCE, its language, and the ids of what it will say
        again.
        """
        address = at(args[0] if args else "default")
        terminal = _Attached(wire, address, is_once=ONCE in args[1:], joined_in=self._running.get(address))
        is_disturbed = terminal.is_once and self.is_watched(address)  # a script does not change what others read
        language = None if is_disturbed else next((_SPEAKS[word] for word in args if word in _SPEAKS), None)
        wire.write(self._welcome(address, language))
        self._attached.append(terminal)
        self._begin_to_show(terminal)
        try:
            if self._recover and not terminal.joined_in:
                await self._recover(address, [word for word in args[1:] if word not in _SPEAKS])
            while frame := await wire.read(FROM_TERMINAL):
                await self._take(frame, terminal, wire)
        finally:
            self._attached.remove(terminal)
            if not terminal.is_once:  # it may have left before it showed what the others were not sent
                self._send_waiting(terminal.address, self._attached)

    async def _take(self, frame: FromTerminal, terminal: "_Attached", wire: FrameWire) -> None:
        if isinstance(frame, Say):
            wire.write(await self._said(frame, terminal))
        elif isinstance(frame, MessageShown):
            await self._shown(frame.id)
        else:
            self._move(terminal, at(frame.chat))
            if self._recover and not terminal.joined_in:
                await self._recover(terminal.address, ())

    def _move(self, terminal: "_Attached", address: Address) -> None:
        """The terminal goes on with another conversation; what waits there is shown in it."""
        before, terminal.address, terminal.joined_in = terminal.address, address, self._running.get(address)
        self._send_waiting(before, self._attached)
        self._begin_to_show(terminal)

    def _begin_to_show(self, terminal: "_Attached") -> None:
        if terminal.joined_in and not terminal.is_once:
            terminal.show(Progress(address=terminal.address, turn=terminal.joined_in, kind="started"))
        self._send_waiting(terminal.address, [terminal])

    @property
    def addresses(self) -> Collection[Address]:
        """The conversations in which somebody is."""
        return {terminal.address for terminal in self._attached if not terminal.is_once}

    @property
    def has_guests(self) -> bool:
        """True if anybody is attached, apart from the terminal of this process."""
        return any(not isinstance(terminal.wire, LocalWire) for terminal in self._attached)

    @asynccontextmanager
    async def own(self, address: Address, *, is_once: bool) -> AsyncIterator["LocalWire"]:
        """The terminal of this process: it sees of its conversation what one that is attached would see."""
        wire = LocalWire()
        terminal = _Attached(wire, address, is_once=is_once, joined_in=None)
        wire.said, wire.moved = terminal.noted, terminal.move
        self._attached.append(terminal)
        try:
            yield wire
        finally:
            self._attached.remove(terminal)

    def pass_on(self, item: OutboundMessage | Progress) -> bool:
        """Show it to whom it concerns; whether that is anybody."""
        if isinstance(item, Progress):
            self._show(item)
            return self.is_watched(item.address)
        here = [each for each in self._attached if each.address == item.address and each.wants(item)]
        for terminal in here:
            terminal.wire.write(Send(item, self._language(item.address)))
        return bool(here)

    async def _said(self, frame: Say, terminal: "_Attached") -> MessageTaken | MessageRefused:
        if self._publish is None:
            return MessageRefused(frame.id, say("gateway.ending", self._language(terminal.address)))
        message = terminal.says(frame)
        try:
            await self._publish(message)
        except NanobotError as error:
            log.warning("%s: a message was not taken: %s", terminal.address.session_key, error)
            text = say("gateway.not_taken", self._language(terminal.address), reason=str(error).rstrip("."))
            return MessageRefused(frame.id, text, for_good=True)
        self.repeat(message, terminal.wire)
        return MessageTaken(frame.id)

    def repeat(self, message: InboundMessage, said_at: FrameWire) -> None:
        """Show what was said at one terminal to the others in the conversation, who see its answer, too."""
        if message.answers is not None or message.again:
            return
        text = say("terminal.said_elsewhere", self._language(message.address), text=message.text)
        told = Progress(address=message.address, turn="", kind="notice", text=text)
        for terminal in self._attached:
            if terminal.address == message.address and terminal.wire is not said_at and not terminal.is_once:
                terminal.wire.write(TurnShown(told))

    async def _shown(self, message_id: str) -> None:
        for address, waiting in list(self._waiting.items()):
            if self._outbox and waiting.id == message_id:  # else another terminal has shown it before
                del self._waiting[address]
                await self._outbox.delivered(message_id)

    def _send_waiting(self, address: Address, terminals: Iterable["_Attached"]) -> None:
        """Send what is to be shown next. Who came for one question shows what is not theirs only if nobody else can."""
        message = self._waiting.get(address)
        if message is None:
            return
        is_watched = any(each.address == address and not each.is_once for each in self._attached)
        for terminal in terminals:
            if terminal.address == address and (not is_watched or terminal.wants(message)):
                terminal.wire.write(Send(message, self._language(address)))

    def _show(self, progress: Progress) -> None:
        if progress.kind == "started":
            self._running[progress.address] = progress.turn
        elif progress.kind == "ended":
            self._running.pop(progress.address, None)
        for terminal in self._attached:
            if terminal.address == progress.address:
                terminal.show(progress)


class LocalWire:
    """In-process replacement of a connection: the terminal of this process takes the frames from here."""

    def __init__(self) -> None:
        self.frames: list[object] = []
        self.said: Callable[[InboundMessage], None] = lambda _: None
        self.moved: Callable[[Address], None] = lambda _: None

    async def read(self, decoder: msgspec.json.Decoder[T]) -> T | None:
        return None

    def write(self, line: object) -> None:
        self.frames.append(line)


class _Attached:
    """A terminal, and what of its conversation it is to see."""

    def __init__(self, wire: FrameWire, address: Address, *, is_once: bool, joined_in: str | None) -> None:
        """`joined_in` is the turn that was running when it came: of that it sees the answer as a whole."""
        self.address = address
        self.is_once = is_once
        self.joined_in = joined_in
        self.wire = wire
        self._said: set[str] = set()
        self._own_turn: str | None = None  # of one question: the turn that answers it, while it runs

    def says(self, frame: Say) -> InboundMessage:
        """Publish the person's words. A one-shot question does not join the turn of another terminal."""
        sender = SCRIPT if self.is_once else PERSON
        message = words(
            self.address,
            frame.text,
            frame.answers,
            sender=sender,
            quotes=frame.quotes,
            files=frame.files,
            here=frame.here,
        )
        message = replace(
            message, id=frame.id, model=frame.model, again=frame.again
        )  # the terminal waits for the reply to it
        self._said.add(message.id)
        return message

    def move(self, address: Address) -> None:
        """Move to another conversation."""
        self.address = address

    def noted(self, message: InboundMessage) -> None:
        """Note that this terminal has said this by another way."""
        self._said.add(message.id)

    def wants(self, message: OutboundMessage) -> bool:
        """True if a message of its conversation concerns it."""
        return not self.is_once or self._own_turn is not None or message.reply_to in self._said

    def show(self, progress: Progress) -> None:
        """Send what a turn of its conversation is doing, as far as that concerns it."""
        if self.is_once:
            self._show_once(progress)
        elif progress.turn != self.joined_in or progress.kind not in ("text", "restart", "step"):
            self.wire.write(TurnShown(progress))

    def _show_once(self, progress: Progress) -> None:
        if progress.kind == "started" and progress.text in self._said:
            self._own_turn = progress.turn
        if progress.turn == self._own_turn:
            self.wire.write(TurnShown(progress))
            if progress.kind == "ended":
                self._own_turn = None

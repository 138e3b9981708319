"""What a terminal and the gateway say to each other, once the terminal is attached to a conversation."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import msgspec

from nanobot.i18n import Language
from nanobot.messages import Attachment, OutboundMessage, Progress, Quote

T = TypeVar("T")


class Wire(Protocol):
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


class Taken(msgspec.Struct, tag=True):
    """What was said is on disk, and will be answered."""

    id: str


class Refused(msgspec.Struct, tag=True):
    """What was said was not taken; the text says why."""

    id: str
    text: str
    for_good: bool = False  # it could not be dealt with; else whoever serves next takes it


class Send(msgspec.Struct, tag=True):
    """A message to be shown; the language is the conversation's at the moment."""

    message: OutboundMessage
    language: Language


class Show(msgspec.Struct, tag=True):
    """What a running turn is doing."""

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


class Moved(msgspec.Struct, tag=True):
    """The terminal's: the person goes on with the conversation of this name."""

    chat: str


class Shown(msgspec.Struct, tag=True):
    """The terminal's: the message has been shown."""

    id: str


FromGateway = Welcome | Taken | Refused | Send | Show
FromTerminal = Say | Moved | Shown

FROM_GATEWAY: msgspec.json.Decoder[FromGateway] = msgspec.json.Decoder(FromGateway)
FROM_TERMINAL: msgspec.json.Decoder[FromTerminal] = msgspec.json.Decoder(FromTerminal)

Commands = Sequence[tuple[str, str]]

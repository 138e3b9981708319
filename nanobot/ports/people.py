"""Kept record of the people who may talk to the bot."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from nanobot.authority import Role

Listening = Literal["mention", "reply", "open"]
"""When the bot answers in a group.

mention  a command, or a message that names it
reply    also a reply to something that it said
open     whatever is said by those who may talk to it
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """A person who was let in by pairing. `chat` is where they talk to the bot alone, `name` what they were last
    called (shown, never trusted), `by` who let them in: "machine", or the owner's channel:id."""

    channel: str
    id: str
    chat: str
    role: Role
    at: datetime
    by: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmittedGroup:
    """A group that an owner let in. `keeps_all`: also what is not said to the bot there is kept."""

    channel: str
    id: str
    listening: Listening
    keeps_all: bool
    at: datetime
    by: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRequest:
    """A stranger who was given a code, which is valid until `until`.

    Of them nothing else is kept but the `name` under which they asked (shown, never trusted), as long as the code.
    """

    channel: str
    id: str
    chat: str
    code: str
    until: datetime
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """A stranger who gets no new code until then."""

    channel: str
    id: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLink:
    """This id on this channel is the same person as the first one, whose memory they share."""

    channel: str
    id: str
    first_channel: str
    first_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Linking:
    """A member who was given a code to type on another channel."""

    channel: str
    id: str
    code: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongLink:
    """Somebody typed a wrong code of this kind."""

    channel: str
    id: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleBook:
    """All of it. `wrong` are the times at which wrong codes were tried."""

    people: tuple[Paired, ...] = ()
    groups: tuple[AdmittedGroup, ...] = ()
    asking: tuple[PairingRequest, ...] = ()
    denied: tuple[Denied, ...] = ()
    wrong: tuple[datetime, ...] = ()
    links: tuple[PersonLink, ...] = ()
    linking: tuple[Linking, ...] = ()
    wrong_links: tuple[WrongLink, ...] = ()


class PeopleStore(Protocol):
    """Keeps the book."""

    def read(self) -> PeopleBook:
        """Return the book as last written; an empty one if there is none, or it cannot be understood.

        Raises StoreError.
        """
        ...

    async def write(self, book: PeopleBook) -> None:
        """Keep it, durably. Raises StoreError; then the old one is still there."""
        ...

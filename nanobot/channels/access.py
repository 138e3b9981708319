"""Who may talk, decided before anything of a message is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from nanobot.authority import Authority
from nanobot.messages import Address, Sender

Meant = Literal["command", "mention", "reply", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """Somebody says something somewhere: all that may be looked at before it is known whether they may.

    `id` is the message's, as InboundMessage.id. `groups` are the ids under which the group may be admitted, the
    closest first (on Discord thread, channel, server); empty in private. `meant` says whether the bot is addressed.
    `text` is looked at only for the commands that admit somebody; it is not kept.
    """

    id: str
    address: Address
    sender: Sender
    groups: Sequence[str] = ()
    meant: Meant = "none"
    text: str = ""
    is_bot: bool = False


@dataclass(frozen=True, slots=True)
class Admission:
    """They may. `to_bot` is False for what a group says among itself and wants kept all the same."""

    authority: Authority
    to_bot: bool = True


class Door(Protocol):
    """Stands in front of a channel."""

    async def admit(self, contact: Contact) -> Admission | None:
        """Whether they may talk, and as whom. None: nothing is kept, nothing is said (a stranger's pairing
        code, where one is due, is already on its way)."""
        ...

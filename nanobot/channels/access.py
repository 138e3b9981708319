"""Access policy: decides who may talk before anything of a message is kept."""

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.errors import StoreError
from nanobot.i18n import say_in_all
from nanobot.messages import Address, OutboundMessage, Sender
from nanobot.people.people import People, ServedGroup, authority_of
from nanobot.ports import Clock

log = logging.getLogger(__name__)

Meant = Literal["command", "mention", "reply", "other", "none"]
"""How a message addresses the bot; "other": it addresses another bot, and is for nobody else."""

Send = Callable[[OutboundMessage], Awaitable[None]]

ANSWER_EVERY = 600.0
"""Seconds after an answer to somebody who may not talk in which they get no other."""

LOG_EVERY = 3600.0
"""Seconds after a log line about somebody who may not talk in which there is no other."""

HIDDEN = "[somebody wrote this who may not talk to you; their words are not shown]"
"""What stands for the words of a stranger to whom somebody replies in a group."""

_MOST_KNOWN = 10_000
_HEARD_BY = {
    "mention": frozenset({"command", "mention"}),
    "reply": frozenset({"command", "mention", "reply"}),
    "open": frozenset({"command", "mention", "reply", "none"}),
}
_ADMITTING = re.compile(r"[/／]pair(?:@[\w-]+)?\s+group(?:\s|$)", re.IGNORECASE)


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


class AccessPolicy(Protocol):
    """Stands in front of a channel."""

    async def admit(self, contact: Contact) -> Admission | None:
        """True if they may talk, and as whom.

        None: nothing is kept, nothing is said (a stranger's pairing code, where one is due, is already on its way).
        """
        ...

    def hears(self, contact: Contact) -> bool:
        """Return whether `admit` would let them; nothing is said, and nothing kept."""
        ...

    def serves(self, channel: str, groups: Sequence[str]) -> bool:
        """Return whether a group is let in under one of these ids."""
        ...

    def known(self, channel: str) -> Sequence[str]:
        """Return the ids of the people who may talk with the bot alone."""
        ...

    def shows(self, contact: Contact) -> bool:
        """Return whether what this sender says may be shown where somebody replies to it: no stranger's in a group."""
        ...


class PeoplePolicy:
    """The access policy that knows people.

    Alone with the bot, owners and members are served, and a stranger is given a pairing code. In a group that an
    owner let in, owners and members are served; strangers there are not heard, and nothing of theirs is kept. In
    a group that nobody let in, an owner's `/pair group` is heard and nothing else.
    """

    def __init__(self, people: People, send: Send, clock: Clock) -> None:
        """`send` puts a message on its way, once for each id: Bus.send."""
        self._people = people
        self._send = send
        self._clock = clock
        self._answered = _Lately(clock, ANSWER_EVERY)
        self._logged = _Lately(clock, LOG_EVERY)

    async def admit(self, contact: Contact) -> Admission | None:
        role = self._role(contact)
        if role is Role.GUEST:
            await self._refuse(contact)
            return None
        if not contact.is_bot:
            await self._remember_name(contact)
        if not contact.groups:
            return Admission(self._authority(contact, role, None))
        return await self._in_group(contact, role)

    def hears(self, contact: Contact) -> bool:
        role = self._role(contact)
        if role is Role.GUEST or not contact.groups:
            return role is not Role.GUEST
        served = self._people.served(contact.address.channel, contact.groups)
        return served is not None and (served.keeps_all or _is_heard(contact, served))

    def serves(self, channel: str, groups: Sequence[str]) -> bool:
        return self._people.served(channel, groups) is not None

    def known(self, channel: str) -> Sequence[str]:
        says = self._people.configured.get(channel)
        configured = [*says.owners, *says.members] if says else []
        return list(dict.fromkeys([*configured, *(each.id for each in self._people.paired if each.channel == channel)]))

    def shows(self, contact: Contact) -> bool:
        return not contact.groups or self._role(contact) is not Role.GUEST

    def _role(self, contact: Contact) -> Role:
        """A bot is never more than a member, and is not talked with alone."""
        channel, who = contact.address.channel, contact.sender.id
        if contact.is_bot:
            return Role.MEMBER if contact.groups and self._people.may_bot(channel, who) else Role.GUEST
        return self._people.role(channel, who)

    def _authority(self, contact: Contact, role: Role, group: Scope | None) -> Authority:
        authority = authority_of(self._people, contact.address.channel, contact.sender.id, role, group)
        return replace(authority, origin=Origin.QUOTED) if contact.is_bot else authority  # no person says it

    async def _in_group(self, contact: Contact, role: Role) -> Admission | None:
        scope = Scope.group(contact.address.channel, contact.address.chat)  # also where its server was let in
        authority = self._authority(contact, role, scope)
        served = self._people.served(contact.address.channel, contact.groups)
        if role is Role.OWNER and contact.meant == "command" and _ADMITTING.match(contact.text.lstrip()):
            return Admission(authority)
        if served is None:
            await self._explain(contact, role)
            return None
        if _is_heard(contact, served):
            return Admission(authority)
        return Admission(authority, to_bot=False) if served.keeps_all else None

    async def _refuse(self, contact: Contact) -> None:
        where, who = contact.address, contact.sender.id
        if self._logged.is_first((where.channel, who)):
            self._logged.note((where.channel, who))
            log.info("%s: %s in chat %s may not talk (message %s)", where.channel, who, where.chat, contact.id)
        if contact.groups or contact.is_bot:
            return
        try:
            await self._pair(contact)
        except StoreError as error:  # the stranger can write again; others must not suffer
            log.warning("%s: chat %s could not be given a code: %s", where.channel, where.chat, error)

    async def _pair(self, contact: Contact) -> None:
        where, who = contact.address, (contact.address.channel, contact.sender.id)
        if not self._answered.is_first(who):
            return
        asking = await self._people.code_for(where.channel, contact.sender, where.chat)
        if asking:
            key = "pairing.code" if self._people.has_owner else "pairing.first_code"
            left = asking.until - self._clock.now()
            text = say_in_all(key, code=asking.code, minutes=max(1, round(left.total_seconds() / 60)))
        else:
            text = say_in_all("pairing.no_code")
        await self._answer(contact, who, text)

    async def _explain(self, contact: Contact, role: Role) -> None:
        """An owner who speaks to the bot in a group that is not served learns what to do."""
        if role is Role.OWNER and contact.meant in ("command", "mention"):
            try:
                await self._answer(contact, contact.address.session_key, say_in_all("pairing.group_unknown"))
            except StoreError as error:
                log.warning("%s: chat %s: %s", contact.address.channel, contact.address.chat, error)

    async def _answer(self, contact: Contact, whom: object, text: str) -> None:
        """Say something to somebody who is not served: once in a while, and once for a message that comes twice."""
        if not self._answered.is_first(whom):
            return
        self._answered.note(whom)
        message = OutboundMessage(id=f"door:{contact.id}", address=contact.address, text=text, kind="notice")
        try:
            await self._send(message)
        except StoreError:
            self._answered.forget(whom)
            raise

    async def _remember_name(self, contact: Contact) -> None:
        try:
            await self._people.seen(contact.address.channel, contact.sender)
        except StoreError as error:  # it is only shown
            log.warning("%s: a name could not be kept: %s", contact.address.channel, error)


class _Lately:
    """Remembers for a while that something was done."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._done: dict[object, float] = {}

    def is_first(self, what: object) -> bool:
        """True if it was not done lately."""
        done = self._done.get(what)
        return done is None or self._clock.monotonic() - done >= self._seconds

    def forget(self, what: object) -> None:
        """Take back a note: the thing did not happen."""
        self._done.pop(what, None)

    def note(self, what: object) -> None:
        """Note that the thing happens now."""
        self.forget(what)  # the order is that of time
        self._done[what] = self._clock.monotonic()
        while len(self._done) > _MOST_KNOWN:
            del self._done[next(iter(self._done))]


def _is_heard(contact: Contact, served: ServedGroup) -> bool:
    """True if it is said to the bot. Another bot must name it, else two of them talk for ever."""
    return contact.meant == "mention" if contact.is_bot else contact.meant in _HEARD_BY[served.listening]

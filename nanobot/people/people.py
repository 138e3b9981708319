"""People who may talk to the bot: configuration, pairing, and rights looked up anew when a message has waited."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property

from nanobot.aio import shielded
from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.errors import PairingError
from nanobot.messages import Address, InboundMessage, Sender
from nanobot.people import codes
from nanobot.people.codes import row_of, without, without_names
from nanobot.ports import Clock
from nanobot.ports.people import (
    AdmittedGroup,
    Denied,
    Linking,
    Listening,
    Paired,
    PairingRequest,
    PeopleBook,
    PeopleStore,
)

# People and groups.


DENIED = timedelta(days=1)
"""How long somebody who was denied gets no new code."""

MACHINE = "machine"
"""By whom somebody is let in that does it where the program runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredPeople:
    """ConfiguredPeople people and groups of a channel. Ids are compared as they stand; a name is no id."""

    owners: Collection[str] = ()
    members: Collection[str] = ()
    groups: Mapping[str, Listening] = field(default_factory=dict)
    store_all: Collection[str] = ()
    bots: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class ServedGroup:
    """Mode in which a group is served."""

    listening: Listening
    keeps_all: bool


class People:
    """People who may talk, and where. Configuration and pairing add up; of two roles the higher one holds.

    An empty list admits nobody. A change is on disk before it holds.
    """

    def __init__(self, store: PeopleStore, clock: Clock, configured: Mapping[str, ConfiguredPeople]) -> None:
        """`configured` by the names of the channels.

        The book is read when it is first needed, so that whoever makes this need not hold the workspace yet;
        everything here raises StoreError if it cannot be read.
        """
        self._store = store
        self._clock = clock
        self._configured = configured
        self._lock = asyncio.Lock()
        self.on_standing: list[Callable[[], None]] = []
        """Called when somebody's role, or whose memory is theirs, has changed."""

    @property
    def configured(self) -> Mapping[str, ConfiguredPeople]:
        """ConfiguredPeople people and groups, by channel."""
        return self._configured

    @property
    def paired(self) -> Sequence[Paired]:
        """People let in by pairing, in the order of that."""
        return self._book.people

    @property
    def admitted(self) -> Sequence[AdmittedGroup]:
        """The groups that owners let in, in the order of that."""
        return self._book.groups

    @property
    def asking(self) -> Sequence[PairingRequest]:
        """The strangers whose codes are valid, the oldest first."""
        return codes.waiting(self._book, self._clock.now())

    def minutes_since(self, asking: PairingRequest) -> int:
        """Return the minutes since somebody was given their code."""
        return max(0, round((self._clock.now() - asking.until + codes.VALID).total_seconds() / 60))

    @property
    def locked_until(self) -> datetime | None:
        """Until when no code can be approved over chat; None if one can."""
        return codes.locked_until(self._book, self._clock.now())

    @property
    def has_owner(self) -> bool:
        """True if anybody is an owner, on any channel."""
        is_configured = any(each.owners for each in self._configured.values())
        return is_configured or any(person.role is Role.OWNER for person in self._book.people)

    def role(self, channel: str, user_id: str) -> Role:
        """Return the role of a person; GUEST if they are not known."""
        roles = [each.role for each in (row_of(self._book.people, channel, user_id),) if each]
        if user_id in self._says(channel).owners:
            roles.append(Role.OWNER)
        if user_id in self._says(channel).members:
            roles.append(Role.MEMBER)
        return min(roles, key=lambda role: role.rank, default=Role.GUEST)

    def may_bot(self, channel: str, bot_id: str) -> bool:
        """True if another bot may talk: only the configuration says so."""
        return bot_id in self._says(channel).bots

    def served(self, channel: str, ids: Sequence[str]) -> ServedGroup | None:
        """Return the mode of a group; None if it is not served.

        `ids` are those under which it may be admitted, the closest first.

        The closest id that is admitted counts. For the same id, what an owner said in the chat goes before
        the configuration; what the configuration wants kept is kept.
        """
        says = self._says(channel)
        wants_all = any(each in says.store_all for each in ids)
        for each in ids:
            if group := row_of(self._book.groups, channel, each):
                return ServedGroup(group.listening, group.keeps_all or wants_all)
            if each in says.groups:
                return ServedGroup(says.groups[each], wants_all)
        return None

    async def seen(self, channel: str, sender: Sender) -> None:
        """Remember what somebody is called now. Raises StoreError."""
        person = row_of(self._book.people, channel, sender.id)
        if person and sender.name not in ("", person.name):
            async with self._lock:
                named = (replace(each, name=sender.name) if each == person else each for each in self._book.people)
                await self._write(replace(self._book, people=tuple(named)))

    async def code_for(self, channel: str, sender: Sender, chat: str) -> PairingRequest | None:
        """A stranger's code: the one they have, or a new one. None if they were denied.

        Raises StoreError.
        """
        async with self._lock:
            now = self._clock.now()
            asking = codes.given(self._book, channel, sender, chat, now)
            if asking and asking not in self._book.asking:
                await self._write(codes.with_asking(self._book, asking, now))
            return asking

    async def approve(self, code: str, by: str, *, owner: bool = False) -> Paired:
        """Let in whoever was given this code, as a member.

        On the machine as an owner, if `owner` or if there is none yet. `by` is MACHINE, or the owner's channel:id.
        Raises PairingError, StoreError.
        """
        async with self._lock:
            if owner and by != MACHINE:
                raise PairingError("owner_by_machine")
            asking = await self._find(code, by)
            role = Role.OWNER if by == MACHINE and (owner or not self.has_owner) else Role.MEMBER
            now = self._clock.now()
            person = Paired(
                channel=asking.channel, id=asking.id, chat=asking.chat, role=role, at=now, by=by, name=asking.name
            )
            people = (*without(self._book.people, person), person)
            asking_still = without(self._book.asking, asking)
            await self._write(replace(self._book, people=people, asking=asking_still, wrong=()))
            return person

    async def deny(self, code: str, by: str) -> PairingRequest:
        """Take a code back; whoever has it gets no other for a day. Raises PairingError, StoreError."""
        async with self._lock:
            asking = await self._find(code, by)
            denied = Denied(channel=asking.channel, id=asking.id, until=self._clock.now() + DENIED)
            asking_still = without(self._book.asking, asking)
            await self._write(replace(self._book, asking=asking_still, denied=(*self._book.denied, denied)))
            return asking

    async def revoke(self, channel: str, user_id: str, by: str) -> Role:
        """Undo a pairing; returns the role that the configuration leaves them. Raises PairingError, StoreError."""
        async with self._lock:
            person = row_of(self._book.people, channel, user_id)
            if person is None:
                raise PairingError("not_paired" if self.role(channel, user_id) is Role.GUEST else "configured")
            if person.role is Role.OWNER and by != MACHINE:
                raise PairingError("owner_by_machine")
            await self._write(replace(self._book, people=without(self._book.people, person)))
            return self.role(channel, user_id)

    async def admit(self, at: Address, listening: Listening, by: str, title: str = "") -> None:
        """Serve a group from now on, or serve it otherwise. Raises StoreError."""
        async with self._lock:
            await self._put(at, listening, by, title=title)

    async def keep_all(self, at: Address, by: str, *, keeps_all: bool) -> None:
        """True if also what is not said to the bot is kept in a group that is served.

        Raises PairingError, StoreError.
        """
        async with self._lock:
            if not keeps_all and at.chat in self._says(at.channel).store_all:
                raise PairingError("configured")
            group = row_of(self._book.groups, at.channel, at.chat)
            listening = group.listening if group else self._says(at.channel).groups.get(at.chat)
            if listening is None:
                raise PairingError("not_admitted")
            await self._put(at, listening, by, keeps_all=keeps_all)

    async def dismiss(self, at: Address) -> None:
        """Take back that a group was let in. Raises PairingError, StoreError."""
        async with self._lock:
            group = row_of(self._book.groups, at.channel, at.chat)
            if group is None:
                raise PairingError("configured" if at.chat in self._says(at.channel).groups else "not_admitted")
            await self._write(replace(self._book, groups=without(self._book.groups, group)))

    def first(self, channel: str, user_id: str) -> tuple[str, str]:
        """Channel and id of whoever's memory this person shares: their own, unless they are linked."""
        return codes.first(self._book, (channel, user_id))

    def everywhere(self, channel: str, user_id: str) -> Sequence[tuple[str, str]]:
        """Channel and id of this person wherever they are linked, those of `first` first."""
        return codes.linked(self._book, (channel, user_id))

    async def link_code(self, channel: str, user_id: str) -> Linking:
        """A code that joins whoever types it on another channel to this person. Raises PairingError, StoreError."""
        async with self._lock:
            self._check_member(channel, user_id)
            book, linking = codes.with_code(self._book, (channel, user_id), self._clock.now())
            await self._write(book)
            return linking

    async def link(self, code: str, channel: str, user_id: str) -> tuple[str, str]:
        """Join this person to the one who was given the code; returns whose memory they share now.

        It never raises a role: both must be members, and stay that. Raises PairingError, StoreError.
        """
        async with self._lock:
            who, now = (channel, user_id), self._clock.now()
            self._check_member(channel, user_id)
            linking = codes.check_link_code(self._book, who, code, now)
            if linking is None:
                await self._write(codes.with_wrong(self._book, who, now))
                raise PairingError("wrong_link")
            self._check_member(linking.channel, linking.id)
            await self._write(codes.joined(self._book, who, linking))
            return self.first(channel, user_id)

    async def unlink(self, channel: str, user_id: str) -> None:
        """From now on this person has a memory of their own again. Raises PairingError, StoreError."""
        async with self._lock:
            await self._write(codes.parted(self._book, (channel, user_id)))

    def _check_member(self, channel: str, user_id: str) -> None:
        if self.role(channel, user_id) is not Role.MEMBER:
            raise PairingError("link_owner")

    async def _put(
        self, at: Address, listening: Listening, by: str, *, title: str = "", keeps_all: bool | None = None
    ) -> None:
        """Write a group down; what is not said stays as it is."""
        known = row_of(self._book.groups, at.channel, at.chat)
        group = AdmittedGroup(
            channel=at.channel,
            id=at.chat,
            listening=listening,
            keeps_all=keeps_all if keeps_all is not None else known is not None and known.keeps_all,
            at=self._clock.now(),
            by=by,
            title=title or (known.title if known else ""),
        )
        await self._write(replace(self._book, groups=(*without(self._book.groups, group), group)))

    async def forget_names(self, is_meant: Callable[[str, str], bool]) -> None:
        """Take away the names that are meant, given `channel:id` and the name. Raises StoreError."""
        named = without_names(self._book, is_meant)
        if named != self._book:
            await self._write(named)

    @cached_property
    def _book(self) -> PeopleBook:
        return self._store.read()

    def _says(self, channel: str) -> ConfiguredPeople:
        return self._configured.get(channel) or ConfiguredPeople()

    async def _find(self, code: str, by: str) -> PairingRequest:
        """The stranger with this code. Over chat, wrong codes are counted, and then none is looked at."""
        now = self._clock.now()
        if by != MACHINE and self.locked_until:
            raise PairingError("locked")
        asking = codes.find(self._book, code)
        if asking is None and by != MACHINE:
            await self._write(replace(self._book, wrong=(*self._book.wrong, now)))
        return codes.check_pairing_code(asking, now)

    async def _write(self, book: PeopleBook) -> None:
        now = self._clock.now()
        await shielded(self._replace(codes.without_old_links(codes.without_old_codes(book, now), now)))

    async def _replace(self, book: PeopleBook) -> None:
        await self._store.write(book)
        is_other = _standing(book) != _standing(self._book)
        self._book = book
        if is_other:
            for hears in self.on_standing:
                hears()


def _standing(book: PeopleBook) -> object:
    return [(each.channel, each.id, each.role) for each in book.people], book.links


# Authority of a message, also of one that has waited.


log = logging.getLogger(__name__)

TERMINAL = "cli"
"""The channel of the terminal: who types there is at the machine, and no list says who they are."""


def authority_of(people: People, channel: str, user_id: str, role: Role, group: Scope | None) -> Authority:
    """Return the authority of a role, in a group's scope, or (None) alone with the bot."""
    if role is Role.OWNER:
        return Authority(role, group or Scope.owner(), Origin.OWNER)
    return Authority(role, group or Scope.person(*people.first(channel, user_id)), Origin.PERSON)


def as_of_now(people: People, message: InboundMessage) -> InboundMessage | None:
    """A message that has waited, with the authority that its sender has by now; None if they may not talk.

    Role and memory are those of now, whatever they were when it was written.
    """
    said, where, who = message.authority, message.address, message.sender.id
    if where.channel == TERMINAL:
        return message
    role, group = people.role(where.channel, who), said.scope if said.scope.is_group else None
    is_bot = said.origin is Origin.QUOTED or role is Role.GUEST
    if is_bot:  # a bot is never more than a member of a group
        role = Role.MEMBER if group and people.may_bot(where.channel, who) else Role.GUEST
    if role is Role.GUEST:
        log.info("%s: message %s is dropped: its sender may not talk any more", where.session_key, message.id)
        return None
    authority = authority_of(people, where.channel, who, role, group)
    if said.origin is Origin.QUOTED:
        authority = replace(authority, origin=Origin.QUOTED)
    return message if authority == said else replace(message, authority=authority)

"""Commands about the gateway and about people: /status, /pair, /link."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import get_args

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.commands.memory_shell import SHELL
from nanobot.core.commands import Command, CommandAnswer, CommandCall
from nanobot.errors import PairingError
from nanobot.i18n import Language, has_sentence, known_language, say, say_in_all
from nanobot.messages import Address, InboundMessage, OutboundMessage, Sender
from nanobot.people.codes import LINK_VALID
from nanobot.people.people import MACHINE, TERMINAL, People
from nanobot.ports.bus import Alert, Backlog
from nanobot.ports.gateway import OBSTACLES, ChannelState, GatewayState, LookAtGateway
from nanobot.ports.people import Listening
from nanobot.text import as_name

# Gateway lines of `/status` and `nanobot status`.


MOST_GAPS = 5
MOST_TROUBLES = 10

_WORTH_TELLING = 60.0  # seconds that something waits

SEEN = "seen"
"""Behind `/status`: what went wrong is known, and need not be listed again."""

Acknowledge = Callable[[Collection[str]], Awaitable[None]]


class GatewayLines:
    """The lines of the gateway in `/status`, for owners who talk to the bot alone; others are told none of it."""

    def __init__(self, look: LookAtGateway, acknowledge: Acknowledge) -> None:
        """`acknowledge` takes troubles with these ids off the list."""
        self._look = look
        self._acknowledge = acknowledge

    async def __call__(self, call: CommandCall) -> Sequence[str]:
        if not call.message.authority.scope.is_owner:
            return ()
        state = await self._look(call.message.id)
        if call.argument.casefold() == SEEN:
            await self._acknowledge([trouble.id for trouble in state.backlog.troubles])
            state = await self._look(call.message.id)
        return list(gateway_lines(state, call.language))


def asked_at_shell(language: str) -> CommandCall:
    """`nanobot status`, typed by whoever owns the machine, who reads this language."""
    owner = Authority(Role.OWNER, Scope.owner(), Origin.OWNER)
    message = InboundMessage(id="", address=SHELL, sender=Sender(""), authority=owner, text="/status")
    return CommandCall(message, "", known_language(language))


def gateway_lines(state: GatewayState, language: Language) -> Iterator[str]:
    """Lines of `/status` about the gateway."""
    yield say("gateway.running", language, version=state.version, pid=state.pid, at=f"{state.started:%Y-%m-%d %H:%M}")
    if state.is_stopping:
        yield say("gateway.stopping", language)
    for channel in state.channels:
        yield channel_line(channel, language)
        if channel.refused:
            yield "- " + say("gateway.disk_refused", language, count=channel.refused)
        if channel.next_try:
            yield "- " + say("gateway.next_try", language, name=channel.name, at=f"{channel.next_try:%H:%M:%S}")
        if channel.waiting:
            yield "- " + say("gateway.waiting_for_files", language, name=channel.name, count=channel.waiting)
        yield from _gap_lines(channel, language)
        yield from _flow_lines(channel, language)
    yield from _backlog_lines(state.backlog, language)


def channel_line(channel: ChannelState, language: Language) -> str:
    """State of one channel, as a sentence."""
    how = say(f"gateway.by_{channel.how}", language) if channel.how else ""
    who = say("gateway.and", language).join(part for part in (channel.bot, how) if part)
    at = f"{channel.since:%Y-%m-%d %H:%M}" if channel.since else ""
    is_disk = channel.trouble.startswith("disk_") and channel.state == "trouble"
    line = say(
        "gateway.disk" if is_disk else f"gateway.{channel.state}",
        language,
        name=channel.name,
        who=who,
        at=at,
        trouble=_trouble(channel, language),
    )
    if channel.state == "up" and channel.trouble:
        line += " " + say("gateway.but", language, trouble=_trouble(channel, language))
    return line


def _gap_lines(channel: ChannelState, language: Language) -> Iterator[str]:
    """Return the lines about messages that were not read after a pause, the newest first."""
    gaps = list(reversed(channel.gaps))
    for gap in gaps[:MOST_GAPS]:
        key = f"gateway.gap_{gap.why}" if gap.where else "gateway.gap_chats"
        yield "- " + say(key, language, name=channel.name, where=gap.where, count=gap.chats)
    if len(gaps) > MOST_GAPS:
        yield "- " + say("gateway.more_gaps", language, name=channel.name, count=len(gaps) - MOST_GAPS)


def _flow_lines(channel: ChannelState, language: Language) -> Iterator[str]:
    """Return the lines about obstacles to delivery."""
    flow, name = channel.flow, channel.name
    if flow.silent_until:
        key = "gateway.silent_chats" if flow.silent_chats else "gateway.silent"
        yield "- " + say(key, language, name=name, count=flow.silent_chats, at=f"{flow.silent_until:%Y-%m-%d %H:%M}")
    if flow.late_since:
        since, reason = f"{flow.late_since:%Y-%m-%d %H:%M}", flow.late_reason
        yield "- " + say("gateway.late", language, name=name, count=flow.late_chats, at=since, reason=reason)


def _trouble(channel: ChannelState, language: Language) -> str:
    """A sentence without its dot."""
    if channel.trouble not in OBSTACLES:
        return channel.trouble
    own = f"trouble.{channel.trouble}_{channel.name}"  # where a platform's token comes from
    return say(own if has_sentence(own) else f"trouble.{channel.trouble}", language)


def _backlog_lines(backlog: Backlog, language: Language) -> Iterator[str]:
    out = sum(backlog.waiting_out.values())
    if backlog.waiting_in or backlog.being_answered or out:
        yield say(
            "gateway.waiting",
            language,
            waiting=backlog.waiting_in,
            answering=backlog.being_answered,
            out=out,
        )
    if backlog.oldest >= _WORTH_TELLING:
        yield say("gateway.oldest", language, minutes=int(backlog.oldest // 60))
    troubles = backlog.troubles[-MOST_TROUBLES:]
    for trouble in troubles:
        yield _trouble_line(trouble, language)
    if len(backlog.troubles) > len(troubles):
        yield say("gateway.more_troubles", language, count=len(backlog.troubles) - len(troubles))
    if troubles:
        yield say("gateway.seen", language)


def _trouble_line(trouble: Alert, language: Language) -> str:
    where = trouble.address.session_key if trouble.address else trouble.id
    return "- " + say(
        f"gateway.{trouble.kind}", language, at=f"{trouble.at:%Y-%m-%d %H:%M}", where=where, reason=trouble.reason
    )


# Pairing: `/pair`, `nanobot pair` and `/link`.


Send = Callable[[OutboundMessage], Awaitable[None]]

USUAL: Listening = "reply"
"""How a group is served whose owner says no more than that it is to be served."""

_LONGEST_NAME = 40

_MOST_LISTED = 10
"""Codes in the list, the newest ones; each other one can be approved as well."""


@dataclass(frozen=True, slots=True)
class PairingRequester:
    """Requester of a pairing action: MACHINE, or an owner's channel:id.

    `pair` is what they typed in front of the words, `title` the name of the group where they are.
    """

    by: str
    language: Language
    pair: str = "/pair"
    title: str = ""

    def say(self, sentence: str, /, **values: object) -> str:
        return say(f"pairing.{sentence}", self.language, pair=self.pair, **values)


class Pairing:
    """Lets people and groups in and shows them out, in words."""

    def __init__(self, people: People, send: Send) -> None:
        """`send` puts a message on its way: Bus.send. Whoever is let in is told so."""
        self._people = people
        self._send = send

    async def do(self, words: Sequence[str], asker: PairingRequester) -> CommandAnswer:
        """Carry out the words, as behind `/pair`, and return the answer.

        list | approve CODE [--owner] | deny CODE | revoke CHANNEL:ID | groups
        | group CHANNEL:ID [mention | reply | open | off | keep on | keep off]
        """
        action, *rest = words or ["list"]
        try:
            return await self._done(action.casefold(), rest, asker)
        except PairingError as error:
            until = self._people.locked_until
            return CommandAnswer(asker.say(error.kind, until=f"{until:%H:%M}" if until else ""), failed=True)

    async def _done(self, action: str, rest: Sequence[str], asker: PairingRequester) -> CommandAnswer:
        match action, rest:
            case "list", []:
                return CommandAnswer("\n".join(self._everybody(asker)))
            case "groups", []:
                return CommandAnswer("\n".join(self._groups(asker)))
            case "approve", [code, *flags] if flags in ([], ["--owner"]):
                return CommandAnswer(await self._approve(code, asker, owner=bool(flags)))
            case "deny", [code]:
                denied = await self._people.deny(code, asker.by)
                return CommandAnswer(asker.say("denied", who=_who(denied.channel, denied.id, denied.name)))
            case "revoke", [who]:
                return await self._revoke(who, asker)
            case "group", _:
                return await self._group(rest, asker)
        return CommandAnswer(asker.say("usage"), failed=True)

    async def _approve(self, code: str, asker: PairingRequester, *, owner: bool) -> str:
        person = await self._people.approve(code, asker.by, owner=owner)
        is_owner = person.role is Role.OWNER
        welcome = "pairing.welcome_owner" if is_owner else "pairing.welcome"
        await self._send(
            OutboundMessage(
                id=f"paired:{person.channel}:{person.id}:{person.at.isoformat()}",
                address=Address(person.channel, person.chat),
                text=say_in_all(welcome),  # what they read is not known yet
                kind="notice",
            )
        )
        return asker.say(
            "approved_owner" if is_owner else "approved_member", who=_who(person.channel, person.id, person.name)
        )

    async def _revoke(self, typed: str, asker: PairingRequester) -> CommandAnswer:
        who = _address(typed)
        if who is None:
            return CommandAnswer(asker.say("usage_who"), failed=True)
        left = await self._people.revoke(who.channel, who.chat, asker.by)
        if left is Role.GUEST:
            return CommandAnswer(asker.say("revoked", who=typed))
        return CommandAnswer(asker.say("revoked_configured", who=typed, role=asker.say(left.value)), failed=True)

    async def _group(self, words: Sequence[str], asker: PairingRequester) -> CommandAnswer:
        at = _address(words[0]) if words else None
        if at is None:
            return CommandAnswer(asker.say("usage_group"), failed=True)
        match [word.casefold() for word in words[1:]]:
            case []:
                return await self._admit(at, USUAL, asker)
            case ["off"]:
                return await self._dismiss(at, asker)
            case ["keep", ("on" | "off") as kept]:
                await self._people.keep_all(at, asker.by, keeps_all=kept == "on")
                return CommandAnswer(asker.say(f"keep_{kept}"))
            case [how]:
                for listening in get_args(Listening):
                    if how == listening:
                        return await self._admit(at, listening, asker)
        return CommandAnswer(asker.say("usage_group"), failed=True)

    async def _admit(self, at: Address, listening: Listening, asker: PairingRequester) -> CommandAnswer:
        await self._people.admit(at, listening, asker.by, asker.title)
        return CommandAnswer(asker.say("group_now", **self._how(at, asker)))

    async def _dismiss(self, at: Address, asker: PairingRequester) -> CommandAnswer:
        await self._people.dismiss(at)
        is_still_served = self._people.served(at.channel, [at.chat]) is not None
        return CommandAnswer(
            asker.say("group_off_configured" if is_still_served else "group_off"), failed=is_still_served
        )

    def _how(self, at: Address, asker: PairingRequester) -> dict[str, str]:
        """Return how a group is served, in words."""
        served = self._people.served(at.channel, [at.chat])
        if served is None:
            return {}
        kept = "kept_all" if served.keeps_all else "kept_own"
        return {"when": asker.say(f"group_{served.listening}"), "kept": asker.say(kept)}

    def _everybody(self, asker: PairingRequester) -> Iterator[str]:
        rows = list(self._people_rows(asker))
        yield asker.say("people" if rows else "nobody")
        yield from rows
        if asking := self._people.asking:
            yield ""
            yield asker.say("asking")
            if (more := len(asking) - _MOST_LISTED) > 0:
                yield "- " + asker.say("asking_more", count=more)
            for each in asking[-_MOST_LISTED:]:
                who = _who(each.channel, each.id, each.name)
                minutes = self._people.minutes_since(each)
                yield "- " + asker.say(
                    "code_row", code=each.code, who=who, minutes=minutes, until=f"{each.until:%H:%M}"
                )
            yield asker.say("approve_hint")

    def _people_rows(self, asker: PairingRequester) -> Iterator[str]:
        paired = {(person.channel, person.id): person for person in self._people.paired}
        for channel, says in self._people.configured.items():
            for user_id in dict.fromkeys([*says.owners, *says.members]):
                name = paired[channel, user_id].name if (channel, user_id) in paired else ""
                role = asker.say(self._people.role(channel, user_id).value)
                yield "- " + asker.say("person_configured", who=_who(channel, user_id, name), role=role)
                paired.pop((channel, user_id), None)
        for person in paired.values():
            who = _who(person.channel, person.id, person.name)
            role = asker.say(person.role.value)
            sentence = "person_machine" if person.by == MACHINE else "person"
            yield "- " + asker.say(sentence, who=who, role=role, at=f"{person.at:%Y-%m-%d}", by=person.by)

    def _groups(self, asker: PairingRequester) -> Iterator[str]:
        titles = {(channel, each): "" for channel, says in self._people.configured.items() for each in says.groups}
        titles |= {(group.channel, group.id): group.title for group in self._people.admitted}
        yield asker.say("groups" if titles else "no_groups")
        for (channel, each), title in titles.items():
            yield "- " + asker.say(
                "group_row", who=_who(channel, each, title), **self._how(Address(channel, each), asker)
            )


def pair_command(pairing: Pairing) -> Command:
    """/pair: everything where an owner talks to the bot alone; in a group, what concerns the group."""

    async def handle(call: CommandCall) -> CommandAnswer:
        message, words = call.message, call.argument.split()
        where = message.address
        by = MACHINE if where.channel == TERMINAL else f"{where.channel}:{message.sender.id}"
        asker = PairingRequester(by, call.language, title=message.chat_title)
        if not message.authority.scope.is_owner:
            if not words or words[0].casefold() != "group":
                return CommandAnswer(asker.say("privately"), failed=True)
            words.insert(1, f"{where.channel}:{where.chat}")
        return await pairing.do(words, asker)

    return Command("pair", handle, immediate=True, role=Role.OWNER, once=True)


def _address(typed: str) -> Address | None:
    """A person or a group, as "channel:id"."""
    channel, colon, id_ = typed.partition(":")
    return Address(channel.casefold(), id_) if channel and colon and id_ else None


def _who(channel: str, id_: str, name: str = "") -> str:
    """Id of somebody, with the name that they gave themselves, cut to a line."""
    shown = shorten(as_name(name), _LONGEST_NAME, placeholder="…")
    return f"{channel}:{id_} ({shown})" if shown else f"{channel}:{id_}"


def link_command(people: People) -> Command:
    """/link gives a code, /link CODE takes one, /link off takes it back."""

    async def handle(call: CommandCall) -> CommandAnswer:
        message = call.message
        if message.authority.scope.is_group:
            return CommandAnswer(call.say("pairing.link_privately"), failed=True)
        try:
            return CommandAnswer(await _link(people, call, message.address.channel, message.sender.id))
        except PairingError as error:
            return CommandAnswer(call.say(f"pairing.{error.kind}"), failed=True)

    return Command("link", handle, immediate=True, once=True)


async def _link(people: People, call: CommandCall, channel: str, user_id: str) -> str:
    if not call.argument:
        linking = await people.link_code(channel, user_id)
        return call.say("pairing.link_code", code=linking.code, minutes=round(LINK_VALID.total_seconds() / 60))
    if call.argument.casefold() == "off":
        await people.unlink(channel, user_id)
        return call.say("pairing.unlinked")
    return call.say("pairing.linked", who=":".join(await people.link(call.argument, channel, user_id)))

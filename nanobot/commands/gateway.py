"""What `/status` and `nanobot status` say of the gateway."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.commands.memory_shell import SHELL
from nanobot.commands.router import Call
from nanobot.i18n import Language, say
from nanobot.messages import InboundMessage, Sender
from nanobot.ports.bus import Backlog, Trouble
from nanobot.ports.gateway import OBSTACLES, ChannelState, GatewayState, LookAtGateway

MOST_GAPS = 5
MOST_TROUBLES = 10

_WORTH_TELLING = 60.0  # seconds that something waits

_TOKENS = ("telegram", "discord")
"""The platforms of which is said where a token comes from."""

SEEN = "seen"
"""Behind `/status`: what went wrong is known, and need not be listed again."""

Acknowledge = Callable[[Collection[str]], Awaitable[None]]


class GatewayLines:
    """The lines of the gateway in `/status`, for owners who talk to the bot alone; others are told none of it."""

    def __init__(self, look: LookAtGateway, acknowledge: Acknowledge) -> None:
        """`acknowledge` takes troubles with these ids off the list."""
        self._look = look
        self._acknowledge = acknowledge

    async def __call__(self, call: Call) -> Sequence[str]:
        if not call.message.authority.scope.is_owner:
            return ()
        state = await self._look(call.message.id)
        if call.argument.casefold() == SEEN:
            await self._acknowledge([trouble.id for trouble in state.backlog.troubles])
            state = await self._look(call.message.id)
        return list(gateway_lines(state, call.language))


def asked_at_shell(language: str) -> Call:
    """`nanobot status`, typed by whoever owns the machine, who reads this language."""
    owner = Authority(Role.OWNER, Scope.owner(), Origin.OWNER)
    message = InboundMessage(id="", address=SHELL, sender=Sender(""), authority=owner, text="/status")
    return Call(message, "", "zh" if language == "zh" else "en")


def gateway_lines(state: GatewayState, language: Language) -> Iterator[str]:
    """All of it, a line each."""
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
    """One channel."""
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
    """What was not read after a pause, the newest first."""
    gaps = list(reversed(channel.gaps))
    for gap in gaps[:MOST_GAPS]:
        key = f"gateway.gap_{gap.why}" if gap.where else "gateway.gap_chats"
        yield "- " + say(key, language, name=channel.name, where=gap.where, count=gap.chats)
    if len(gaps) > MOST_GAPS:
        yield "- " + say("gateway.more_gaps", language, name=channel.name, count=len(gaps) - MOST_GAPS)


def _flow_lines(channel: ChannelState, language: Language) -> Iterator[str]:
    """What does not get through."""
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
    known_by = f"_{channel.name}" if channel.trouble == "token" and channel.name in _TOKENS else ""
    return say(f"trouble.{channel.trouble}{known_by}", language)


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


def _trouble_line(trouble: Trouble, language: Language) -> str:
    where = trouble.address.session_key if trouble.address else trouble.id
    return "- " + say(
        f"gateway.{trouble.kind}", language, at=f"{trouble.at:%Y-%m-%d %H:%M}", where=where, reason=trouble.reason
    )

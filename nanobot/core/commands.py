"""The command registry: finds the slash command in a message, and what a bare yes or no answers."""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal

from nanobot.authority import Authority, Role, Scope
from nanobot.i18n import Language, consent, leaves, picked, say
from nanobot.ids import new_id
from nanobot.messages import Address, Attachment, Button, InboundMessage, OutboundMessage
from nanobot.nlp.wishes import forget_request
from nanobot.ports import Clock

# Commands.


_COMMAND = re.compile(r"[/／]([^\W_][\w-]*)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One use of a command: what was typed behind its name, and in which language the person reads."""

    message: InboundMessage
    argument: str
    language: Language

    def say(self, sentence: str, /, **values: object) -> str:
        """One of the bot's sentences, in the person's language."""
        return say(sentence, self.language, **values)


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """Answer of a command; `failed` if it could not do what it was asked.

    `yes` and `no` are the commands that a bare yes or no stands for if somebody types it right afterwards. `asks`: the
    answer is the model's to this message. `goes_to` is the conversation with which the terminal goes on.
    """

    text: str
    buttons: Sequence[Button] = ()
    failed: bool = False
    yes: str = ""
    no: str = ""
    files: Sequence[Attachment] = ()
    asks: InboundMessage | None = None
    goes_to: str = ""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question that follows on the answer of a turn, as it is sent and as it is answered; `sent` notes that it is."""

    message: OutboundMessage
    answer: CommandAnswer
    sent: Callable[[], Awaitable[None]]


Handler = Callable[[CommandCall], Awaitable[CommandAnswer]]


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command. An immediate one runs at once, also while a turn is running; others wait their turn.

    Immediate ones of a conversation run in the order in which they came, but for those that are not `in_order`:
    they take long, or must not wait for one that does. One that is done `once` is not done again by the process after
    one that ended in it: what it uses up is gone, perhaps. In a group, whose conversation is everybody's, some take
    more than elsewhere: `role_in_group`.

    `asked_before` gives the command that a yes may stand for where a process before this one has asked, "" if it has
    not. `has_done` says whether a message that comes again was dealt with when this process started. `after_turn` gives
    what is asked when a turn, by its id, has answered a message.

    `in_terminal_only`: chat platforms have ways of their own to do that.
    """

    name: str
    handler: Handler
    immediate: bool = False
    aliases: Sequence[str] = ()
    role: Role = Role.MEMBER
    in_order: bool = True
    once: bool = False
    role_in_group: Role = Role.MEMBER
    asked_before: Callable[[InboundMessage], Awaitable[str]] | None = None
    has_done: Callable[[InboundMessage], bool] | None = None
    after_turn: Callable[[str, InboundMessage], Awaitable[FollowUp | None]] | None = None
    in_terminal_only: bool = False

    def may(self, authority: Authority) -> bool:
        """True if somebody may use it where they speak."""
        least = self.role_in_group if authority.scope.is_group else self.role
        return authority.role.rank <= min(self.role.rank, least.rank)

    def help(self, language: Language) -> str:
        """Help text of the command, one line."""
        return say(f"help.{self.name.replace('-', '_')}", language)


class Router:
    """All commands by name. "-" and "_" are the same in a name: Telegram knows only the latter."""

    def __init__(self, commands: Iterable[Command]) -> None:
        self.commands: Sequence[Command] = tuple(commands)
        self._by_name: dict[str, Command] = {}
        for command in self.commands:
            for name in (command.name, *command.aliases):
                if self._by_name.setdefault(_normal(name), command) is not command:
                    raise ValueError(f"two commands are called /{name}")

    def find(self, text: str) -> tuple[Command, str] | None:
        """The command that a text calls, and its argument; None if it calls none that exists."""
        parsed = parse(text)
        if parsed is None or _normal(parsed[0]) not in self._by_name:
            return None
        return self._by_name[_normal(parsed[0])], parsed[1]

    def has_done(self, message: InboundMessage) -> bool:
        """True if a message that comes again was dealt with when this process started."""
        return any(each.has_done and each.has_done(message) for each in self.commands)

    async def asked_before(self, message: InboundMessage) -> str:
        """The command that a yes may mean which answers what a process before this one has asked; "" for all else."""
        is_answer = message.to_bot and consent(message.text) and not (message.files or message.corrects)
        asking = [each.asked_before for each in self.commands if each.asked_before and is_answer]
        return next(filter(None, [await asked(message) for asked in asking]), "")

    async def after_turn(self, turn: str, message: InboundMessage) -> FollowUp | None:
        """Return the question after a turn; None if there is none."""
        asking = [each.after_turn for each in self.commands if each.after_turn]
        return next(filter(None, [await asked(turn, message) for asked in asking]), None)

    def suggestion(self, name: str) -> str | None:
        """The command that was probably meant."""
        close = get_close_matches(_normal(name), self._by_name, n=1)
        return self._by_name[close[0]].name if close else None


def parse(text: str) -> tuple[str, str] | None:
    """Name and argument of what looks like a command; None for other text, a path like /etc/hosts included.

    A name begins with a letter or digit of any script: what no command is called is told so, not passed on. One with
    an @ behind it calls another bot: a channel has taken off our own name.
    """
    match = _COMMAND.fullmatch(text.strip())
    return (match[1], (match[2] or "").strip()) if match else None


def _normal(name: str) -> str:
    return name.casefold().replace("-", "_")


def notice(message: InboundMessage, answer: CommandAnswer) -> OutboundMessage:
    """Return the answer of a command to a message, as it is sent."""
    return OutboundMessage(
        id=new_id(),
        address=message.address,
        text=answer.text,
        kind="question" if answer.buttons else "notice",
        reply_to=message.id,
        buttons=tuple(answer.buttons),
        failed=answer.failed,
        files=tuple(answer.files),
        goes_to=answer.goes_to,
    )


# Edited messages.


_MOST = 1000
"""Messages that are remembered; people edit what they have just said."""

Edit = Literal["none", "same", "command"]
"""none     no edit, or one to be dealt with like any message
same     nothing was changed: platforms tell of edits to what hangs on a message, too
command  of a message that was a command, or that nobody knows any more: what was asked for was done already"""


@dataclass(frozen=True, slots=True)
class _Wording:
    text: int  # no more than a hash of it: nothing is to be found here that was forgotten
    is_command: bool


class Edits:
    """Remembers the newest wording of what was heard last."""

    def __init__(self, calls: Callable[[InboundMessage], bool]) -> None:
        """`calls` says whether a message calls a command that there is."""
        self._calls = calls
        self._heard: dict[str, _Wording] = {}

    def hear(self, message: InboundMessage) -> Edit:
        """Classify a message."""
        first, new = message.corrects or message.id, _Wording(hash(message.text), self._calls(message))
        before = self._heard.pop(first, None)
        self._heard[first] = new
        if len(self._heard) > _MOST:
            del self._heard[next(iter(self._heard))]
        if not message.corrects:
            return "none"
        if before and before.text == new.text:
            return "same"
        return "command" if new.is_command and (before is None or before.is_command) else "none"


# Answers to the question of a command.


_QUESTION_MARKS = ("?", "？")

VALID = 600.0
"""Seconds in which it can be answered; the codes that some questions have are valid for as long."""


@dataclass(frozen=True, slots=True)
class _Offer:
    person: str
    scope: Scope
    answer: CommandAnswer
    made: str  # the id of the question: they sort by time
    until: float  # as Clock.monotonic
    is_newest: bool = True
    was_asked_since: bool = False  # the bot's last words there ask something: a yes or no is one to them

    def is_to(self, message: InboundMessage) -> bool:
        """True if its sender was asked this, and the message is nothing but words to the bot."""
        is_same = (message.sender.id, message.authority.scope) == (self.person, self.scope)
        return is_same and message.to_bot and not (message.files or message.corrects or message.answers)

    def meant(self, typed: str) -> str:
        """The command that typed words stand for; "" if they stand for none."""
        agrees, answer = consent(typed), self.answer
        if leaves(typed):
            return answer.no
        if agrees and answer.yes:
            return answer.yes
        place = picked([button.label for button in answer.buttons], typed)
        return "" if place is None else answer.buttons[place].value

    @property
    def command(self) -> str:
        """The name of the command that has asked."""
        values = (self.answer.yes, self.answer.no, *(button.value for button in self.answer.buttons))
        return next(filter(None, values)).split()[0]


class Offers:
    """The newest question of a command in each conversation.

    Other commands in between leave it open: their answers are no questions. Once the bot has said something else, a
    yes is told how to give it, and a no still counts, unless what was said asks something. It is answered by whoever
    has seen it, and not after VALID.
    """

    def __init__(self, clock: Clock, is_underway: Callable[[str], bool], cover: Callable[[Address], None]) -> None:
        """`is_underway` says whether the message with this id has not been shown yet: that of a Bus. `cover` is told
        where something is asked: what a turn has asked there is no longer the newest.
        """
        self._clock = clock
        self._is_underway = is_underway
        self._cover = cover
        self._open: dict[str, _Offer] = {}

    def made(self, message: InboundMessage, answer: CommandAnswer, question: str) -> None:
        """A command has answered this message with the one of the id `question`.

        What is chosen from now on is chosen from the newest question.
        """
        key, now = message.address.session_key, self._clock.monotonic()
        self._open = {where: offer for where, offer in self._open.items() if offer.until > now}
        if answer.yes or answer.buttons:
            self._cover(message.address)
            self._open[key] = _Offer(message.sender.id, message.authority.scope, answer, question, now + VALID)
        elif (offer := self._open.get(key)) and [offer.command] == message.text.split()[:1]:
            del self._open[key]  # it was answered in full

    def lapse(self, session_key: str, said: str = "") -> None:
        """The bot says something else there, or has begun to: a yes does not stand for the command any more."""
        if offer := self._open.get(session_key):
            asks = any(mark in said for mark in _QUESTION_MARKS)
            self._open[session_key] = replace(offer, is_newest=False, was_asked_since=asks)

    def read(self, message: InboundMessage, newest: str) -> InboundMessage:
        """The message with the command that its words stand for; as it is if it answers nothing.

        `newest` is the id of the newest question that a turn has asked there, "" if none waits.
        """
        offer = self._asked(message, newest)
        command = offer.meant(message.text) if offer else self._refused_late(message, newest)
        if not command:
            return message
        del self._open[message.address.session_key]
        return replace(message, text=command)

    def left(self, message: InboundMessage, newest: str) -> bool:
        """True if it leaves a list as it is, and chooses nothing from it."""
        if not leaves(message.text) or self._asked(message, newest) is None:
            return False
        del self._open[message.address.session_key]
        return True

    def _asked(self, message: InboundMessage, newest: str) -> _Offer | None:
        """Return the open question there, if this is the time to answer it and the sender the one asked."""
        offer = self._shown(message)
        return offer if offer and offer.is_newest and offer.made >= newest else None

    def _shown(self, message: InboundMessage) -> _Offer | None:
        """Return the question that the sender was asked there, has seen, and may still answer."""
        offer = self._open.get(message.address.session_key)
        if offer is None or offer.until <= self._clock.monotonic() or self._is_underway(offer.made):
            return None
        return offer if offer.is_to(message) else None

    def _refused_late(self, message: InboundMessage, newest: str) -> str:
        """The command of a no that answers nothing else: it does no harm, however late."""
        offer = self._shown(message)
        is_meant = offer and offer.answer.yes and not self._answers_other(offer, newest)
        return offer.answer.no if offer and is_meant and leaves(message.text) else ""

    def missed(self, message: InboundMessage, newest: str) -> tuple[str, bool]:
        """The command that a yes may have meant which came too late to stand for it, ("", False) for all else.

        Beside it, whether the yes can be nothing else. If it can, that is asked once.
        """
        offer = self._shown(message)
        if offer is None or not offer.answer.yes or not consent(message.text):
            return "", False
        is_clear = not self._answers_other(offer, newest)
        if not is_clear:
            del self._open[message.address.session_key]
        return offer.answer.yes, is_clear

    def _answers_other(self, offer: _Offer, newest: str) -> bool:
        """True if a yes or no may be one to the bot's last words there, or to a newer question of a turn."""
        return offer.was_asked_since or offer.made < newest


# Plain words that call a command.


def in_command(message: InboundMessage) -> InboundMessage:
    """An order to forget something as the /forget that shows what would go, and asks; anything else as it is.

    Only from those who may: in a group, that are owners. It must be all that the message is.
    """
    role, is_group = message.authority.role, message.authority.scope.is_group
    may = role is Role.OWNER or (role is Role.MEMBER and not is_group)
    has_more = message.files or message.quotes or message.corrects or message.answers or not message.to_bot
    what = forget_request(message.text) if may and not has_more else None
    return replace(message, text=f"/forget {what}") if what else message

"""Finds the slash command in a message."""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from nanobot.authority import Authority, Role
from nanobot.i18n import Language, say
from nanobot.i18n.consent import consent
from nanobot.ids import new_id
from nanobot.messages import Attachment, Button, InboundMessage, OutboundMessage

_COMMAND = re.compile(r"[/／]([^\W_][\w-]*)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Call:
    """One use of a command: what was typed behind its name, and in which language the person reads."""

    message: InboundMessage
    argument: str
    language: Language

    def say(self, sentence: str, /, **values: object) -> str:
        """One of the bot's sentences, in the person's language."""
        return say(sentence, self.language, **values)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command answers; `failed` if it could not do what it was asked.

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
    answer: Answer
    sent: Callable[[], Awaitable[None]]


Handler = Callable[[Call], Awaitable[Answer]]


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
        """Whether somebody may use it where they speak."""
        least = self.role_in_group if authority.scope.is_group else self.role
        return authority.role.rank <= min(self.role.rank, least.rank)

    def help(self, language: Language) -> str:
        """What it does, in one line."""
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
        """Whether a message that comes again was dealt with when this process started."""
        return any(each.has_done and each.has_done(message) for each in self.commands)

    async def asked_before(self, message: InboundMessage) -> str:
        """The command that a yes may mean which answers what a process before this one has asked; "" for all else."""
        is_answer = message.to_bot and consent(message.text) and not (message.files or message.corrects)
        asking = [each.asked_before for each in self.commands if each.asked_before and is_answer]
        return next(filter(None, [await asked(message) for asked in asking]), "")

    async def after_turn(self, turn: str, message: InboundMessage) -> FollowUp | None:
        """What is asked when a turn has answered a message; None if nothing is."""
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


def notice(message: InboundMessage, answer: Answer) -> OutboundMessage:
    """What a command says to a message, as it is sent."""
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

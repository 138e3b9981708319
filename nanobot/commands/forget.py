"""Forgetting, in two steps: what would go is shown, and goes with a yes."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from nanobot.authority import Role
from nanobot.commands.forget_words import Words
from nanobot.commands.router import Answer, Call, Command
from nanobot.errors import VersionError
from nanobot.i18n import Language
from nanobot.ids import new_id
from nanobot.memory.forget.forget import Forget, Preview
from nanobot.memory.forget.reach import PersonScope, Reach, reach_for, reach_of
from nanobot.memory.forget.wish import Wish, WishError, read_wish
from nanobot.messages import Address, Button, OutboundMessage
from nanobot.ports import Clock
from nanobot.ports.erasable import Order

VALID = 600.0
"""Seconds for which what was shown can be said yes to."""

MANY = 50
"""More messages than this go only if their number is typed."""

_LETTERS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
_YES, _NO = "yes", "no"
_COMMAND = "/forget"

Send = Callable[[OutboundMessage], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Asker:
    """Who wants something forgotten: `by` is the person with their scope, "" at the shell of the machine.

    `typed` is what they write in front of their words; `address` is where the receipt goes after a crash.
    """

    by: str
    reach: Reach
    language: Language
    typed: str
    address: Address | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The answer; `token` says yes to what it shows, and `number` must be typed with it if it is not 0."""

    text: str
    token: str = ""
    number: int = 0
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _Waiting:
    preview: Preview
    by: str
    until: float

    @property
    def number(self) -> int:
        size = self.preview.meaning.size
        return size if size > MANY else 0


class Forgetting:
    """Keeps in memory what was shown, until somebody says yes or it is over."""

    def __init__(self, forget: Forget, person_scope: PersonScope, clock: Clock) -> None:
        self._forget = forget
        self._person_scope = person_scope
        self._clock = clock
        self._waiting: dict[str, _Waiting] = {}

    async def show(self, typed: str, asker: Asker) -> Asked:
        """What would go. Raises StoreError."""
        words = Words(asker.language, asker.typed)
        try:
            wish = read_wish(typed)
        except WishError as error:
            return Asked(words.say(error.kind), failed=True)
        if not self._may(wish, asker):
            return Asked(words.say("not_yours"), failed=True)
        try:
            preview = await self._forget.preview(wish, asker.reach)
        except VersionError as error:
            return Asked(words.say("no_history", reason=error), failed=True)
        if preview.is_nothing:
            return Asked(words.nothing(preview), failed=True)
        waiting = _Waiting(preview, asker.by, self._clock.monotonic() + VALID)
        token = self._keep(waiting)
        return Asked(words.preview(preview, token, waiting.number), token, waiting.number)

    async def yes(self, token: str, number: str, asker: Asker) -> Asked:
        """Erase what was shown under this token. Raises StoreError."""
        words = Words(asker.language, asker.typed)
        waiting = self._take(token, asker.by)
        if waiting is None:
            return Asked(words.say("over"), failed=True)
        if waiting.number and number != str(waiting.number):
            self._waiting[token.upper()] = waiting
            return Asked(words.say("number", token=token.upper(), number=waiting.number), failed=True)
        preview = waiting.preview
        order = Order(
            kind=preview.wish.kind,
            value=preview.wish.value,
            scopes=preview.reach.scopes,
            address=asker.address,
            language=asker.language,
        )
        receipt = await self._forget.carry_out(preview, order)
        return Asked(words.receipt(receipt, at_shell=not asker.by), failed=not receipt.is_whole)

    async def resume(self) -> OutboundMessage | None:
        """At the start, before anybody is heard: finish what a process left undone; the receipt, for who asked.

        Raises StoreError.
        """
        receipt = await self._forget.resume()
        if receipt is None or receipt.order.address is None:
            return None
        text = Words(receipt.order.language, _COMMAND).receipt(receipt)
        return OutboundMessage(id=new_id(), address=receipt.order.address, text=text, kind="notice")

    def no(self, token: str, asker: Asker) -> Asked:
        """Leave everything as it is."""
        self._take(token, asker.by)
        return Asked(Words(asker.language, asker.typed).say("kept"))

    def _may(self, wish: Wish, asker: Asker) -> bool:
        reached = reach_for(wish, asker.reach, self._person_scope).scopes
        return reached is None or bool(reached)

    def _keep(self, waiting: _Waiting) -> str:
        now = self._clock.monotonic()
        self._waiting = {token: one for token, one in self._waiting.items() if one.until > now and one.by != waiting.by}
        token = "".join(secrets.choice(_LETTERS) for _ in range(4))
        self._waiting[token] = waiting
        return token

    def _take(self, token: str, by: str) -> _Waiting | None:
        waiting = self._waiting.get(token.upper())
        if waiting is None or waiting.by != by:
            return None
        del self._waiting[token.upper()]
        return waiting if waiting.until > self._clock.monotonic() else None


def forget_command(forgetting: Forgetting, send: Send) -> Command:
    """/forget. `send` says that it takes a moment."""

    async def handle(call: Call) -> Answer:
        authority = call.message.authority
        if authority.scope.is_group and authority.role is not Role.OWNER:
            return Answer(call.say("forget.owner_only"), failed=True)
        asker = Asker(
            by=f"{call.message.address.channel}:{call.message.sender.id} {authority.scope}",
            reach=reach_of(authority),
            language=call.language,
            typed=_COMMAND,
            address=call.message.address,
        )
        match call.argument.split():
            case [word, token, *number] if word.casefold() == _YES and len(number) < 2:
                await send(_notice(call, "working"))
                asked = await forgetting.yes(token, "".join(number), asker)
            case [word, token] if word.casefold() == _NO:
                asked = forgetting.no(token, asker)
            case _:
                asked = await forgetting.show(call.argument, asker)
        return Answer(asked.text, _buttons(call, asked), failed=asked.failed)

    return Command("forget", handle, immediate=True, in_order=False)


def _buttons(call: Call, asked: Asked) -> list[Button]:
    """A yes to much is typed, not pressed."""
    if not asked.token:
        return []
    no = Button(call.say("forget.no"), f"{_COMMAND} {_NO} {asked.token}")
    return [no] if asked.number else [Button(call.say("forget.yes"), f"{_COMMAND} {_YES} {asked.token}"), no]


def _notice(call: Call, sentence: str) -> OutboundMessage:
    text = call.say(f"forget.{sentence}")
    return OutboundMessage(id=new_id(), address=call.message.address, text=text, kind="notice")

"""Forgetting, in two steps: what would go is shown, and goes with a yes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from nanobot.authority import Role
from nanobot.commands.forget_questions import ALL, all_of, answer_in, goes_with, is_before, new_token
from nanobot.commands.forget_words import Words
from nanobot.commands.router import Answer, Call, Command
from nanobot.commands.session import Lines
from nanobot.errors import StoreError, VersionError
from nanobot.i18n import Language
from nanobot.ids import new_id
from nanobot.memory.forget.forget import Forget, Preview
from nanobot.memory.forget.reach import EVERYBODY, Reach, WhoIs, reach_for, reach_of
from nanobot.memory.forget.wish import Wish, WishError, kind_of, read_wish
from nanobot.messages import Address, Button, InboundMessage, OutboundMessage
from nanobot.ports import Clock
from nanobot.ports.erasable import Order, Question, Questions

log = logging.getLogger(__name__)

EVERY_SCOPE = "*"
_TYPED = "nanobot memory forget"

VALID = timedelta(minutes=10)
"""For which what was shown can be said yes to."""

MANY = 50
"""More messages than this go only if their number is typed."""

COMMAND = "/forget"

_YES, _NO = "yes", "no"

Send = Callable[[OutboundMessage], Awaitable[None]]
Begins = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Asker:
    """Who wants something forgotten: `by` is the person with their scope, "" at the shell of the machine.

    `typed` is what they write in front of their words; `address` is where the receipt goes after a crash, `message` the
    id of what they said.
    """

    by: str
    reach: Reach
    language: Language
    typed: str
    address: Address | None = None
    message: str = ""

    @property
    def where(self) -> str:
        """The conversation."""
        return self.address.session_key if self.address else ""


@dataclass(frozen=True, slots=True)
class Asked:
    """The answer; `token` says yes to what it shows, and `number` must be typed with it if it is not 0.

    `is_cut`: there is more to show.
    """

    text: str
    token: str = ""
    number: int = 0
    failed: bool = False
    is_cut: bool = False


class Forgetting:
    """Keeps what was shown until somebody says yes or it is over."""

    def __init__(self, forget: Forget, questions: Questions, who_is: WhoIs, clock: Clock) -> None:
        self._forget = forget
        self._questions = questions
        self.who_is = who_is
        self._clock = clock
        self._taking = asyncio.Lock()
        self._shown: dict[str, Preview] = {}  # by token; what another process has shown is worked out anew
        self._asked: set[str] = set()  # tokens that people know of from this process
        self._resumed: set[str] = set()  # ids of messages that said yes to what another process has begun

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
        return _asked(await self._ask(preview, asker), preview, asker, whole=not asker.by)

    async def all(self, token: str, asker: Asker) -> Asked | None:
        """All that would go, of what was shown under this token; None if nothing was. Raises StoreError."""
        async with self._taking:
            question = await self._find(token, asker)
        if question is None:
            return None
        wish = Wish(kind_of(question.kind), question.value)
        try:
            preview = self._shown.get(question.token) or await self._forget.preview(wish, Reach(question.scopes))
        except VersionError as error:
            return Asked(Words(asker.language, asker.typed).say("no_history", reason=error), failed=True)
        return _asked(question, preview, asker, whole=True)

    async def yes(self, token: str, number: str, asker: Asker, begins: Begins | None = None) -> Asked:
        """Erase what was shown under this token, or what alone waits there if it is "". Raises StoreError.

        `begins` is told before it does.
        """
        words = Words(asker.language, asker.typed)
        async with self._taking:
            question = await self._find(token, asker)
            if question is None:
                return Asked(words.say("over" if token else "nothing_open"), failed=True)
            if question.number and number != str(question.number):
                told = words.say("number", token=question.token, number=question.number)
                return Asked(told, question.token, question.number, failed=True)
            await self._close(question, is_agreed=True)
        if begins is not None:
            await begins()
        wish = Wish(kind_of(question.kind), question.value)
        order = Order(
            kind=wish.kind,
            value=wish.value,
            scopes=question.scopes,
            address=asker.address,
            language=asker.language,
            message=asker.message,
        )
        try:
            shown = self._shown.pop(question.token, None)
            preview = shown or await self._forget.preview(wish, Reach(question.scopes))
        except VersionError as error:
            return Asked(words.say("no_history", reason=error), failed=True)
        receipt = await self._forget.carry_out(preview, order)
        return Asked(words.receipt(receipt, at_shell=not asker.by), failed=not receipt.is_whole)

    async def no(self, token: str, asker: Asker) -> Asked:
        """Leave everything as it is."""
        words = Words(asker.language, asker.typed)
        async with self._taking:
            question = await self._find(token, asker)
            if question is not None:
                await self._close(question)
        if question is None and not token:
            return Asked(words.say("nothing_open"), failed=True)
        return Asked(words.say("kept"))

    async def resume(self, *, again: bool = False) -> OutboundMessage | None:
        """Finish what a process left undone; the receipt, for who asked, `again` only when it is done at last.

        Raises StoreError.
        """
        await self._open()
        receipt = await self._forget.resume()
        if receipt is not None:
            self._resumed.add(receipt.order.message)
        if receipt is None or receipt.order.address is None or (again and receipt.is_unfinished):
            return None
        text = Words(receipt.order.language, COMMAND).receipt(receipt)
        return OutboundMessage(id=new_id(), address=receipt.order.address, text=text, kind="notice")

    async def unfinished(self) -> bool:
        """Whether something that somebody said yes to is not erased everywhere yet. Raises StoreError."""
        return await self._forget.is_unfinished()

    async def asked_before(self, by: str, where: str) -> str:
        """The token of what a process before this one has shown to somebody there, and may still do; each once."""
        try:
            every = await self._open()
        except StoreError as error:
            log.warning("%s: %s", where, error)
            return ""
        token = next((one.token for one in every if (one.by, one.where) == (by, where)), "")
        is_new = token not in self._asked
        self._asked.add(token)
        return token if is_new else ""

    def has_resumed(self, message: str) -> bool:
        """Whether this is the id of a message whose yes was carried out at the start, with its receipt."""
        return bool(message) and message in self._resumed

    def _may(self, wish: Wish, asker: Asker) -> bool:
        reached = reach_for(wish, asker.reach, self.who_is).scopes
        return reached is None or bool(reached)

    async def _ask(self, preview: Preview, asker: Asker) -> Question:
        """Of the questions to one person in one place, the newest counts."""
        size = preview.meaning.size
        question = Question(
            token=new_token(),
            kind=preview.wish.kind,
            value=preview.wish.value,
            scopes=preview.reach.scopes,
            by=asker.by,
            where=asker.where,
            until=(self._clock.now() + VALID).isoformat(),
            number=size if size > MANY else 0,
        )
        async with self._taking:
            others = [one for one in await self._open() if (one.by, one.where) != (question.by, question.where)]
            await self._questions.write([*others, question])
            still = {one.token for one in others}
            self._shown = {token: shown for token, shown in self._shown.items() if token in still}
            self._shown[question.token] = preview
            self._asked.add(question.token)
        return question

    async def _find(self, token: str, asker: Asker) -> Question | None:
        """The question that this answers: the one with the token, or the only one that waits there."""
        every = [one for one in await self._open() if one.by == asker.by]
        if token:
            return next((one for one in every if one.token == token.upper()), None)
        here = [one for one in every if one.where == asker.where]
        return here[0] if len(here) == 1 else None

    async def _close(self, question: Question, *, is_agreed: bool = False) -> None:
        """It is answered. If what it is about goes, so does what others asked about that."""
        others = [one for one in await self._open() if one != question]
        await self._questions.write([one for one in others if not (is_agreed and goes_with(one, question))])

    async def _open(self) -> Sequence[Question]:
        """The questions that are not over. What is over is nobody's to read any more."""
        now = self._clock.now()
        every = await self._questions.read()
        still = [one for one in every if is_before(now, one.until)]
        if len(still) != len(every):
            await self._questions.write(still)
        return still


def _asked(question: Question, preview: Preview, asker: Asker, *, whole: bool) -> Asked:
    words = Words(asker.language, asker.typed)
    asking = words.ask(question.token, question.number) if asker.by else []
    is_cut = not whole and words.is_cut(preview)
    more = [words.say("ask_all", token=question.token)] if is_cut else []
    text = "\n".join([*words.preview(preview, whole=whole), *more, *asking])
    return Asked(text, question.token, question.number, is_cut=is_cut)


def forget_command(forgetting: Forgetting, send: Send) -> Command:
    """/forget. `send` says that it takes a moment."""

    async def handle(call: Call) -> Answer:
        authority = call.message.authority
        if authority.scope.is_group and authority.role is not Role.OWNER:
            return Answer(call.say("forget.owner_only"), failed=True)
        who = call.message.address.channel, call.message.sender.id
        reach = reach_of(authority, forgetting.who_is(*who))
        asker = Asker(_by(call.message), reach, call.language, COMMAND, call.message.address, call.message.id)
        agrees, token, number = answer_in(call.argument)
        if (wanted := all_of(call.argument)) and (every := await forgetting.all(wanted, asker)):
            asked = every
        elif agrees is None:
            asked = await forgetting.show(call.argument, asker)
        elif agrees:
            asked = await forgetting.yes(token, number, asker, partial(send, _notice(call, "working")))
        else:
            asked = await forgetting.no(token, asker)
        return _told(call, asked)

    async def asked_before(message: InboundMessage) -> str:
        token = await forgetting.asked_before(_by(message), message.address.session_key)
        return f"{COMMAND} {_YES} {token}" if token else ""

    return Command(
        "forget",
        handle,
        immediate=True,
        in_order=False,
        asked_before=asked_before,
        has_done=lambda message: forgetting.has_resumed(message.id),
    )


def _by(message: InboundMessage) -> str:
    return f"{message.address.channel}:{message.sender.id} {message.authority.scope}"


def forget_lines(forgetting: Forgetting) -> Lines:
    """For /status: whether something is not erased everywhere yet. Owners can do something about it."""

    async def lines(call: Call) -> Sequence[str]:
        if not call.message.authority.scope.is_owner:
            return []
        try:
            is_unfinished = await forgetting.unfinished()
        except StoreError as error:  # what cannot be read is not known to be done
            log.warning("%s: %s", call.message.address.session_key, error)
            is_unfinished = True
        return [call.say("forget.unfinished_status")] if is_unfinished else []

    return lines


def _told(call: Call, asked: Asked) -> Answer:
    """With what can be pressed, or typed in a word. A yes to much is typed with its number, not pressed."""
    if not asked.token:
        return Answer(asked.text, failed=asked.failed)
    yes, no, every = (f"{COMMAND} {word} {asked.token}" for word in (_YES, _NO, ALL))
    buttons = [] if asked.number else [Button(call.say("forget.yes"), yes)]
    buttons += [Button(call.say("forget.all"), every)] if asked.is_cut else []
    buttons.append(Button(call.say("forget.no"), no))
    return Answer(asked.text, buttons, failed=asked.failed, yes=yes, no=no)


def _notice(call: Call, sentence: str) -> OutboundMessage:
    text = call.say(f"forget.{sentence}")
    return OutboundMessage(id=new_id(), address=call.message.address, text=text, kind="notice")


async def forget_at_shell(forgetting: Forgetting, args: Sequence[str]) -> Asked:
    """`nanobot memory forget`: whoever is at the machine reaches everybody's memory.

    `args`: language, scope or `*` for all, then show WORDS | yes TOKEN NUMBER | no TOKEN. Raises StoreError.
    """
    language, scope, action, *words = args
    reach = EVERYBODY if scope == EVERY_SCOPE else Reach(frozenset({scope}))
    asker = Asker(by="", reach=reach, language="zh" if language == "zh" else "en", typed=_TYPED)
    if action == "yes":
        return await forgetting.yes(words[0], words[1], asker)
    if action == "no":
        return await forgetting.no(words[0], asker)
    return await forgetting.show(" ".join(words), asker)

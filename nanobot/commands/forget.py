"""Forgetting, in two steps: what would go is shown, and goes with a yes."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from nanobot.authority import Role
from nanobot.commands.session import Lines
from nanobot.core.commands import Command, CommandAnswer, CommandCall
from nanobot.errors import StoreError, VersionError
from nanobot.forgetting.request import (
    EVERYBODY,
    ForgetRequest,
    Reach,
    WhoIs,
    WishError,
    kind_of,
    reach_for,
    reach_of,
    read_wish,
)
from nanobot.forgetting.run import DAMAGED, LOOKING, NO_GIT, Erasure, ErasureReceipt, Preview
from nanobot.i18n import Language, consent, known_language, say
from nanobot.ids import TOKEN, new_id, new_token
from nanobot.messages import Address, Button, InboundMessage, OutboundMessage
from nanobot.nlp.matcher import TextMatcher, terms_in
from nanobot.ports import Clock, ErasedPiece, ErasurePlan
from nanobot.ports.erasable import ErasureQuestion, ErasureQuestions, Order
from nanobot.text import parse_time

# Questions: their tokens, and answers to them.


_ANSWER = re.compile(rf"(?:{TOKEN})?\s*(?:\d+)?", re.IGNORECASE | re.ASCII)

ALL = "all"
"""The word before a token that asks for all of what was shown in part."""


def answer_in(argument: str) -> tuple[bool | None, str, str]:
    """True if it says yes or no (None: it does neither), to which token, with which number; "" for what is not said."""
    word, *rest = argument.split() or [""]
    if (agrees := consent(word)) is None or not _ANSWER.fullmatch(" ".join(rest)):
        return None, "", ""
    token = next((part for part in rest if not part.isdecimal()), "")
    return agrees, token, next((part for part in rest if part.isdecimal()), "")


def all_of(argument: str) -> str:
    """The token whose question is to be shown in full, "" if the words ask for nothing like that."""
    word, *rest = argument.split() or [""]
    token = rest[0] if word.casefold() == ALL and len(rest) == 1 else ""
    return token if _ANSWER.fullmatch(token) and not token.isdecimal() else ""


def is_before(now: datetime, until: str) -> bool:
    """A time that nobody can read is over."""
    moment = parse_time(until)
    return moment is not None and now < moment


def goes_with(other: ErasureQuestion, question: ErasureQuestion) -> bool:
    """True if it is about what goes with a yes to the second."""
    match question.kind:
        case "person":
            return other.by.startswith(f"{question.value} ") or other.value == question.value
        case "session":
            return question.value in (other.where, other.value)
    return TextMatcher(terms_in(question.value)).name(other.value)


# Sentences: the preview and the receipt.


MOST_SHOWN = 4
MOST_OWN = 30
MOST_LEFT = 5


class Words:
    """Sentences of a preview and a receipt in one language; `typed` is what the person writes before their words."""

    def __init__(self, language: Language, typed: str) -> None:
        self._language: Language = language
        self._typed = typed

    def say(self, sentence: str, /, **values: object) -> str:
        return say(f"forget.{sentence}", self._language, forget=self._typed, **values)

    def nothing(self, preview: Preview) -> str:
        """Sentence that nothing was found to forget."""
        return "\n".join([self.say("nothing_found"), *self._left(preview.left, whole=True)])

    def preview(self, preview: Preview, *, whole: bool) -> Sequence[str]:
        """Return the preview, line by line: how much in each place, and what; of much, the first, unless `whole`."""
        lines = [self.say("preview"), *self._linked(preview.meaning.meant)]
        for place, count in preview.counts.items():
            if count:
                lines += [self._place(place, count), *self._shown(preview.shown[place], count, whole=whole)]
        return [*lines, *self._left(preview.left, whole=whole)]

    def ask(self, token: str, number: int) -> Sequence[str]:
        """Return the sentence that tells how to say yes."""
        return ["", self.say("ask_number" if number else "ask", token=token, number=number)]

    def receipt(self, receipt: ErasureReceipt, *, at_shell: bool = False) -> str:
        """Return the receipt: what is gone, what stays, and what nobody here can reach."""
        remaining = ", ".join(self.say(f"place_{place}") for place in receipt.remaining)
        return "\n".join(
            [
                self.say("unfinished" if receipt.is_unfinished else "done"),
                *(self._place(place, count) for place, count in receipt.counts.items() if count),
                *(self._failed(place, why) for place, why in receipt.failed.items()),
                *([self.say("leftovers", files=_first(receipt.leftovers))] if receipt.leftovers else []),
                *([self.say("remaining", places=remaining)] if remaining else []),
                *self._left(receipt.left),
                "",
                self.say("beyond"),
                *([self.say("beyond_shell")] if at_shell else []),
            ]
        )

    def _place(self, place: str, count: int) -> str:
        return f"- {self.say('counted', place=self.say(f'place_{place}'), count=f'{count:,}')}"

    def is_cut(self, preview: Preview) -> bool:
        """True if the preview leaves out something that could be shown."""
        return len(preview.left) > MOST_LEFT or any(
            len(_at_first(each)) < len(each) for place, each in preview.shown.items() if preview.counts.get(place)
        )

    def _shown(self, pieces: Sequence[ErasedPiece], count: int, *, whole: bool) -> Iterator[str]:
        """Pieces with their places: all of people's own files, the first ones of others.

        `count` is how many there are: of some a store shows nothing by themselves.
        """
        shown = pieces if whole else _at_first(pieces)
        for piece in shown:
            where = f"{piece.where}{self.say('past') if piece.is_past else ''}"
            yield f"  - {self.say('stands', where=where, text=piece.text) if piece.text else where}"
        many = max(count, len(pieces)) if any(piece.text for piece in pieces) else len(pieces)
        if many > len(shown):
            yield f"  - {self.say('more_lines', count=many - len(shown))}"

    def _linked(self, meant: ErasurePlan) -> Iterator[str]:
        """Ids and folders from which all goes of somebody who is linked."""
        if len(meant.people) > 1:
            folders = sorted(note for note in meant.notes if note.endswith("/"))
            yield self.say("linked", who=", ".join(sorted(meant.people)), folders=", ".join(folders))

    def _left(self, places: Sequence[str], *, whole: bool = False) -> Iterator[str]:
        if places:
            yield self.say("left", places=", ".join(places) if whole else _first(places))

    def _failed(self, place: str, why: str) -> str:
        if why == NO_GIT:
            return self.say("no_git")
        if why.startswith(DAMAGED):
            return self.say("damaged", why=why.removeprefix(DAMAGED))
        if place == LOOKING:
            return self.say("not_looked", why=why)
        return self.say("failed", place=self.say(f"place_{place}"), why=why)


def _first(names: Sequence[str]) -> str:
    """The first of them, and how many there are beside them."""
    more = len(names) - MOST_LEFT
    return ", ".join(names[:MOST_LEFT]) + (f", … (+{more})" if more > 0 else "")


def _at_first(pieces: Sequence[ErasedPiece]) -> Sequence[ErasedPiece]:
    own, others = ([piece for piece in pieces if piece.is_own is is_own] for is_own in (True, False))
    return [*own[:MOST_OWN], *others[:MOST_SHOWN]]


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
class ForgetRequester:
    """Requester of an erasure: `by` is the person with their scope, "" at the shell of the machine.

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
class ForgetAnswer:
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

    def __init__(self, forget: Erasure, questions: ErasureQuestions, who_is: WhoIs, clock: Clock) -> None:
        self._forget = forget
        self._questions = questions
        self.who_is = who_is
        self._clock = clock
        self._taking = asyncio.Lock()
        self._shown: dict[str, Preview] = {}  # by token; what another process has shown is worked out anew
        self._asked: set[str] = set()  # tokens that people know of from this process
        self._resumed: set[str] = set()  # ids of messages that said yes to what another process has begun

    async def show(self, typed: str, asker: ForgetRequester) -> ForgetAnswer:
        """Return the preview of an erasure. Raises StoreError."""
        words = Words(asker.language, asker.typed)
        try:
            wish = read_wish(typed)
        except WishError as error:
            return ForgetAnswer(words.say(error.kind), failed=True)
        if not self._may(wish, asker):
            return ForgetAnswer(words.say("not_yours"), failed=True)
        try:
            preview = await self._forget.preview(wish, asker.reach)
        except VersionError as error:
            return ForgetAnswer(words.say("no_history", reason=error), failed=True)
        if preview.is_nothing:
            return ForgetAnswer(words.nothing(preview), failed=True)
        return _asked(await self._ask(preview, asker), preview, asker, whole=not asker.by)

    async def all(self, token: str, asker: ForgetRequester) -> ForgetAnswer | None:
        """Full preview of the question with this token; None if there is no such question. Raises StoreError."""
        async with self._taking:
            question = await self._find(token, asker)
        if question is None:
            return None
        wish = ForgetRequest(kind_of(question.kind), question.value)
        try:
            preview = self._shown.get(question.token) or await self._forget.preview(wish, Reach(question.scopes))
        except VersionError as error:
            return ForgetAnswer(Words(asker.language, asker.typed).say("no_history", reason=error), failed=True)
        return _asked(question, preview, asker, whole=True)

    async def yes(self, token: str, number: str, asker: ForgetRequester, begins: Begins | None = None) -> ForgetAnswer:
        """Erase what was shown under this token, or what alone waits there if it is "". Raises StoreError.

        `begins` is told before it does.
        """
        words = Words(asker.language, asker.typed)
        async with self._taking:
            question = await self._find(token, asker)
            if question is None:
                return ForgetAnswer(words.say("over" if token else "nothing_open"), failed=True)
            if question.number and number != str(question.number):
                told = words.say("number", token=question.token, number=question.number)
                return ForgetAnswer(told, question.token, question.number, failed=True)
            await self._close(question, is_agreed=True)
        if begins is not None:
            await begins()
        wish = ForgetRequest(kind_of(question.kind), question.value)
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
            return ForgetAnswer(words.say("no_history", reason=error), failed=True)
        receipt = await self._forget.carry_out(preview, order)
        return ForgetAnswer(words.receipt(receipt, at_shell=not asker.by), failed=not receipt.is_whole)

    async def no(self, token: str, asker: ForgetRequester) -> ForgetAnswer:
        """Leave everything as it is."""
        words = Words(asker.language, asker.typed)
        async with self._taking:
            question = await self._find(token, asker)
            if question is not None:
                await self._close(question)
        if question is None and not token:
            return ForgetAnswer(words.say("nothing_open"), failed=True)
        return ForgetAnswer(words.say("kept"))

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
        """True if something that somebody said yes to is not erased everywhere yet. Raises StoreError."""
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
        """True if this is the id of a message whose yes was carried out at the start, with its receipt."""
        return bool(message) and message in self._resumed

    def _may(self, wish: ForgetRequest, asker: ForgetRequester) -> bool:
        reached = reach_for(wish, asker.reach, self.who_is).scopes
        return reached is None or bool(reached)

    async def _ask(self, preview: Preview, asker: ForgetRequester) -> ErasureQuestion:
        """Keep a question; it takes the place of an earlier one to the same person in the same place."""
        size = preview.meaning.size
        question = ErasureQuestion(
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

    async def _find(self, token: str, asker: ForgetRequester) -> ErasureQuestion | None:
        """The question that this answers: the one with the token, or the only one that waits there."""
        every = [one for one in await self._open() if one.by == asker.by]
        if token:
            return next((one for one in every if one.token == token.upper()), None)
        here = [one for one in every if one.where == asker.where]
        return here[0] if len(here) == 1 else None

    async def _close(self, question: ErasureQuestion, *, is_agreed: bool = False) -> None:
        """Close a question. If its subject is erased, the questions of others about it close, too."""
        others = [one for one in await self._open() if one != question]
        await self._questions.write([one for one in others if not (is_agreed and goes_with(one, question))])

    async def _open(self) -> Sequence[ErasureQuestion]:
        """The questions that are not over. What is over is nobody's to read any more."""
        now = self._clock.now()
        every = await self._questions.read()
        still = [one for one in every if is_before(now, one.until)]
        if len(still) != len(every):
            await self._questions.write(still)
        return still


def _asked(question: ErasureQuestion, preview: Preview, asker: ForgetRequester, *, whole: bool) -> ForgetAnswer:
    words = Words(asker.language, asker.typed)
    asking = words.ask(question.token, question.number) if asker.by else []
    is_cut = not whole and words.is_cut(preview)
    more = [words.say("ask_all", token=question.token)] if is_cut else []
    text = "\n".join([*words.preview(preview, whole=whole), *more, *asking])
    return ForgetAnswer(text, question.token, question.number, is_cut=is_cut)


def forget_command(forgetting: Forgetting, send: Send) -> Command:
    """/forget. `send` says that it takes a moment."""

    async def handle(call: CommandCall) -> CommandAnswer:
        authority = call.message.authority
        if authority.scope.is_group and authority.role is not Role.OWNER:
            return CommandAnswer(call.say("forget.owner_only"), failed=True)
        who = call.message.address.channel, call.message.sender.id
        reach = reach_of(authority, forgetting.who_is(*who))
        asker = ForgetRequester(_by(call.message), reach, call.language, COMMAND, call.message.address, call.message.id)
        text = call.say("forget.working")
        working = OutboundMessage(id=new_id(), address=call.message.address, text=text, kind="notice")
        agrees, token, number = answer_in(call.argument)
        if (wanted := all_of(call.argument)) and (every := await forgetting.all(wanted, asker)):
            asked = every
        elif agrees is None:
            asked = await forgetting.show(call.argument, asker)
        elif agrees:
            asked = await forgetting.yes(token, number, asker, partial(send, working))
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
    """Line of /status for owners, as long as something is not erased everywhere."""

    async def lines(call: CommandCall) -> Sequence[str]:
        if not call.message.authority.scope.is_owner:
            return []
        try:
            is_unfinished = await forgetting.unfinished()
        except StoreError as error:  # what cannot be read is not known to be done
            log.warning("%s: %s", call.message.address.session_key, error)
            is_unfinished = True
        return [call.say("forget.unfinished_status")] if is_unfinished else []

    return lines


def _told(call: CommandCall, asked: ForgetAnswer) -> CommandAnswer:
    """Answer with buttons, and a yes and a no to type. A yes to much is typed with its number, not pressed."""
    if not asked.token:
        return CommandAnswer(asked.text, failed=asked.failed)
    yes, no, every = (f"{COMMAND} {word} {asked.token}" for word in (_YES, _NO, ALL))
    buttons = [] if asked.number else [Button(call.say("forget.yes"), yes)]
    buttons += [Button(call.say("forget.all"), every)] if asked.is_cut else []
    buttons.append(Button(call.say("forget.no"), no))
    return CommandAnswer(asked.text, buttons, failed=asked.failed, yes=yes, no=no)


async def forget_at_shell(forgetting: Forgetting, args: Sequence[str]) -> ForgetAnswer:
    """`nanobot memory forget`: whoever is at the machine reaches everybody's memory.

    `args`: language, scope or `*` for all, then show WORDS | yes TOKEN NUMBER | no TOKEN. Raises StoreError.
    """
    language, scope, action, *words = args
    reach = EVERYBODY if scope == EVERY_SCOPE else Reach(frozenset({scope}))
    asker = ForgetRequester(by="", reach=reach, language=known_language(language), typed=_TYPED)
    if action == "yes":
        return await forgetting.yes(words[0], words[1], asker)
    if action == "no":
        return await forgetting.no(words[0], asker)
    return await forgetting.show(" ".join(words), asker)

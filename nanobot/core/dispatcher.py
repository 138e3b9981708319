"""The dispatcher: a message from the bus becomes a command, an answer to a question, or a turn in its lane."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TypeVar
from weakref import WeakValueDictionary

from nanobot.aio import shielded
from nanobot.authority import Role
from nanobot.core.agent import Agent
from nanobot.core.approvals import ApprovalQuestions
from nanobot.core.commands import (
    Command,
    CommandAnswer,
    CommandCall,
    Edits,
    FollowUp,
    Offers,
    Router,
    in_command,
    notice,
    parse,
)
from nanobot.core.lanes import Cut, Lanes
from nanobot.core.turn import Turn
from nanobot.errors import NanobotError, StoreError
from nanobot.i18n import Language, is_told_by_script, language_of, say
from nanobot.i18n.languages import Languages
from nanobot.messages import InboundMessage, OutboundMessage, Progress
from nanobot.people.people import TERMINAL
from nanobot.ports import Bus, Clock
from nanobot.trace import log_context

# Bus that waits for a full disk.


T = TypeVar("T")

Standing = Callable[[InboundMessage], InboundMessage | None]
"""A message with the authority that its sender has by now; None if they may not talk any more."""

PAUSE = 10.0
"""Seconds after which is tried again what could not be written."""

log = logging.getLogger(__name__)


class PatientBus:
    """A Bus whose messages are received, begun and finished as soon as the disk allows.

    `publish` and `send` still raise StoreError: whoever calls them knows better what to do.
    """

    def __init__(self, bus: Bus, clock: Clock, standing: Standing = lambda message: message) -> None:
        """Without `standing`, whoever could write is served, however long it waited."""
        self._bus = bus
        self.as_of_now = standing
        self.clock = clock
        self._troubles: dict[object, str] = {}  # of each that waits

    @property
    def trouble(self) -> str:
        """Reason of waiting, in a sentence; "" if there is none."""
        return next(reversed(self._troubles.values()), "")

    @property
    def is_durable(self) -> bool:
        return self._bus.is_durable

    async def publish(self, message: InboundMessage) -> None:
        await self._bus.publish(message)

    async def receive(self) -> InboundMessage:
        return await self.patiently(self._bus.receive)

    async def begin(self, message: InboundMessage) -> int:
        return await self.patiently(lambda: self._bus.begin(message))

    async def begin_if_possible(self, message: InboundMessage) -> int:
        """The same for what must not wait for the disk; 0 as long as that is full."""
        with suppress(StoreError):
            return await self._bus.begin(message)
        return 0

    async def rest(self, session: str) -> None:
        """Note that a turn waits; a failure costs at most a place of its own for a turn."""
        with suppress(StoreError):
            await self._bus.rest(session)

    async def resume(self, session: str) -> None:
        with suppress(StoreError):
            await self._bus.resume(session)

    def is_suspect(self, message: InboundMessage) -> bool:
        return self._bus.is_suspect(message)

    async def finish(self, done: Sequence[InboundMessage], answer: OutboundMessage | None) -> None:
        await self.patiently(lambda: self._bus.finish(done, answer))

    async def send(self, message: OutboundMessage) -> None:
        await self._bus.send(message)

    def is_underway(self, message_id: str) -> bool:
        return self._bus.is_underway(message_id)

    def show(self, progress: Progress) -> None:
        self._bus.show(progress)

    async def patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do it, as often as it takes, or until cancelled. A work that raises StoreError has done nothing."""
        waiter = object()
        try:
            while True:
                try:
                    return await work()
                except StoreError as error:
                    log.error("%s; tried again in %.0f s", str(error).rstrip("."), PAUSE)  # noqa: TRY400 - it says all
                    self._troubles[waiter] = str(error)
                    await self.clock.sleep(PAUSE)
        finally:
            self._troubles.pop(waiter, None)


# Dispatcher.


@dataclass(slots=True)
class _Work:
    """Messages that are dealt with together, the turn in which that is done, or the answer of a command."""

    messages: list[InboundMessage]
    turn: Turn | None = None
    answer: CommandAnswer | None = None

    def show_ended(self) -> None:
        if self.turn:
            self.turn.show_ended()


class Dispatcher:
    """Runs until cancelled."""

    def __init__(
        self,
        bus: PatientBus,
        lanes: Lanes,
        agent: Agent,
        router: Router,
        questions: ApprovalQuestions,
        languages: Languages,
        *,
        steer: bool,
    ) -> None:
        """`steer` says whether a message that arrives during a turn of the same person joins it."""
        self._bus = bus
        self._lanes = lanes
        self._agent = agent
        self._router = router
        self._questions = questions
        self._languages = languages
        self._steer = steer
        self._offers = Offers(bus.clock, bus.is_underway, questions.cover)
        self._edits = Edits(
            lambda message: self._command(message) is not None and router.find(message.text) is not None
        )
        self._in_hand: InboundMessage | None = None  # received, and nobody has it yet
        self._put_off: set[str] = set()  # ids of messages whose turns are to begin again
        self._in_order: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(self) -> None:
        try:
            await self._run()
        finally:
            await shielded(self._keep_waiting())

    @property
    def trouble(self) -> str:
        """Reason why messages wait for the disk, in a sentence; "" if they do not."""
        return self._bus.trouble

    async def drain(self) -> None:
        """Begin nothing more; returns when what runs has ended."""
        self._lanes.close()
        await self._lanes.idle()

    async def _keep_waiting(self) -> None:
        """Keep the unanswered messages, but no commands. A durable bus gives them again."""
        if self._bus.is_durable:
            return
        left: dict[str, list[InboundMessage]] = {}
        for message in (*chain(*self._lanes.left()), *[each async for each in self._not_routed()]):
            if self._command(message) is None:
                left.setdefault(message.address.session_key, []).append(message)
        for said in left.values():
            await self._agent.keep(said, again=True)  # one that was put off stands there

    async def _not_routed(self) -> AsyncIterator[InboundMessage]:
        """Return the messages that came a moment before the end and are in no lane yet."""
        if self._in_hand:
            yield self._in_hand
        with suppress(TimeoutError):
            while True:
                async with asyncio.timeout(0):
                    message = await self._bus.receive()
                yield message

    async def _run(self) -> None:
        async with self._lanes.open(self._handle, alone=self._bus.is_suspect), asyncio.TaskGroup() as immediate:
            while True:
                message = self._in_hand = await self._bus.receive()
                try:
                    await self._route(message, immediate)
                except Exception as error:  # noqa: BLE001  the boundary of a message
                    await self._bus.finish([message], self._failure(message, error))
                self._in_hand = None

    async def _route(self, heard: InboundMessage, immediate: asyncio.TaskGroup) -> None:
        """Hand a message on to whoever deals with it. What goes wrong here does so before anybody has it."""
        message, edit = self._bus.as_of_now(heard), self._edits.hear(heard)
        if message is None or edit == "same" or self._router.has_done(message):
            await self._bus.finish([heard], None)
            return
        if edit == "command" and not await self._replace_waiting(message):
            await self._bus.finish([message], self._notice(message, "command.edited"))
            return
        newest = self._questions.newest(message)
        message = in_command(self._offers.read(message, newest))
        if message.answers is not None and self._questions.answer(message):
            await self._bus.finish([message], None)
        elif (command := self._command(message)) and command[0].immediate:
            immediate.create_task(self._at_once(message, command[0]))
        elif message.answers is not None:
            over = self._questions.over(message, self._language(message))
            await self._bus.finish([message], notice(message, CommandAnswer(over, failed=True)))
        elif self._offers.left(message, newest):
            await self._bus.finish([message], self._notice(message, "command.left"))
        elif command is None and (typed := self._questions.answer_typed(message)):
            await self._bus.finish([message], typed.notice)
        else:
            await self._queue(message, newest, command[0].name if command else "")

    async def _queue(self, message: InboundMessage, newest: str, command: str) -> None:
        if not await self._remind(message, newest):
            await self._hint(message)
            await self._enqueue(message, command)

    async def _enqueue(self, message: InboundMessage, command: str) -> None:
        """Let a message wait for its turn. Whoever sent a command is told; the same one twice in a row waits once."""
        waits = self._notice(message, "command.waits", command=command)
        if command and self._lanes.ends_with(message):
            await self._bus.finish([message], waits)
            return
        if command and self._lanes.is_busy(message.address.session_key):
            await self._mention(replace(waits, id=f"{message.id}:waits", reply_to=None))
        elif not command and not self._bus.is_durable and self._lanes.must_wait(message.address.session_key):
            try:
                await self._agent.await_turn(message)
            except StoreError as error:
                log.warning("%s: what waits there would be lost with this process: %s", message.address, error)
        self._lanes.put(message)

    async def _replace_waiting(self, message: InboundMessage) -> bool:
        """True if the command that was edited still waited: then its new wording waits instead."""
        key, before = message.address.session_key, message.corrects
        old = self._lanes.take(key, lambda waiting: next((each for each in waiting if each.id == before), None))
        if old:
            await self._bus.finish([old], None)
        return old is not None

    async def _hint(self, message: InboundMessage) -> None:
        """Tell whoever does not answer a question that the turn waits for that, once."""
        if self._questions.hint(message):
            notice = self._notice(message, "tools.hint")
            await self._mention(replace(notice, id=f"{message.id}:hint"))

    async def _remind(self, message: InboundMessage, newest: str) -> bool:
        """Tell how to give a yes that came too late for a command's question; True if it can have meant nothing else.

        Then no model reads it, who might take it for something that is done.
        """
        missed, is_clear = self._offers.missed(message, newest)
        if missed := missed or await self._router.asked_before(message):
            notice = self._notice(message, "command.missed", command=missed)
            if is_clear:
                await self._bus.finish([message], notice)
                return True
            await self._mention(replace(notice, id=f"{message.id}:missed", reply_to=None))
        return False

    async def _mention(self, notice: OutboundMessage) -> None:
        """Say something in passing; while the disk is full it goes unsaid, and the message waits all the same."""
        with suppress(StoreError):
            await self._bus.send(notice)

    async def _at_once(self, message: InboundMessage, command: Command) -> None:
        """Run immediate commands of a conversation in order: what /remember saves, the next /memory shows."""
        if self._bus.is_suspect(message):
            async with self._lanes.alone():
                await self._handle(message)
            return
        if not command.in_order:
            await self._handle(message)
            return
        async with self._in_order.setdefault(message.address.session_key, asyncio.Lock()):
            await self._handle(message)

    async def _handle(self, message: InboundMessage) -> None:
        """Deal with a message whose turn has come. Whatever goes wrong, the person hears of it."""
        with log_context(message.id):
            work = _Work([message])
            try:
                answer = await self._deal_with(message, work)
            except asyncio.CancelledError:
                await self._end_cancelled(work, self._lanes.cut(message.address.session_key))
                raise
            except Exception as error:  # noqa: BLE001  the boundary of a turn, and of a command
                answer = self._failure(message, error)
            await self._finish(work, answer)

    async def _deal_with(self, waited: InboundMessage, work: _Work) -> OutboundMessage | None:
        message = self._bus.as_of_now(waited)
        if message is None:
            return None
        if command := self._command(message):
            again = await self._bus.begin_if_possible(message) > 0 or message.again
            work.messages, answer = [message], await self._run_command(message, *command, again=again)
            if answer.asks:
                return await self._answer_in_turn(answer.asks, work, again=again)
            work.answer = answer
            return notice(message, answer)
        again = await self._bus.begin(message) > 0 or message.again or message.id in self._put_off
        self._put_off.discard(message.id)
        if message.corrects or not message.to_bot:
            await self._bus.patiently(lambda: self._agent.keep([message], again=again))
            return None
        return await self._answer_in_turn(message, work, again=again)

    async def _answer_in_turn(self, message: InboundMessage, work: _Work, *, again: bool) -> OutboundMessage | None:
        key = message.address.session_key
        self._offers.lapse(key)

        def goes_on() -> bool:
            return self._bus.is_durable or self._lanes.cut(key) == "put_off"

        turn = work.turn = Turn(message, self._language_after(message), self._bus.show, goes_on=goes_on, again=again)
        work.messages = turn.inbound  # more may join
        answer = await self._agent.run(turn, partial(self._joining, turn), lambda: self._lanes.cut(key) == "stopped")
        self._offers.lapse(key, answer.text if answer else "")
        return answer

    async def _end_cancelled(self, work: _Work, cut: Cut | None) -> None:
        """Handle a cancelled turn; at the end of the program a durable bus gives its message again."""
        if cut == "stopped":
            await self._finish(work, None)
        elif cut == "put_off":
            self._put_off |= {message.id for message in work.messages}
            await self._bus.rest(work.messages[0].address.session_key)
            self._lanes.put_back(work.messages)
            if work.turn:
                work.turn.restart()  # what was shown of its answer is said anew

    async def _finish(self, work: _Work, answer: OutboundMessage | None) -> None:
        follow_up = await self._follow_up(work)
        if answer and follow_up:
            answer = replace(answer, question=follow_up.message.text)
        await self._bus.finish(work.messages, answer)
        if work.answer and answer:
            self._offers.made(work.messages[0], work.answer, answer.id)
        work.show_ended()
        if follow_up:
            await self._ask(follow_up, work.messages[0])

    async def _follow_up(self, work: _Work) -> FollowUp | None:
        """Ask what is due after a turn. Unreadable state is asked about at the next start."""
        if work.turn is None:
            return None
        try:
            return await self._router.after_turn(work.turn.id, work.messages[0])
        except StoreError as error:
            log.warning("turn %s: what it proposes is not asked about: %s", work.turn.id, error)
            return None

    async def _ask(self, follow_up: FollowUp, message: InboundMessage) -> None:
        try:
            await self._bus.send(follow_up.message)
            self._offers.made(message, follow_up.answer, follow_up.message.id)
            await follow_up.sent()
        except StoreError as error:
            log.warning("%s: a question waits for the next start: %s", message.address, error)

    async def _joining(self, turn: Turn, *, edits_only: bool = False) -> InboundMessage | None:
        """The next message of the same person that is to join the turn; none behind a command of theirs.

        With `edits_only` the next edit of what the turn answers, whatever they said besides.
        """
        first = turn.inbound[0]

        def choose(waiting: Iterable[InboundMessage]) -> InboundMessage | None:
            of_same = (message for message in waiting if message.sender.id == first.sender.id)
            if edits_only:
                return next((each for each in of_same if each.corrects and self._joins(each, turn)), None)
            message = next(of_same, None)
            return message if message and self._joins(message, turn) else None

        message = self._lanes.take(turn.address.session_key, choose)
        if message:
            await self._bus.begin(message)
        return message

    def _joins(self, message: InboundMessage, turn: Turn) -> bool:
        if self._bus.as_of_now(message) != message or message.authority != turn.caller.authority:  # another role by now
            return False
        if any(self._bus.is_suspect(each) for each in (message, *turn.inbound)):
            return False
        if message.corrects:
            return message.corrects in (other.id for other in turn.inbound)
        return self._steer and message.to_bot and self._command(message) is None

    async def _run_command(
        self, message: InboundMessage, command: Command, argument: str, *, again: bool
    ) -> CommandAnswer:
        if is_told_by_script(language_of(argument)):  # Latin letters may be the name of a model or a note
            self._languages.hear(message.address.session_key, argument)
        call = CommandCall(message, argument, self._language(message))
        if again and command.once:
            return CommandAnswer(call.say("command.begun_before", command=command.name), failed=True)
        return await self._answer(command, call)

    async def _answer(self, command: Command, call: CommandCall) -> CommandAnswer:
        if not command.may(call.message.authority):
            sentence = "command.not_allowed" if command.role is Role.OWNER else "command.not_allowed_in_group"
            return CommandAnswer(call.say(sentence, command=command.name), failed=True)
        if command.in_terminal_only and call.message.address.channel != TERMINAL:
            return CommandAnswer(call.say("command.in_terminal_only", command=command.name), failed=True)
        return await command.handler(call)

    def _command(self, message: InboundMessage) -> tuple[Command, str] | None:
        """The command that a message calls; an unknown one is answered with a suggestion, never by the model.

        What a group says among itself calls none.
        """
        parsed = parse(message.text)
        if parsed is None or message.files or not message.to_bot:
            return None
        return self._router.find(message.text) or (Command("unknown", self._unknown, immediate=True), parsed[0])

    async def _unknown(self, call: CommandCall) -> CommandAnswer:
        meant = self._router.suggestion(call.argument)
        key = "command.unknown_suggestion" if meant else "command.unknown"
        return CommandAnswer(call.say(key, name=call.argument, meant=meant), failed=True)

    def _notice(
        self, message: InboundMessage, sentence: str, *, failed: bool = False, **values: object
    ) -> OutboundMessage:
        return notice(message, CommandAnswer(say(sentence, self._language(message), **values), failed=failed))

    def _failure(self, message: InboundMessage, error: Exception) -> OutboundMessage:
        language = self._language(message)
        if isinstance(error, NanobotError):
            log.warning("%s: %s", message.address.session_key, error)
            return notice(message, CommandAnswer(say("command.failed", language, reason=error), failed=True))
        log.error("%s: a bug", message.address.session_key, exc_info=error)
        return notice(message, CommandAnswer(say("command.bug", language), failed=True))

    def _language_after(self, message: InboundMessage) -> Language:
        self._languages.hear(message.address.session_key, message.text)
        return self._language(message)

    def _language(self, message: InboundMessage) -> Language:
        return self._languages.of(message.address.session_key)

"""A conversation: a session, what of it the model reads, and what became of a message before the process died."""

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain, takewhile

from nanobot.authority import least
from nanobot.core.legal import INTERRUPTED, NOT_ALLOWED, interrupted, legal, open_calls, turns_of, within_turn
from nanobot.core.window import Size, Strategy, TurnMessages, WindowView, shorten_result, size_of
from nanobot.ids import new_id
from nanobot.messages import InboundMessage
from nanobot.ports import Clock, SessionStore
from nanobot.tokens import Counts, Report, TokenEstimator
from nanobot.transcript import (
    ApprovalMark,
    Ended,
    EndedHow,
    Message,
    QueuedMessage,
    Reset,
    Session,
    ToolCall,
    Window,
)

# Prior attempts, in a process that died.


@dataclass(frozen=True, slots=True)
class PriorAttempt:
    """The turn in which a message was recorded.

    `is_first`: the message began the turn, others joined it. `is_open`: neither answered nor ended.
    `answer` is how it was answered, whole or cut off. `cut_short` are the tools that the end of a process interrupted
    while they may have been at work. `scope` is that in which it was said.
    """

    turn: str
    is_first: bool
    is_open: bool
    answer: Message | None
    cut_short: Sequence[str] = ()
    scope: str | None = None


def find_prior_attempt(inbound: str, messages: Sequence[Message], ended: set[str]) -> PriorAttempt | None:
    """Look for a message by its id on the bus, from the end; None if it was never recorded here."""
    turn = next((message.turn for message in reversed(messages) if message.inbound == inbound), "")
    if not turn:
        return None
    lines = [message for message in messages if message.turn == turn]
    is_said = lines[-1].role == "assistant" and not lines[-1].tool_calls
    is_half = lines[-1].incomplete == "interrupted" and turn not in ended  # the program ended in it
    answer = lines[-1] if is_said and not is_half else None
    is_last = messages[-1].turn == turn
    is_open = answer is None and turn not in ended and is_last
    return PriorAttempt(turn, lines[0].inbound == inbound, is_open, answer, _cut_short(lines), lines[0].scope)


def _cut_short(lines: Sequence[Message]) -> Sequence[str]:
    closed = {line.tool_call_id for line in lines if line.role == "tool" and line.content == INTERRUPTED}
    calls = (call for line in lines for call in line.tool_calls if call.id in closed)
    return list(dict.fromkeys(call.name for call in calls))


# Conversation.


MOST_OPEN = 512
"""Conversations kept open; one that was not used for long is opened anew."""

REST = 0.5
"""When the window must move, it moves until the conversation fills this share of its room, and then rests."""


@dataclass(frozen=True, slots=True)
class Interruption:
    """The death of the process: what was asked and not answered, and which tools were running.

    `unanswered`: the first of them still waited for the person's answer, so none of them did anything.
    """

    asked: Sequence[str]
    tools: Sequence[str] = ()
    unanswered: bool = False


@dataclass(frozen=True, slots=True)
class WindowMove:
    """The turns that are over, as they are shown from now on, and what the window mark says of it.

    `kept_messages` are those of the older turns `kept`. From the message `start` on nothing is left out;
    `brief` is the message before which results of tools are a line each.
    """

    kept_messages: Sequence[Message]
    shown: Sequence[Message]
    start: str
    kept: Sequence[str] = ()
    brief: str | None = None


class Conversation:
    """Records what is said, and keeps the replay: legal, and within the window.

    What was said stands in the session, and only there. The turns that are over are made legal once,
    so that the requests of a session are prefixes of one another; the running turn, the end of the
    session, is looked at anew in each step. What a turn costs does not depend on how much was said before.
    """

    def __init__(self, session: Session, store: SessionStore, clock: Clock, strategy: Strategy) -> None:
        self._session = session
        self._store = store
        self._clock = clock
        self._strategy = strategy
        self._turn = ""  # the running one
        self._left_out: set[str] = set()  # messages of the running turn that are too much for the window
        self._over = self._shown(session.messages)
        self._kept = len(self._shown(session.messages[: session.kept]))  # of these, as `Session.kept`
        self._counted = Counts()  # the first `_counted_to` messages of `_over`
        self._counted_to = 0
        self._reports: dict[TokenEstimator, Report] = {}  # the last one of each model

    @property
    def episodes(self) -> int | None:
        """The number of the newest episode that the prompt may show; None while nothing has fixed it."""
        return self._session.episodes

    @property
    def first(self) -> Message | None:
        """The message from which on nothing is left out."""
        return next(iter(self._session.messages[self._session.kept :]), None)

    @property
    def key(self) -> str:
        """The session's."""
        return self._session.key

    @property
    def in_view(self) -> frozenset[str]:
        """The ids of the messages from `first` on."""
        return frozenset(message.id for message in self._session.messages[self._session.kept :])

    @property
    def finished(self) -> str:
        """The id of the last message of the turns that are over, as far as the session holds them; "" if none is."""
        over = self._session.messages[: len(self._session.messages) - len(self._tail())]
        return over[-1].id if over else ""

    @property
    def length(self) -> int:
        """Number of messages from `first` on."""
        return len(self._session.messages) - self._session.kept

    def holds(self, session: Session) -> bool:
        """True if this is the conversation of that very session, not of one that was loaded anew."""
        return self._session is session

    def replay(self) -> list[Message]:
        """Return the messages that the model reads, the running turn included."""
        return [*self._over, *legal(self._running())]

    async def record(self, message: Message, turn: str) -> None:
        """Keep a message of a turn durably, with an id, the time and its origin; the turn is the running one now.

        The model's own words come from the least trusted text that it has read in this turn.
        """
        if turn != self._turn:
            self._settle()
            self._turn = turn
        origin = message.origin
        if origin is None and message.role == "assistant":
            running = self._running()
            shown = (line.reminded for line in running if line.reminded)
            origin = least(*(origin for line in running for origin in line.origins), *shown)
        complete = replace(message, id=new_id(), at=self._now(), turn=turn, origin=origin)
        await self._store.append(self._session, complete)
        if message.retries:  # what it stands in place of is not shown any more
            kept = len(self._shown(self._session.messages[: self._session.kept]))
            self._replace(self._shown(self._session.messages[:-1]), kept)

    async def end(self, turn: str, how: EndedHow | None = None) -> None:
        """A turn is over; `how` says so in the session if it has no complete answer."""
        if how is not None:
            await self._store.append(self._session, Ended(at=self._now(), turn=turn, how=how))
        self._settle()

    async def close_calls(self) -> None:
        """Give every open tool call of the running turn a result that says it was interrupted.

        Those that change something run one after the other: while one waits for an answer, no other has begun.
        """
        text = NOT_ALLOWED if self._is_asking else INTERRUPTED
        for call in open_calls(self._running()):
            await self.record(interrupted(call, text), self._turn)

    async def mark_asking(self, turn: str, *, is_open: bool) -> None:
        """Keep that a tool of the running turn waits for a person's answer, or does not any more."""
        await self._store.append(self._session, ApprovalMark(at=self._now(), turn=turn, open=is_open))

    @property
    def _is_asking(self) -> bool:
        return bool(self._turn) and self._session.asking == self._turn

    def prior_attempt(self, inbound: str) -> PriorAttempt | None:
        """Return the fate of a message, by its id on the bus, in a process that died; None if it came to nothing."""
        return find_prior_attempt(inbound, self._session.messages, self._session.ended)

    async def reopen(self, turn: str, *, again: bool = True) -> list[ToolCall]:
        """Go on with the last turn, in which the process died; the tool calls that were running are closed.

        `again`: the model says anew what was half said, and does not see it.
        """
        self._turn = turn
        if again:
            self._left_out |= {message.id for message in self._tail() if message.incomplete == "interrupted"}
        running = self._running()
        messages = self._session.messages
        self._replace(self._shown(messages[: len(messages) - len(running)]), self._kept)
        calls = open_calls(running)
        await self.close_calls()
        return calls

    def asked_last(self, again: InboundMessage) -> InboundMessage | None:
        """The last question of this person as a message that asks it again; None if the last one is not theirs.

        A request that a process which died has begun to deal with stays what it was.
        """
        messages = self._session.messages
        if begun := next((message for message in messages if message.inbound == again.id), None):
            return _asked_again(again, [begun], begun.retries or "", ())
        for lines in reversed(turns_of(messages)):
            said = [line for line in lines if line.role == "user"]
            turn = lines[0].turn
            is_answered = turn in self._session.ended or any(line.role == "assistant" for line in lines)
            if not said or not (is_answered or not again.authority.scope.is_group):  # a group talks among itself, too
                continue
            if any(line.sender is None or line.sender.id != again.sender.id for line in said):
                return None
            corrected = {message.corrects: message for message in messages if message.corrects}
            said = [corrected.get(line.inbound or "", line) for line in said if not line.corrects] or said
            ran = dict.fromkeys(call.name for line in lines for call in line.tool_calls)
            return _asked_again(again, said, turn, tuple(ran))
        return None

    async def recover(self, owed: Collection[str] = ()) -> Interruption | None:
        """Deal with a last turn that neither was answered nor ended, because the process died in it.

        So with what waited for its turn then: it is recorded as what was said.
        """
        messages = self._session.messages
        turn = messages[-1].turn if messages else ""
        if turn and turn == self._turn:
            return None
        found: Interruption | None = None
        if turn and turn not in self._session.ended and not _is_answer(messages[-1]):
            if any(message.inbound in owed for message in messages if message.turn == turn):
                return None
            unanswered = self._session.asking == turn
            calls = await self.reopen(turn, again=False)
            asked = [message.content or "" for message in self._running() if message.role == "user"]
            await self.end(turn, "interrupted")
            found = Interruption(asked, [call.name for call in calls], unanswered)
        if waited := [message for inbound, message in self._session.waiting.items() if inbound not in owed]:
            turn = new_id()
            for message in waited:
                await self.record(message, turn)
            await self.end(turn, "interrupted")
            asked = [message.content or "" for message in waited]
            found = replace(found, asked=[*found.asked, *asked]) if found else Interruption(asked)
        return found

    async def await_turn(self, message: Message) -> None:
        """Keep durably that a user's message waits for its turn; the next process knows of it if this one dies."""
        await self._store.append(self._session, QueuedMessage(at=self._now(), message=message))

    def _still_waiting(self) -> list[QueuedMessage]:
        """Return the waiting messages, to be written anew behind a mark before which nothing is read."""
        return [QueuedMessage(at=self._now(), message=message) for message in self._session.waiting.values()]

    async def enter(self, scope: str) -> bool:
        """Enter a scope: earlier words of another scope are not replayed. Returns True if the scope changed."""
        of_users = (message.scope for message in reversed(self._session.messages) if message.role == "user")
        if next(filter(None, of_users), scope) == scope:
            return False
        await self.reset()
        return True

    async def reset(self) -> None:
        """Start afresh; what was said stays in the file."""
        messages = self._session.messages
        mark = Reset(at=self._now(), through=messages[-1].id if messages else None)
        await self._store.append(self._session, mark, *self._still_waiting())
        self._turn = ""
        self._replace([])

    def counts(self, tokens: TokenEstimator) -> Counts:
        """Token counts of the replay. Each message is counted once."""
        if self._counted_to < len(self._over):
            self._counted += tokens.count_all(self._over[self._counted_to :])
            self._counted_to = len(self._over)
        return sum((tokens.count(message) for message in self._running()), self._counted)

    def learn(self, tokens: TokenEstimator, asked: Counts, reported: int) -> None:
        """The endpoint reported this many input tokens for a request of this conversation."""
        if report := tokens.learn(asked, reported, self._reports.get(tokens)):
            self._reports[tokens] = report

    def fits(self, room: float, tokens: TokenEstimator) -> bool:
        """True if the replay takes at most `room` tokens."""
        return tokens.tokens(self.counts(tokens)) <= room

    async def make_room(self, room: float, tokens: TokenEstimator, newest: int | None = None) -> str:
        """Move the window so that the replay fits into `room` tokens. Does nothing while it fits.

        It moves by a good piece, to half the room, and the place is recorded, with the number of the `newest`
        episode that the prompt may show from now on. A turn that is too long by itself loses its oldest rounds
        of tools; one that still is too long is left out. Returns the id of the last message that is no longer
        in view, "" if all still is.
        """
        if self.fits(room, tokens):
            return ""
        running = self._running()
        size = sum(map(tokens.size, running))
        if size > room:
            kept = within_turn(running, tokens.size, room * REST)
            self._left_out |= {message.id for message in running} - {message.id for message in kept}
            size = sum(map(tokens.size, kept))
        if not self._over:
            return ""
        turns = turns_of(self._over[self._kept :])
        view, trimmed = choose_view(turns, self._strategy, tokens.size, max(room * REST - size, 0))
        return await self._move(apply_view(turns, running, view, trimmed), newest)

    async def keep_last(self, count: int, newest: int | None = None) -> str:
        """Leave only so many turns in view, all of what is over being in an episode; returns as `make_room`."""
        turns = turns_of(self._over[self._kept :])
        if len(turns) <= count and not self._kept:
            return ""
        start = max(0, len(turns) - count)
        return await self._move(apply_view(turns, self._running(), WindowView(start, brief=start)), newest)

    async def _move(self, to: WindowMove | None, newest: int | None) -> str:
        if to is None:
            self._replace([])
            return ""
        left = self._before(to.start)
        if left or to.brief:
            await self._store.append(
                self._session,
                Window(at=self._now(), start=to.start, kept=to.kept, brief=to.brief, episodes=newest),
                *self._still_waiting(),
            )
        self._replace([*to.kept_messages, *to.shown], len(to.kept_messages))
        return left

    def _before(self, name: str) -> str:
        """The id of the message before the one with this id."""
        ids = [message.id for message in self._session.messages]
        return ids[ids.index(name) - 1] if name in ids[1:] else ""

    def _shown(self, messages: Sequence[Message]) -> list[Message]:
        """A beginning of the session as the model reads it."""
        ids = (i for i, message in enumerate(self._session.messages) if message.id == self._session.brief)
        brief_to = next(ids, 0) if self._session.brief else 0
        return legal([*map(shorten_result, messages[:brief_to]), *messages[brief_to:]])

    def _tail(self) -> list[Message]:
        """The end of the session that belongs to the running turn."""
        if not self._turn:
            return []
        return list(takewhile(lambda message: message.turn == self._turn, reversed(self._session.messages)))[::-1]

    def _running(self) -> list[Message]:
        """Return the visible messages of the running turn."""
        return [message for message in self._tail() if message.id not in self._left_out]

    def _settle(self) -> None:
        """Mark the running turn as over."""
        self._over += legal(self._running())
        self._turn = ""
        self._left_out.clear()

    def _replace(self, over: list[Message], kept: int = 0) -> None:
        self._over, self._kept, self._counted, self._counted_to = over, kept, Counts(), 0

    def _now(self) -> str:
        return self._clock.now().isoformat(timespec="milliseconds")


def apply_view(
    turns: Sequence[TurnMessages], running: Sequence[Message], view: WindowView, trimmed: TurnMessages = ()
) -> WindowMove | None:
    """Apply a view; `trimmed` is shown in place of the last turn if the view shows none. None: nothing is left to see.

    Args:
        turns: those that are over, without the older ones that went along until now.
        running: the running turn.
        view: which turns stay.
        trimmed: what fits of the last turn.
    """
    start = len(turns) - 1 if trimmed else view.start
    brief_to = max(start, view.brief) if view.brief else 0
    first = next(chain(*turns[start:], running), None)
    if first is None:
        return None
    first_whole = next(chain(*turns[brief_to:], running), first)
    return WindowMove(
        kept_messages=[
            shorten_result(message) if brief_to else message for number in view.kept for message in turns[number]
        ],
        shown=list(trimmed)
        or [*map(shorten_result, chain(*turns[start:brief_to])), *chain(*turns[max(start, brief_to) :])],
        start=first.id,
        kept=tuple(turns[number][0].turn for number in view.kept),
        brief=first_whole.id if brief_to else None,
    )


def choose_view(
    turns: Sequence[TurnMessages], strategy: Strategy, size: Size, room: float
) -> tuple[WindowView, TurnMessages]:
    """Return the view of a strategy; if it is empty, as much of the last turn as fits, oldest tool rounds dropped."""
    view = strategy(turns, size, room)
    if view.start < len(turns) or view.kept or not turns:
        return view, ()
    trimmed = within_turn(turns[-1], size, room)
    return view, trimmed if size_of(trimmed, size) <= room else ()


def _asked_again(again: InboundMessage, said: Sequence[Message], turn: str, ran: Sequence[str]) -> InboundMessage:
    return replace(
        again,
        text="\n\n".join(filter(None, (line.content for line in said))),
        files=tuple(file for line in said for file in line.files),
        quotes=tuple(quote for line in said for quote in line.quotes),
        retries=turn,
        ran=ran,
    )


def _is_answer(message: Message) -> bool:
    return message.role == "assistant" and not message.tool_calls and message.incomplete is None


class Conversations:
    """Opens each conversation once, and keeps those that were used last."""

    def __init__(self, store: SessionStore, clock: Clock, strategy: Strategy) -> None:
        self._store = store
        self._clock = clock
        self._strategy = strategy
        self._open: OrderedDict[str, Conversation] = OrderedDict()

    async def open(self, key: str) -> Conversation:
        session = await self._store.load(key)
        conversation = self._open.get(key)
        if conversation is None or not conversation.holds(session):
            conversation = self._open[key] = Conversation(session, self._store, self._clock, self._strategy)
        self._open.move_to_end(key)
        if len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        return conversation

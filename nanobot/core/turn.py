"""A turn: one inbound message, its run in the conversation, and its answer."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypedDict

from nanobot.aio import shielded
from nanobot.authority import Scope
from nanobot.core.archive import WindowArchive
from nanobot.core.conversation import Conversation, Conversations, PriorAttempt
from nanobot.core.loop import Outcome
from nanobot.core.prompt import ContextBudget, ContextBuilder, SystemPrompt
from nanobot.errors import NEAR, LLMError, LLMErrorKind, WeightsError
from nanobot.i18n import Language, say
from nanobot.ids import new_id
from nanobot.memory.recall.injection import PendingMessage
from nanobot.messages import Address, InboundMessage, OutboundMessage, Progress, ProgressKind, Stats
from nanobot.nlp.secrets import redact
from nanobot.ports import Caller, Lacking, Reply, Request, Stream
from nanobot.tokens import Counts
from nanobot.trace import log_file
from nanobot.transcript import EndedHow, Message, Usage

# Turn.


Show = Callable[[Progress], None]


class Turn:
    """State of a running turn, and the Stream that shows its answer growing.

    `inbound` holds every message that the turn answers; the first one began it.
    `goes_on` says, when it is cut off, whether it is finished later: by the next process most often. `again`: it was.
    """

    def __init__(
        self,
        message: InboundMessage,
        language: Language,
        show: Show,
        *,
        goes_on: Callable[[], bool],
        again: bool = False,
    ) -> None:
        self.id = new_id()
        self.goes_on = goes_on
        self.again = again
        self.inbound = [message]
        self.language = language
        self.usage = Usage()
        self.half_said = ""  # what was streamed and is not recorded yet
        self._show = show
        self._began = time.monotonic()

    @property
    def address(self) -> Address:
        return self.inbound[0].address

    @property
    def scope(self) -> Scope:
        """Scope of memory that this turn sees and changes."""
        return self.inbound[0].authority.scope

    @property
    def caller(self) -> Caller:
        first = self.inbound[0]
        return Caller(first.address, first.authority, self.id, self.language, first.sender.id)

    def stats(self, model: str) -> Stats:
        return Stats(self.usage.input, self.usage.output, time.monotonic() - self._began, model)

    def show_started(self) -> None:
        self._progress("started", self.inbound[0].id)

    def show_ended(self) -> None:
        self._progress("ended")

    def text_recorded(self, *, is_remark: bool) -> None:
        """Record the complete text so far in the session; a remark goes before tool calls."""
        self.half_said = ""
        if is_remark:
            self._progress("step")

    def show_notice(self, text: str) -> None:
        self._progress("notice", text)

    def show_tool(self, text: str) -> None:
        self._progress("tool", text)

    def show_output(self, text: str) -> None:
        self._progress("output", text)

    def text(self, delta: str) -> None:
        self.half_said += delta
        self._progress("text", delta)

    def restart(self) -> None:
        self.half_said = ""
        self._progress("restart")

    def waiting(self, seconds: float, kind: LLMErrorKind) -> None:
        self._progress("notice", say(f"waiting.{kind}", self.language, seconds=round(seconds)))

    def fallback(self, preset: str, kind: LLMErrorKind) -> None:
        self._progress("notice", say("waiting.fallback", self.language, model=preset))

    def lacks(self, preset: str, what: Lacking) -> None:
        self._progress("notice", say(f"waiting.no_{what}", self.language, model=preset))

    def _progress(self, kind: ProgressKind, text: str = "") -> None:
        self._show(Progress(address=self.address, turn=self.id, kind=kind, text=text))


# Running turn.


class Join(Protocol):
    """Takes a message that arrived meanwhile and is to join the turn, or None."""

    async def __call__(self, *, edits_only: bool = False) -> InboundMessage | None: ...


SHRINK = 0.5
"""How much of the conversation stays in view after an endpoint said that it was asked too much."""

SAID = 300
"""Characters of an endpoint's own words that a person reads."""


class RunningTurn:
    """A turn at work in its conversation: what the loop is handed."""

    def __init__(
        self,
        turn: Turn,
        conversations: Conversations,
        context: ContextBuilder,
        archive: WindowArchive,
        room: ContextBudget,
        join: Join,
    ) -> None:
        self.room = room
        self._turn = turn
        self._conversations = conversations
        self._conversation: Conversation  # from `begin` on
        self._begun = False
        self._context = context
        self._archive = archive
        self._join = join
        self._prompt: SystemPrompt | None = None  # the same one for all steps of the turn
        self._asked = Counts()
        self._asked_messages = 0

    @property
    def caller(self) -> Caller:
        return self._turn.caller

    @property
    def stream(self) -> Stream:
        return self._turn

    async def begin(self) -> PriorAttempt | None:
        """Open the conversation, and record the message that the turn answers.

        If that was done in a process that ended, returns how far the turn came; an open one goes on under its id. It
        does not go on in another memory: whoever speaks in another one by now begins anew in that.
        """
        first = self._turn.inbound[0]
        self._conversation = await self._conversations.open(self._turn.address.session_key)
        past = self._conversation.prior_attempt(first.id) if self._turn.again else None
        if past is None:
            await self._archive.enter(self._conversation, first.authority.scope)
            self._begun = True
            await self.hear(first)
        elif past.is_first and past.is_open and past.scope not in (None, first.authority.scope.name):
            await self._conversation.reopen(past.turn)
            await self._conversation.end(past.turn, "interrupted")
            await self._archive.enter(self._conversation, first.authority.scope)
            self._begun = True
            await self.hear(first)
        elif past.is_first and past.is_open:
            self._turn.id = past.turn
            self._begun = True
            await self._conversation.reopen(past.turn)
            return self._conversation.prior_attempt(first.id)
        return past

    async def hear(self, message: InboundMessage) -> None:
        """Record what a person said, with what the model is shown before it: memories, and when and where it was."""
        compact = self.room.model.compact
        known = PendingMessage(message, self._conversation.replay(), self._prompt_text, compact=compact)
        reminder = await self._context.reminder(known)
        self._turn.usage += reminder.usage or Usage()
        blocks = [reminder.text, "" if compact else self._context.runtime(message)]
        context = "\n".join(filter(None, blocks)) or None
        await self.record(replace(user_message(message, context), reminded=reminder.origin, recalled=reminder.recalled))

    async def messages(self) -> Sequence[Message]:
        model, tokens = self.room.model, self.room.tokens
        prompt = self._prompt = self._prompt or await self._current_prompt()
        if not self._conversation.fits(self.room.left(prompt), tokens):
            await self._archive.make_room(self._conversation, self.room.left(prompt), tokens)
            prompt = self._prompt = await self._current_prompt()
        messages = self._context.messages(model, prompt, self._conversation.replay())
        self._asked = self.room.fixed(prompt) + self._conversation.counts(tokens)
        self._asked_messages = len(messages)
        if not model.compact:  # a small model is not sent all that was counted
            self.room.check(self._asked)
        return messages

    async def _current_prompt(self) -> SystemPrompt:
        """The files, and the earlier conversations as far as there is room for them."""
        model, scope = self.room.model, self.caller.authority.scope
        prompt = self._context.prompt(model, scope)
        if model.compact:
            return prompt
        with_past = prompt.with_past(
            await self._archive.episode_context.section(self._conversation, scope, model.context_window)
        )
        return with_past if self.room.takes(with_past) else prompt

    async def _prompt_text(self) -> str:
        return (await self._current_prompt()).message.content or ""

    async def shrink(self) -> bool:
        tokens = self.room.tokens
        before = tokens.tokens(self._conversation.counts(tokens))
        await self._archive.make_room(self._conversation, before * SHRINK, tokens)
        return tokens.tokens(self._conversation.counts(tokens)) < before

    async def record(self, message: Message) -> None:
        try:
            await self._conversation.record(message, self._turn.id)
        finally:  # a cancelled append is written all the same
            if message.role == "assistant":
                self._turn.text_recorded(is_remark=bool(message.tool_calls))

    def spent(self, request: Request, reply: Reply) -> None:
        if reply.usage is None:
            return
        self._turn.usage += reply.usage
        model = self.room.model
        if not model.compact and reply.model == model.preset:  # another one counts otherwise
            more = request.messages[self._asked_messages :]
            asked = sum((self.room.tokens.count(message) for message in more), self._asked)
            self._conversation.learn(self.room.tokens, asked, reply.usage.input)

    async def join_waiting(self) -> None:
        while await shielded(self._take_in()):
            pass

    async def join_edits(self) -> bool:
        has_joined = False
        while await shielded(self._take_in(edits_only=True)):
            has_joined = True
        return has_joined

    async def _take_in(self, *, edits_only: bool = False) -> bool:
        message = await self._join(edits_only=edits_only)
        if message is None:
            return False
        self._turn.inbound.append(message)
        if not (
            self._turn.again and self._conversation.prior_attempt(message.id)
        ):  # it may have joined before the crash
            await self.hear(message)
        return True

    def show_tool(self, text: str) -> None:
        self._turn.show_tool(text)

    def show_output(self, text: str) -> None:
        self._turn.show_output(text)

    async def answer_without_model(self, text: str, *, done: bool) -> OutboundMessage:
        """Say without the model what became of a wish, as part of the conversation."""
        await self.record(Message(role="assistant", content=text))
        await self._conversation.end(self._turn.id)
        return OutboundMessage(kind="answer", text=text, failed=not done, **self._reply())

    async def finish(self, outcome: Outcome) -> OutboundMessage:
        """The loop came to an end."""
        if outcome.trouble:
            return await self.refuse(f"turn.{outcome.trouble}")
        await self._conversation.end(self._turn.id, "failed" if outcome.incomplete else None)
        return self._answer(outcome.text, outcome.model, cut=outcome.incomplete is not None)

    async def refuse(self, sentence: str, **values: object) -> OutboundMessage:
        """There is no answer; say why."""
        return await self._end_with_notice(
            say(sentence, self._turn.language, **{"model": self.room.model.preset, **values})
        )

    async def _end_with_notice(self, text: str) -> OutboundMessage:
        await self._conversation.close_calls()
        await self._conversation.end(self._turn.id, "failed")
        return OutboundMessage(kind="notice", text=text, failed=True, **self._reply())

    async def fail(self, error: LLMError) -> OutboundMessage:
        """The model gave no answer: keep what had arrived of a broken one, and say what is wrong."""
        language = self._turn.language
        others = [say("model.also", language, reason=self._reason(other)) for other in error.also]
        if not error.partial.strip():
            return await self._end_with_notice("\n\n".join([self._reason(error), *others]))
        await self.record(Message(role="assistant", content=error.partial, incomplete="cut"))
        await self._conversation.end(self._turn.id, "failed")
        again = [] if error.kind == "cut" else [say("model.again", language, reason=self._reason(error))]
        answer = self._answer(error.partial, error.model or self.room.model.preset, cut=True)
        return replace(answer, text="\n\n".join([answer.text, *again, *others]))

    def _reason(self, error: LLMError) -> str:
        """Return the failure and the advice, in a sentence."""
        model = error.model or self.room.model.preset
        if isinstance(error, WeightsError):
            return say(f"weights.{error.reason}", self._turn.language, **{"model": model, **error.values})
        is_near, words = error.kind == "network" and error.said == NEAR, redact(error.said)
        return say(
            "model.network_near" if is_near else f"model.{error.kind}",
            self._turn.language,
            minutes=max(1, round((error.retry_after or 60) / 60)),
            model=model,
            said=words[:SAID].strip() + (" …" if len(words) > SAID else "") or "?",
            log=log_file(),
            limit=error.limit or "timeout",
        )

    def repeat_answer(self, past: PriorAttempt) -> OutboundMessage | None:
        """The message was dealt with, only its answer may not have been sent: the one in the session is.

        A message that had joined a turn is answered with the one that began it.
        """
        if not past.is_first:
            return None
        self._turn.id = past.turn
        if past.answer is None:
            text = say("turn.not_answered", self._turn.language)
            return OutboundMessage(kind="notice", text=text, failed=True, **self._reply())
        return self._answer(past.answer.content or "", past.answer.model or "", cut=past.answer.incomplete is not None)

    async def break_off(self, how: EndedHow) -> None:
        """The turn ends in the middle: keep what was said, as interrupted, and leave no tool call open.

        One that goes on later stays open: its model says it all again. At the end of a program after which nothing
        goes on by itself it stays as if the program had been killed: the next one tells the person.
        """
        if not self._begun:
            return
        said = self._turn.half_said.strip()
        if how == "interrupted" and not self._turn.goes_on():  # the next start closes it, and tells the person
            if said:
                await self.record(Message(role="assistant", content=said, incomplete="interrupted"))
            return
        await self._conversation.close_calls()
        if how == "interrupted":
            return
        if said:
            await self.record(Message(role="assistant", content=said, incomplete="interrupted"))
        await self._conversation.end(self._turn.id, how)

    def _answer(self, text: str, preset: str, *, cut: bool) -> OutboundMessage:
        text = f"{text}\n\n{say('turn.cut', self._turn.language)}" if cut else text
        if not self.room.model.vision and any(file.is_picture for said in self._turn.inbound for file in said.files):
            text = f"{text}\n\n{say('turn.unseen', self._turn.language, model=self.room.model.preset)}"
        if (tokens := self.room.tokens.take_cut()) and tokens < self.room.model.context_window:
            values = {"model": self.room.model.preset, "tokens": tokens, "window": self.room.model.context_window}
            text = f"{text}\n\n{say('turn.server_cuts', self._turn.language, **values)}"
        stats = self._turn.stats(preset or self.room.model.preset)
        return OutboundMessage(kind="answer", text=text, stats=stats, failed=cut, **self._reply())

    def _reply(self) -> "_Reply":
        turn = self._turn
        return {"id": new_id(), "address": turn.address, "turn": turn.id, "reply_to": turn.inbound[0].id}


class _Reply(TypedDict):
    """Fields that all messages share that end a turn."""

    id: str
    address: Address
    turn: str
    reply_to: str


def user_message(message: InboundMessage, context: str | None) -> Message:
    """Return a person's message as a line of the conversation."""
    return Message(
        role="user",
        content=message.text,
        context=context,
        origin=message.authority.origin,
        sender=message.sender,
        scope=message.authority.scope.name,
        inbound=message.id,
        corrects=message.corrects,
        retries=message.retries,
        to_bot=message.to_bot,
        quotes=tuple(message.quotes),
        files=tuple(message.files),
    )

"""Answers what people say, one turn at a time."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypedDict

from nanobot.agent.context import ContextBuilder, Part, Prompt
from nanobot.agent.conversation import Conversation, Conversations, Interruption
from nanobot.agent.models import Models
from nanobot.agent.turn import Turn
from nanobot.errors import LLMError, PromptTooBigError, StoreError
from nanobot.i18n import say
from nanobot.ids import new_id
from nanobot.loop import Loop, Outcome
from nanobot.memory.facts import Facts
from nanobot.memory.wishes import remember_request
from nanobot.messages import Address, InboundMessage, OutboundMessage
from nanobot.ports import Caller, ModelInfo, Reply, Request, Stream, Tool
from nanobot.tokens import Counts, TokenEstimator
from nanobot.transcript import EndedHow, Message
from nanobot.uncancelled import to_the_end

log = logging.getLogger(__name__)

Join = Callable[[], InboundMessage | None]
IsStopping = Callable[[], bool]

SHRINK = 0.5
"""How much of the conversation stays in view after an endpoint said that it was asked too much."""

LEAST_ROOM = 0.1
"""The share of the context window that must be left for the conversation."""


class Agent:
    """What happens between a message and its answer."""

    def __init__(
        self,
        models: Models,
        tools: Iterable[Tool],
        context: ContextBuilder,
        conversations: Conversations,
        facts: Facts,
        *,
        max_steps: int,
        compact_at: float,
    ) -> None:
        """`compact_at` is the share of the context window that a request may fill."""
        self._models = models
        self._tools = tuple(tools)
        self._context = context
        self._conversations = conversations
        self._facts = facts
        self._max_steps = max_steps
        self._compact_at = compact_at
        self._told: set[tuple[str, int]] = set()  # files that were too long, at this size

    async def run(self, turn: Turn, join: Join, is_stopping: IsStopping) -> OutboundMessage:
        """Answer a message.

        `join` takes a message that arrived meanwhile and is to join the turn; `is_stopping` tells a
        cancellation that the person asked for from the end of the program. What the model does not
        answer is answered with a notice that says why; such a notice is never part of the conversation.
        However the turn ends, every message that it took is on disk, and the conversation is legal.
        """
        llm, tokens = self._models.get(turn.address.session_key)
        tools = () if llm.info.compact else self._tools
        room = _Room(llm.info, tokens, tokens.count_request([tool.spec for tool in tools]), self._compact_at)
        run = _Run(turn, self._conversations, self._context, room, join)
        turn.started()
        try:
            await to_the_end(run.begin())
            await self._context.refresh()
            self._tell_of_cuts(turn, llm.info)
            return await self._answer(run, Loop(llm, tools, max_steps=self._max_steps), turn)
        except asyncio.CancelledError:
            await to_the_end(run.broken("stopped" if is_stopping() else "interrupted"))
            raise
        except Exception:
            with suppress(StoreError):  # if that is what went wrong, it goes wrong again
                await run.broken("failed")
            raise

    async def _answer(self, run: "_Run", loop: Loop, turn: Turn) -> OutboundMessage:
        wish = remember_request(turn.inbound[0].text) if run.room.model.compact else None
        if wish:
            remembered = await self._facts.remember(wish)
            return await run.answer_ourselves(remembered.told(turn.language), done=remembered.done)
        try:
            return await run.answered(await loop.run(run))
        except LLMError as error:
            log.warning("turn %s: %s", turn.id, error)
            return await run.failed(error)
        except PromptTooBigError as error:
            return await run.refused("turn.prompt_too_big", file=error.file, tokens=error.tokens, window=error.window)

    async def recover(self, address: Address) -> Interruption | None:
        """Deal with a turn that was running in a session when the process died."""
        return await (await self._conversations.open(address.session_key)).recover()

    async def status(self, address: Address) -> tuple[int, int, Sequence[Part]]:
        """Of a session: the messages that are replayed, their tokens, and the files of the prompt that are cut."""
        llm, tokens = self._models.get(address.session_key)
        conversation = await self._conversations.open(address.session_key)
        await self._context.refresh()
        size = tokens.tokens(conversation.counts(tokens))
        return len(conversation.replay()), size, self._context.prompt(llm.info).cut

    async def reset(self, address: Address) -> None:
        """Start a session afresh."""
        await (await self._conversations.open(address.session_key)).reset()

    def _tell_of_cuts(self, turn: Turn, model: ModelInfo) -> None:
        """Tell the person once of each file that is too long to be read whole."""
        for name, budget, shown in self._context.prompt(model).cut:
            if (name, shown.size) not in self._told:
                self._told.add((name, shown.size))
                log.warning("%s is cut: %d of %d bytes are read", name, shown.kept, shown.size)
                turn.notice(
                    say("turn.file_cut", turn.language, file=name, kept=shown.kept, size=shown.size, name=budget)
                )


class _Room:
    """How much of the model's context window is taken, and how much is left for the conversation."""

    def __init__(self, model: ModelInfo, tokens: TokenEstimator, tools: Counts, compact_at: float) -> None:
        self.model = model
        self.tokens = tokens
        self._tools = tools
        self._limit = min(model.context_window * compact_at, model.context_window - model.max_output)

    def fixed(self, prompt: Prompt) -> Counts:
        """What every request holds besides the conversation."""
        return self._tools + self.tokens.count(prompt.message)

    def left(self, prompt: Prompt) -> float:
        """Tokens for the conversation. Raises PromptTooBigError if the files leave hardly any."""
        fixed = self.tokens.tokens(self.fixed(prompt))
        if self._limit - fixed < LEAST_ROOM * self.model.context_window:
            raise PromptTooBigError(prompt.largest, fixed, self.model.context_window)
        return self._limit - fixed

    def check(self, asked: Counts) -> None:
        """Raises LLMError if a request is longer than what the model can read and still answer."""
        size = self.tokens.tokens(asked)
        if size > self.model.context_window - self.model.max_output:
            raise LLMError("context", f"about {size} tokens", model=self.model.preset)


class _Run:
    """A turn at work in its conversation: what the loop is handed."""

    def __init__(
        self, turn: Turn, conversations: Conversations, context: ContextBuilder, room: _Room, join: Join
    ) -> None:
        self.room = room
        self._turn = turn
        self._conversations = conversations
        self._conversation: Conversation
        self._context = context
        self._join = join
        self._prompt: Prompt | None = None  # the same one for all steps of the turn
        self._asked = Counts()
        self._asked_messages = 0

    @property
    def caller(self) -> Caller:
        return self._turn.caller

    @property
    def stream(self) -> Stream:
        return self._turn

    async def begin(self) -> None:
        """Open the conversation, and record the message that the turn answers."""
        self._conversation = await self._conversations.open(self._turn.address.session_key)
        await self.hear(self._turn.inbound[0])

    async def hear(self, message: InboundMessage) -> None:
        """Record what a person said, with the block that tells the model when and where."""
        await self.record(
            Message(
                role="user",
                content=message.text,
                context=None if self.room.model.compact else self._context.runtime(message),
                origin=message.authority.origin,
                sender=message.sender,
                inbound=message.id,
                files=tuple(message.files),
            )
        )

    async def messages(self) -> Sequence[Message]:
        model, tokens = self.room.model, self.room.tokens
        prompt = self._prompt = self._prompt or self._context.prompt(model)
        await self._conversation.make_room(self.room.left(prompt), tokens)
        messages = self._context.messages(model, prompt, self._conversation.replay())
        self._asked = self.room.fixed(prompt) + self._conversation.counts(tokens)
        self._asked_messages = len(messages)
        if not model.compact:  # a small model is not sent all that was counted
            self.room.check(self._asked)
        return messages

    async def shrink(self) -> bool:
        tokens = self.room.tokens
        before = tokens.tokens(self._conversation.counts(tokens))
        await self._conversation.make_room(before * SHRINK, tokens)
        return tokens.tokens(self._conversation.counts(tokens)) < before

    async def record(self, message: Message) -> None:
        try:
            await self._conversation.record(message, self._turn.id)
        finally:  # a cancelled append is written all the same
            if message.role == "assistant":
                self._turn.recorded(is_remark=bool(message.tool_calls))

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
        while message := self._join():
            self._turn.inbound.append(message)
            await to_the_end(self.hear(message))

    def show_tool(self, text: str) -> None:
        self._turn.tool(text)

    async def answer_ourselves(self, text: str, *, done: bool) -> OutboundMessage:
        """Say without the model what became of a wish, as part of the conversation."""
        await self.record(Message(role="assistant", content=text))
        await self._conversation.end(self._turn.id)
        return OutboundMessage(kind="answer", text=text, failed=not done, **self._reply())

    async def answered(self, outcome: Outcome) -> OutboundMessage:
        """The loop came to an end."""
        if outcome.trouble:
            return await self.refused(f"turn.{outcome.trouble}")
        await self._conversation.end(self._turn.id, "failed" if outcome.incomplete else None)
        return self._answer(outcome.text, outcome.model, cut=outcome.incomplete is not None)

    async def refused(self, sentence: str, **values: object) -> OutboundMessage:
        """There is no answer; say why."""
        await self._conversation.close_calls()
        await self._conversation.end(self._turn.id, "failed")
        text = say(sentence, self._turn.language, **{"model": self.room.model.preset, **values})
        return OutboundMessage(kind="notice", text=text, failed=True, **self._reply())

    async def failed(self, error: LLMError) -> OutboundMessage:
        """The model gave no answer: keep what had arrived of a broken one, and say what is wrong."""
        model = error.model or self.room.model.preset
        if not error.partial.strip():
            minutes = max(1, round((error.retry_after or 60) / 60))
            return await self.refused(f"model.{error.kind}", minutes=minutes, model=model)
        await self.record(Message(role="assistant", content=error.partial, incomplete="cut"))
        await self._conversation.end(self._turn.id, "failed")
        return self._answer(error.partial, model, cut=True)

    async def broken(self, how: EndedHow) -> None:
        """The turn ends in the middle: keep what was said, as interrupted, and leave no tool call open."""
        await self._conversation.close_calls()
        if said := self._turn.half_said.strip():
            await self.record(Message(role="assistant", content=said, incomplete="interrupted"))
        await self._conversation.end(self._turn.id, how)

    def _answer(self, text: str, preset: str, *, cut: bool) -> OutboundMessage:
        text = f"{text}\n\n{say('turn.cut', self._turn.language)}" if cut else text
        stats = self._turn.stats(preset or self.room.model.preset)
        return OutboundMessage(kind="answer", text=text, stats=stats, failed=cut, **self._reply())

    def _reply(self) -> "_Reply":
        turn = self._turn
        return {"id": new_id(), "address": turn.address, "turn": turn.id, "reply_to": turn.inbound[0].id}


class _Reply(TypedDict):
    """What every message that ends a turn has."""

    id: str
    address: Address
    turn: str
    reply_to: str

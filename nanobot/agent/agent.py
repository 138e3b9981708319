"""Answers what people say, one turn at a time."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TypedDict

from nanobot.agent.context import ContextBuilder, Part, Prompt
from nanobot.agent.conversation import Conversation, Conversations, Interruption
from nanobot.agent.models import Models
from nanobot.agent.turn import Turn
from nanobot.errors import LLMError, PromptTooBigError
from nanobot.i18n import say
from nanobot.ids import new_id
from nanobot.loop import Loop, Outcome
from nanobot.memory.facts import Facts
from nanobot.memory.wishes import remember_request
from nanobot.messages import Address, InboundMessage, OutboundMessage
from nanobot.ports import Caller, ModelInfo, Reply, Request, Stream, Tool
from nanobot.tokens import Counts, TokenEstimator
from nanobot.transcript import Message

log = logging.getLogger(__name__)

Join = Callable[[], Sequence[InboundMessage]]

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

    async def run(self, turn: Turn, join: Join) -> OutboundMessage:
        """Answer a message. `join` takes what arrived meanwhile and is to join the turn.

        What the model does not answer is answered with a notice that says why; such a notice is
        never part of the conversation. Cancelled, the turn leaves a legal conversation behind.
        """
        llm, tokens = self._models.get(turn.address.session_key)
        tools = () if llm.info.compact else self._tools
        conversation = await self._conversations.open(turn.address.session_key)
        window = _Window(llm.info, tokens, tokens.count_request([tool.spec for tool in tools]), self._compact_at)
        run = _Run(turn, conversation, self._context, window, join)
        turn.started()
        await self._context.refresh()
        try:
            await run.hear(turn.inbound[0])
            self._tell_of_cuts(turn, llm.info)
            if llm.info.compact and (wish := remember_request(turn.inbound[0].text)):
                return await run.answer_ourselves((await self._facts.remember(wish)).told(turn.language))
            outcome = await Loop(llm, tools, max_steps=self._max_steps).run(run)
        except LLMError as error:
            log.warning("turn %s: %s", turn.id, error)
            return await run.failed(error)
        except PromptTooBigError as error:
            return await run.refused("turn.prompt_too_big", file=error.file, tokens=error.tokens, window=error.window)
        except asyncio.CancelledError:
            await run.stopped()
            raise
        return await run.answered(outcome)

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


class _Window:
    """How much of the model's context window is taken, and how much is left for the conversation."""

    def __init__(self, model: ModelInfo, tokens: TokenEstimator, tools: Counts, compact_at: float) -> None:
        self.model = model
        self.tokens = tokens
        self._tools = tools
        self._limit = min(model.context_window * compact_at, model.context_window - model.max_output)

    def fixed(self, prompt: Prompt) -> Counts:
        """What every request holds besides the conversation."""
        return self._tools + self.tokens.count(prompt.message)

    def room(self, prompt: Prompt) -> float:
        """Tokens for the conversation. Raises PromptTooBigError if the files leave hardly any."""
        fixed = self.tokens.tokens(self.fixed(prompt))
        if self._limit - fixed < LEAST_ROOM * self.model.context_window:
            raise PromptTooBigError(prompt.largest, fixed, self.model.context_window)
        return self._limit - fixed


class _Run:
    """A turn at work in its conversation: what the loop is handed."""

    def __init__(
        self, turn: Turn, conversation: Conversation, context: ContextBuilder, window: _Window, join: Join
    ) -> None:
        self._turn = turn
        self._conversation = conversation
        self._context = context
        self._window = window
        self._join = join
        self._asked = Counts()
        self._asked_messages = 0

    @property
    def caller(self) -> Caller:
        return self._turn.caller

    @property
    def stream(self) -> Stream:
        return self._turn

    async def hear(self, message: InboundMessage) -> None:
        """Record what a person said, with the block that tells the model when and where."""
        await self.record(
            Message(
                role="user",
                content=message.text,
                context=None if self._window.model.compact else self._context.runtime(message),
                origin=message.authority.origin,
                sender=message.sender,
                inbound=message.id,
                files=tuple(message.files),
            )
        )

    async def messages(self) -> Sequence[Message]:
        prompt, tokens = self._context.prompt(self._window.model), self._window.tokens
        await self._conversation.make_room(self._window.room(prompt), tokens)
        messages = self._context.messages(self._window.model, prompt, self._conversation.replay())
        self._asked = self._window.fixed(prompt) + self._conversation.counts(tokens)
        self._asked_messages = len(messages)
        return messages

    async def record(self, message: Message) -> None:
        await self._conversation.record(message, self._turn.id)
        if message.role == "assistant":
            self._turn.recorded(is_remark=bool(message.tool_calls))

    def spent(self, request: Request, reply: Reply) -> None:
        if reply.usage is None:
            return
        self._turn.usage += reply.usage
        if not self._window.model.compact:  # a small model is not sent all that was counted
            tokens, more = self._window.tokens, request.messages[self._asked_messages :]
            asked = sum((tokens.count(message) for message in more), self._asked)
            self._conversation.learn(tokens, asked, reply.usage.input)

    async def join_waiting(self) -> None:
        for message in self._join():
            self._turn.inbound.append(message)
            await self.hear(message)

    def show_tool(self, text: str) -> None:
        self._turn.tool(text)

    async def answer_ourselves(self, text: str) -> OutboundMessage:
        """Say something without the model, as part of the conversation."""
        await self.record(Message(role="assistant", content=text))
        return await self.answered(Outcome(text))

    async def answered(self, outcome: Outcome) -> OutboundMessage:
        """The loop came to an end."""
        if outcome.trouble:
            return await self.refused(f"turn.{outcome.trouble}")
        await self._conversation.end(self._turn.id)
        return self._answer(outcome.text, cut=outcome.incomplete is not None)

    async def refused(self, sentence: str, **values: object) -> OutboundMessage:
        """There is no answer; say why."""
        await self._conversation.close_calls()
        await self._conversation.end(self._turn.id, "failed")
        text = say(sentence, self._turn.language, model=self._window.model.preset, **values)
        return OutboundMessage(kind="notice", text=text, failed=True, **self._reply())

    async def failed(self, error: LLMError) -> OutboundMessage:
        """The model gave no answer: keep what had arrived of a broken one, and say what is wrong."""
        minutes = max(1, round((error.retry_after or 60) / 60))
        if not error.partial.strip():
            return await self.refused(f"model.{error.kind}", minutes=minutes)
        await self.record(Message(role="assistant", content=error.partial, incomplete="cut"))
        await self._conversation.end(self._turn.id, "failed")
        return self._answer(error.partial, cut=True)

    async def stopped(self) -> None:
        """The turn was cancelled: keep what was said, as interrupted, and leave no tool call open."""
        await self._conversation.close_calls()
        if said := self._turn.half_said.strip():
            await self.record(Message(role="assistant", content=said, incomplete="interrupted"))
        await self._conversation.end(self._turn.id, "stopped")

    def _answer(self, text: str, *, cut: bool) -> OutboundMessage:
        text = f"{text}\n\n{say('turn.cut', self._turn.language)}" if cut else text
        stats = self._turn.stats(self._window.model.preset)
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

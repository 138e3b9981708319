"""Answers what people say, one turn at a time."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence

from nanobot.agent.context import ContextBuilder
from nanobot.agent.conversation import Conversation, Conversations, Interruption
from nanobot.agent.models import Models
from nanobot.agent.turn import Turn
from nanobot.errors import LLMError
from nanobot.i18n import say
from nanobot.ids import new_id
from nanobot.loop import Loop, Outcome
from nanobot.messages import Address, InboundMessage, OutboundMessage
from nanobot.ports import Caller, ModelInfo, Reply, Request, Stream, Tool
from nanobot.tokens import TokenEstimator
from nanobot.transcript import Message, Usage

log = logging.getLogger(__name__)

Join = Callable[[], Sequence[InboundMessage]]
Honour = Callable[[InboundMessage], "str | None"]


class Agent:
    """What happens between a message and its answer."""

    def __init__(
        self,
        models: Models,
        tools: Iterable[Tool],
        context: ContextBuilder,
        conversations: Conversations,
        tokens: TokenEstimator,
        *,
        max_steps: int,
    ) -> None:
        self._models = models
        self._tools = tuple(tools)
        self._context = context
        self._conversations = conversations
        self._tokens = tokens
        self._max_steps = max_steps

    async def run(self, turn: Turn, join: Join) -> OutboundMessage:
        """Answer a message. `join` takes what arrived meanwhile and is to join the turn.

        What the model does not answer is answered with a notice that says why; such a notice is
        never part of the conversation. Cancelled, the turn leaves a legal conversation behind.
        """
        llm = self._models.get(turn.address.session_key)
        conversation = await self._conversations.open(turn.address.session_key)
        tools = () if llm.info.compact else self._tools
        run = _Run(turn, conversation, self._context, self._tokens, llm.info, join)
        try:
            await run.hear(turn.inbound[0])
            outcome = await Loop(llm, tools, max_steps=self._max_steps).run(run)
        except LLMError as error:
            log.warning("turn %s: %s", turn.id, error)
            return await run.failed(error)
        except asyncio.CancelledError:
            await run.stopped()
            raise
        return await run.answered(outcome)

    async def recover(self, address: Address) -> Interruption | None:
        """Deal with a turn that was running in a session when the process died."""
        return await (await self._conversations.open(address.session_key)).recover()

    async def reset(self, address: Address) -> None:
        """Start a session afresh."""
        await (await self._conversations.open(address.session_key)).reset()


class _Run:
    """A turn at work in its conversation: what the loop is handed."""

    def __init__(
        self,
        turn: Turn,
        conversation: Conversation,
        context: ContextBuilder,
        tokens: TokenEstimator,
        model: ModelInfo,
        join: Join,
    ) -> None:
        self._turn = turn
        self._conversation = conversation
        self._context = context
        self._tokens = tokens
        self._model = model
        self._join = join

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
                context=None if self._model.compact else self._context.runtime(message),
                origin=message.authority.origin,
                sender=message.sender,
                inbound=message.id,
                files=tuple(message.files),
            )
        )

    async def messages(self) -> Sequence[Message]:
        system = self._context.system(self._model)
        await self._conversation.make_room(self._context.room(self._model, self._tokens.size(system)))
        return self._context.messages(self._model, system, self._conversation.replay())

    async def record(self, message: Message) -> None:
        await self._conversation.record(message, self._turn.id)
        if message.role == "assistant":
            self._turn.step()

    def spent(self, request: Request, reply: Reply) -> None:
        self._turn.usage += reply.usage or Usage()
        if reply.usage:
            self._tokens.learn(request.messages, request.tools, reply.usage.input)

    async def join_waiting(self) -> None:
        for message in self._join():
            self._turn.inbound.append(message)
            await self.hear(message)

    def show_tool(self, text: str) -> None:
        self._turn.tool(text)

    async def answered(self, outcome: Outcome) -> OutboundMessage:
        language = self._turn.language
        if outcome.trouble:
            await self._conversation.end(self._turn.id, "failed")
            return self._message(say(f"turn.{outcome.trouble}", language), "notice")
        await self._conversation.end(self._turn.id)
        text = f"{outcome.text}\n\n{say('turn.cut', language)}" if outcome.incomplete else outcome.text
        return self._message(text, "answer")

    async def failed(self, error: LLMError) -> OutboundMessage:
        """Keep what had arrived of a broken answer, and say what is wrong."""
        notice = say(
            f"model.{error.kind}", self._turn.language, model=error.model or self._model.preset, **_minutes(error)
        )
        await self._conversation.close_calls()
        if error.partial:
            await self.record(Message(role="assistant", content=error.partial, incomplete="cut"))
        await self._conversation.end(self._turn.id, "failed")
        if error.partial:
            return self._message(f"{error.partial}\n\n{say('turn.cut', self._turn.language)} {notice}", "answer")
        return self._message(notice, "notice")

    async def stopped(self) -> None:
        """The turn was cancelled: keep what was said, as interrupted, and leave no tool call open."""
        said = self._turn.half_said.strip()
        await self._conversation.close_calls()
        if said:
            await self.record(Message(role="assistant", content=said, incomplete="interrupted"))
        await self._conversation.end(self._turn.id, "stopped")

    def _message(self, text: str, kind: "Kind") -> OutboundMessage:
        turn = self._turn
        return OutboundMessage(
            id=new_id(),
            address=turn.address,
            text=text,
            kind=kind,
            turn=turn.id,
            reply_to=turn.inbound[0].id,
            stats=turn.stats(self._model.preset) if kind == "answer" else None,
        )


def _minutes(error: LLMError) -> dict[str, object]:
    """How long to wait, for the sentences that say so."""
    return {"minutes": max(1, round((error.retry_after or 60) / 60))}

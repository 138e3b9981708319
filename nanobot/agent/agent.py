"""Answers what people say, one turn at a time."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from nanobot.agent.context import ContextBuilder, Part
from nanobot.agent.conversation import Conversations, Interruption
from nanobot.agent.models import Models
from nanobot.agent.room import Room
from nanobot.agent.running import Join, RunningTurn
from nanobot.agent.turn import Turn
from nanobot.errors import LLMError, PromptTooBigError, StoreError
from nanobot.i18n import say
from nanobot.loop import Loop
from nanobot.memory.facts import Facts
from nanobot.memory.wishes import remember_request
from nanobot.messages import Address, OutboundMessage
from nanobot.ports import ModelInfo, Tool
from nanobot.uncancelled import to_the_end

log = logging.getLogger(__name__)

IsStopping = Callable[[], bool]


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
        room = Room(llm.info, tokens, tokens.count_request([tool.spec for tool in tools]), self._compact_at)
        run = RunningTurn(turn, self._conversations, self._context, room, join)
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

    async def _answer(self, run: RunningTurn, loop: Loop, turn: Turn) -> OutboundMessage:
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

"""The agent: answers messages, one turn at a time, with the model chosen for the session."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from textwrap import shorten

from nanobot.aio import shielded
from nanobot.authority import Scope
from nanobot.core.archive import WindowArchive
from nanobot.core.conversation import Conversation, Conversations, Interruption, PriorAttempt
from nanobot.core.loop import Loop
from nanobot.core.prompt import SKILL, ContextBudget, ContextBuilder, PromptPart, SystemPrompt
from nanobot.core.turn import Join, RunningTurn, Turn, user_message
from nanobot.errors import LLMError, PromptTooBigError, StoreError
from nanobot.i18n import Language, say
from nanobot.ids import new_id
from nanobot.memory.changes import ChangeRequest
from nanobot.memory.episodes.consolidator import Archiving
from nanobot.memory.episodes.retries import Setback
from nanobot.memory.scopes import MemoryRegistry
from nanobot.messages import Address, InboundMessage, OutboundMessage
from nanobot.nlp.wishes import remember_request
from nanobot.ports import LLM, ModelInfo, SessionModels, Tool
from nanobot.tokens import TokenEstimator
from nanobot.trace import log_context

# Model presets.


Make = Callable[[], LLM]


class Models:
    """The configured presets; each is made when it is first used."""

    def __init__(self, presets: Mapping[str, Make], default: str, chosen: SessionModels) -> None:
        self._presets = presets
        self._default = default
        self._chosen = chosen
        self._made: dict[str, tuple[LLM, TokenEstimator]] = {}

    @property
    def names(self) -> Sequence[str]:
        return list(self._presets)

    def name_for(self, session_key: str) -> str:
        """The preset in use; a chosen one that was taken out of the configuration does not count."""
        chosen = self._chosen.get(session_key)
        return chosen if chosen is not None and chosen in self._presets else self._default

    def get(self, session_key: str, once: str = "") -> tuple[LLM, TokenEstimator]:
        """The model that answers in this session, and how its tokens are counted; `once`: the preset of one turn."""
        return self.named(once if once in self._presets else self.name_for(session_key))

    def named(self, name: str) -> tuple[LLM, TokenEstimator]:
        """The model of a preset. Raises KeyError for one that is not configured."""
        if name not in self._made:
            llm = self._presets[name]()
            self._made[name] = llm, TokenEstimator(llm.info.model, llm.info.endpoint)
        return self._made[name]

    async def aclose(self) -> None:
        """Give back what the models hold."""
        for llm, _ in self._made.values():
            await llm.aclose()

    async def choose(self, session_key: str, name: str) -> None:
        """Use this preset in this session from now on. Raises KeyError for a name that is not configured."""
        if name not in self._presets:
            raise KeyError(name)
        await self._chosen.set(session_key, None if name == self._default else name)

    async def forget(self, session_key: str) -> None:
        """Nothing was chosen in this session."""
        await self._chosen.set(session_key, None)


# Agent.


log = logging.getLogger(__name__)

IsStopping = Callable[[], bool]

LOOK = 50
"""After so many messages that nobody answers is looked whether the window must move."""


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """`max_steps` of one turn; `compact_at` is the share of the context window that a request may fill."""

    max_steps: int
    compact_at: float


class Agent:
    """Agent: the steps from a message to its answer."""

    def __init__(
        self,
        models: Models,
        tools: Iterable[Tool],
        context: ContextBuilder,
        conversations: Conversations,
        archive: WindowArchive,
        memory: MemoryRegistry,
        limits: TurnLimits,
    ) -> None:
        self._models = models
        self._tools = tuple(tools)
        self._context = context
        self._conversations = conversations
        self._archive = archive
        self._memory = memory
        self._limits = limits
        self.ended_in: set[str] = set()
        """The turns whose commands outlived their process, and were ended when this one began."""
        self._told: set[tuple[str, object]] = set()  # files that were too long, at this size, or unreadable

    async def run(self, turn: Turn, join: Join, is_stopping: IsStopping) -> OutboundMessage | None:
        """Answer a message; None if that was done before, in a process that died.

        `join` takes a message that arrived meanwhile and is to join the turn; `is_stopping` tells a
        cancellation that the person asked for from the end of the program. What the model does not
        answer is answered with a notice that says why; such a notice is never part of the conversation.
        However the turn ends, every message that it took is on disk, and the conversation is legal.
        """
        with self._archive.background.answering():
            return await self._run(turn, join, is_stopping)

    async def _run(self, turn: Turn, join: Join, is_stopping: IsStopping) -> OutboundMessage | None:
        llm, tokens = self._models.get(turn.address.session_key, turn.inbound[0].model)
        room, loop = self._room(llm, tokens), Loop(llm, self._tools_of(llm.info), max_steps=self._limits.max_steps)
        run = RunningTurn(turn, self._conversations, self._context, self._archive, room, join)
        try:
            past = await shielded(run.begin())
            if past and not (past.is_first and past.is_open):
                return self._with_interrupted_tools(past, turn, run.repeat_answer(past))
            turn.show_started()
            if turn.inbound[0].retries:
                turn.show_notice(say("turn.asked_again", turn.language, asked=_shortened(turn.inbound[0].text)))
            await self._context.refresh(turn.scope)
            self._tell_of_files(turn, llm.info)
            with log_context(f"turn {turn.id}"):
                answer = await self._answer(run, loop, turn)
            return self._with_interrupted_tools(past, turn, answer)
        except asyncio.CancelledError:
            await shielded(run.break_off("stopped" if is_stopping() else "interrupted"))
            raise
        except Exception:
            with suppress(StoreError):  # if that is what went wrong, it goes wrong again
                await run.break_off("failed")
            raise

    def _with_interrupted_tools(
        self, past: PriorAttempt | None, turn: Turn, answer: OutboundMessage | None
    ) -> OutboundMessage | None:
        """The answer, and under it what the end of a process cut short that may have had an effect."""
        names = self._with_effects(past.cut_short) if past else []
        if answer is None or not names:
            return answer
        notes = [say("turn.went_on", turn.language, tools=", ".join(names))]
        notes += [f"[{say('turn.left_running', turn.language)}]"] if past and past.turn in self.ended_in else []
        return replace(answer, text="\n\n".join([answer.text, *notes]))

    def _with_effects(self, names: Iterable[str]) -> list[str]:
        """Of the names of tools, those that may have had an effect."""
        harmless = {tool.spec.name for tool in self._tools if tool.spec.reads_only}
        return [name for name in names if name not in harmless]

    async def _answer(self, run: RunningTurn, loop: Loop, turn: Turn) -> OutboundMessage:
        wish = remember_request(turn.inbound[0].text) if run.room.model.compact else None
        if wish:
            remembered = await self._memory.of(turn.scope).facts.remember(
                wish, replace(ChangeRequest.in_turn(turn.caller), name=turn.inbound[0].sender.name)
            )
            return await run.answer_without_model(remembered.told(turn.language), done=remembered.done)
        try:
            return await run.finish(await loop.run(run))
        except LLMError as error:
            log.warning("turn %s: %s", turn.id, error)
            return await run.fail(error)
        except PromptTooBigError as error:
            return await run.refuse("turn.prompt_too_big", file=error.file, tokens=error.tokens, window=error.window)

    async def recover(self, address: Address, owed: Collection[str] = ()) -> Interruption | None:
        """Deal with a turn that was running in a session when the process died.

        One that answers a message of `owed` goes on: that is about to be said again.
        """
        return await (await self._conversations.open(address.session_key)).recover(owed)

    async def asked_last(self, again: InboundMessage) -> InboundMessage | None:
        """The last question of somebody, as a message that asks it again; None if the last one is not theirs."""
        conversation = await self._conversations.open(again.address.session_key)
        asked = conversation.asked_last(again)
        return replace(asked, ran=tuple(self._with_effects(asked.ran))) if asked else None

    async def last_said(self, key: str) -> tuple[str, str]:
        """The last question and the last answer in a session, of what is replayed; "" where there is none."""
        said = (await self._conversations.open(key)).replay()

        def last(role: str) -> str:
            return next((line.content for line in reversed(said) if line.role == role and line.content), "")

        return last("user"), last("assistant")

    async def keep(self, messages: Sequence[InboundMessage], *, again: bool = False) -> None:
        """Record what a person said and nobody answers. `again`: a process that died may have done that."""
        turn = new_id()
        conversation = await self._conversations.open(messages[0].address.session_key)
        for message in messages:
            if not (again and conversation.prior_attempt(message.id)):
                await self._archive.enter(conversation, message.authority.scope)
                await conversation.record(user_message(message, self._context.runtime(message)), turn)
                if conversation.length % LOOK == 0:
                    await self._make_room(conversation, message.authority.scope)

    async def await_turn(self, message: InboundMessage) -> None:
        """Record durably that a message waits for its turn. Raises StoreError."""
        conversation = await self._conversations.open(message.address.session_key)
        await conversation.await_turn(user_message(message, self._context.runtime(message)))

    def _room(self, llm: LLM, tokens: TokenEstimator) -> ContextBudget:
        tools = tokens.count_request([tool.spec for tool in self._tools_of(llm.info) if llm.info.tools])
        return ContextBudget(llm.info, tokens, tools, self._limits.compact_at)

    def _tools_of(self, model: ModelInfo) -> Sequence[Tool]:
        """Return the tools that a model is told of; none for small ones."""
        return () if model.compact else self._tools

    async def _make_room(self, conversation: Conversation, scope: Scope) -> None:
        """Archive the messages that nobody answers: they would fill the view until somebody talks to the bot."""
        llm, tokens = self._models.get(conversation.key)
        await self._context.refresh(scope)
        with suppress(PromptTooBigError, StoreError):  # what was said is kept; whoever is answered next is told
            room = self._room(llm, tokens).left(self._context.prompt(llm.info, scope))
            await self._archive.make_room(conversation, room, tokens)

    async def status(self, address: Address, scope: Scope) -> tuple[int, int, SystemPrompt]:
        """Of a session: the messages that are replayed, their tokens, and the prompt that goes before them."""
        llm, tokens = self._models.get(address.session_key)
        conversation = await self._conversations.open(address.session_key)
        await self._context.refresh(scope)
        size = tokens.tokens(conversation.counts(tokens))
        return len(conversation.replay()), size, self._context.prompt(llm.info, scope)

    async def reset(self, address: Address) -> None:
        """Start a session afresh."""
        await self._archive.reset(await self._conversations.open(address.session_key))

    async def compact(self, address: Address) -> Archiving:
        """Archive a session now, while no turn runs in it; the last turns stay in view. Raises StoreError."""
        return await self._archive.compact(await self._conversations.open(address.session_key))

    def setback(self, address: Address) -> Setback | None:
        """Return the reason why a session is not archived at the moment."""
        return self._archive.consolidator.setback(address.session_key)

    def _tell_of_files(self, turn: Turn, model: ModelInfo) -> None:
        """Tell the person once of each file that cannot be read, or not whole."""
        prompt = self._context.prompt(model, turn.scope)
        for part in prompt.unreadable:
            self._tell_once(turn, (part.name, part.problem), unreadable(part, turn.language))
        for part in prompt.cut:
            self._tell_once(turn, (part.name, part.shown.size), too_long(part, turn.language))

    def _tell_once(self, turn: Turn, what: tuple[str, object], sentence: str) -> None:
        if what not in self._told:
            self._told.add(what)
            log.warning("%s", sentence)
            turn.show_notice(sentence)


def _shortened(text: str) -> str:
    return shorten(text, 120, placeholder=" …")


def unreadable(part: PromptPart, language: Language) -> str:
    """The sentence about a file that is there and cannot be read."""
    sentence = "turn.skill_unreadable" if part.budget == SKILL else "turn.file_unreadable"
    return say(sentence, language, file=part.name, problem=part.problem)


def too_long(part: PromptPart, language: Language) -> str:
    """The sentence about a file that is longer than its budget."""
    shown = part.shown
    return say("turn.file_cut", language, file=part.name, kept=shown.kept, size=shown.size, name=part.budget)

"""The model of Dream: how it is asked, and told once what was wrong with its answer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from nanobot.errors import LLMError
from nanobot.memory.dream.draft import Draft
from nanobot.memory.dream.input import prompt
from nanobot.memory.dream.operations import (
    TOOL,
    DreamLimits,
    ParsedAnswer,
    Proposal,
    RefusalKind,
    RefusedOperation,
    read_reply,
)
from nanobot.memory.dream.validator import ProposalValidator
from nanobot.ports import LLM, Clock, Reply, Request
from nanobot.ports.models import Quiet, Slot
from nanobot.tokens import TokenEstimator
from nanobot.transcript import Message

_ERROR = re.compile(
    r"\W*(?:error\b|http[ /]?\d{3}|(?:4\d\d|5\d\d)\b|<!doctype|<html|\{\s*\"error\"|(?:internal server|bad gateway)"
    r"|(?:rate limit|quota|insufficient|unauthorized|forbidden|invalid api|model not found|no route|upstream)"
    r"|(?:request|service|api) (?:failed|timed out|unavailable|error)|timed? ?out|错误|请求失败|额度|余额|限流|服务)",
    re.IGNORECASE,
)


class OutOfRoomError(Exception):
    """End of the budget of a run: of calls, tokens or time."""


class RunBudget:
    """Budget of one run."""

    def __init__(self, limits: DreamLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._until = clock.monotonic() + limits.seconds
        self._steps = 0
        self._tokens = 0

    def has(self, calls: int) -> bool:
        """True if so many more calls may be made."""
        is_over = self._tokens >= self._limits.tokens or self._clock.monotonic() >= self._until
        return self._steps + calls <= self._limits.steps and not is_over

    def spend(self, tokens: int) -> None:
        self._steps += 1
        self._tokens += tokens


class DreamModel:
    """Asks one model within the limits of a run."""

    def __init__(self, llm: LLM, estimator: TokenEstimator, budget: RunBudget, slot: Slot) -> None:
        self._llm = llm
        self._estimator = estimator
        self._budget = budget
        self._slot = slot
        self._tools = () if llm.info.compact else (TOOL,)

    @property
    def may_ask(self) -> bool:
        return self._budget.has(1)

    def room(self, tokens: int) -> int:
        """Return the tokens of data that fit, with one question and its correction within the budget."""
        info = self._llm.info
        return max(500, min(info.context_window - info.max_output - 2 * self.size(prompt("dream")), tokens // 2))

    def size(self, text: str) -> int:
        """Tokens of a text, as estimated."""
        return self._estimator.size(Message(role="user", content=text))

    async def ask(self, messages: Sequence[Message]) -> Reply:
        """Raises LLMError, also for an error that is told as an answer, and OutOfRoomError."""
        if not self._budget.has(1):
            raise OutOfRoomError
        try:
            return await self._complete(messages)
        except LLMError as error:
            if error.kind != "request" or not self._tools:
                raise
        self._tools = ()  # some endpoints refuse requests with tools
        return await self._complete(messages)

    async def _complete(self, messages: Sequence[Message]) -> Reply:
        reply = await self._slot(self._llm.info, partial(self._llm.complete, Request(messages, self._tools), Quiet()))
        estimated = self._estimator.tokens(self._estimator.count_all(messages)) + self.size(reply.text)
        self._budget.spend(reply.usage.input + reply.usage.output if reply.usage else estimated)
        if not reply.tool_calls and _ERROR.match(reply.text) and read_reply(reply) is None:
            raise LLMError("protocol", "an error told as an answer", model=reply.model)
        return reply


@dataclass(frozen=True, slots=True)
class DroppedProposal:
    """Proposal that was dropped; `file` is as the model named it."""

    kind: RefusalKind
    file: str = ""


@dataclass
class ModelAnswer:
    """Result of asking about one scope."""

    draft: Draft
    admitted: list[Proposal] = field(default_factory=list)
    dropped: list[DroppedProposal] = field(default_factory=list)
    is_usable: bool = False


async def ask_for_changes(
    model: DreamModel, messages: Sequence[Message], draft: Draft, validator: ProposalValidator
) -> ModelAnswer:
    """Ask, admit proposals, and have refused ones corrected once. Raises LLMError and OutOfRoomError."""
    result = ModelAnswer(draft)
    reply = await model.ask(messages)
    told = _admit(result, read_reply(reply), validator)
    if not told or not model.may_ask:
        return result
    first, result.dropped = result.dropped, []
    corrected = read_reply(await model.ask([*messages, *_correction(reply, told)]))
    _admit(result, corrected, validator)
    if corrected == ParsedAnswer(()):  # it gave up on them
        result.dropped = first
    return result


def _admit(result: ModelAnswer, answer: ParsedAnswer | None, validator: ProposalValidator) -> str:
    """Admit proposals into the draft; returns the complaint about the refused ones, "" if there are none."""
    if answer is None:
        result.dropped.append(DroppedProposal("malformed"))
        return prompt("unreadable")
    result.is_usable = result.is_usable or bool(answer.proposals) or not answer.malformed
    refused = list(answer.malformed)
    result.dropped += [DroppedProposal("malformed")] * len(answer.malformed)
    done = 0
    for proposal in answer.proposals:
        if proposal in result.admitted:  # many models say all of it again
            continue
        try:
            result.draft = validator.admit(proposal, result.draft).draft
            result.admitted.append(proposal)
            done += 1
        except RefusedOperation as refusal:
            result.dropped.append(DroppedProposal(refusal.kind, proposal.file))
            refused.append(f"{proposal.do} {proposal.file}: {refusal.text}")
    rows = "\n".join(f"- {row}" for row in refused)
    return prompt("again").replace("{done}", str(done)).replace("{refused}", rows) if refused else ""


def _correction(reply: Reply, text: str) -> list[Message]:
    """Return the messages that ask for a correction: the answer, and the complaint."""
    said = Message(role="assistant", content=reply.text or None, tool_calls=reply.tool_calls)
    if not reply.tool_calls:
        return [said, Message(role="user", content=text)]
    first, *others = reply.tool_calls
    rest = [Message(role="tool", content="See the other result.", tool_call_id=call.id) for call in others]
    return [said, Message(role="tool", content=text, tool_call_id=first.id), *rest]

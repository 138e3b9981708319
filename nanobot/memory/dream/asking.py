"""The model is asked, and told once what was wrong with its answer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from nanobot.errors import LLMError
from nanobot.memory.dream.draft import Draft
from nanobot.memory.dream.gate import Gate
from nanobot.memory.dream.limits import Limits
from nanobot.memory.dream.proposals import TOOL, Answer, Proposal, read_reply
from nanobot.memory.dream.refused import RefusalKind, Refused
from nanobot.memory.dream.request import prompt
from nanobot.memory.slot import Quiet, Slot
from nanobot.ports import LLM, Clock, Reply, Request
from nanobot.tokens import TokenEstimator
from nanobot.transcript import Message

_ERROR = re.compile(
    r"\W*(?:error\b|http[ /]?\d{3}|(?:4\d\d|5\d\d)\b|<!doctype|<html|\{\s*\"error\"|(?:internal server|bad gateway)"
    r"|(?:rate limit|quota|insufficient|unauthorized|forbidden|invalid api|model not found|no route|upstream)"
    r"|(?:request|service|api) (?:failed|timed out|unavailable|error)|timed? ?out|错误|请求失败|额度|余额|限流|服务)",
    re.IGNORECASE,
)


class OutOfRoomError(Exception):
    """A limit of the run was reached: of calls, tokens or time."""


class Purse:
    """What one run may still spend."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._until = clock.monotonic() + limits.seconds
        self._steps = 0
        self._tokens = 0

    def has(self, calls: int) -> bool:
        """Whether so many more calls may be made."""
        is_over = self._tokens >= self._limits.tokens or self._clock.monotonic() >= self._until
        return self._steps + calls <= self._limits.steps and not is_over

    def spend(self, tokens: int) -> None:
        self._steps += 1
        self._tokens += tokens


class Model:
    """Asks one model within the limits of a run."""

    def __init__(self, llm: LLM, estimator: TokenEstimator, purse: Purse, slot: Slot) -> None:
        self._llm = llm
        self._estimator = estimator
        self._purse = purse
        self._slot = slot
        self._tools = () if llm.info.compact else (TOOL,)

    @property
    def may_ask(self) -> bool:
        return self._purse.has(1)

    def room(self, tokens: int) -> int:
        """How much data can be asked about, if one question and what is told about its answer may cost so much."""
        info = self._llm.info
        return max(500, min(info.context_window - info.max_output - 2 * self.size(prompt("dream")), tokens // 2))

    def size(self, text: str) -> int:
        """Tokens of a text, as estimated."""
        return self._estimator.size(Message(role="user", content=text))

    async def ask(self, messages: Sequence[Message]) -> Reply:
        """Raises LLMError, also for an error that is told as an answer, and OutOfRoomError."""
        if not self._purse.has(1):
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
        self._purse.spend(reply.usage.input + reply.usage.output if reply.usage else estimated)
        if not reply.tool_calls and _ERROR.match(reply.text) and read_reply(reply) is None:
            raise LLMError("protocol", "an error told as an answer", model=reply.model)
        return reply


@dataclass(frozen=True, slots=True)
class Dropped:
    """What was not carried out; `file` is as the model named it."""

    kind: RefusalKind
    file: str = ""


@dataclass
class Heard:
    """What came of asking about one scope."""

    draft: Draft
    admitted: list[Proposal] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    is_usable: bool = False


async def hear(model: Model, messages: Sequence[Message], draft: Draft, gate: Gate) -> Heard:
    """Ask, carry out on the draft what may be, say once what may not. Raises LLMError and OutOfRoomError."""
    heard = Heard(draft)
    reply = await model.ask(messages)
    told = _take_in(heard, read_reply(reply), gate)
    if not told or not model.may_ask:
        return heard
    first, heard.dropped = heard.dropped, []
    corrected = read_reply(await model.ask([*messages, *_told(reply, told)]))
    _take_in(heard, corrected, gate)
    if corrected == Answer(()):  # it gave up on them
        heard.dropped = first
    return heard


def _take_in(heard: Heard, answer: Answer | None, gate: Gate) -> str:
    """Carry out what may be; returns what is to be said about the rest, "" if all is well."""
    if answer is None:
        heard.dropped.append(Dropped("malformed"))
        return prompt("unreadable")
    heard.is_usable = heard.is_usable or bool(answer.proposals) or not answer.malformed
    refused = list(answer.malformed)
    heard.dropped += [Dropped("malformed")] * len(answer.malformed)
    done = 0
    for proposal in answer.proposals:
        if proposal in heard.admitted:  # many models say all of it again
            continue
        try:
            heard.draft = gate.admit(proposal, heard.draft).draft
            heard.admitted.append(proposal)
            done += 1
        except Refused as refusal:
            heard.dropped.append(Dropped(refusal.kind, proposal.file))
            refused.append(f"{proposal.do} {proposal.file}: {refusal.text}")
    rows = "\n".join(f"- {row}" for row in refused)
    return prompt("again").replace("{done}", str(done)).replace("{refused}", rows) if refused else ""


def _told(reply: Reply, text: str) -> list[Message]:
    """The answer, and what there is to say about it."""
    said = Message(role="assistant", content=reply.text or None, tool_calls=reply.tool_calls)
    if not reply.tool_calls:
        return [said, Message(role="user", content=text)]
    first, *others = reply.tool_calls
    rest = [Message(role="tool", content="See the other result.", tool_call_id=call.id) for call in others]
    return [said, Message(role="tool", content=text, tool_call_id=first.id), *rest]

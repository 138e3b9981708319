"""The model of Dream: what it reads, and how it is asked and corrected."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from importlib import resources

from nanobot.errors import LLMError
from nanobot.memory.dream.draft import Draft
from nanobot.memory.dream.evidence import EvidenceIndex
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
from nanobot.memory.history import Ages
from nanobot.memory.markdown import body_of, facts_of, field_of
from nanobot.memory.tombstones import Tombstone
from nanobot.nlp.words import content_words
from nanobot.ports import LLM, Clock, Episode, Reply, Request
from nanobot.ports.models import Quiet, Slot
from nanobot.tokens import TokenEstimator
from nanobot.transcript import Message

# What the model reads: what is remembered, and what happened; all of it as data.


MOST_UNDONE = 40
MOST_OVERLAPS = 10
MOST_COMPARED = 400
OVERLAPPING = 0.5
"""Share of words in two notes' summaries from which they are pointed out; what becomes of them is judged later."""

EPISODES_SHARE = 2
"""Episodes may take a half of the room; what is remembered gets the rest."""


@dataclass(frozen=True)
class DreamInput:
    """Input of one scope's request."""

    draft: Draft
    episodes: Sequence[Episode]
    witnesses: EvidenceIndex
    tombstones: Collection[Tombstone]
    ages: Ages
    now: datetime
    max_notes: int


def request(scene: DreamInput, room: int, size: Callable[[str], int]) -> list[Message]:
    """The messages, with at most `room` tokens of data as `size` counts them.

    Where there is more, episodes are cut, and of what is remembered comes first what shares most words with them.
    """
    episodes = _episodes(scene, room // EPISODES_SHARE, size)
    left = room - size(episodes)
    undone = [{"claim": tombstone.claim[:300]} for tombstone in _newest(scene.tombstones)]
    remembered = _fitting(list(_remembered(scene)), left - size(_lines(undone)), size, scene)
    parts = [
        f"Today is {scene.now.date().isoformat()}.",
        _block("remembered", remembered),
        _block("undone", _lines(undone)) if undone else "",
        _block("notes_that_overlap", _lines(overlaps)) if (overlaps := _overlaps(scene)) else "",
        _too_many(scene),
        _block("episodes", episodes),
    ]
    return [
        Message(role="system", content=prompt("dream")),
        Message(role="user", content="\n\n".join(filter(None, parts))),
    ]


@cache
def prompt(name: str) -> str:
    """A text of this package's prompts."""
    return (resources.files("nanobot.memory.dream") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def _episodes(scene: DreamInput, room: int, size: Callable[[str], int]) -> str:
    rows = [_episode(scene, episode) for episode in scene.episodes]
    text = _lines(rows)
    most = max((len(str(row["content"])) for row in rows), default=0)
    while size(text) > room and most > 200:
        most //= 2
        cut = [row | {"content": _cut(str(row["content"]), most), "facts": _some(row["facts"], most)} for row in rows]
        text = _lines(cut)
    return text


def _episode(scene: DreamInput, episode: Episode) -> dict[str, object]:
    origins = scene.witnesses.origins(episode)
    return {
        "episode": episode.cursor,
        "at": episode.timestamp,
        "scope": episode.scope.name,
        "origin": episode.origin.value,
        "session": episode.session,
        "messages": list(episode.messages),
        "content": episode.content,
        "facts": [
            {"number": f"{episode.cursor}.{number}", "origin": origin.value, "text": fact.text}
            for number, (fact, origin) in enumerate(zip(episode.facts, origins, strict=True), 1)
        ],
    }


def _remembered(scene: DreamInput) -> Iterable[dict[str, object]]:
    """Every line of the files, then every note: what the list knows of it, and what it says."""
    draft, ages = scene.draft, scene.ages
    for name, path in draft.places.fixed.items():
        if path in draft.paths:
            yield {"file": name}
        for _, line in facts_of(draft.text(path)):
            yield {"file": name, "line": line, **ages.as_told(ages.of_line(path, line), scene.now)}
    for path in draft.notes:
        name, text = path.rpartition("/")[2].removesuffix(".md"), draft.text(path)
        told = ages.as_told(ages.of_note(path), scene.now)
        about = {"summary": field_of(text, "summary"), "type": field_of(text, "type")}
        yield {"note": name, **about, "updated": field_of(text, "updated"), **told, "text": body_of(text).strip()}


def _fitting(rows: list[dict[str, object]], room: int, size: Callable[[str], int], scene: DreamInput) -> str:
    """All of it if it fits; else what is most akin to the episodes, in its order, and how much was left out."""
    text = _lines(rows)
    if size(text) <= room:
        return text
    words = content_words("\n".join(episode.content for episode in scene.episodes))
    ranked = sorted(range(len(rows)), key=lambda place: -len(words & content_words(_line(rows[place]))))
    chosen: set[int] = set()
    for place in ranked:
        cost = size(_line(rows[place]))
        if cost <= room:
            room -= cost
            chosen.add(place)
    shown = [row for place, row in enumerate(rows) if place in chosen]
    return _lines([*shown, {"not_shown": len(rows) - len(shown)}])


def _overlaps(scene: DreamInput) -> list[dict[str, object]]:
    """Notes whose summaries share many words: for the model to look at, nothing more."""
    words = {
        path: content_words(
            f"{path.rpartition('/')[2].removesuffix('.md')} {field_of(scene.draft.text(path), 'summary')}"
        )
        for path in scene.draft.notes
    }
    notes = scene.draft.notes[:MOST_COMPARED]
    pairs = [
        (len(words[one] & words[other]) / min(len(words[one]), len(words[other])), one, other)
        for place, one in enumerate(notes)
        for other in notes[place + 1 :]
    ]
    close = sorted((pair for pair in pairs if pair[0] >= OVERLAPPING), reverse=True)[:MOST_OVERLAPS]
    return [{"notes": [path.rpartition("/")[2].removesuffix(".md") for path in pair[1:]]} for pair in close]


def _too_many(scene: DreamInput) -> str:
    count = len(scene.draft.notes)
    if count <= scene.max_notes:
        return ""
    return f"There are {count} notes, and there should be at most {scene.max_notes}: merge what belongs together."


def _newest(tombstones: Collection[Tombstone]) -> list[Tombstone]:
    told = [tombstone for tombstone in tombstones if tombstone.claim]
    return sorted(told, key=lambda tombstone: tombstone.at, reverse=True)[:MOST_UNDONE]


def _block(tag: str, content: str) -> str:
    return f"<{tag}>\n{content}\n</{tag}>"


def _lines(rows: Sequence[Mapping[str, object]]) -> str:
    return "\n".join(map(_line, rows))


def _line(row: Mapping[str, object]) -> str:
    """One line of JSON in which no tag can open or close, and no line end of any kind stands."""
    text = json.dumps({name: value for name, value in row.items() if value not in ("", [])}, ensure_ascii=False)
    escaped = ("<", "\\u003c"), (">", "\\u003e"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"), ("\x85", "\\u0085")
    for char, code in escaped:
        text = text.replace(char, code)
    return text


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} […]"


def _some(facts: object, most: int) -> list[object]:
    return facts[: max(1, most // 100)] if isinstance(facts, list) else []


# The model is asked, and told once what was wrong with its answer.


_ERROR = re.compile(
    r"\W*(?:error\b|http[ /]?\d{3}|(?:4\d\d|5\d\d)\b|<!doctype|<html|\{\s*\"error\"|(?:internal server|bad gateway)"
    r"|(?:rate limit|quota|insufficient|unauthorized|forbidden|invalid api|model not found|no route|upstream)"
    r"|(?:request|service|api) (?:failed|timed out|unavailable|error)|timed? ?out|错误|请求失败|额度|余额|限流|服务)",
    re.IGNORECASE,
)


class OutOfRoomError(Exception):
    """A limit of the run was reached: of calls, tokens or time."""


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


class Model:
    """Asks one model within the limits of a run."""

    def __init__(self, llm: LLM, estimator: TokenEstimator, purse: RunBudget, slot: Slot) -> None:
        self._llm = llm
        self._estimator = estimator
        self._purse = purse
        self._slot = slot
        self._tools = () if llm.info.compact else (TOOL,)

    @property
    def may_ask(self) -> bool:
        return self._purse.has(1)

    def room(self, tokens: int) -> int:
        """Return the tokens of data that fit, with one question and its correction within the budget."""
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


async def hear(model: Model, messages: Sequence[Message], draft: Draft, gate: ProposalValidator) -> ModelAnswer:
    """Ask, carry out on the draft what may be, say once what may not. Raises LLMError and OutOfRoomError."""
    heard = ModelAnswer(draft)
    reply = await model.ask(messages)
    told = _take_in(heard, read_reply(reply), gate)
    if not told or not model.may_ask:
        return heard
    first, heard.dropped = heard.dropped, []
    corrected = read_reply(await model.ask([*messages, *_told(reply, told)]))
    _take_in(heard, corrected, gate)
    if corrected == ParsedAnswer(()):  # it gave up on them
        heard.dropped = first
    return heard


def _take_in(heard: ModelAnswer, answer: ParsedAnswer | None, gate: ProposalValidator) -> str:
    """Carry out what may be; returns what is to be said about the rest, "" if all is well."""
    if answer is None:
        heard.dropped.append(DroppedProposal("malformed"))
        return prompt("unreadable")
    heard.is_usable = heard.is_usable or bool(answer.proposals) or not answer.malformed
    refused = list(answer.malformed)
    heard.dropped += [DroppedProposal("malformed")] * len(answer.malformed)
    done = 0
    for proposal in answer.proposals:
        if proposal in heard.admitted:  # many models say all of it again
            continue
        try:
            heard.draft = gate.admit(proposal, heard.draft).draft
            heard.admitted.append(proposal)
            done += 1
        except RefusedOperation as refusal:
            heard.dropped.append(DroppedProposal(refusal.kind, proposal.file))
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

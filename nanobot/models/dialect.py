"""The dialect of an endpoint: what one model there lacks or demands, learnt from its refusals."""

import asyncio
import hashlib
import logging
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib import resources
from itertools import pairwise
from urllib.parse import urlsplit

from nanobot.errors import LLMError, LLMErrorKind, StoreError
from nanobot.models.failures import Overflow, is_about_output, overflow
from nanobot.ports import Clock
from nanobot.text import parse_time

log = logging.getLogger(__name__)

Json = Mapping[str, object]

NO_TOOLS = "no_tools"  # takes no tools: none are offered, and earlier calls are told in words
SINGLE_CALLS = "single_calls"  # a step of several tool calls goes back as several steps of one
NO_SYSTEM = "no_system"  # has no system role: its text goes in front of the first user message
NO_PICTURES = "no_pictures"
ALTERNATING = "alternating"  # user and assistant must take turns
LINE_AFTER_TOOL = "line_after_tool"  # no user message may follow the result of a tool
SHORT_IDS = "short_ids"  # ids of tool calls are nine letters or digits
TEXT_BESIDE_CALLS = "text_beside_calls"  # the content beside tool calls must be a text
REASONING_BACK = "reasoning_back"  # every assistant message must carry reasoning_content
SIGNATURE_BACK = "signature_back"  # every step of tool calls must carry a thought signature
NO_FIELDS = "no_fields"  # takes no field back that the protocol does not know

TOLD_NO_TOOLS = "told:no_tools"  # a person who misses them has been told

RETRIED = timedelta(hours=1)
"""What a person misses is tried again after this time: they may have set up their server meanwhile."""

KEPT = timedelta(days=7)
"""All else is a matter of form, where another refusal now and then is all it costs to be up to date."""

_RETRIED = (NO_TOOLS, NO_PICTURES)

OPTIONAL = ("stream_options", "temperature", "max_tokens", "max_completion_tokens", "tool_choice")
"""What we ask for and can do without, should an endpoint refuse it."""

_REFUSING: tuple[LLMErrorKind, ...] = ("request", "model", "output", "server", "protocol")
_PARAMETER: tuple[LLMErrorKind, ...] = ("request", "model", "output")

_FROM_START: Mapping[str, tuple[str, ...]] = {"mistral.ai": (SHORT_IDS, LINE_AFTER_TOOL)}
"""By the end of the host's name, what is known without asking."""


def endpoint_id(base_url: str, model: str) -> str:
    """The name under which a model at an endpoint is kept on disk; it holds no address and no secret."""
    return hashlib.sha256(f"{base_url.rstrip('/')} {model}".encode("utf-8", "replace")).hexdigest()[:16]


def host_of(base_url: str) -> str:
    """The host of an address, "" for an address that is none."""
    try:
        return urlsplit(base_url).hostname or ""
    except ValueError:
        return ""


@dataclass(frozen=True, slots=True)
class ModelDialect:
    """One model at one endpoint, as far as it is known; the request builder reads it."""

    endpoint: str = ""
    traits: frozenset[str] = frozenset()

    def has(self, trait: str) -> bool:
        return trait in self.traits

    def takes(self, parameter: str) -> bool:
        """True if an optional parameter may be sent."""
        return f"no_parameter:{parameter}" not in self.traits

    def takes_field(self, name: str) -> bool:
        """True if a field that it sent may be sent back."""
        return NO_FIELDS not in self.traits and f"no_field:{name}" not in self.traits

    @property
    def max_output(self) -> int | None:
        """The most tokens that may be asked for, where that was learnt."""
        return min((int(t.partition(":")[2]) for t in self.traits if t.startswith("max_output:")), default=None)

    def knowing(self, *traits: str) -> "ModelDialect":
        return ModelDialect(self.endpoint, self.traits | set(traits))


@dataclass(frozen=True, slots=True)
class _Refusal:
    """A wording, and what it teaches if the request holds what it is about."""

    trait: str
    words: str
    concerns: Callable[[Json], bool]
    without: str = "(?!)"  # what is left out of the sentence first: it is about something narrower

    def fits(self, said: str, body: Json) -> bool:
        return self.is_said(said) and self.concerns(body)

    def is_said(self, said: str) -> bool:
        said = re.sub(self.without, "…", said, flags=re.IGNORECASE)
        return re.search(self.words, said, re.IGNORECASE | re.DOTALL) is not None


def learnt(error: LLMError, body: Json, sent_fields: Iterable[str], dialect: ModelDialect) -> ModelDialect | None:
    """The dialect in which the request is worth sending again; None if the refusal teaches nothing new.

    Args:
        error: how the request failed.
        body: what was sent.
        sent_fields: the fields in it that the protocol does not know.
        dialect: in which it was sent.
    """
    smaller = _smaller_output(error, body, dialect)
    if smaller is not None:
        return smaller
    if error.kind not in _REFUSING:
        return None
    fields = set(sent_fields)
    refused = [f"no_field:{name}" for name in fields if _names(name, error.said)]
    is_unknown_field = bool(fields) and re.search(_UNKNOWN_FIELD, error.said, re.IGNORECASE)
    if refused and is_unknown_field:
        return dialect.knowing(*refused)
    parameters = [name for name in OPTIONAL if name in body and _names(name, error.said)]
    if parameters and error.kind in _PARAMETER:
        return dialect.knowing(*(f"no_parameter:{name}" for name in parameters))
    for refusal in _refusals():
        if refusal.trait not in dialect.traits and refusal.fits(error.said, body):
            return dialect.knowing(refusal.trait)
    if refused:
        return dialect.knowing(*refused)
    return dialect.knowing(NO_FIELDS) if is_unknown_field else None


def _smaller_output(error: LLMError, body: Json, dialect: ModelDialect) -> ModelDialect | None:
    """For an endpoint that has less room for an answer than was asked for: what it has, or as much as it likes."""
    asked = body.get("max_tokens") or body.get("max_completion_tokens")
    if not isinstance(asked, int) or error.kind not in ("context", "output", "request"):
        return None
    found = overflow(error.said)
    if found is None and not is_about_output(error.said):
        return None
    if found is not None and not found.leaves_room:
        return None  # it is the conversation that is too long
    if dialect.max_output is not None and dialect.max_output <= asked and error.kind != "context":
        limit = None  # it was told a smaller figure already
    else:
        limit = _fitting(error.said, found, asked)
    if limit is None:
        return dialect.knowing("no_parameter:max_tokens", "no_parameter:max_completion_tokens")
    return dialect.knowing(f"max_output:{limit}")


def _fitting(words: str, found: Overflow | None, asked: int) -> int | None:
    if found is not None:
        fits = min(found.window // 4, found.window - found.prompt)
        return fits if 0 < fits < asked else None
    figures = [int(figure.replace(",", "")) for figure in re.findall(r"(?<![\w.-])\d[\d,]{0,9}(?![\w-])", words)]
    return max((figure for figure in figures if 16 <= figure < asked), default=None)


def _names(name: str, words: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", words) is not None


def _messages(body: Json) -> list[Json]:
    messages = body.get("messages")
    return messages if isinstance(messages, list) else []


def _has_tools(body: Json) -> bool:
    return bool(body.get("tools")) or any(message.get("role") == "tool" for message in _messages(body))


def _has_system(body: Json) -> bool:
    return any(message.get("role") == "system" for message in _messages(body))


def _has_answers(body: Json) -> bool:
    return any(message.get("role") == "assistant" for message in _messages(body))


def _has_calls(body: Json) -> bool:
    return any(message.get("tool_calls") for message in _messages(body))


def _has_several_calls(body: Json) -> bool:
    steps = [message.get("tool_calls") for message in _messages(body)]
    return any(isinstance(calls, list) and len(calls) > 1 for calls in steps)


def _has_neighbours(body: Json) -> bool:
    """True if two users' or two assistants' messages follow one another, with results of tools between or not."""
    roles = [str(message.get("role")) for message in _messages(body) if message.get("role") != "system"]
    talk = ["user" if role == "tool" else role for role in roles]
    return any(one == other for one, other in pairwise(talk))


def _has_user_after_tool(body: Json) -> bool:
    roles = [message.get("role") for message in _messages(body)]
    return any(pair == ("tool", "user") for pair in pairwise(roles))


def _has_wordless_calls(body: Json) -> bool:
    return any(message.get("tool_calls") and message.get("content") is None for message in _messages(body))


def _has_pictures(body: Json) -> bool:
    contents = [message.get("content") for message in _messages(body)]
    return any(isinstance(content, list) for content in contents)


_UNKNOWN_FIELD = (
    r"extra (?:inputs|fields)|additional propert|extra_forbidden|not permitted|was unexpected"
    r"|(?:unknown|unrecogni[sz]ed|unexpected|unsupported|invalid) (?:field|key|name|property|argument|parameter)"
    r"|(?:field|key|property|argument|parameter)s? \S{0,40} ?(?:is|are) (?:unknown|unsupported|unexpected|not )"
)

_CONCERNS: Mapping[str, Callable[[Json], bool]] = {
    "user_after_tool": _has_user_after_tool,
    "several_calls": _has_several_calls,
    "tools": _has_tools,
    "system": _has_system,
    "neighbours": _has_neighbours,
    "calls": _has_calls,
    "answers": _has_answers,
    "wordless_calls": _has_wordless_calls,
    "pictures": _has_pictures,
}
"""What a request may hold that is refused, by the name in refusals.toml."""


@cache
def _refusals() -> Sequence[_Refusal]:
    """Return the lessons of refusals; the first that fits counts."""
    table = tomllib.loads((resources.files("nanobot.models") / "refusals.toml").read_text(encoding="utf-8"))

    def whole(words: str) -> str:
        return re.sub("<([A-Z]+)>", lambda found: str(table["parts"][found[1]]), words)

    return [
        _Refusal(
            row["trait"],
            whole("|".join(row["words"])),
            _CONCERNS[row["concerns"]],
            whole(row.get("without", "(?!)")),
        )
        for row in table["refusal"]
    ]


class ModelDialects:
    """Keeps what was learnt of each endpoint, for as long as it may be taken to hold.

    It is read when this is made, and again before it is saved: other processes learn, too.
    """

    def __init__(
        self,
        clock: Clock,
        load: Callable[[], dict[str, dict[str, str]]] = dict,
        save: Callable[[dict[str, dict[str, str]]], None] = lambda _: None,
        locked: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`load` and `save` keep, by endpoint, the traits and when each was learnt; both block and raise StoreError.

        While one saves what it has loaded, `locked` keeps the others out.
        """
        self._clock = clock
        self._load = load
        self._save = save
        self._locked = locked
        self._saving = asyncio.Lock()
        try:
            self._kept = load()
        except StoreError as error:
            log.warning("what is known of endpoints is learnt anew: %s", error)
            self._kept = {}

    def of(self, base_url: str, model: str) -> ModelDialect:
        """Return the known dialect of a model at an endpoint."""
        endpoint = endpoint_id(base_url, model)
        now = self._clock.now()
        learnt = self._kept.get(endpoint, {})
        traits = [trait for trait, at in learnt.items() if _holds(trait, at, now)]
        host = host_of(base_url)
        given = next((given for end, given in _FROM_START.items() if f".{host}".endswith(f".{end}")), ())
        return ModelDialect(endpoint, frozenset([*traits, *given]))

    async def keep(self, dialect: ModelDialect, before: ModelDialect) -> list[str]:
        """A request in this dialect was answered. Returns what was never known of the endpoint until now."""
        new = dialect.traits - before.traits
        if not new:
            return []
        known = self._kept.get(dialect.endpoint, {})
        first = [trait for trait in sorted(new) if trait not in known]
        at = self._clock.now().isoformat(timespec="seconds")
        self._kept[dialect.endpoint] = known | dict.fromkeys(sorted(new), at)
        async with self._saving:
            with suppress(StoreError):  # then it is learnt again by the next process
                saved = await asyncio.to_thread(self._merge, self._kept.copy())
                self._kept = _merged(saved, self._kept)
        return first

    def _merge(self, known: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        """Save it with what is on disk by now; returns both."""
        with self._locked():
            merged = _merged(self._load(), known)
            self._save(merged)
        return merged


def _merged(one: dict[str, dict[str, str]], other: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Both, each trait with the later of its times."""
    merged = {endpoint: dict(learnt) for endpoint, learnt in one.items()}
    for endpoint, learnt in other.items():
        known = merged.setdefault(endpoint, {})
        known |= {trait: at for trait, at in learnt.items() if not _is_later(known.get(trait, ""), at)}
    return merged


def _is_later(one: str, other: str) -> bool:
    mine, theirs = parse_time(one), parse_time(other)
    return mine is not None and theirs is not None and mine > theirs


def _holds(trait: str, at: str, now: datetime) -> bool:
    learnt = parse_time(at)
    return learnt is not None and timedelta(0) <= now - learnt < (RETRIED if trait in _RETRIED else KEPT)

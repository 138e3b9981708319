"""Input of Dream: the episodes to read at once, what is remembered in their scopes, and the request they become."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from importlib import resources

from nanobot.authority import Scope
from nanobot.errors import StoreError, VersionError
from nanobot.memory import tombstones
from nanobot.memory.dream.draft import Draft, note_name
from nanobot.memory.dream.evidence import EvidenceIndex
from nanobot.memory.dream.operations import DreamLimits
from nanobot.memory.history import MOST, Ages
from nanobot.memory.markdown import body_of, facts_of, field_of
from nanobot.memory.proposals import Proposals
from nanobot.memory.scopes import ScopePaths
from nanobot.memory.tombstones import Tombstone
from nanobot.nlp.words import content_words
from nanobot.ports import Clock, DreamBook, Episode, Episodes, SessionStore, VersionStore
from nanobot.transcript import Message, Span

CALLS_PER_SCOPE = 2
"""Model calls: the request, and one correction."""

LEAST_TOKENS = 6000
"""Tokens of one call; a run with less for each asks about fewer scopes."""

MOST_UNDONE = 40
MOST_OVERLAPS = 10
MOST_COMPARED = 400
OVERLAPPING = 0.5
"""Share of words in two notes' summaries from which they are pointed out; the model decides what becomes of them."""

EPISODES_SHARE = 2
"""Episodes may take a half of the room; what is remembered gets the rest."""


@dataclass(frozen=True, slots=True)
class DreamStores:
    """Stores that Dream reads and writes."""

    episodes: Episodes
    sessions: SessionStore
    versions: VersionStore
    book: DreamBook
    proposals: Proposals


# Episodes that are read at once.


@dataclass(frozen=True)
class EpisodeBatch:
    """Contiguous episodes behind the cursor, or one episode once more that was given up.

    All episodes up to `taken_in` were taken in before.
    """

    episodes: Sequence[Episode]
    evidence: Mapping[Scope, EvidenceIndex]
    taken_in: int = 0

    @property
    def first(self) -> int:
        return self.episodes[0].cursor

    @property
    def last(self) -> int:
        return self.episodes[-1].cursor

    @property
    def through(self) -> int:
        """Cursor after the batch has landed."""
        return max(self.last, self.taken_in)

    @property
    def is_again(self) -> bool:
        """True if it was given up before."""
        return self.last <= self.taken_in

    @property
    def scopes(self) -> Sequence[Scope]:
        """Scopes of the episodes, in the order of their first."""
        return list(dict.fromkeys(episode.scope for episode in self.episodes))

    def of(self, scope: Scope) -> Sequence[Episode]:
        return [episode for episode in self.episodes if episode.scope == scope]


async def next_batch(stores: DreamStores, cursor: int, limits: DreamLimits, most: int) -> EpisodeBatch:
    """Return up to `most` episodes behind the cursor, of as few scopes as one run can ask about. Raises StoreError."""
    found = await stores.episodes.after(cursor, most)
    scopes_at_once = max(1, min(limits.steps, limits.tokens // LEAST_TOKENS) // CALLS_PER_SCOPE)
    return await _with_evidence(stores, _few_scopes(found, scopes_at_once), cursor)


async def once_more(stores: DreamStores, cursor: int, taken_in: int) -> EpisodeBatch:
    """Return a batch of an episode that was given up; an empty one if it is gone. Raises StoreError."""
    episode = await stores.episodes.get(cursor)
    return await _with_evidence(stores, [episode] if episode else [], taken_in)


async def _with_evidence(stores: DreamStores, episodes: Sequence[Episode], taken_in: int) -> EpisodeBatch:
    spans: defaultdict[str, set[Span]] = defaultdict(set)
    for episode in episodes:
        spans[episode.session].add(episode.messages)
    sessions = {key: await _messages(stores.sessions, key, wanted) for key, wanted in spans.items()}
    scopes = {episode.scope for episode in episodes}
    return EpisodeBatch(episodes, {scope: EvidenceIndex(scope, episodes, sessions) for scope in scopes}, taken_in)


def _few_scopes(episodes: Sequence[Episode], most: int) -> Sequence[Episode]:
    """Return the first episodes, up to the one with a scope too many."""
    seen: set[Scope] = set()
    for place, episode in enumerate(episodes):
        seen.add(episode.scope)
        if len(seen) > most:
            return episodes[:place]
    return episodes


async def _messages(sessions: SessionStore, key: str, spans: Collection[Span]) -> Sequence[Message]:
    """Return the messages of a session's episodes; none if it cannot be read: then the episodes are the evidence."""
    try:
        return await sessions.between(key, spans)
    except (StoreError, ValueError):
        return ()


# Memory of one scope as it is on disk, with the episodes to judge it by.


@dataclass(frozen=True, slots=True)
class DreamInput:
    """Everything that the request about one scope is made of, and that its proposals are checked against.

    `draft` holds the files as they are on disk; `tombstones` are those of this scope.
    """

    draft: Draft
    episodes: Sequence[Episode]
    evidence: EvidenceIndex
    tombstones: Collection[Tombstone]
    ages: Ages
    now: datetime
    limits: DreamLimits


class InputReader:
    """Reads the memory of scopes for one batch: their files each time anew, the ages of their lines once."""

    def __init__(self, stores: DreamStores, clock: Clock, limits: DreamLimits) -> None:
        self._versions = stores.versions
        self._episodes = stores.episodes
        self._clock = clock
        self._limits = limits
        self._locked: set[str] = set()
        self._ages: dict[Scope, Ages] = {}

    async def commit_hand_edits(self) -> None:
        """Commit the hand edits as people's own. Raises VersionError."""
        self.lock((await self._versions.commit_hand_edits()).skipped)

    def lock(self, paths: Iterable[str]) -> None:
        """Refuse changes of files that cannot be kept in the history, from the next `read` on."""
        self._locked |= set(paths)

    async def read(self, scope: Scope, batch: EpisodeBatch) -> DreamInput:
        """Return the input of a scope, with its files as they are now. Raises VersionError and StoreError."""
        files = await self._versions.files([*ScopePaths(scope).within, tombstones.FOLDER])
        if scope not in self._ages:
            self._ages[scope] = await self._read_ages(scope)
        own = [stone for stone in tombstones.read(files).values() if stone.scope == scope.name]
        return DreamInput(
            draft=Draft.of(scope, files, self._locked),
            episodes=batch.of(scope),
            evidence=batch.evidence[scope],
            tombstones=[await self._with_messages(stone) for stone in own],
            ages=self._ages[scope],
            now=self._clock.now(),
            limits=self._limits,
        )

    async def _with_messages(self, stone: Tombstone) -> Tombstone:
        """Return a tombstone that names the messages of its episodes, too: they may be in another episode by now."""
        names: list[str] = []
        for name in stone.evidence:
            kind, _, number = name.partition(":")
            episode = await self._episodes.get(int(number)) if kind == "episode" and number.isdecimal() else None
            if episode is not None:
                names += [*episode.messages, *(message for fact in episode.facts for message in fact.messages)]
        return replace(stone, evidence=(*stone.evidence, *names))

    async def _read_ages(self, scope: Scope) -> Ages:
        try:
            return Ages(await self._versions.log(MOST, within=ScopePaths(scope).within))
        except VersionError as error:
            if error.kind not in ("missing", "unknown"):
                raise
            return Ages()


# The request: what is remembered, and what happened; all of it as data.


def request(given: DreamInput, room: int, size: Callable[[str], int]) -> list[Message]:
    """Return the messages of the request, with at most `room` tokens of data as `size` counts them.

    Where there is more, episodes are cut, and the memories that share most words with them are chosen.
    """
    episodes = _episodes(given, room // EPISODES_SHARE, size)
    left = room - size(episodes)
    undone = [{"claim": tombstone.claim[:300]} for tombstone in _newest(given.tombstones)]
    remembered = _fitting(list(_remembered(given)), left - size(_lines(undone)), size, given)
    parts = [
        f"Today is {given.now.date().isoformat()}.",
        _block("remembered", remembered),
        _block("undone", _lines(undone)) if undone else "",
        _block("notes_that_overlap", _lines(overlaps)) if (overlaps := _overlaps(given)) else "",
        _too_many(given),
        _block("episodes", episodes),
    ]
    return [
        Message(role="system", content=prompt("dream")),
        Message(role="user", content="\n\n".join(filter(None, parts))),
    ]


@cache
def prompt(name: str) -> str:
    """Return a prompt of this package."""
    return (resources.files("nanobot.memory.dream") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def _episodes(given: DreamInput, room: int, size: Callable[[str], int]) -> str:
    rows = [_episode(given, episode) for episode in given.episodes]
    text = _lines(rows)
    most = max((len(str(row["content"])) for row in rows), default=0)
    while size(text) > room and most > 200:
        most //= 2
        cut = [row | {"content": _cut(str(row["content"]), most), "facts": _some(row["facts"], most)} for row in rows]
        text = _lines(cut)
    return text


def _episode(given: DreamInput, episode: Episode) -> dict[str, object]:
    origins = given.evidence.origins(episode)
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


def _remembered(given: DreamInput) -> Iterable[dict[str, object]]:
    """Return a row for each line of the files, then for each note."""
    draft, ages = given.draft, given.ages
    for name, path in draft.places.fixed.items():
        if path in draft.paths:
            yield {"file": name}
        for _, line in facts_of(draft.text(path)):
            yield {"file": name, "line": line, **ages.as_told(ages.of_line(path, line), given.now)}
    for path in draft.notes:
        name, text = note_name(path), draft.text(path)
        told = ages.as_told(ages.of_note(path), given.now)
        about = {"summary": field_of(text, "summary"), "type": field_of(text, "type")}
        yield {"note": name, **about, "updated": field_of(text, "updated"), **told, "text": body_of(text).strip()}


def _fitting(rows: list[dict[str, object]], room: int, size: Callable[[str], int], given: DreamInput) -> str:
    """Return all rows if they fit; else those most akin to the episodes, in order, and the number left out."""
    text = _lines(rows)
    if size(text) <= room:
        return text
    words = content_words("\n".join(episode.content for episode in given.episodes))
    ranked = sorted(range(len(rows)), key=lambda place: -len(words & content_words(_line(rows[place]))))
    chosen: set[int] = set()
    for place in ranked:
        cost = size(_line(rows[place]))
        if cost <= room:
            room -= cost
            chosen.add(place)
    shown = [row for place, row in enumerate(rows) if place in chosen]
    return _lines([*shown, {"not_shown": len(rows) - len(shown)}])


def _overlaps(given: DreamInput) -> list[dict[str, object]]:
    """Return pairs of notes whose summaries share many words, for the model to look at."""
    words = {
        path: content_words(
            f"{path.rpartition('/')[2].removesuffix('.md')} {field_of(given.draft.text(path), 'summary')}"
        )
        for path in given.draft.notes
    }
    notes = given.draft.notes[:MOST_COMPARED]
    pairs = [
        (len(words[one] & words[other]) / min(len(words[one]), len(words[other])), one, other)
        for place, one in enumerate(notes)
        for other in notes[place + 1 :]
    ]
    close = sorted((pair for pair in pairs if pair[0] >= OVERLAPPING), reverse=True)[:MOST_OVERLAPS]
    return [{"notes": [note_name(path) for path in pair[1:]]} for pair in close]


def _too_many(given: DreamInput) -> str:
    count = len(given.draft.notes)
    if count <= given.limits.max_notes:
        return ""
    return (
        f"There are {count} notes, and there should be at most {given.limits.max_notes}: merge what belongs together."
    )


def _newest(tombstones: Collection[Tombstone]) -> list[Tombstone]:
    told = [tombstone for tombstone in tombstones if tombstone.claim]
    return sorted(told, key=lambda tombstone: tombstone.at, reverse=True)[:MOST_UNDONE]


def _block(tag: str, content: str) -> str:
    return f"<{tag}>\n{content}\n</{tag}>"


def _lines(rows: Sequence[Mapping[str, object]]) -> str:
    return "\n".join(map(_line, rows))


def _line(row: Mapping[str, object]) -> str:
    """Return one line of JSON without line ends of any kind, in which no tag can open or close."""
    text = json.dumps({name: value for name, value in row.items() if value not in ("", [])}, ensure_ascii=False)
    escaped = ("<", "\\u003c"), (">", "\\u003e"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"), ("\x85", "\\u0085")
    for char, code in escaped:
        text = text.replace(char, code)
    return text


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} […]"


def _some(facts: object, most: int) -> list[object]:
    return facts[: max(1, most // 100)] if isinstance(facts, list) else []

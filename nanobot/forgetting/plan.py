"""The erasure plan: the messages that a request names, and along their provenance all that was made of them."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from pathlib import PurePosixPath

from nanobot.errors import VersionError
from nanobot.forgetting.request import ForgetRequest, Reach, WhoIs, reach_for
from nanobot.forgetting.selection import (
    Affected,
    IsMeant,
    MessageSelection,
    cut,
    facts_in,
    lost_facts,
    pick,
    repeats,
    tells,
)
from nanobot.memory import changes as commits
from nanobot.memory.changes import Commit, Operation
from nanobot.memory.facts import bare, lines_brought
from nanobot.memory.notes import same_name
from nanobot.memory_files import FACT_FILES
from nanobot.nlp.matcher import ShippedTexts, TextMatcher, lines_of, plain
from nanobot.ports import Episode, Episodes, ErasedPiece, ErasurePlan, Transcripts, Version, VersionStore
from nanobot.text import parse_time
from nanobot.transcript import Message
from nanobot.workspace import folder_of, is_note, scope_of

# Memory that rests on nothing else.


_BRINGS = ("add", "replace", "confirm", "write", "merge")
_EPISODE = "episode:"

Reaches = Callable[[str], bool]
Told = Sequence[tuple[Version, Commit, Operation]]
"""Operations, each with its version and what that says of itself."""


@dataclass(frozen=True)
class Claim:
    """A line of memory that goes, with the names of all that it rested on; `file` is "" for a fact of an episode."""

    file: str
    scope: str
    text: str
    evidence: tuple[str, ...] = ()


@dataclass
class ErasedEvidence:
    """All names under which what goes may be cited."""

    sessions: frozenset[str] = frozenset()
    since: datetime | None = None
    episodes: set[int] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    def add(self, picked: MessageSelection) -> None:
        """The messages of one conversation, alone and as `session#id`."""
        for name in (*picked.gone, *picked.inbound):
            self.names |= {name, f"{picked.session}#{name}"}

    def holds(self, name: str) -> bool:
        """True if this piece of evidence goes."""
        number = name.removeprefix(_EPISODE)
        if number != name and number.isdecimal():
            return int(number) in self.episodes
        return name in self.names or name.rpartition("#")[0] in self.sessions

    def all_of(self, names: Collection[str]) -> bool:
        """True if nothing stays of what something rests on; of what rests on nothing, this cannot be said."""
        return bool(names) and all(map(self.holds, names))


class OperationIndex:
    """The operations that made memory what it is, with their evidence."""

    def __init__(self, versions: VersionStore) -> None:
        self._versions = versions

    async def told(self, reaches: Reaches) -> Told:
        """All operations on files of these scopes, the newest first; none where no history is kept, or can be read."""
        try:
            versions = await self._versions.log()
        except VersionError as error:
            if error.kind in ("missing", "unknown", "damaged"):
                return []
            raise
        return list(_operations(versions, reaches))

    async def groundless(
        self, told: Sequence[tuple[Version, Commit, Operation]], gone: ErasedEvidence
    ) -> Sequence[Claim]:
        """The lines, in whatever version they stood, of which all evidence goes. Raises VersionError."""
        evidence: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        texts: dict[tuple[str, str], str] = {}
        notes: list[tuple[Version, Operation]] = []
        for version, commit, operation in told:
            key = operation.file, plain(operation.text)
            names = _names(version, commit, operation, gone)
            evidence[key] |= names
            texts[key] = operation.text
            if operation.verb in ("write", "merge") and gone.all_of(names):
                notes.append((version, operation))
        found = [
            Claim(file, _scope(file), texts[file, text], tuple(sorted(names)))
            for (file, text), names in evidence.items()
            if text and gone.all_of(names)
        ]
        return [*found, *await self._of_notes(notes)]

    async def _of_notes(self, written: Sequence[tuple[Version, Operation]]) -> Sequence[Claim]:
        """The lines that these versions brought into notes."""
        claims: list[Claim] = []
        changes = await self._versions.diffs([version for version, _ in written])
        for (_, operation), diffs in zip(written, changes, strict=True):
            for diff in diffs:
                if diff.path == operation.file:
                    lines = lines_brought(diff.before, diff.after)
                    claims += [Claim(diff.path, _scope(diff.path), line, operation.messages) for line in lines]
        return claims


def evidence_of(told: Told, file: str) -> frozenset[str]:
    """All that a file rests on."""
    return frozenset(name for _, _, operation in told if operation.file == file for name in operation.messages)


def messages_by_session(names: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """The messages among these names, by session; "" for those that do not say of which."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name in names:
        if not name.startswith(_EPISODE):
            session, _, message = name.rpartition("#")
            found[session].add(message)
    return {session: frozenset(ids) for session, ids in found.items()}


def _operations(versions: Sequence[Version], reaches: Reaches) -> Iterator[tuple[Version, Commit, Operation]]:
    for version in versions:
        commit = commits.parse(version.message) if version.author != "person" else None
        for operation in commit.operations if commit else ():
            if commit and operation.verb in _BRINGS and reaches(_scope(operation.file)):
                yield version, commit, operation


def _names(version: Version, commit: Commit, operation: Operation, gone: ErasedEvidence) -> frozenset[str]:
    """Return the evidence of an operation. A request by command stands in no session: its time is the evidence."""
    names = frozenset(operation.messages)
    is_command = commit.kind == "remember" and not commit.turn
    if is_command and gone.since and version.at >= gone.since:
        gone.names |= names
    return names


def _scope(file: str) -> str:
    return scope_of(PurePosixPath(file))


# Messages that a request names.


@dataclass(frozen=True)
class Seeds:
    """In which conversations to look (None: in all), and there for which messages.

    `may_hold` is asked about raw text first. `notes` are paths that go whole, folders with a slash behind them;
    `episodes` numbers of episodes that go, `scopes` those of which all episodes do. `people` are those of whom
    nothing stays.
    """

    of: Callable[[str], IsMeant]
    where: Sequence[str] | None = None
    may_hold: Callable[[str], bool] = lambda _: True
    notes: frozenset[str] = frozenset()
    episodes: frozenset[int] = frozenset()
    scopes: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()


_NOTHING = Seeds(lambda _: lambda _: False, where=())


def seeds_of_words(traces: TextMatcher) -> Seeds:
    """The messages that hold them."""
    return Seeds(lambda _: tells(traces), may_hold=traces.may_name)


def seeds_of_session(key: str) -> Seeds:
    """All of it."""
    return Seeds(lambda _: lambda _: True, where=[key])


def seeds_since(since: datetime) -> Seeds:
    """Return the seeds of an erasure by time: everything said from then on."""
    return Seeds(lambda _: lambda message: is_since(message.at, since))


def seeds_of_person(person: str, reach: Reach, who_is: WhoIs, files: Iterable[str]) -> Seeds:
    """Return the seeds of an erasure by person: their words, and words to them alone, wherever they talk.

    `files` are the present ones.

    What one owner said lies among what the others did.
    """
    channel, _, user = person.partition(":")
    who = who_is(channel, user)
    own = frozenset() if who.is_owner else who.scopes
    if not any(map(reach, who.scopes)):
        return _NOTHING

    def of(key: str) -> IsMeant:
        there = {id_there for channel, id_there in who.ids if key.startswith(f"{channel}:")}

        def is_meant(message: Message) -> bool:
            return message.scope in own or (message.sender is not None and message.sender.id in there)

        return is_meant

    marks = [f'"{name}"' for name in (*own, *(id_there for _, id_there in who.ids))]
    return Seeds(
        of,
        may_hold=lambda text: any(mark in text for mark in marks),
        notes=frozenset(
            [
                *(f"{folder_of(scope)}/" for scope in own),
                *(file for file in files if scope_of(PurePosixPath(file)) in own),
            ]
        ),
        scopes=own,
        people=frozenset(map(":".join, who.ids)),
    )


async def seeds_of_episode(number: int, reach: Reach, episodes: Episodes, transcripts: Transcripts) -> Seeds:
    """The messages of its range."""
    episode = await episodes.get(number)
    if episode is None or not reach(episode.scope.name):
        return _NOTHING
    messages = await transcripts.read(episode.session, lambda _: True)
    ids = frozenset(between([message.id for message in messages], episode))
    return Seeds(lambda _: lambda message: message.id in ids, where=[episode.session], episodes=frozenset({number}))


async def seeds_of_note(name: str, reach: Reach, told: Told, files: Iterable[str], episodes: Episodes) -> Seeds:
    """The messages that the note rests on, as far as they are known. `files` are those that there are now."""
    known = {operation.file for _, _, operation in told} | {
        file for file in files if reach(scope_of(PurePosixPath(file)))
    }
    notes = frozenset(file for file in known if _is_called(file, name))
    evidence = [piece for file in notes for piece in evidence_of(told, file)]
    by_session = messages_by_session([*evidence, *await _facts_of(evidence, notes, told, episodes)])
    anywhere = by_session.get("", frozenset())

    def of(key: str) -> IsMeant:
        ids = anywhere | by_session.get(key, frozenset())
        return lambda message: message.id in ids or message.inbound in ids

    return Seeds(of, where=None if anywhere else list(by_session), notes=notes)


async def _facts_of(evidence: Collection[str], notes: Collection[str], told: Told, episodes: Episodes) -> Sequence[str]:
    """Return the messages of the facts that a note takes from an episode, where it rests on the whole episode."""
    texts = TextMatcher(lines=frozenset(plain(operation.text) for _, _, operation in told if operation.file in notes))
    numbers = [int(piece[len("episode:") :]) for piece in evidence if piece.startswith("episode:")]
    found = [episode for number in numbers if (episode := await episodes.get(number))]
    return [
        f"{episode.session}#{message}"
        for episode in found
        for fact in episode.facts
        if texts.tell_all(fact.text)
        for message in fact.messages
    ]


def between(ids: Sequence[str], episode: Episode) -> Sequence[str]:
    """The messages of an episode among those of its session; none if its ends are not there."""
    first, last = episode.messages
    if first not in ids or last not in ids:
        return ()
    return ids[ids.index(first) : ids.index(last) + 1]


def is_since(at: str, since: datetime) -> bool:
    """True if a time as it stands in a file is not before another; one that cannot be read cannot be told to be."""
    moment = parse_time(at)
    return moment is None or moment >= since


def _is_called(path: str, name: str) -> bool:
    inside = PurePosixPath(path)
    return is_note(inside) and inside.name not in FACT_FILES and same_name(inside.name, name)


# Plan: the messages, and along their provenance all that was made of them.


_AT_ONCE = 500


@dataclass(frozen=True)
class SearchedStores:
    """Stores that are searched."""

    transcripts: Transcripts
    episodes: Episodes
    versions: VersionStore
    who_is: WhoIs
    shipped: Callable[[], ShippedTexts] = ShippedTexts


@dataclass(frozen=True)
class Meaning:
    """All of it: what every store is told, the episodes that a model could tell anew, the lines of memory that go.

    `shown` are the messages; `size` how many there are.
    """

    meant: ErasurePlan
    affected: Sequence[Affected] = ()
    claims: Sequence[Claim] = ()
    shown: Sequence[ErasedPiece] = ()
    size: int = 0


@dataclass
class _Draft:
    """Plan as far as it is known. `silent` are conversations in reach in which nobody has said anything."""

    wish: ForgetRequest
    reach: Reach
    seeds: Seeds
    told: Told
    gone: ErasedEvidence
    traces: TextMatcher
    picked: dict[str, MessageSelection] = field(default_factory=dict)
    heard: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)

    @property
    def sessions(self) -> frozenset[str]:
        """Sessions that go without a trace: only those that lie in reach as a whole."""
        return frozenset(
            key for key in self.cited if key in self.picked or key in self.silent or self.reach.scopes is None
        )

    @property
    def cited(self) -> frozenset[str]:
        """Sessions of which nothing in reach stays, so that nothing in reach rests on them any more."""
        if self.wish.kind != "session":
            return frozenset()
        picked = self.picked.get(self.wish.value)
        return frozenset({self.wish.value}) if picked is None or picked.is_whole else frozenset()


async def work_out(wish: ForgetRequest, reach: Reach, sources: SearchedStores, zone: tzinfo | None) -> Meaning:
    """Find all that a wish means. Changes nothing. Raises StoreError and VersionError."""
    reach = reach_for(wish, reach, sources.who_is)
    grounds, gone = OperationIndex(sources.versions), ErasedEvidence()
    if moment := wish.moment(zone):
        gone.since = datetime.fromisoformat(moment)
    told = await grounds.told(reach)
    seeds = await _seeds(wish, reach, told, gone.since, sources)
    draft = _Draft(wish, reach, seeds, told, gone, _traces(wish, sources))
    await _pick(draft, seeds, sources.transcripts)
    noted = await _noted(draft, sources.versions)
    repeated: frozenset[str] = frozenset()
    if wish.kind != "since":  # what was said later cannot have been copied to before
        known = [*noted, *(claim.text for claim in await grounds.groundless(told, gone))]
        repeated = await _pick_repeated(draft, known, sources)
    affected = [one async for one in _affected(draft, sources)]
    texts = [*noted, *(text for picked in draft.picked.values() for text in picked.texts)]
    if wish.kind != "since":
        draft.traces = replace(draft.traces, lines=lines_of(texts) | repeated)
    episodes = {one.episode.cursor: await _left(one, draft, sources.transcripts) for one in affected}
    claims = await grounds.groundless(told, gone)
    lost = _lost(affected, episodes)
    copied = lines_of([claim.text for claim in (*claims, *lost)])
    draft.traces = replace(draft.traces, lines=draft.traces.lines | copied)
    return Meaning(
        _meant(draft, episodes, claims),
        affected=affected,
        claims=[*claims, *lost],
        shown=[ErasedPiece(picked.session, line) for picked in draft.picked.values() for line in picked.shown],
        size=sum(len(picked.gone) for picked in draft.picked.values()),
    )


async def _seeds(
    wish: ForgetRequest, reach: Reach, told: Told, since: datetime | None, sources: SearchedStores
) -> Seeds:
    match wish.kind:
        case "session":
            return seeds_of_session(wish.value)
        case "episode":
            return await seeds_of_episode(int(wish.value), reach, sources.episodes, sources.transcripts)
        case "note":
            return await seeds_of_note(wish.value, reach, told, await sources.versions.files(), sources.episodes)
        case "person":
            return seeds_of_person(wish.value, reach, sources.who_is, await sources.versions.files())
    return seeds_since(since) if since else seeds_of_words(_traces(wish, sources))


def _traces(wish: ForgetRequest, sources: SearchedStores) -> TextMatcher:
    return TextMatcher(wish.terms, shipped=sources.shipped())


async def _noted(draft: _Draft, versions: VersionStore) -> Sequence[str]:
    """Return the content of notes that go whole: it may have been written by hand, and rest on no message."""
    if draft.wish.kind != "note":
        return ()
    files = await versions.files(sorted(draft.seeds.notes)) if draft.seeds.notes else {}
    return [bare(line) for data in files.values() for line in data.decode("utf-8", "replace").split("\n")]


async def _pick_repeated(draft: _Draft, remembered: Sequence[str], sources: SearchedStores) -> frozenset[str]:
    """The bot's own answers that repeat it, in whatever conversation: what was made of them goes with them.

    Returns the sentences by which they are known.
    """
    said = [text for picked in draft.picked.values() for text in picked.said]
    facts = TextMatcher(lines=facts_in([*said, *remembered]), shipped=draft.traces.shipped)
    if not facts.lines:
        return facts.lines
    seeds, is_repeated = draft.seeds, repeats(facts)

    def of(key: str) -> IsMeant:
        is_seed = seeds.of(key) if seeds.where is None or key in seeds.where else None
        return lambda message: is_repeated(message) or (is_seed is not None and is_seed(message))

    also = replace(
        seeds,
        of=of,
        where=None,
        may_hold=lambda text: facts.may_be_repeated(text) or (seeds.where is None and seeds.may_hold(text)),
    )
    await _pick(draft, also, sources.transcripts, but=frozenset(seeds.where or ()))
    return facts.lines


async def _pick(draft: _Draft, seeds: Seeds, transcripts: Transcripts, but: frozenset[str] = frozenset()) -> None:
    """The messages, conversation by conversation, but for those that were looked at."""
    draft.gone.episodes |= seeds.episodes
    for key in dict.fromkeys([*(seeds.where or ()), *await transcripts.keys()]):
        if key in but:
            continue
        is_wanted = seeds.where is None or key in seeds.where
        if not is_wanted and draft.reach.scopes is None:
            continue
        hearing = _Hearing(draft, key, seeds.may_hold if is_wanted else lambda _: False)
        messages = await transcripts.read(key, hearing)
        picked = await asyncio.to_thread(pick, key, messages, draft.reach, seeds.of(key)) if messages else None
        if picked:
            draft.picked[key] = picked
            draft.gone.add(picked)
        if picked or hearing.is_reached:
            draft.heard.add(key)
            if not messages:
                draft.silent.add(key)
    draft.gone.sessions = draft.cited


class _Hearing:
    """Looks at the raw text of a conversation: whether something may be in it, and whose it is.

    Of one that is not wanted `may_hold` says no; copies may have got there.
    """

    def __init__(self, draft: _Draft, key: str, may_hold: Callable[[str], bool]) -> None:
        scopes = draft.reach.scopes
        channel, _, chat = key.partition(":")
        nobodys = "owner" if channel == "cli" else f"group:{channel}-{chat}"
        self._may_hold = may_hold
        self._marks = [f'"scope":"{scope}"' for scope in scopes or ()]
        self.is_reached = scopes is None or nobodys in scopes

    def __call__(self, text: str) -> bool:
        self.is_reached = self.is_reached or any(mark in text for mark in self._marks)
        return self._may_hold(text)


async def _affected(draft: _Draft, sources: SearchedStores) -> AsyncIterator[Affected]:
    """The episodes of which something goes, those numbered that go whole."""
    cursor = 0
    while episodes := await sources.episodes.after(cursor, _AT_ONCE):
        cursor = episodes[-1].cursor
        for episode in episodes:
            if draft.reach(episode.scope.name) and (found := _touched(episode, draft)):
                if found.is_gone:
                    draft.gone.episodes.add(episode.cursor)
                yield found


def _touched(episode: Episode, draft: _Draft) -> Affected | None:
    picked = draft.picked.get(episode.session)
    ids = between(picked.ids, episode) if picked else ()
    meant = picked.gone.intersection(ids) if picked else frozenset()
    if picked and meant:
        staying = [name for name in ids if name not in picked.dropped]
        return Affected(episode, staying, picked.blanked.intersection(ids), was_there=True)
    if _goes_whole(episode, draft):
        return Affected(episode, was_there=True)
    texts = (episode.content, *(fact.text for fact in episode.facts))
    facts_go = any(draft.gone.all_of(fact.messages) for fact in episode.facts)
    return Affected(episode, ids) if facts_go or any(map(draft.traces.name, texts)) else None


def _goes_whole(episode: Episode, draft: _Draft) -> bool:
    """True if it goes without its messages: it is named by itself, or they are not there any more."""
    seeds, since = draft.seeds, draft.gone.since
    if episode.cursor in seeds.episodes or episode.session in draft.cited or episode.scope.name in seeds.scopes:
        return True
    return since is not None and episode.session not in draft.picked and is_since(episode.timestamp, since)


async def _left(one: Affected, draft: _Draft, transcripts: Transcripts) -> Episode | None:
    """Return the rest of an episode where no model tells it anew."""
    if one.is_gone:
        return None
    picked = draft.picked.get(one.episode.session)
    gone = "\n".join(picked.texts) if picked else ""
    said = await saying(one, transcripts) if gone else ()
    return await asyncio.to_thread(cut, one, draft.traces, draft.gone.holds, said, gone)


async def saying(one: Affected, transcripts: Transcripts) -> Sequence[Message]:
    """The messages of an episode that stay and still say something. Raises StoreError."""
    wanted = set(one.staying) - one.blanked
    messages = await transcripts.read(one.episode.session, lambda _: True) if wanted else ()
    return [message for message in messages if message.id in wanted]


def _lost(affected: Sequence[Affected], left: Mapping[int, Episode | None]) -> Sequence[Claim]:
    """The facts that are not told any more. All evidence from before counts as old: the whole episode, too."""
    return [
        Claim("", one.episode.scope.name, fact.text, (*fact.messages, f"episode:{one.episode.cursor}"))
        for one in affected
        for fact in lost_facts(one.episode, left[one.episode.cursor])
    ]


def _meant(draft: _Draft, episodes: Mapping[int, Episode | None], claims: Sequence[Claim]) -> ErasurePlan:
    every = draft.picked.values()
    by_file: defaultdict[str, set[str]] = defaultdict(set)
    for claim in claims:
        by_file[claim.file].add(plain(claim.text))
    return ErasurePlan(
        scopes=draft.reach.scopes,
        traces=draft.traces,
        sessions=draft.sessions,
        heard=frozenset(draft.heard),
        dropped={picked.session: picked.dropped for picked in every if picked.dropped},
        blanked={picked.session: picked.blanked for picked in every if picked.blanked},
        turns=frozenset(turn for picked in every for turn in picked.turns),
        inbound=frozenset(name for picked in every for name in picked.inbound),
        episodes=episodes,
        claims={file: frozenset(lines) for file, lines in by_file.items()},
        notes=draft.seeds.notes,
        files=frozenset(file for picked in every for file in picked.files),
        people=draft.seeds.people,
        emptied=draft.seeds.scopes,
        since=draft.gone.since.isoformat() if draft.gone.since else "",
    )

"""What a wish comes to: the messages, and along their provenance all that was made of them."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo

from nanobot.forgotten import Shipped, Traces, lines_of, plain
from nanobot.memory.facts import bare
from nanobot.memory.forget.grounds import Claim, Gone, Grounds, Told
from nanobot.memory.forget.picking import IsMeant, Picked, facts_in, pick, repeats
from nanobot.memory.forget.reach import Reach, WhoIs, reach_for
from nanobot.memory.forget.retelling import Affected, cut, lost_facts
from nanobot.memory.forget.seeds import (
    Seeds,
    between,
    is_since,
    seeds_of_episode,
    seeds_of_note,
    seeds_of_person,
    seeds_of_session,
    seeds_of_words,
    seeds_since,
)
from nanobot.memory.forget.wish import Wish
from nanobot.ports import Episode, Episodes, Meant, Piece, Transcripts, VersionStore
from nanobot.transcript import Message

_AT_ONCE = 500


@dataclass(frozen=True)
class Sources:
    """Where it is looked for."""

    transcripts: Transcripts
    episodes: Episodes
    versions: VersionStore
    who_is: WhoIs
    shipped: Callable[[], Shipped] = Shipped


@dataclass(frozen=True)
class Meaning:
    """All of it: what every store is told, the episodes that a model could tell anew, the lines of memory that go.

    `shown` are the messages; `size` how many there are.
    """

    meant: Meant
    affected: Sequence[Affected] = ()
    claims: Sequence[Claim] = ()
    shown: Sequence[Piece] = ()
    size: int = 0


@dataclass
class _Draft:
    """What is known so far. `silent` are conversations in reach in which nobody has said anything."""

    wish: Wish
    reach: Reach
    seeds: Seeds
    told: Told
    gone: Gone
    traces: Traces
    picked: dict[str, Picked] = field(default_factory=dict)
    heard: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)

    @property
    def sessions(self) -> frozenset[str]:
        """Those of which nothing stays, nor that there were such: only where all that stands there is in reach."""
        return frozenset(
            key for key in self.cited if key in self.picked or key in self.silent or self.reach.scopes is None
        )

    @property
    def cited(self) -> frozenset[str]:
        """Those of which nothing stays that is in reach, so that nothing in reach rests on them any more."""
        if self.wish.kind != "session":
            return frozenset()
        picked = self.picked.get(self.wish.value)
        return frozenset({self.wish.value}) if picked is None or picked.is_whole else frozenset()


async def work_out(wish: Wish, reach: Reach, sources: Sources, zone: tzinfo | None) -> Meaning:
    """Find all that a wish means. Changes nothing. Raises StoreError and VersionError."""
    reach = reach_for(wish, reach, sources.who_is)
    grounds, gone = Grounds(sources.versions), Gone()
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
        shown=[Piece(picked.session, line) for picked in draft.picked.values() for line in picked.shown],
        size=sum(len(picked.gone) for picked in draft.picked.values()),
    )


async def _seeds(wish: Wish, reach: Reach, told: Told, since: datetime | None, sources: Sources) -> Seeds:
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


def _traces(wish: Wish, sources: Sources) -> Traces:
    return Traces(wish.terms, shipped=sources.shipped())


async def _noted(draft: _Draft, versions: VersionStore) -> Sequence[str]:
    """What stands in the notes that go whole: it may have been written by hand, and rest on no message."""
    if draft.wish.kind != "note":
        return ()
    files = await versions.files(sorted(draft.seeds.notes)) if draft.seeds.notes else {}
    return [bare(line) for data in files.values() for line in data.decode("utf-8", "replace").split("\n")]


async def _pick_repeated(draft: _Draft, remembered: Sequence[str], sources: Sources) -> frozenset[str]:
    """The bot's own answers that repeat it, in whatever conversation: what was made of them goes with them.

    Returns the sentences by which they are known.
    """
    said = [text for picked in draft.picked.values() for text in picked.said]
    facts = Traces(lines=facts_in([*said, *remembered]), shipped=draft.traces.shipped)
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


async def _affected(draft: _Draft, sources: Sources) -> AsyncIterator[Affected]:
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
    """Whether it goes without its messages: it is named by itself, or they are not there any more."""
    seeds, since = draft.seeds, draft.gone.since
    if episode.cursor in seeds.episodes or episode.session in draft.cited or episode.scope.name in seeds.scopes:
        return True
    return since is not None and episode.session not in draft.picked and is_since(episode.timestamp, since)


async def _left(one: Affected, draft: _Draft, transcripts: Transcripts) -> Episode | None:
    """What stays of an episode where no model tells it anew."""
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


def _meant(draft: _Draft, episodes: Mapping[int, Episode | None], claims: Sequence[Claim]) -> Meant:
    every = draft.picked.values()
    by_file: defaultdict[str, set[str]] = defaultdict(set)
    for claim in claims:
        by_file[claim.file].add(plain(claim.text))
    return Meant(
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

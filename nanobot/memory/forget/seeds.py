"""Which messages a wish names by itself, before anything is followed."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from nanobot.forgotten import Traces, plain
from nanobot.memory.forget.grounds import Told, evidence_of, messages_by_session
from nanobot.memory.forget.picking import IsMeant, tells
from nanobot.memory.forget.reach import Reach, WhoIs
from nanobot.memory.note import same_name
from nanobot.ports import Episode, Episodes, Transcripts
from nanobot.transcript import Message
from nanobot.workspace import folder_of, is_note, scope_of

_FIXED = ("MEMORY.md", "USER.md", "SOUL.md")


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


def seeds_of_words(traces: Traces) -> Seeds:
    """The messages that hold them."""
    return Seeds(lambda _: tells(traces), may_hold=traces.may_name)


def seeds_of_session(key: str) -> Seeds:
    """All of it."""
    return Seeds(lambda _: lambda _: True, where=[key])


def seeds_since(since: datetime) -> Seeds:
    """What was said from then on."""
    return Seeds(lambda _: lambda message: is_since(message.at, since))


def seeds_of_person(person: str, reach: Reach, who_is: WhoIs, files: Iterable[str]) -> Seeds:
    """What they said, and what was said to them alone, wherever they talk. `files` are those that there are now.

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
    """Where a note rests on an episode as a whole: the messages of those facts in it that the note tells."""
    texts = Traces(lines=frozenset(plain(operation.text) for _, _, operation in told if operation.file in notes))
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
    """Whether a time as it stands in a file is not before another; one that cannot be read cannot be told to be."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return True
    return (moment if moment.tzinfo else moment.astimezone()) >= since


def _is_called(path: str, name: str) -> bool:
    inside = PurePosixPath(path)
    return is_note(inside) and inside.name not in _FIXED and same_name(inside.name, name)

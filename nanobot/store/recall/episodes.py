"""What stands in history.jsonl, as texts to be found."""

from collections.abc import Iterator

from nanobot.ports import Episode
from nanobot.store import episode_lines
from nanobot.store.recall.entries import Entry, File


def entries_of_history(raw: bytes, _: File) -> Iterator[Entry]:
    """The lines of a summary, each for itself, and the facts that no line has.

    Raw episodes hold messages that are found where they were said.
    """
    try:
        episode = episode_lines.decode(raw)
    except ValueError:
        return
    for number, text in enumerate([] if episode.raw else _texts(episode)):
        yield Entry(
            source="episode",
            scope=episode.scope.name,
            text=text,
            at=episode.timestamp,
            role="episode",
            origin=episode.origin,
            session=episode.session,
            message=str(episode.cursor),
            apart=number == 0,
        )


def _texts(episode: Episode) -> list[str]:
    told = [line.strip().lstrip("-*").strip() for line in episode.content.splitlines()]
    told = [line for line in told if line]
    return [*told, *(fact.text for fact in episode.facts if not any(fact.text in line for line in told))]

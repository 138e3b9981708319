"""What the model reads: what is remembered, and what happened; all of it as data."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources

from nanobot.memory.alike import content_words
from nanobot.memory.dream.ages import Ages
from nanobot.memory.dream.draft import Draft
from nanobot.memory.dream.evidence import Witnesses
from nanobot.memory.dream.head import body_of, facts_of, field_of
from nanobot.memory.tombstones import Tombstone
from nanobot.ports import Episode
from nanobot.transcript import Message

MOST_UNDONE = 40
MOST_OVERLAPS = 10
MOST_COMPARED = 400
OVERLAPPING = 0.5
"""Share of words in two notes' summaries from which they are pointed out; what becomes of them is judged later."""

EPISODES_SHARE = 2
"""Episodes may take a half of the room; what is remembered gets the rest."""


@dataclass(frozen=True)
class Scene:
    """What one scope's request is made of."""

    draft: Draft
    episodes: Sequence[Episode]
    witnesses: Witnesses
    tombstones: Collection[Tombstone]
    ages: Ages
    now: datetime
    max_notes: int


def request(scene: Scene, room: int, size: Callable[[str], int]) -> list[Message]:
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


def _episodes(scene: Scene, room: int, size: Callable[[str], int]) -> str:
    rows = [_episode(scene, episode) for episode in scene.episodes]
    text = _lines(rows)
    most = max((len(str(row["content"])) for row in rows), default=0)
    while size(text) > room and most > 200:
        most //= 2
        cut = [row | {"content": _cut(str(row["content"]), most), "facts": _some(row["facts"], most)} for row in rows]
        text = _lines(cut)
    return text


def _episode(scene: Scene, episode: Episode) -> dict[str, object]:
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


def _remembered(scene: Scene) -> Iterable[dict[str, object]]:
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


def _fitting(rows: list[dict[str, object]], room: int, size: Callable[[str], int], scene: Scene) -> str:
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


def _overlaps(scene: Scene) -> list[dict[str, object]]:
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


def _too_many(scene: Scene) -> str:
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

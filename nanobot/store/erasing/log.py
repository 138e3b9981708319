"""A session's log, written anew without what is to be forgotten."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from nanobot.store import lines
from nanobot.store.erasing.swapped import put, swapped
from nanobot.transcript import Archived, Asked, Ended, Line, Message, QueuedMessage, Reset, Window

Change = Callable[[Message], Message | None]
"""What becomes of a message; the same object if nothing does, None if it goes."""

IsMeant = Callable[[bytes], bool]
"""Whether a line goes that nobody can read, or in which a message waits."""


@dataclass(slots=True)
class Changes:
    """What a first look at a log found: how many lines change, and where messages go, those that stay around them.

    `stays` counts the messages that do. `before` and `after` lead from the id of a message that goes to its
    neighbours, None if there is none. `gone` are the turns of which nothing stays. `recorded` are the messages that
    need not stand here as waiting any more.
    """

    count: int = 0
    stays: int = 0
    before: dict[str, str | None] = field(default_factory=dict)
    after: dict[str, str | None] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    recorded: set[str | None] = field(default_factory=set)


def look(path: Path, change: Change, is_meant: IsMeant) -> Changes:
    """What would change. Raises OSError."""
    found, last = Changes(), None
    waiting: list[str] = []
    queued: list[str | None] = []
    for raw, line in _lines(path):
        if not isinstance(line, Message):
            found.count += line is None and _is_bad(raw, is_meant)
            if isinstance(line, QueuedMessage) and is_meant(raw):
                queued.append(line.message.inbound)
            continue
        found.recorded.add(line.inbound)
        new = change(line)
        found.count += new is not line
        if new is None:
            found.gone.add(line.turn)
            found.before[line.id] = last
            waiting.append(line.id)
            continue
        found.stays += 1
        found.gone.discard(line.turn)
        last = line.id
        found.after |= dict.fromkeys(waiting, last)
        waiting.clear()
    found.after |= dict.fromkeys(waiting, None)
    found.count += sum(inbound not in found.recorded for inbound in queued)
    return found


def rewrite(path: Path, change: Change, is_meant: IsMeant, found: Changes) -> None:
    """Put a log in its place in which all of it is changed, durably. Raises OSError; then nothing has changed."""
    with swapped(path) as file:
        for raw, line in _lines(path):
            if line is None:
                if not _is_bad(raw, is_meant):
                    file.write(raw)
                continue
            if isinstance(line, QueuedMessage):
                if line.message.inbound not in found.recorded and not is_meant(raw):
                    file.write(raw)
                continue
            new = change(line) if isinstance(line, Message) else _following(line, found)
            if new is line:
                file.write(raw)
            elif new is not None:
                file.write(lines.encode([new])[0])


def _lines(path: Path) -> Iterator[tuple[bytes, Line | None]]:
    """Each line with what it says, None if that is not for us, or cannot be read."""
    with path.open("rb") as file:
        for raw in file:
            try:
                yield raw, lines.decode(raw) if raw.strip() else None
            except ValueError:
                yield raw, None


def _is_bad(raw: bytes, is_meant: IsMeant) -> bool:
    """Whether a line that is no message goes: the header says no more than the key."""
    return bool(raw.strip()) and lines.header_key(raw) is None and is_meant(raw)


def _following(mark: Line, found: Changes) -> Line | None:
    """A mark whose messages are gone names their neighbours; one that has nothing to name goes."""
    match mark:
        case Archived(through=through) if through in found.before:
            left = found.before[through]
            return replace(mark, through=left) if left else None
        case Reset(through=str(through)) if through in found.before:
            return replace(mark, through=found.before[through])
        case Window():
            return _window(mark, found)
        case Ended(turn=turn) | Asked(turn=turn) if turn in found.gone:
            return None
    return mark


def _window(mark: Window, found: Changes) -> Window | None:
    start = found.after.get(mark.start, mark.start)
    if start is None:
        return None
    brief = found.after.get(mark.brief, mark.brief) if mark.brief else None
    kept = tuple(turn for turn in mark.kept if turn not in found.gone)
    if (start, brief, kept) == (mark.start, mark.brief, tuple(mark.kept)):
        return mark
    return replace(mark, start=start, brief=brief, kept=kept)


def lines_without(path: Path, is_meant: IsMeant, *, write: bool) -> int:
    """How many lines of a small file go, such as of what a crash tore off; they do if `write`. Raises OSError."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return 0
    kept = [line for line in raw.split(b"\n") if not line or not is_meant(line)]
    count = raw.count(b"\n") + 1 - len(kept)
    if count and write:
        put(path, b"\n".join(kept))
    return count

"""Forgetting in conversations and episodes: which messages go, and a log rewritten without them."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from nanobot.aio import shielded
from nanobot.errors import StoreError
from nanobot.memory.episodes import history_file
from nanobot.memory.episodes.history_file import EpisodeStore
from nanobot.messages import Quote
from nanobot.nlp.matcher import FORGOTTEN, TextMatcher, beginning
from nanobot.ports import Episode, ErasedPiece, ErasurePlan, StoreFindings
from nanobot.sessions import lines
from nanobot.sessions.store import SessionFiles, SessionManager
from nanobot.store.jsonl import torn_path
from nanobot.store.private import put, remove, remove_stale_temps, swapped
from nanobot.text import parse_time
from nanobot.transcript import ApprovalMark, Archived, Ended, Line, Message, QueuedMessage, Reset, ToolCall, Window
from nanobot.workspace import Workspace

# Redacted messages.


_OWNER = "owner"
_ROWS = ("time: ", "channel: ")


class Changing:
    """For the messages of one conversation, in their order."""

    def __init__(self, meant: ErasurePlan, key: str) -> None:
        self._meant = meant
        self._dropped = meant.dropped.get(key, frozenset())
        self._blanked = meant.blanked.get(key, frozenset())
        channel, _, chat = key.partition(":")
        # As elsewhere: lines that do not say whose they are, are the owner's in the terminal, else the chat's.
        self._scope = _OWNER if channel == "cli" else f"group:{channel}-{chat}"

    def __call__(self, message: Message) -> Message | None:
        """The message as it may stay: the same object if nothing changes, None if it goes."""
        is_reached = self.reaches(message)
        if message.id in self._dropped and (is_reached or not message.scope):
            return None
        if not is_reached:
            return message
        new = _blank(message) if message.id in self._blanked else message
        new = _without(new, self._meant)
        return message if new == message else new

    def reaches(self, message: Message) -> bool:
        """True if the next message is in a memory that is reached."""
        self._scope = message.scope or self._scope
        return self._meant.reaches(self._scope)


def _blank(message: Message) -> Message:
    calls = tuple(replace(call, arguments="{}", extra=None) for call in message.tool_calls)
    content = FORGOTTEN if message.content else message.content
    return replace(message, content=content, quotes=(), files=(), tool_calls=calls, extra=None)


def _without(message: Message, meant: ErasurePlan) -> Message:
    """The message without what shows it: blocks that the model was given, results of tools, quotes, names."""
    traces = meant.traces
    sender = message.sender
    if sender is not None and traces.tell(sender.name):
        sender = replace(sender, name="")
    content = _content(message, traces)
    beside = None if content != message.content else message.extra  # it told the same in other words
    return replace(
        message,
        content=content,
        context=_context(message.context, traces) if message.context else message.context,
        sender=sender,
        quotes=tuple(quote for quote in message.quotes if not _tells(quote, traces)),
        files=tuple(file for file in message.files if file.path not in meant.files and not traces.tell(file.name)),
        tool_calls=_calls(message.tool_calls, traces),
        extra=None if _hold(beside, traces) else beside,
    )


def _context(context: str, traces: TextMatcher) -> str:
    """The blocks without what shows it. Where and when it was said are rows of the program's own."""
    if not traces.show(context):
        return context
    return "\n".join(line for line in context.split("\n") if line.startswith(_ROWS) or not traces.show(line))


def _content(message: Message, traces: TextMatcher) -> str | None:
    content = message.content
    if not content or content == FORGOTTEN:
        return content
    if message.role == "tool":
        return traces.without(content, quoted=True) or FORGOTTEN
    return FORGOTTEN if traces.name(content) else content


def _tells(quote: Quote, traces: TextMatcher) -> bool:
    return traces.show(quote.text) or traces.tell(quote.by)


def _calls(calls: Sequence[ToolCall], traces: TextMatcher) -> tuple[ToolCall, ...]:
    cut = [replace(call, extra=None) if _hold(call.extra, traces) else call for call in calls]
    return tuple(
        replace(call, arguments="{}") if traces.stand_in(call.arguments.encode("utf-8", "replace")) else call
        for call in cut
    )


def _hold(extra: Mapping[str, object] | None, traces: TextMatcher) -> bool:
    """True if it stands in what an endpoint sent along, which nobody can cut without breaking its signature."""
    return bool(extra) and traces.stand_in(json.dumps(extra, ensure_ascii=False).encode("utf-8", "replace"))


# Rewriting of a session file.


Change = Callable[[Message], Message | None]
"""What becomes of a message; the same object if nothing does, None if it goes."""

IsMeant = Callable[[bytes], bool]
"""Whether a line goes that nobody can read, or in which a message waits."""


@dataclass(slots=True)
class LogChanges:
    """Changes that a first pass over a log found: how many lines, and where messages go, those that stay around them.

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


def look(path: Path, change: Change, is_meant: IsMeant) -> LogChanges:
    """Return the changes to a log. Raises OSError."""
    found, last = LogChanges(), None
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


def rewrite(path: Path, change: Change, is_meant: IsMeant, found: LogChanges) -> None:
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
    """True if a line that is no message goes: the header says no more than the key."""
    return bool(raw.strip()) and lines.header_key(raw) is None and is_meant(raw)


def _following(mark: Line, found: LogChanges) -> Line | None:
    """A mark whose messages are gone names their neighbours; one that has nothing to name goes."""
    match mark:
        case Archived(through=through) if through in found.before:
            left = found.before[through]
            return replace(mark, through=left) if left else None
        case Reset(through=str(through)) if through in found.before:
            return replace(mark, through=found.before[through])
        case Window():
            return _window(mark, found)
        case Ended(turn=turn) | ApprovalMark(turn=turn) if turn in found.gone:
            return None
    return mark


def _window(mark: Window, found: LogChanges) -> Window | None:
    start = found.after.get(mark.start, mark.start)
    if start is None:
        return None
    brief = found.after.get(mark.brief, mark.brief) if mark.brief else None
    kept = tuple(turn for turn in mark.kept if turn not in found.gone)
    if (start, brief, kept) == (mark.start, mark.brief, tuple(mark.kept)):
        return mark
    return replace(mark, start=start, brief=brief, kept=kept)


def lines_without(path: Path, is_meant: IsMeant, *, write: bool) -> int:
    """Return the number of lines to remove from a small file, such as a torn end; removes them if `write`.

    Raises OSError.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return 0
    kept = [line for line in raw.split(b"\n") if not line or not is_meant(line)]
    count = raw.count(b"\n") + 1 - len(kept)
    if count and write:
        put(path, b"\n".join(kept))
    return count


# Store: history.jsonl.


class ErasableEpisodes:
    """Erasable over the episodes, what a crash tore off included."""

    place = "episodes"

    def __init__(self, history: EpisodeStore, workspace: Workspace) -> None:
        self._history = history
        self._path = workspace.history
        self._cursors = (workspace.history_cursor, workspace.dream_cursor)

    def owns(self, path: Path) -> bool:
        return path in (self._path, torn_path(self._path), *self._cursors)

    async def find(self, meant: ErasurePlan) -> StoreFindings:
        return await self._history.revise(lambda path: _look(path, meant))

    async def erase(self, meant: ErasurePlan) -> None:
        await self._history.revise(lambda path: _erase(path, meant))


def _look(path: Path, meant: ErasurePlan) -> StoreFindings:
    torn = lines_without(torn_path(path), _unreadable(meant), write=False)
    changed = [raw for raw in _lines_episodes(path) if _changed(raw, meant) is not raw]
    return StoreFindings(len(changed) + torn, [_piece(path, raw) for raw in changed])


def _piece(path: Path, raw: bytes) -> ErasedPiece:
    where = f"{path.parent.name}/{path.name}"
    try:
        episode = history_file.decode(raw)
    except ValueError:
        return ErasedPiece(where)
    return ErasedPiece(f"{where}:{episode.cursor}", beginning(episode.content))


def _erase(path: Path, meant: ErasurePlan) -> None:
    remove_stale_temps(path.parent)
    lines_without(torn_path(path), _unreadable(meant), write=True)
    lines = list(_lines_episodes(path))
    kept = [_changed(raw, meant) for raw in lines]
    if all(new is old for new, old in zip(kept, lines, strict=True)):
        return
    if not any(kept):
        remove(path)
        return
    with swapped(path) as file:
        for line in kept:
            file.write(line or b"")


def _lines_episodes(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True) if path.exists() else []


def _changed(raw: bytes, meant: ErasurePlan) -> bytes | None:
    """The line as it may stay: the same object if nothing changes, None if it goes."""
    try:
        episode = history_file.decode(raw)
    except ValueError:
        return None if raw.strip() and _unreadable(meant)(raw) else raw
    new = _episode(episode, meant)
    if new is None:
        return None
    after = history_file.encode(new)
    return raw if after == history_file.encode(episode) else after


def _episode(episode: Episode, meant: ErasurePlan) -> Episode | None:
    if not meant.reaches(episode.scope.name):
        return episode
    if episode.cursor in meant.episodes:
        return meant.episodes[episode.cursor]
    facts = tuple(fact for fact in episode.facts if not meant.traces.name(fact.text))
    content = meant.traces.without(episode.content) if meant.traces.name(episode.content) else episode.content
    return replace(episode, content=content, facts=facts) if content.strip() or facts else None


def _unreadable(meant: ErasurePlan) -> Callable[[bytes], bool]:
    """True if a line that cannot be read goes; whose it is cannot be told, so that only the owner reaches it."""
    return lambda raw: meant.of_owner and meant.traces.stand_in(raw)


# Store: conversations.


_PIECE = 8 << 20  # bytes that are looked at in one go

_AT = re.compile(rb'"at":\s*"([^"]+)"')

_QUEUED = '"type":"waiting"'

MayHold = Callable[[str], bool]


class ErasableSessions:
    """Erasable and Transcripts over sessions/. Every file is looked at, those that cannot be read by us, too."""

    place = "sessions"

    def __init__(self, manager: SessionManager, workspace: Workspace) -> None:
        self._manager = manager
        self._files = SessionFiles(workspace)
        self._folder = workspace.sessions

    def owns(self, path: Path) -> bool:
        return path.is_relative_to(self._folder)

    async def keys(self) -> Sequence[str]:
        return [key for key, _ in await asyncio.to_thread(lambda: sorted(self._files.all()))]

    async def read(self, key: str, may_hold: MayHold) -> Sequence[Message]:
        path = self._files.path(key)
        if not await asyncio.to_thread(_may_hold, path, may_hold):
            return ()
        return await self._manager.messages(key)

    async def find(self, meant: ErasurePlan) -> StoreFindings:
        return await asyncio.to_thread(self._find, meant)

    async def erase(self, meant: ErasurePlan) -> None:
        for key, path in await asyncio.to_thread(lambda: list(self._files.all())):
            if await asyncio.to_thread(_is_whole, key, path, meant):
                await self._manager.delete(key)
            elif await asyncio.to_thread(self._changes, key, path, meant):
                await self._manager.revise(key, partial(self._revise, key=key, meant=meant))
        await shielded(asyncio.to_thread(self._rest, meant, write=True))

    def _find(self, meant: ErasurePlan) -> StoreFindings:
        """A conversation whose name tells it stays: it goes by its key."""
        every = list(self._files.all())
        counts = {key: self._changes(key, path, meant) for key, path in every}
        only_cut = [key for key, count in counts.items() if count and key not in {*meant.dropped, *meant.blanked}]
        count = sum(counts.values()) + self._rest(meant, write=False)
        named = [f"{path}:1" for key, path in every if meant.of_owner and meant.traces.name(_as_words(key))]
        return StoreFindings(count, [ErasedPiece(key) for key in only_cut], named)

    def _changes(self, key: str, path: Path, meant: ErasurePlan) -> int:
        """Return the number of lines of a conversation that go, or change."""
        if _is_whole(key, path, meant):
            return look(path, lambda _: None, lambda _: True).count or 1
        if not self._concerns(key, path, meant):
            return 0
        is_meant = unreadable(key, meant)
        count = look(path, Changing(meant, key), is_meant).count
        return count + lines_without(torn_path(path), is_meant, write=False)

    def _concerns(self, key: str, path: Path, meant: ErasurePlan) -> bool:
        """True if the conversation has to be read line by line."""
        if key in meant.dropped or key in meant.blanked:
            return True
        if meant.since and meant.hears(key) and _may_hold(path, lambda text: _QUEUED in text):
            return True
        files = (path, torn_path(path))
        return meant.hears(key) and any(_may_hold(file, meant.traces.may_show) for file in files)

    def _revise(self, path: Path, key: str, meant: ErasurePlan) -> None:
        """One of which nothing stays goes with all that was set aside from it."""
        is_meant = unreadable(key, meant)
        found = look(path, Changing(meant, key), is_meant)
        if not found.stays:
            self._files.delete(key)
            return
        if found.count:
            rewrite(path, Changing(meant, key), is_meant, found)
        lines_without(torn_path(path), is_meant, write=True)

    def _rest(self, meant: ErasurePlan, *, write: bool) -> int:
        """Return the files that are no conversation of ours: only the owner, whose machine it is, reaches them."""
        if not meant.of_owner or not self._folder.is_dir():
            return 0
        known = {path for _, path in self._files.all()}
        torn = set(map(torn_path, known))
        count = 0
        for path in self._folder.rglob("*"):
            if path.is_dir() and write:
                remove_stale_temps(path)
            elif path.is_file() and not path.is_symlink() and path not in known | torn:
                count += lines_without(path, meant.traces.stand_in, write=write)
        return count


def _is_whole(key: str, path: Path, meant: ErasurePlan) -> bool:
    """True if nothing stays of a conversation. One in which others speak, too, is never deleted."""
    if key not in meant.sessions or meant.scopes is None:
        return key in meant.sessions
    changing = Changing(meant, key)
    return not look(path, lambda message: None if changing.reaches(message) else message, lambda _: False).stays


def _as_words(key: str) -> str:
    """The name of a conversation; of a chat on a platform it is a number."""
    return key.partition(":")[2].replace("-", " ").replace("_", " ")


def unreadable(key: str, meant: ErasurePlan) -> Callable[[bytes], bool]:
    """True if a line that cannot be read goes: if it shows it, or cannot be told to be older than what goes."""

    def is_meant(raw: bytes) -> bool:
        if not meant.hears(key):
            return False
        at = _AT.search(raw)
        is_late = bool(meant.since) and (at is None or not _is_before(at[1].decode("ascii", "replace"), meant.since))
        return is_late or meant.traces.stand_in(raw)

    return is_meant


def _is_before(at: str, since: str) -> bool:
    one, other = parse_time(at), parse_time(since)
    return one is not None and other is not None and one < other


def _may_hold(path: Path, may_hold: MayHold) -> bool:
    """Ask about a file piece by piece; pieces end where lines do."""
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                if not piece.endswith(b"\n"):
                    piece += file.readline()
                if may_hold(piece.decode("utf-8", "replace")):
                    return True
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(f"{path} could not be read: {error.strerror or error}") from error
    return False

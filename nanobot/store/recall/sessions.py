"""What stands in session files, as texts to be found."""

import contextlib
from collections.abc import Iterator

from nanobot.authority import Origin, Scope
from nanobot.store import lines
from nanobot.store.recall.entries import NOBODY, Entry, File
from nanobot.transcript import Message

_SPOKEN = frozenset({"user", "assistant"})


def entries_of_sessions(raw: bytes, file: File) -> Iterator[Entry]:
    """What people said and the bot answered in one line; what is wrong with a line is for the doctor to say.

    Neither what a model was shown in front of a person's words nor what tools reported is what anybody said. What
    they passed on from others is found as that; what they replied to or marked stands elsewhere already.
    """
    with contextlib.suppress(ValueError):
        line = lines.decode(raw)
        if isinstance(line, Message) and line.role in _SPOKEN:
            yield from _entries(line, file, _scope(line, file))


def _entries(line: Message, file: File, scope: str) -> Iterator[Entry]:
    for quote in line.quotes:
        if quote.how in ("forward", "via", "card") and quote.text:
            yield Entry(
                source="quote",
                scope=scope,
                text=quote.text,
                at=line.at,
                role="other",
                origin=Origin.QUOTED,
                message=line.id,
                speaker=quote.by,
            )
    if line.content:
        yield Entry(
            source="session",
            scope=scope,
            text=line.content,
            at=line.at,
            role=line.role,
            origin=Origin.QUOTED if line.has_pasted else line.origin or Origin.PERSON,
            message=line.id,
            speaker=line.sender.name if line.sender else "",
            inbound=line.corrects or line.inbound or "",
            corrects=line.corrects is not None,
        )


def _scope(line: Message, file: File) -> str:
    """Whose memory a line belongs to: a person's words say it, for the rest of their turn, too."""
    if line.role == "user" and line.scope is not None:
        if line.turn != file.turn:
            file.begun = file.position
        file.turn, file.scope = line.turn, line.scope
        return line.scope
    if line.turn and line.turn == file.turn:
        return file.scope
    return Scope.OWNER_NAME if file.session.startswith("cli:") else NOBODY

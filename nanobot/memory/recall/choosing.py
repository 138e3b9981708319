"""A model chooses among the notes by their names and summaries."""

import asyncio
import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nanobot.authority import Authority, may_touch
from nanobot.errors import LLMError
from nanobot.memory.note import Note
from nanobot.memory.secrets import redact
from nanobot.memory.section import fenced, prompt
from nanobot.memory.shelves import Shelves
from nanobot.memory.slot import Quiet
from nanobot.ports import LLM, Request
from nanobot.transcript import Message, Usage

ROWS = 200
"""Notes that the catalogue lists at most, the newest first."""

PATIENCE = 5.0
"""Seconds in which the model must have answered."""

MOST, LENGTH = 3, 450
"""Notes that may be chosen, and characters that are shown of each."""

log = logging.getLogger(__name__)

_NUMBERS = re.compile(r"\[[\s\d,]*\]")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A note as it is shown."""

    name: str
    updated: str
    text: str


@dataclass(frozen=True, slots=True)
class Choice:
    """What the model chose, which may be nothing, and what it cost."""

    notes: Sequence[Chosen]
    usage: Usage | None


class Chooser:
    """Asks the model that answers in a session."""

    def __init__(self, shelves: Shelves, model_of: Callable[[str], LLM]) -> None:
        self._shelves = shelves
        self._model_of = model_of

    async def choose(self, session: str, authority: Authority, said: Sequence[str]) -> Choice | None:
        """The notes that help to answer the last of what was said; None if there is no valid answer in time."""
        if not may_touch(authority, authority.scope):
            return None
        notebook = self._shelves.of(authority.scope).notebook
        await notebook.refresh()
        notes = notebook.all[:ROWS]
        if not notes:
            return Choice((), None)
        try:
            async with asyncio.timeout(PATIENCE):
                reply = await self._model_of(session).complete(Request(_request(notes, said), patient=False), Quiet())
        except (TimeoutError, LLMError) as error:
            log.info("no model chose memories, the search serves: %s", error or "it took too long")
            return None
        rows = _rows(reply.text, len(notes))
        if rows is None:
            log.info("the model chose no memories that there are: the search serves")
            return None
        return Choice([_shown(notes[row]) for row in rows[:MOST]], reply.usage)


def _request(notes: Sequence[Note], said: Sequence[str]) -> list[Message]:
    catalogue = "\n".join(f"{number}. {note.name}: {note.summary}" for number, note in enumerate(notes, 1))
    asked = "\n".join(f"- {' '.join(text.split())[:LENGTH]}" for text in said)
    return [
        Message(role="system", content=prompt("choose")),
        Message(role="user", content=f"{fenced('catalogue', catalogue)}\n\n{fenced('said', asked)}"),
    ]


def _rows(text: str, count: int) -> Sequence[int] | None:
    """The places that the model named; None if that is no list of numbers, or one of them is of no row."""
    found = _NUMBERS.search(text)
    if not found:
        return None
    try:
        numbers = json.loads(found[0])
    except ValueError:
        return None
    if not all(1 <= number <= count for number in numbers):
        return None
    return [number - 1 for number in dict.fromkeys(numbers)]


def _shown(note: Note) -> Chosen:
    text = " ".join(redact(f"{note.summary}. {note.body}").split())
    return Chosen(note.name, note.updated, text if len(text) <= LENGTH else f"{text[: LENGTH - 1]}…")

"""A workspace with conversations as session files, and the searches that are compared on it."""

import re
import sqlite3
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from typing import Protocol

from bench.recall.data import Turn
from nanobot.memory.recall.index.indexer import open_recall
from nanobot.memory.recall.ports import EVERYWHERE, Embedder, IndexSize
from nanobot.memory.recall.search import LocalRecall
from nanobot.memory.recall.service import written_reader
from nanobot.messages import Sender
from nanobot.nlp.words import words_of
from nanobot.sessions import lines
from nanobot.sessions.store import SessionFiles
from nanobot.store.documents import read_frontmatter
from nanobot.transcript import Message
from nanobot.workspace import Workspace

NOW = datetime(2026, 1, 1, tzinfo=UTC)

Found = Sequence[tuple[str, str]]
"""Session key and message id, the best first."""


class Search(Protocol):
    """A way to search, and how long it took to get ready."""

    index_seconds: float

    def __call__(self, question: str, k: int) -> Found: ...


def key_of(conversation: str, turn: Turn) -> str:
    return f"cli:{conversation.lower()}-{turn.session}"


def write_sessions(workspace: Workspace, conversation: str, turns: Iterable[Turn]) -> None:
    """Write turns as the session files that the bot itself would write."""
    for key, group in groupby(turns, lambda turn: key_of(conversation, turn)):
        said = [
            Message(
                role="user" if turn.role == "user" else "assistant",
                id=turn.id,
                at=turn.at.isoformat(),
                turn=turn.id,
                content=turn.text,
                sender=Sender(turn.speaker, turn.speaker) if turn.speaker else None,
            )
            for turn in group
        ]
        path = SessionFiles(workspace).path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        encoded, _ = lines.encode(said)
        path.write_bytes(lines.header(key, said[0].at) + encoded)


class Patient:
    """An Embedder that reads each text once, however many workspaces it is in."""

    def __init__(self, embedder: Embedder) -> None:
        self.name = embedder.name
        self.of_text, self.of_question = cache(embedder.of_text), embedder.of_question


class Ours:
    """The real index over the real session files."""

    def __init__(self, workspace: Workspace, embedder: Embedder | None = None) -> None:
        self.index, self.indexer = open_recall(workspace, words_of, written_reader(read_frontmatter), embedder)
        started = time.perf_counter()
        self.indexer.sync()
        while self.indexer.embed():
            pass
        self.index_seconds = time.perf_counter() - started
        self._recall = LocalRecall(self.index)

    @property
    def extent(self) -> IndexSize:
        return self.index.extent(EVERYWHERE)

    def __call__(self, question: str, k: int) -> Found:
        return [(hit.said.session, hit.said.message) for hit in self._recall.search(question, now=NOW, k=k)]


class PlainFts:
    """What one gets from FTS5 as it comes: all words of the question, bm25."""

    def __init__(self, texts: Iterable[tuple[str, str, str]]) -> None:
        self._database = sqlite3.connect(":memory:")
        started = time.perf_counter()
        self._database.execute("CREATE VIRTUAL TABLE said USING fts5(session UNINDEXED, id UNINDEXED, text)")
        self._database.executemany("INSERT INTO said VALUES (?, ?, ?)", texts)
        self.index_seconds = time.perf_counter() - started

    def __call__(self, question: str, k: int) -> Found:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        if not words:
            return []
        return self._database.execute(
            "SELECT session, id FROM said WHERE said MATCH ? ORDER BY rank LIMIT ?", (words, k)
        ).fetchall()

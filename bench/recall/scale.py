"""How recall does with a history of many messages."""

import random
import tempfile
import time
from pathlib import Path

from bench.recall.data import Turn
from bench.recall.home import NOW, Ours, write_sessions
from bench.recall.measure import times
from bench.recall.talk import synthetic_history
from nanobot.memory.recall.ports import SearchLimits
from nanobot.memory.recall.search import LocalRecall
from nanobot.sessions import lines
from nanobot.sessions.store import SessionFiles
from nanobot.transcript import Message
from nanobot.workspace import Workspace

_QUESTIONS, _APPENDS = 300, 500
_HISTORY = "history"


def scale(size: int) -> str:
    """One line of figures for a history of so many messages."""
    chance = random.Random(3)
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder))
        write_sessions(workspace, _HISTORY, synthetic_history(size))
        ours = Ours(workspace)
        sample = list(synthetic_history(min(size, 20_000)))
        questions = [question(chance, sample) for _ in range(_QUESTIONS)]
        p50, p99 = times([_timed(ours, question) for question in questions])
        owner = SearchLimits(scopes=frozenset({"owner"}))
        recall = LocalRecall(ours.index)
        scope = times([timed_inside(recall, question, owner) for question in questions])
        append50, append99 = times([append(ours, workspace, number) for number in range(_APPENDS)])
        started = time.perf_counter()
        ours.indexer.sync()
        nothing = time.perf_counter() - started
        ours.index.close()
        disk = workspace.recall_index.stat().st_size / 1e6
        logs = sum(path.stat().st_size for path in workspace.sessions.rglob("*.jsonl")) / 1e6
    return (
        f"{size:>9,} messages: index {ours.index_seconds:6.1f} s ({size / ours.index_seconds:,.0f}/s),"
        f" query p50 {p50:.1f} p99 {p99:.1f} ms, in one scope p50 {scope[0]:.1f} p99 {scope[1]:.1f} ms,"
        f" append p50 {append50:.3f} p99 {append99:.3f} ms, sync of nothing {nothing * 1000:.1f} ms,"
        f" disk {disk:.1f} MB (session files {logs:.1f} MB)"
    )


def question(chance: random.Random, turns: list[Turn]) -> str:
    """Five words of some message, as often common as rare, asked as a person would."""
    words = chance.choice(turns).text.split()
    return f"What did you say about {' '.join(chance.sample(words, 5))}?"


def _timed(ours: Ours, question: str) -> float:
    started = time.perf_counter()
    ours(question, 10)
    return (time.perf_counter() - started) * 1000


def timed_inside(recall: LocalRecall, question: str, within: SearchLimits) -> float:
    started = time.perf_counter()
    recall.search(question, now=NOW, within=within)
    return (time.perf_counter() - started) * 1000


def append(ours: Ours, workspace: Workspace, number: int) -> float:
    """What the index costs after a message has been appended to its session, in milliseconds."""
    key = "cli:live"
    path = SessionFiles(workspace).path(key)
    said = Message(role="user", id=f"live{number}", at=NOW.isoformat(), content=f"remember the number {number} for me")
    encoded, _ = lines.encode([said])
    with path.open("ab") as file:
        file.write(encoded if number else lines.header(key, said.at) + encoded)
    started = time.perf_counter()
    ours.indexer.appended(key)
    return (time.perf_counter() - started) * 1000

"""Lives of a bot that end with SIGKILL, and what must be true after each."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from nanobot.sessions.store import SessionManager
from nanobot.workspace import Home, Workspace
from tests.crash.driver import ADDRESS, Death, Kept, Said, live
from tests.fakes.forks import FORKS
from tests.fakes.openai_answers import Answer, Json, call, say
from tests.fakes.openai_server import FakeOpenAI

PATIENCE = 120.0
"""Seconds; a guard against hanging."""

LAST_WORDS = "and now?"


@dataclass
class Reports:
    """What a life has told before it ended."""

    kept: list[Kept] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)


@dataclass
class Tally:
    """What many kills came to, as rows of a table."""

    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)

    def table(self) -> str:
        """A row for each moment. What must not be is not in it: it would have failed."""
        rows = [
            f"| {moment} | {kills} | {self.acknowledged[moment]} | {self.told[moment]} |"
            for moment, kills in sorted(self.kills.items())
        ]
        return "\n".join(["| killed while | kills | lines acknowledged | people told |", "|---|--:|--:|--:|", *rows])


class Model:
    """Drives tools with effects: each command that it asks for leaves a word of its own in a file."""

    def __init__(self) -> None:
        self._words = (f"word{number}" for number in count())

    def answer(self, body: Json) -> Answer:
        messages = body["messages"]
        asked = max(at for at, message in enumerate(messages) if message["role"] == "user" and not _joined(message))
        if messages[asked]["content"].endswith(LAST_WORDS):
            return say("All is well.")
        steps = sum(bool(message.get("tool_calls")) for message in messages[asked:])
        if steps == 0:
            look = ("read_file", {"path": "SOUL.md"}), ("list_dir", {"path": "."})
            return call(self._effect(), *look, self._effect(), text="I look.")
        if steps == 1:
            return call(
                ("write_file", {"path": "found/note.md", "content": "# Note\n" * 200}), self._effect("sleep 0.03; ")
            )
        return say("Here is what I found. " * 20, pause=0.0005)

    def _effect(self, before: str = "") -> tuple[str, Json]:
        return "exec", {"command": f"{before}echo {next(self._words)} >> effects"}


class Lives:
    """One workspace, and the processes that live in it one after the other."""

    def __init__(self, home: Path, server: FakeOpenAI) -> None:
        self._home = home
        self._server = server
        self._workspace = Workspace(Home(home).workspace)
        self._kept: dict[str, Kept] = {}
        self._lines = 0
        home.mkdir(mode=0o700)
        model = {"base_url": server.base_url, "model": "fake", "attempts": 1}
        aside = {**model, "profile": "compact"}  # is not asked for summaries
        memory = {"dream": {"model": "aside"}}
        config = {
            "models": {"fake": model, "aside": aside},
            "memory": memory,
            "model": "fake",
            "language": "en",
            "tools": {"exec": {"owner": "allow"}},
        }
        (home / "config.yaml").write_text(json.dumps(config), encoding="utf-8")

    async def live(
        self, *texts: str, seconds: float | None = None, lines: int | None = None, death: Death | None = None
    ) -> Reports:
        """One life; it is killed after so many seconds or so many kept lines, if it has not ended by then."""
        with self._process(texts, death) as (process, pipe):
            reports = await asyncio.wait_for(asyncio.to_thread(_listen, process, pipe, seconds, lines), PATIENCE)
        self._kept |= {line.id: line for line in reports.kept}
        return reports

    async def check(self, killed: Reports, tally: Tally) -> None:
        """Start once more, say something, and look whether all is as it must be."""
        before = self._messages()
        moment, unanswered = _moment(before, is_new=len(before) > self._lines)
        waiting = self._waiting()
        after = await self.live(LAST_WORDS)
        self._nothing_is_lost(before)
        assert not set(waiting) - {str(line.get("content")) for line in self._messages()}
        _people_are_told(after, [*([unanswered] if unanswered else []), *waiting])
        await self._the_session_is_in_order()
        self._no_effect_came_twice()
        assert self._server.illegal == []
        self._lines = len(self._messages())
        tally.kills[moment] += 1
        tally.acknowledged[moment] += len(killed.kept)
        tally.told[moment] += bool(unanswered)

    @contextmanager
    def _process(self, texts: Sequence[str], death: Death | None) -> Iterator[tuple[ForkServerProcess, Connection]]:
        ours, theirs = FORKS.Pipe(duplex=False)
        process = FORKS.Process(target=live, args=(self._home, texts, theirs, death))
        process.start()
        theirs.close()
        try:
            yield process, ours
        finally:
            process.kill()
            process.join()
            process.close()
            ours.close()

    def _messages(self) -> list[Json]:
        """The messages in the file, read without the code that is being tested."""
        return [line for line in self._whole_lines() if line["type"] in ("message", "ended")]

    def _waiting(self) -> list[str]:
        """What was said, and waited for its turn when the process died."""
        lines = self._whole_lines()
        recorded = {line.get("inbound") for line in lines if line["type"] == "message"}
        queued = [line["message"] for line in lines if line["type"] == "waiting"]
        return [message["content"] for message in queued if message["inbound"] not in recorded]

    def _whole_lines(self) -> list[Json]:
        try:
            lines = (self._workspace.sessions / ADDRESS.channel / f"{ADDRESS.chat}.jsonl").read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines[:-1]]

    def _nothing_is_lost(self, before: Sequence[Json]) -> None:
        now = self._messages()
        assert now[: len(before)] == before
        found = {line["id"]: line for line in now if line["type"] == "message"}
        for line in self._kept.values():
            assert (found[line.id]["role"], found[line.id]["content"]) == (line.role, line.content)

    async def _the_session_is_in_order(self) -> None:
        messages = await SessionManager(self._workspace).messages(ADDRESS.session_key)
        calls = [call.id for message in messages for call in message.tool_calls]
        results = [message.tool_call_id for message in messages if message.role == "tool"]
        assert sorted(calls) == sorted(map(str, results))
        assert messages[-1].content == "All is well."

    def _no_effect_came_twice(self) -> None:
        file = self._workspace.root / "effects"
        effects = Counter(file.read_text(encoding="utf-8").split() if file.exists() else ())
        assert set(effects.values()) <= {1}
        commands: dict[str, str] = {}  # an id may come again once its message is out of the model's sight
        for message in self._messages():
            for made in message.get("tool_calls", ()):
                commands[made["id"]] = json.loads(made["function"]["arguments"]).get("command", "")
            if message.get("role") == "tool" and message["content"].endswith("[exit code 0]"):
                assert effects[commands[message["tool_call_id"]].split()[-3]] == 1


def _listen(process: ForkServerProcess, pipe: Connection, seconds: float | None, lines: int | None) -> Reports:
    """Take in what a life tells until it is over; end it when its time has come."""
    reports = Reports()
    if seconds is not None:
        process.join(seconds)
        process.kill()
    while True:
        if len(reports.kept) == lines:
            process.kill()
            lines = None
        try:
            report = pipe.recv()
        except (EOFError, OSError):
            process.join()
            return reports
        if isinstance(report, Kept):
            reports.kept.append(report)
        else:
            reports.said.append(report)


def _joined(message: Json) -> bool:
    return "meanwhile, about" in str(message["content"])


def _moment(lines: Sequence[Json], *, is_new: bool) -> tuple[str, str]:
    """When a life ended, from what it left, and what was asked and not answered then."""
    if not is_new:
        return "nothing was said yet", ""
    last = lines[-1]
    if last["type"] == "ended" or (last["role"] == "assistant" and "tool_calls" not in last):
        return "an answer was complete", ""
    turn = [line for line in lines if line.get("turn") == last["turn"]]
    asked = next(line["content"] for line in turn if line["role"] == "user")
    results = {line.get("tool_call_id") for line in turn}
    calls: list[Any] = [call["id"] for line in turn for call in line.get("tool_calls", ())]
    if not set(calls) <= results:
        return "tools were running", asked
    return ("the model read what tools had found" if calls else "the model thought about a question"), asked


def _people_are_told(after: Reports, unanswered: Sequence[str]) -> None:
    """In one sentence, once, and before anything else; and then the conversation goes on."""
    said = [each for each in after.said if "writing down what we said" not in each.text]  # comes after a second
    notices = [each.text for each in said[:-1]]
    if unanswered:
        assert len(notices) == 1
        assert "interrupted" in notices[0]
        assert all(asked[:20] in notices[0] for asked in unanswered[:3])  # and whatever joined that turn
        assert len(notices[0].splitlines()) == 1
    else:
        assert notices == []
    assert said[-1] == Said("answer", "All is well.")

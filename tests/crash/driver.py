"""A whole bot in a process of its own, which talks by a script and tells on a pipe what it has kept.

Nothing in here cleans up: the process is there to be killed.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal

import nanobot.app
import nanobot.app.memory
from nanobot.channels.terminal.person import NAME, at, words
from nanobot.config import load
from nanobot.messages import OutboundMessage, Progress
from nanobot.ports import Publish
from nanobot.sessions.store import SessionManager
from nanobot.store import jsonl
from nanobot.transcript import Line, Message, Session
from nanobot.workspace import Home

ADDRESS = at("crash")

Place = Literal["before", "half", "written"]
"""Where in an append a process dies: before it, with half of the line on disk, or with all of it and nobody told."""


@dataclass(frozen=True)
class Death:
    """The process dies by its own hand in its append number `append`, counted from 1."""

    append: int
    place: Place


@dataclass(frozen=True)
class Kept:
    """A message whose `append` has returned."""

    id: str
    role: str
    content: str | None


@dataclass(frozen=True)
class Said:
    """What a person was told."""

    kind: str
    text: str


def live(home: Path, texts: Sequence[str], pipe: Connection, death: Death | None) -> None:
    """Start, say these texts one after the other, and leave. What happens is sent as Kept and Said."""
    os.environ["NANOBOT_HOME"] = str(home)  # inherited from a server of forks, it is another test's
    _report_appends(pipe.send)
    if death:
        _die(death)
    app = nanobot.app.build(load(Home(home)), Home(home))
    asyncio.run(app.run(Script(texts, pipe.send), ADDRESS))


class Script:
    """The Channel: says the next text when the one before is answered, and one more while its first tool runs."""

    name = NAME

    def __init__(self, texts: Sequence[str], report: Callable[[object], None]) -> None:
        self._texts = texts
        self._report = report
        self._answered = asyncio.Event()
        self._asked = ""
        self._meanwhile: list[str] = []
        self._publish: Publish

    async def listen(self, publish: Publish) -> None:
        self._publish = publish
        for text in self._texts:
            message = words(ADDRESS, text)
            self._asked, self._meanwhile = message.id, [f"meanwhile, about {text}"]
            self._answered.clear()
            await publish(message)
            await self._answered.wait()

    async def send(self, message: OutboundMessage) -> None:
        self._report(Said(message.kind, message.text))
        if message.reply_to == self._asked:
            self._answered.set()

    async def show(self, progress: Progress) -> None:
        if progress.kind == "tool" and self._meanwhile:
            await self._publish(words(ADDRESS, self._meanwhile.pop()))


def _report_appends(report: Callable[[object], None]) -> None:
    class Reporting(SessionManager):
        async def append(self, session: Session, *lines: Line) -> None:
            await super().append(session, *lines)
            for line in lines:
                if isinstance(line, Message):
                    report(Kept(line.id, line.role, line.content))

    vars(nanobot.app.memory)["SessionManager"] = Reporting


def _die(death: Death) -> None:
    append, count = jsonl.append, 0

    def deadly(path: Path, lines: bytes, *, first: bytes, durable: bool) -> tuple[jsonl.Stamp | None, jsonl.Stamp]:
        nonlocal count
        count += 1
        if count < death.append:
            return append(path, lines, first=first, durable=durable)
        if death.place != "before":
            append(path, lines, first=first, durable=durable)
        if death.place == "half":
            os.truncate(path, path.stat().st_size - len(lines) // 2)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("alive")

    vars(jsonl)["append"] = deadly

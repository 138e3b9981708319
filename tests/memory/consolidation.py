"""A Consolidator on real files, around a scripted model."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from nanobot.authority import Origin
from nanobot.core.lanes import BackgroundSlot
from nanobot.memory.episodes.archivist import Archivist, Summariser
from nanobot.memory.episodes.consolidator import Consolidator
from nanobot.memory.episodes.history_file import EpisodeStore
from nanobot.memory.episodes.retries import SummaryRetries
from nanobot.messages import Sender
from nanobot.ports import LLM, Episode
from nanobot.sessions.store import SessionManager
from nanobot.store.state import DreamFiles
from nanobot.tokens import TokenEstimator
from nanobot.transcript import Line, Message, Reset
from nanobot.workspace import Workspace
from tests.fakes.clock import START, FakeClock

KEY = "telegram:42"
ADA = Sender("42", "Ada")


class Place:
    """Where it happens; `clock` never makes anybody wait."""

    def __init__(self, root: Path, llm: LLM, *, clock: FakeClock | None = None) -> None:
        self.workspace = Workspace(root)
        self.llm = llm
        self.clock = clock or FakeClock(instant=True)
        self.sessions = SessionManager(self.workspace, fsync=False)
        self.history = EpisodeStore(self.workspace, fsync=False)
        self.background = BackgroundSlot(self.clock)
        self.busy: set[str] = set()
        tokens = TokenEstimator()
        self.consolidator = Consolidator(
            self.sessions,
            self.history,
            Archivist(Summariser(lambda _: (llm, tokens)), self.clock),
            self.background,
            SummaryRetries(self.clock, DreamFiles(self.workspace)),
            rest=1800.0,
            is_busy=self.busy.__contains__,
        )
        self.number = 0

    def copied(self, to: Path, llm: LLM) -> "Place":
        """What the next process finds if this one dies now."""
        shutil.copytree(self.workspace.root, to)
        return Place(to, llm)

    async def say(self, *texts: str, key: str = KEY, answer: str = "noted", **more: object) -> list[Message]:
        """What a person said, and the answers."""
        said: list[Message] = []
        for text in texts:
            self.number += 1
            turn = f"t{self.number:03}"
            asked: dict[str, object] = {"sender": ADA, "scope": "owner", "origin": Origin.OWNER}
            said.append(self._message("user", text, turn, **(asked | more)))
            said.append(self._message("assistant", answer, turn, origin=asked["origin"]))
        await self.add(*said, key=key)
        return said

    async def add(self, *lines: Line, key: str = KEY) -> None:
        await self.sessions.append(await self.sessions.load(key), *lines)

    async def reset(self, key: str = KEY) -> None:
        await self.add(Reset(at=START.isoformat()), key=key)

    async def episodes(self) -> Sequence[Episode]:
        return await self.history.after(0, 1000)

    async def left(self, key: str = KEY) -> list[str]:
        """The ids of the messages that are in no episode."""
        return [message.id for part in await self.sessions.unarchived(key) for message in part]

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """What is started in the background is done when this ends."""
        task = asyncio.create_task(self.background.run())
        try:
            yield
            async with asyncio.timeout(120):
                await self.background.idle()
        finally:
            task.cancel()
            await asyncio.wait([task])

    def _message(self, role: str, text: str, turn: str, **more: object) -> Message:
        fields: dict[str, object] = {
            "role": role, "content": text, "turn": turn, "id": f"{turn}-{role[0]}", "at": START.isoformat()
        }  # fmt: skip
        return Message(**(fields | more))  # type: ignore[arg-type]  # fields of a message each

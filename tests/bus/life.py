"""A process that answers and delivers what is said, and is there to be killed. Nothing in here cleans up.

The platform is a file to which each part of a message is appended in one write: what was written has arrived.
"""

import asyncio
import os
import signal
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal

from nanobot.bus.database import SpoolDatabase, T, Work
from nanobot.bus.spool import Spool
from nanobot.messages import OutboundMessage, Progress
from nanobot.ports import Delivery
from tests.contracts.bus import ADDRESS, said

PARTS = 2
"""Of each answer."""


@dataclass(frozen=True)
class Death:
    """The process dies by its own hand in its piece of work number `work`, counted from 1."""

    work: int
    place: Literal["before", "in", "after"]


class WallClock:
    """The real time: kills happen in it."""

    def now(self) -> datetime:
        return datetime.now().astimezone()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Platform:
    """What people see."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)

    def send(self, name: str) -> None:
        os.write(self._file, f"{name}\n".encode())

    def shows(self, name: str) -> bool:
        return name in os.pread(self._file, 1 << 24, 0).decode().split("\n")


def live(folder: Path, texts: Sequence[str], pipe: Connection, death: Death | None) -> None:
    """Say these texts, sending on the pipe each that was taken in; answer and deliver until nothing is left."""
    if death:
        _die(death)
    asyncio.run(_live(folder, texts, pipe))


async def _live(folder: Path, texts: Sequence[str], pipe: Connection) -> None:
    platform = Platform(folder / "platform")
    async with Spool(folder / "spool.db", WallClock()) as spool:
        for message in await spool.set_aside():
            await spool.finish([message], _answer(message.text, "sorry"))
        all_said = asyncio.Event()
        answering = asyncio.create_task(_answer_all(spool))
        delivering = asyncio.create_task(_deliver_all(spool, platform, all_said))
        for _ in range(2):  # the platform, too, repeats what it said
            for text in texts:
                await spool.publish(said(text))
                pipe.send(text)
        all_said.set()
        spool.show(Progress(address=ADDRESS, turn="all said", kind="ended"))
        await delivering
        answering.cancel()
        await asyncio.wait([answering])


async def _answer_all(spool: Spool) -> None:
    while True:
        message = await spool.receive()
        await spool.begin(message)
        await spool.finish([message], _answer(message.text, "re"))
        spool.show(Progress(address=ADDRESS, turn=message.text, kind="ended"))


def _answer(text: str, how: str) -> OutboundMessage:
    return OutboundMessage(id=f"to {text}", address=ADDRESS, text=how, turn=text)


async def _deliver_all(spool: Spool, platform: Platform, all_said: asyncio.Event) -> None:
    """Until there is nothing left. Where an attempt was made, one looks at the platform first."""
    while True:
        item = await spool.outgoing(ADDRESS.channel)
        if isinstance(item, Delivery):
            await _deliver(spool, item, platform)
        elif all_said.is_set():
            backlog = await spool.backlog()
            if backlog.waiting_in == backlog.being_answered == 0 and not backlog.waiting_out:
                return


async def _deliver(spool: Spool, delivery: Delivery, platform: Platform) -> None:
    name, is_uncertain = delivery.message.id, delivery.is_uncertain
    for number in range(len(delivery.parts), PARTS):
        part = f"{name} #{number}"
        if not (is_uncertain and platform.shows(part)):
            await spool.attempting(name)
            platform.send(part)
        is_uncertain = False
        await spool.arrived(name, part)
    await spool.delivered(name)


def _die(death: Death) -> None:
    """Count the pieces of work, and die in one of them: before it, with all written and not committed, or after it."""
    transact, done = SpoolDatabase._transact, 0

    def counted(database: SpoolDatabase, work: Work[T]) -> T:
        nonlocal done
        done += 1
        if done != death.work:
            return transact(database, work)
        if death.place == "before":
            _kill()

        def last(db: sqlite3.Connection) -> T:
            result = work(db)
            if death.place == "in":
                _kill()
            return result

        result = transact(database, last)
        _kill()
        return result

    SpoolDatabase._transact = counted  # type: ignore[assignment, method-assign]  # there is no other way to die just there


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)

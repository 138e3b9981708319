"""What of a message is left in the session, and reaches the model, after the process that heard it was killed."""

import asyncio
import shutil
from pathlib import Path

from nanobot.bus.spool import Spool
from nanobot.messages import OutboundMessage
from nanobot.ports import Delivery
from nanobot.sessions.store import SessionManager
from nanobot.transcript import Message
from nanobot.workspace import Workspace
from tests.fakes.bot import Bot
from tests.fakes.clock import FakeClock
from tests.fakes.llm import ScriptedLLM, says


async def answered_after_a_kill(root: Path, channel: str) -> tuple[Message, str]:
    """The line in the session, read anew, and all that the model was sent.

    `root` holds a spool in which a message waits, and a workspace. The spool is still open: a copy of it is what
    kill -9 leaves.
    """
    after = root / "after"
    await asyncio.to_thread(_copy, root, after)
    model = ScriptedLLM(says("All right."))
    async with (
        Spool(after / "spool.db", FakeClock()) as spool,
        Bot(after / "workspace", model, bus=spool).running(),
        asyncio.timeout(20),
    ):
        answer = await _answer(spool, channel)
    lines = await SessionManager(Workspace(after / "workspace"), fsync=False).messages(answer.address.session_key)
    return next(line for line in lines if line.role == "user"), _read(model)


async def _answer(spool: Spool, channel: str) -> OutboundMessage:
    while True:
        delivery = await spool.outgoing(channel)
        if isinstance(delivery, Delivery) and delivery.message.kind == "answer":
            return delivery.message
        if isinstance(delivery, Delivery):
            await spool.delivered(delivery.message.id)


def _read(model: ScriptedLLM) -> str:
    [request] = model.requests
    return "\n".join(f"{line.context or ''}\n{line.content or ''}" for line in request.messages if line.role == "user")


def _copy(root: Path, after: Path) -> None:
    after.mkdir()
    for file in root.glob("spool.db*"):
        shutil.copy(file, after)
    if (root / "workspace").exists():
        shutil.copytree(root / "workspace", after / "workspace")


def holding(root: Path, text: str) -> list[Path]:
    """The files in which a text stands."""
    return [file for file in root.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]

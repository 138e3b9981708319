"""Sessions of any length, as the bot would have written them."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nanobot.authority import Origin
from nanobot.ids import new_id
from nanobot.messages import Sender
from nanobot.sessions import lines
from nanobot.sessions.store import SessionFiles
from nanobot.transcript import Message, Usage
from nanobot.workspace import PRIVATE_FOLDER, Workspace

_WORDS = """
the a of and to in is that it for was on are with as at be this have from or by one had not but what all were
when we there can an your which their if do will each about how up out them then she many some so these would
other into has more two like him see time could no make than first been its who now people my made over did
down only way find use may water long little very after words called just where most know garden letter train
"""
_BEGAN = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
_ASKED, _ANSWERED = (5, 40), (30, 110)  # words


def write_session(workspace: Workspace, name: str, messages: int) -> Path:
    """A session `cli:<name>` of so many messages, questions and answers by turns; no file for none."""
    key = f"cli:{name}"
    path = SessionFiles(workspace).path(key)
    path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    if messages:
        said = list(_talk(messages))
        path.write_bytes(lines.header(key, said[0].at) + lines.encode(said)[0])
    return path


def _talk(messages: int) -> Iterator[Message]:
    chance = random.Random(7)
    turn = ""
    for i in range(messages):
        at = (_BEGAN + timedelta(minutes=i)).isoformat(timespec="milliseconds")
        if i % 2:
            yield Message(
                role="assistant",
                id=new_id(),
                at=at,
                turn=turn,
                origin=Origin.OWNER,
                content=_text(chance, _ANSWERED),
                usage=Usage(9000, 100),
                model="instant-1",
            )
        else:
            turn = new_id()
            yield Message(
                role="user",
                id=new_id(),
                at=at,
                turn=turn,
                origin=Origin.OWNER,
                content=_text(chance, _ASKED),
                context=f"<context>\ntime: {at}\nchannel: cli, chat test\nsender: Ada (id local, owner)\n</context>",
                sender=Sender("local", "Ada"),
                inbound=f"cli:test:{turn}",
            )


def _text(chance: random.Random, words: tuple[int, int]) -> str:
    return " ".join(chance.choices(_WORDS.split(), k=chance.randint(*words)))

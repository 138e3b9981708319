"""Asks the bot from a program: `python examples/ask.py "What do you know about me?"`."""

import asyncio
import os
import sys
from pathlib import Path

from nanobot.app import build
from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.config import read
from nanobot.ids import new_id
from nanobot.messages import Address, InboundMessage, OutboundMessage, Progress, Sender
from nanobot.ports import Publish
from nanobot.workspace import Home


class OneQuestion:
    """The smallest Channel: it says one thing, and keeps what the bot answers."""

    name = "script"

    def __init__(self, text: str) -> None:
        self.address = Address(self.name, "questions")
        self.answer = ""
        self._over = asyncio.Event()
        self._question = InboundMessage(
            id=new_id(),
            address=self.address,
            sender=Sender("program"),
            authority=OWNER_IN_TERMINAL,  # whoever can run this program owns the bot
            text=text,
        )

    async def listen(self, publish: Publish) -> None:
        """Runs as long as the channel is open; the bot ends when it returns."""
        await publish(self._question)
        await self._over.wait()

    async def send(self, message: OutboundMessage) -> None:
        """What the bot says arrives here; a channel for people would show its buttons, too."""
        if message.reply_to == self._question.id:
            self.answer = message.text
            self._over.set()

    async def show(self, progress: Progress) -> None:
        """The answer while it grows, and what tools are doing: nothing that we need."""


def ask(text: str) -> str:
    """The bot's answer, or its sentence about why there is none."""
    home = Home(Path(os.environ.get("NANOBOT_HOME") or "~/.nanobot").expanduser())
    config = read(home, path=None, workspace=None, env=os.environ).config
    channel = OneQuestion(text)
    asyncio.run(build(config, home).run(channel, channel.address))
    return channel.answer


if __name__ == "__main__":
    print(ask(" ".join(sys.argv[1:]) or "Hello! Who are you?"))

"""One question and its answer, without a conversation."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress

from nanobot.channels.terminal.choices import refusal
from nanobot.channels.terminal.clean import printable
from nanobot.channels.terminal.person import NAME, words
from nanobot.i18n import Language, say
from nanobot.messages import Address, OutboundMessage, Progress
from nanobot.ports import Publish


class OneShot:
    """The Channel of a script: the answer goes to stdout, everything else to stderr, nobody can be asked."""

    name = NAME

    def __init__(self, address: Address, text: str, language: Callable[[], Language]) -> None:
        """
        Args:
            address: the conversation that the question belongs to.
            text: the question, or a slash command.
            language: in which is said that nobody can be asked.
        """
        self._asked = words(address, text)
        self._language = language
        self._turn: str | None = None
        self._outcome: OutboundMessage | None = None
        self._over = asyncio.Event()
        self._publish: Publish | None = None

    async def listen(self, publish: Publish) -> None:
        """Ask, and wait for the answer."""
        self._publish = publish
        await publish(self._asked)
        await self._over.wait()

    async def send(self, message: OutboundMessage) -> None:
        if message.reply_to == self._asked.id:
            self._outcome = message
            self._over.set()
        elif message.buttons and self._publish:
            button = refusal(message.buttons)
            remark(say("terminal.nobody_to_ask", self._language(), question=message.text, answer=button.label))
            await self._publish(words(message.address, button.value, answers=message.id))
        elif not message.settles:
            remark(message.text)

    async def show(self, progress: Progress) -> None:
        if progress.kind == "started" and self._publish:
            self._turn = self._turn or progress.turn
        elif progress.kind in ("tool", "notice"):
            remark(progress.text)
        elif progress.kind == "ended" and progress.turn == self._turn:
            self._over.set()

    def report(self) -> bool:
        """Print what came of it; whether what was asked was done. To be called when listening is over."""
        outcome = self._outcome
        if outcome is None:
            return False
        text = "\n".join([outcome.text, *(f"- {button.label}: {button.value}" for button in outcome.buttons)])
        if outcome.kind == "answer" or not outcome.failed:
            _print_answer(text)
        else:
            remark(text)
        return not outcome.failed


def _print_answer(text: str) -> None:
    if sys.stdout.isatty():
        from nanobot.channels.terminal.screen import print_markdown  # rich is not needed for a pipe

        print_markdown(text, sys.stdout)
    else:
        sys.stdout.write(f"{printable(text)}\n")


def remark(text: str) -> None:
    """Say something that is not the answer. Whoever closed stderr does not want to know."""
    if sys.stderr is None:
        return
    with suppress(OSError):
        sys.stderr.write(f"{printable(text)}\n")
        sys.stderr.flush()

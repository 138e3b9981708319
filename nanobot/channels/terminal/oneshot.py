"""One question and its answer, without a conversation."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress

from nanobot.channels.terminal.choices import refusal
from nanobot.channels.terminal.clean import printable
from nanobot.channels.terminal.person import NAME, words
from nanobot.i18n import Language, say
from nanobot.messages import Address, InboundMessage, OutboundMessage, Progress
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
        self._has_asked = False
        self._to_say: asyncio.Queue[InboundMessage | None] = asyncio.Queue()  # None: it is over

    async def listen(self, publish: Publish) -> None:
        """Ask, refuse what is asked back, and wait for the answer."""
        self._has_asked = True
        await publish(self._asked)
        while refused := await self._to_say.get():
            await publish(refused)  # not in `send`: whoever calls that may be the one who hears that it was taken

    async def send(self, message: OutboundMessage) -> None:
        if message.reply_to == self._asked.id:
            self._outcome = message
            self._to_say.put_nowait(None)
        elif message.buttons and self._has_asked:
            button = refusal(message.buttons)
            remark(say("terminal.nobody_to_ask", self._language(), question=message.text, answer=button.label))
            self._to_say.put_nowait(words(message.address, button.value, answers=message.id))
        elif not message.settles:
            remark(message.text)

    async def show(self, progress: Progress) -> None:
        if progress.kind == "started" and self._has_asked:
            self._turn = self._turn or progress.turn
        elif progress.kind in ("tool", "notice"):
            remark(progress.text)
        elif progress.kind == "ended" and progress.turn == self._turn:
            self._to_say.put_nowait(None)

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

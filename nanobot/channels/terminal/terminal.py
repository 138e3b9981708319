"""The conversation in a terminal."""

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from nanobot.channels.terminal.dialogue import Dialogue
from nanobot.channels.terminal.person import NAME, words
from nanobot.channels.terminal.prompt import Interrupted, Prompt
from nanobot.channels.terminal.screen import Piece, Screen
from nanobot.i18n import Language, say
from nanobot.messages import Address, InboundMessage, OutboundMessage, Progress
from nanobot.ports import Publish

_PREVIEW_LINES = 6
_LEAVING = ("exit", "quit", "/exit", "/quit", "退出")
_HELP = ("help", "?", "？", "帮助")


class Terminal:
    """The Channel for a person at the keyboard: they type on while the bot answers above the prompt."""

    name = NAME

    def __init__(
        self,
        address: Address,
        history: Path,
        commands: Sequence[tuple[str, str]],
        greeting: str,
        language: Callable[[], Language],
        model: str = "",
    ) -> None:
        """
        Args:
            address: the conversation.
            history: the file for what was typed.
            commands: names of slash commands and what they do.
            greeting: what is said at the start.
            language: in which the terminal's own sentences are said at the moment.
            model: the preset that answers, until another one is chosen; "" is that of the conversation.
        """
        self._address = address
        self._greeting = greeting
        self._language = language
        self._model = model
        self._screen = Screen(sys.stdout)
        self._dialogue = Dialogue(address, language)
        self._prompt = Prompt(history, commands, self._preview)
        self._printing = asyncio.Lock()

    async def listen(self, publish: Publish) -> None:
        """Publish what is typed, until the person leaves."""
        if self._greeting:
            await self._print([Piece(self._greeting, "quiet"), Piece(self._dialogue.say("start"), "quiet")])
        with self._signals():
            while text := await self._next(publish):
                self._screen.turn_page()
                if self._dialogue.leave(text):
                    await self._print([Piece(say("command.left", self._language()))])
                    continue
                if missed := self._dialogue.misses(text):
                    await self._print(missed)
                    continue
                await publish(self._inbound(text))
                await self._print(self._dialogue.held_up())
        await self._print(self._dialogue.left())

    async def send(self, message: OutboundMessage) -> None:
        await self._print(self._dialogue.message(message))

    async def show(self, progress: Progress) -> None:
        await self._print(self._dialogue.progress(progress))

    async def _next(self, publish: Publish) -> str | None:
        """What is typed next. None at Ctrl-D, a word of farewell, or a second Ctrl-C; the first one stops what runs."""
        text, warned = "", False
        while True:
            try:
                text = await self._prompt.read(text)
            except EOFError:
                return None
            except Interrupted as pressed:
                if warned and str(pressed) == text:  # nothing was typed since the first one
                    return None
                text, warned = await self._interrupted(str(pressed), publish), True
            else:
                return None if text.strip().casefold() in _LEAVING else text

    async def _interrupted(self, text: str, publish: Publish) -> str:
        """Stop what runs, or else drop what was typed. Returns what stays in the line."""
        if not self._dialogue.is_busy:
            await self._print([Piece(self._dialogue.say("leave"), "quiet")])
            return ""
        await self._print([Piece(self._dialogue.say("stopping"), "quiet")])
        await publish(words(self._address, "/stop"))
        return text

    def _inbound(self, text: str) -> InboundMessage:
        if choice := self._dialogue.choose(text):
            question, value = choice
            return words(self._address, value, answers=question)
        text = "/help" if text.strip().casefold() in _HELP else text
        self._dialogue.heard(text)
        self._model = "" if text.startswith("/model ") else self._model
        return replace(words(self._address, text), model=self._model)

    def _preview(self) -> Sequence[str]:
        """What is coming, while it is not complete enough to be printed."""
        if not self._dialogue.is_busy or self._dialogue.held_up():
            return []
        return self._screen.tail(self._dialogue.unfinished, _PREVIEW_LINES) or [self._dialogue.say("busy")]

    async def _print(self, pieces: Sequence[Piece]) -> None:
        if not pieces:
            self._prompt.refresh()
            return
        async with self._printing:
            await self._prompt.print_above(lambda: self._screen.print(pieces))

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """While this lasts, a signal does what its key does, and the terminal is left in order."""
        loop = asyncio.get_running_loop()
        before = signal.getsignal(signal.SIGINT)
        loop.add_signal_handler(signal.SIGINT, self._prompt.interrupt)
        for ending in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(ending, self._prompt.end)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)
            signal.signal(signal.SIGINT, before)

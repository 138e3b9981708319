"""One question and its answer, without a conversation: for a script, for a program, or for a person who looks on."""

import asyncio
import json
import os
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nanobot.channels.terminal.mentions import CarriedFiles
from nanobot.channels.terminal.person import NAME, refusal, standing, with_place, words
from nanobot.i18n import Language, say
from nanobot.messages import Address, InboundMessage, OutboundMessage, Progress, Quote
from nanobot.ports import Publish
from nanobot.text import printable

if TYPE_CHECKING:  # rich is not needed for a pipe
    from nanobot.channels.terminal.markdown import ScreenPiece

_KEYBOARD = "/dev/tty"  # wherever standard input comes from
_LONGEST_LINE = 4096  # bytes that a terminal hands on at once

_PREVIEW_LINES = 6


class OneShot:
    """The Channel of a script: the answer goes to stdout, everything else to stderr, nobody can be asked."""

    name = NAME

    def __init__(
        self, address: Address, text: str, language: Callable[[], Language], *, piped: str = "", model: str = ""
    ) -> None:
        """
        Args:
            address: the conversation that the question belongs to.
            text: the question, or a slash command.
            language: in which is said that nobody can be asked.
            piped: what a file or a program gave to the question.
            model: the preset that answers it, if not that of the conversation.
        """
        along = [Quote(piped, how="piped")] if piped else []  # not the person's own words
        self._asked = replace(words(address, with_place(text, standing()), quotes=along), model=model)
        self._language = language
        self._turn: str | None = None
        self._outcome: OutboundMessage | None = None
        self._has_asked = False
        self._stop = ""  # the message that asked for the end
        self._to_say: asyncio.Queue[InboundMessage | None] = asyncio.Queue()  # None: it is over

    async def listen(self, publish: Publish) -> None:
        """Ask, answer what is asked back, and wait for the answer."""
        self._has_asked = True
        await publish(self._asked)
        while said := await self._to_say.get():
            await publish(said)  # not in `send`: whoever calls that may be the one who hears that it was taken

    def opens(self, folder: Path | None) -> None:
        """The folder is open to tools for this question."""
        authority = replace(self._asked.authority, here=str(folder or ""))
        self._asked = replace(self._asked, authority=authority)

    def brings(self, carried: CarriedFiles) -> None:
        """Files that the question names go along with it, and that is said."""
        quotes = (*carried.quotes, *self._asked.quotes)
        self._asked = replace(self._asked, quotes=quotes, files=tuple(carried.files))
        for sentence, values in carried.told:
            self._remark(say(f"terminal.{sentence}", self._language(), **values))

    def stop(self) -> bool:
        """Ask for the end of the turn; False if none runs."""
        if self._turn is None:
            return False
        stop = words(self._asked.address, "/stop")
        self._stop = stop.id
        self._to_say.put_nowait(stop)
        return True

    async def send(self, message: OutboundMessage) -> None:
        if message.reply_to == self._asked.id:
            self._outcome = message
            self._to_say.put_nowait(None)
        elif self._stop and message.reply_to == self._stop:
            self._remark(message.text)
            self._to_say.put_nowait(None)
        elif message.buttons and self._has_asked and message.holds_up_a_turn:
            await self._asked_back(message)
        elif not (message.settles or (self._outcome and message.text == self._outcome.question)):
            self._remark(message.text)

    async def show(self, progress: Progress) -> None:
        if progress.kind == "started" and self._has_asked:
            self._turn = self._turn or progress.turn
        elif progress.kind in ("tool", "notice"):
            self._activity(progress)
        elif progress.kind == "ended" and progress.turn == self._turn and not self._stop:
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
            self._remark(text)
        self._tell_what_waits(outcome)
        return not outcome.failed

    def _tell_what_waits(self, outcome: OutboundMessage) -> None:
        """Show what the turn proposes: whoever can be asked decides about it later."""
        if outcome.question:
            self._remark(say("terminal.waits_for_yes", self._language(), question=outcome.question))

    async def _asked_back(self, message: OutboundMessage) -> None:
        button = refusal(message.buttons)
        self._remark(say("terminal.nobody_to_ask", self._language(), question=message.text, answer=button.label))
        self._to_say.put_nowait(words(message.address, button.value, answers=message.id))

    def _activity(self, progress: Progress) -> None:
        self._remark(progress.text)

    def _remark(self, text: str) -> None:
        remark(text)


class OneShotJson(OneShot):
    """The Channel of a program: all that came of the question is one JSON object on stdout."""

    def __init__(
        self, address: Address, text: str, language: Callable[[], Language], *, piped: str = "", model: str = ""
    ) -> None:
        super().__init__(address, text, language, piped=piped, model=model)
        self._tools: list[str] = []
        self._notices: list[str] = []

    def report(self) -> bool:
        outcome = self._outcome
        is_answer = outcome is not None and (outcome.kind == "answer" or not outcome.failed)
        stats = outcome.stats if outcome else None
        if outcome:
            self._tell_what_waits(outcome)
        told = {
            "answer": outcome.text if outcome and is_answer else None,
            "error": None if is_answer else outcome.text if outcome else "There is no answer: the turn was stopped.",
            "session": self._asked.address.session_key,
            "turn": outcome.turn if outcome else self._turn,
            "model": stats.model if stats else None,
            "usage": {"input": stats.input_tokens, "output": stats.output_tokens} if stats else None,
            "seconds": round(stats.seconds, 3) if stats else None,
            "tools": self._tools,
            "notices": self._notices,
            "choices": [{"label": each.label, "value": each.value} for each in (outcome.buttons if outcome else ())],
            "complete": outcome is not None and not outcome.failed,
        }
        text = json.dumps(told, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
        sys.stdout.write(f"{text}\n")
        return outcome is not None and not outcome.failed

    def _activity(self, progress: Progress) -> None:
        (self._tools if progress.kind == "tool" else self._notices).append(progress.text)

    def _remark(self, text: str) -> None:
        self._notices.append(text)


class OneShotOnScreen(OneShot):
    """The Channel of a person who asks one thing and looks on: the answer grows, and they are asked for approvals."""

    def __init__(
        self, address: Address, text: str, language: Callable[[], Language], *, piped: str = "", model: str = ""
    ) -> None:
        from nanobot.channels.terminal.dialogue import Dialogue
        from nanobot.channels.terminal.markdown import Screen

        super().__init__(address, text, language, piped=piped, model=model)
        self._dialogue = Dialogue(address, language)
        self._screen = Screen(sys.stdout)
        self._preview = 0  # lines of it on the screen
        self._keyboard: int | None = None
        self._typing = b""  # a line that has no end yet

    async def listen(self, publish: Publish) -> None:
        try:
            await super().listen(publish)
        finally:
            self._print([])
            self._read_no_keys()
            if self._keyboard is not None:
                os.close(self._keyboard)
                self._keyboard = None

    async def send(self, message: OutboundMessage) -> None:
        await super().send(message)
        if message.reply_to == self._asked.id and message.kind == "answer":
            self._print([piece for piece in self._dialogue.message(message) if piece.kind != "footer"])
        elif message.settles and (pieces := self._dialogue.message(message)):
            self._print(pieces)
            self._read_no_keys()
            self._ask(self._dialogue.question())

    async def show(self, progress: Progress) -> None:
        await super().show(progress)
        if self._has_asked and progress.turn == self._turn:
            self._print(self._dialogue.progress(progress))

    def report(self) -> bool:
        """The answer stands on the screen; a failure is said like every other."""
        if self._outcome is None or self._outcome.kind != "answer":
            return super().report()
        self._tell_what_waits(self._outcome)
        return not self._outcome.failed

    async def _asked_back(self, message: OutboundMessage) -> None:
        self._ask(self._dialogue.message(message))

    def _activity(self, progress: Progress) -> None:
        """The dialogue shows it, in its place."""
        if not self._has_asked or progress.turn != self._turn:
            self._remark(progress.text)

    def _remark(self, text: str) -> None:
        self._print([])
        remark(text)

    def _ask(self, question: "list[ScreenPiece]") -> None:
        """Print a question, and let the line that is typed below it answer it; without a keyboard, it is no.

        What was typed before it could be read is no answer to it.
        """
        if not question:
            return  # another one is answered first, or there is none
        self._print(question)
        try:
            if self._keyboard is None:
                self._keyboard = os.open(_KEYBOARD, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
            self._typing = b""
            termios.tcflush(self._keyboard, termios.TCIFLUSH)
            asyncio.get_running_loop().add_reader(self._keyboard, self._read_keys, self._keyboard)
        except (OSError, termios.error):
            self._refuse()

    def _read_keys(self, keyboard: int) -> None:
        try:
            keys = os.read(keyboard, _LONGEST_LINE)
        except BlockingIOError:
            return
        except OSError:  # the terminal is gone
            keys = b""
        self._typing += keys
        if keys and b"\n" not in self._typing:
            return
        self._read_no_keys()
        if keys:
            self._typed(self._typing.partition(b"\n")[0].decode("utf-8", "replace").strip())
        else:
            self._refuse()

    def _read_no_keys(self) -> None:
        """Leave what is typed to whoever reads the terminal next: no question stands."""
        if self._keyboard is not None:
            asyncio.get_running_loop().remove_reader(self._keyboard)

    def _refuse(self) -> None:
        while refused := self._dialogue.refuse():
            question, value = refused
            self._to_say.put_nowait(words(self._asked.address, value, answers=question))

    def _typed(self, text: str) -> None:
        if choice := self._dialogue.choose(text):
            question, value = choice
            self._to_say.put_nowait(words(self._asked.address, value, answers=question))
        self._ask(self._dialogue.question())

    def _print(self, pieces: "list[ScreenPiece]") -> None:
        """Print, and below it what has come of the answer and is not complete enough to be printed."""
        unfinished = self._dialogue.unfinished if os.environ.get("TERM") not in (None, "dumb", "unknown") else ""
        lines = self._screen.tail(unfinished, _PREVIEW_LINES)
        if self._preview:
            sys.stdout.write(f"\x1b[{self._preview}A\r\x1b[J")
        if pieces:
            self._screen.print(pieces)
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
        self._preview = len(lines)


def _print_answer(text: str) -> None:
    if sys.stdout.isatty():
        from nanobot.channels.terminal.markdown import print_markdown  # rich is not needed for a pipe

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

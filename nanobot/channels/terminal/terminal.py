"""The conversation in a terminal."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from prompt_toolkit.document import Document
from prompt_toolkit.utils import is_dumb_terminal

from nanobot.channels.terminal.dialogue import Dialogue
from nanobot.channels.terminal.machine import Machine, RunningCommand, last_code, to_clipboard
from nanobot.channels.terminal.markdown import Screen, ScreenPiece
from nanobot.channels.terminal.mentions import MentionError, carry
from nanobot.channels.terminal.person import NAME, at, with_place, words
from nanobot.channels.terminal.prompt import Interrupted, LineCompleter, Pressed, PromptLine
from nanobot.errors import NanobotError
from nanobot.i18n import Language, answers, say
from nanobot.messages import Address, InboundMessage, OutboundMessage, Progress, Quote
from nanobot.ports import Publish

_PREVIEW_LINES = 6
_COMMANDS = ("/", "／")
_COPY = ("/copy", "／copy")
_OUTPUT = ("/output", "／output")
_MOST_OUTPUTS = 5  # of commands that go along with the next message; of more, the oldest do not


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
        machine: Machine | None = None,
    ) -> None:
        """
        Args:
            address: the conversation.
            history: the file for what was typed.
            commands: names of slash commands and what they do.
            greeting: what is said at the start.
            language: in which the terminal's own sentences are said at the moment.
            model: the preset that answers, until another one is chosen; "" is that of the conversation.
            machine: where the terminal stands.
        """
        self._machine = machine or Machine()
        self.on_move: Callable[[Address], Awaitable[None]] | None = None
        self.on_end: Callable[[], None] | None = None
        """Told with which conversation the person goes on."""
        self._own: set[str] = set()  # ids of what was typed here
        self._outputs: list[Quote] = []  # of commands that the person ran, for the next message
        self._command: RunningCommand | None = None
        self._answer = ""  # the last one
        self._address = address
        self._greeting = greeting
        self._language = language
        self._model = model
        self._screen = Screen(sys.stdout)
        self._dialogue = Dialogue(address, language)
        slash = {f"/{name}": what for name, what in commands}
        completer = LineCompleter(slash, self._machine.names, self._machine.folder)
        self._prompt = PromptLine(history, completer, self._preview, lambda: self._dialogue.is_busy)
        self._printing = asyncio.Lock()

    @property
    def address(self) -> Address:
        """The conversation at the moment."""
        return self._address

    async def listen(self, publish: Publish) -> None:
        """Publish what is typed, until the person leaves."""
        if self._greeting:
            here = self._machine.here
            opened = [ScreenPiece(self._dialogue.say("here", folder=here), "quiet")] if here else []
            await self._print(
                [ScreenPiece(self._greeting, "quiet"), *opened, ScreenPiece(self._dialogue.say("start"), "quiet")]
            )
        line = ""
        with self._signals():
            while text := await self._next(line, publish):
                self._screen.turn_page()
                line = await self._take(text, publish)
        await self._print(self._dialogue.left())

    async def send(self, message: OutboundMessage) -> None:
        if message.goes_to and message.reply_to not in self._own:
            return  # another terminal leaves this conversation
        await self._print(self._dialogue.message(message))
        if message.kind == "answer" and message.address == self._address:
            self._answer = message.text
        if message.goes_to:
            await self._go_to(at(message.goes_to.partition(":")[2]))

    async def show(self, progress: Progress) -> None:
        await self._print(self._dialogue.progress(progress))

    async def _go_to(self, address: Address) -> None:
        """Continue in another conversation."""
        self._address, self._answer = address, ""
        self._outputs.clear()
        self._dialogue = Dialogue(address, self._language)
        if self.on_move:
            await self.on_move(address)

    async def _take(self, text: str, publish: Publish) -> str:
        """Deal with a line. Returns what stays to be typed on: it could not be sent as it is."""
        if self._prompt.meant == "command":
            await self._run(text[1:].strip())
            return ""
        if self._prompt.meant == "pasted":
            await self._print([ScreenPiece(self._dialogue.say("pasted_command"), "quiet")])
        if self._dialogue.leave(text):
            await self._print([ScreenPiece(say("command.left", self._language()))])
            return ""
        if missed := self._dialogue.misses(text):
            await self._print(missed)
            return ""
        if await self._did_here(text):
            return ""
        try:
            message = await self._inbound(text)
        except MentionError as error:
            await self._print([ScreenPiece(self._dialogue.say(error.sentence, **error.values), "quiet")])
            return text
        except NanobotError as error:
            await self._print([ScreenPiece(str(error), "quiet")])
            return text
        self._own.add(message.id)
        await publish(message)
        await self._print(self._dialogue.held_up())
        return ""

    async def _did_here(self, text: str) -> bool:
        """True if it was a command that only a terminal can carry out, and is done."""
        command, *rest = text.casefold().split() or [""]
        if command in _COPY:
            await self._copy(only_code=rest[:1] == ["code"])
        elif command in _OUTPUT:
            await self._print(self._dialogue.whole_output())
        return command in (*_COPY, *_OUTPUT)

    async def _next(self, line: str | Document, publish: Publish) -> str | None:
        """Return the next line. None at Ctrl-D, a farewell, or a second Ctrl-C; the first one stops the turn."""
        warned = False
        while True:
            try:
                text = await self._prompt.read(line)
            except EOFError:
                return None
            except Pressed as pressed:
                await self._pressed(pressed, publish)
                line = pressed.line
            except Interrupted as pressed:
                if warned and str(pressed) == _text(line):  # nothing was typed since the first one
                    return None
                line, warned = await self._interrupted(str(pressed), publish), True
            else:
                return None if text.strip().casefold().removeprefix("/") in answers("leave") else text

    async def _pressed(self, pressed: Pressed, publish: Publish) -> None:
        if pressed.key == "all":
            await self._print(self._dialogue.whole_output())
        elif self._dialogue.is_busy:
            await self._print([ScreenPiece(self._dialogue.say("stopping_only"), "quiet")])
            await publish(words(self._address, "/stop"))

    async def _run(self, command: str) -> None:
        """Run what the person typed behind a !, on their machine and in their name: nobody is asked."""
        is_kept = not command.startswith("!")
        if not (command := command.lstrip("!").strip()):
            return
        running = self._command = RunningCommand(command, self._machine.folder, self._write)
        try:
            async with self._printing:  # what the bot says waits
                code = await running.run()
        except OSError as error:
            await self._print([ScreenPiece(self._dialogue.say("no_shell", error=error.strerror or error), "quiet")])
            return
        finally:
            self._command = None
        told = [self._dialogue.say("command_ended", code=code)] if code else []
        if is_kept:
            self._outputs = [*self._outputs, running.quote(code)][-_MOST_OUTPUTS:]
            told.append(self._dialogue.say("output_along"))
        await self._print([ScreenPiece(each, "quiet") for each in told])

    async def _copy(self, *, only_code: bool) -> None:
        text = last_code(self._answer) if only_code else self._answer
        if not text:
            await self._print([ScreenPiece(self._dialogue.say("no_code" if only_code else "no_answer"), "quiet")])
            return
        how = await to_clipboard(text, self._write if sys.stdout.isatty() and not is_dumb_terminal() else None)
        what = self._dialogue.say("copied_code" if only_code else "copied_answer", count=len(text.splitlines()))
        sentence = {"tool": "copied", "sequence": "copied_by_terminal", None: "not_copied"}[how]
        await self._print([ScreenPiece(self._dialogue.say(sentence, what=what), "quiet")])

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    async def _interrupted(self, text: str, publish: Publish) -> str:
        """Stop what runs, or else drop what was typed. Returns what stays in the line."""
        if not self._dialogue.is_busy:
            await self._print([ScreenPiece(self._dialogue.say("leave"), "quiet")])
            return ""
        await self._print([ScreenPiece(self._dialogue.say("stopping"), "quiet")])
        await publish(words(self._address, "/stop"))
        return text

    async def _inbound(self, text: str) -> InboundMessage:
        """Return the typed message, with the files that it names and the output of commands.

        Raises MentionError, StoreError.
        """
        if choice := self._dialogue.choose(text):
            question, value = choice
            return words(self._address, value, answers=question, here=self._machine.opened)
        asks_help = text.strip().casefold() in answers("help")
        text = "/help" if asks_help else with_place(text, self._machine.folder)
        if text.lstrip().startswith(_COMMANDS):
            self._dialogue.heard(text)
            self._model = "" if text.startswith("/model ") else self._model
            return replace(words(self._address, text, here=self._machine.opened), model=self._model)
        machine = self._machine
        carried = await carry(text, machine.folder, machine.decode, machine.media, frozenset(self._prompt.pasted))
        self._dialogue.heard(text)
        await self._print([ScreenPiece(self._dialogue.say(name, **values), "quiet") for name, values in carried.told])
        quotes, self._outputs = [*self._outputs, *carried.quotes], []
        said = words(self._address, text, quotes=quotes, files=carried.files, here=self._machine.opened)
        return replace(said, model=self._model)

    def _preview(self) -> Sequence[str]:
        """Show the part of the answer that is not complete enough to be printed."""
        if not self._dialogue.is_busy or self._dialogue.held_up():
            return []
        return self._screen.tail(self._dialogue.unfinished, _PREVIEW_LINES) or [self._dialogue.say("busy")]

    async def _print(self, pieces: Sequence[ScreenPiece]) -> None:
        if not pieces:
            self._prompt.refresh()
            return
        async with self._printing:
            await self._prompt.print_above(lambda: self._screen.print(pieces))

    def _interrupt(self) -> None:
        """Ctrl-C: it is for the command that the person ran, if one runs."""
        if self._command:
            self._command.interrupt()
        else:
            self._prompt.interrupt()

    def _end(self) -> None:
        if self._command:
            self._command.interrupt()
        if self.on_end:
            self.on_end()
        self._prompt.end()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """While this lasts, a signal does what its key does, and the terminal is left in order."""
        loop = asyncio.get_running_loop()
        before = signal.getsignal(signal.SIGINT)
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for ending in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(ending, self._end)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)
            signal.signal(signal.SIGINT, before)


def _text(line: str | Document) -> str:
    return line if isinstance(line, str) else line.text

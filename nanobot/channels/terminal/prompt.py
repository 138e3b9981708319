"""The line in which a person types, on prompt_toolkit."""

import re
import select
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app, get_app_or_none, get_app_session, run_in_terminal
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input.posix_utils import PosixStdinReader
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output
from prompt_toolkit.output.defaults import create_output
from prompt_toolkit.utils import is_dumb_terminal

from nanobot.channels.terminal.clean import typed
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER, set_mode

_PROMPT = "> "
_MENU_LINES = 6
_LEAST_SECONDS_BETWEEN_DRAWINGS = 0.05
_LONGEST_PAUSE_IN_A_PASTE = 0.02  # seconds; nobody types a line that fast
_MOST_AT_ONCE = 1_000_000  # characters
_PASTE, _END_OF_PASTE = "\x1b[200~", "\x1b[201~"
_LETTER = r"[^\x00-\x08\n-\x1f\x7f]"  # no key that does something
_LINES = re.compile(rf"{_LETTER}+[\r\n](?:{_LETTER}|[\r\n])*")
_BLOCK = re.compile(rf"({_LETTER}+[\r\n](?:{_LETTER}|[\r\n])*{_LETTER})(\r|\n)?[\r\n]*")


class Interrupted(Exception):  # noqa: N818 - Ctrl-C is no error
    """Ctrl-C was pressed, with this text in the line."""


class Prompt:
    """Reads what is typed while other things are printed above it."""

    def __init__(
        self, history: Path, commands: Sequence[tuple[str, str]], preview: Callable[[], Sequence[str]]
    ) -> None:
        """
        Args:
            history: the file of what was typed, for the arrow keys; private, made when missing.
            commands: names of slash commands ("help") and what they do, for completion.
            preview: the lines to show above the prompt for the moment.
        """
        self._preview = preview
        self._history = _history(history)
        self._interrupt_is_due = self._end_is_due = False
        self._is_below = True  # the prompt stands below all that was printed
        words = {f"/{name}": what for name, what in commands}
        self._session: PromptSession[str] = PromptSession(
            self._message,
            multiline=True,
            prompt_continuation=" " * len(_PROMPT),
            history=self._history,
            completer=WordCompleter(list(words), meta_dict=words, sentence=True, ignore_case=True),
            complete_while_typing=Condition(lambda: get_app().current_buffer.text.startswith("/")),
            reserve_space_for_menu=_MENU_LINES,
            key_bindings=_keys(self),
            enable_suspend=True,
            output=_output(),
            interrupt_exception=Interrupted,
        )
        self._session.app.min_redraw_interval = _LEAST_SECONDS_BETWEEN_DRAWINGS
        keyboard = get_app_session().input
        if isinstance(keyboard, Vt100Input) and not isinstance(keyboard.stdin_reader, _PasteReader):
            keyboard.stdin_reader = _PasteReader(keyboard.fileno(), encoding=keyboard.stdin.encoding)

    async def read(self, text: str = "") -> str:
        """What is typed next, starting from this text. Raises Interrupted at Ctrl-C, EOFError at the end."""
        if self._end_is_due:
            raise EOFError
        if self._interrupt_is_due:
            self._interrupt_is_due = False
            raise Interrupted(text)
        self._session.app.erase_when_done = False
        self._is_below = True
        return typed(await self._session.prompt_async(default=text, handle_sigint=False, set_exception_handler=False))

    async def print_above(self, show: Callable[[], None]) -> None:
        """Run what prints something; the prompt steps aside meanwhile."""
        await run_in_terminal(show)
        if isinstance(self._history, _History) and self._history.is_stale:
            buffer = self._session.default_buffer  # it holds what the file had
            buffer.reset(Document(buffer.text, buffer.cursor_position))
        self._is_below = False
        self._draw_if_dumb()

    def refresh(self) -> None:
        """Draw the preview again."""
        self._session.app.invalidate()
        self._draw_if_dumb()

    def _draw_if_dumb(self) -> None:
        """A dumb terminal draws the prompt once: write it below what was printed, when nothing more comes for now."""
        app = get_app_or_none()
        if self._is_below or not is_dumb_terminal() or app is None or app.is_done or not app.is_running:
            return
        if self._preview():
            return
        self._is_below = True
        screen = sys.stdout if sys.stdout.isatty() else sys.stderr
        screen.write(f"\n{_PROMPT}{app.current_buffer.text}")
        screen.flush()

    def interrupt(self) -> None:
        """As Ctrl-C does. At a moment without a prompt, the next one is interrupted."""
        app = get_app_or_none()
        if app is None or app.is_done or not app.is_running:
            self._interrupt_is_due = True
            return
        app.erase_when_done = True
        app.exit(exception=Interrupted(app.current_buffer.text))

    def end(self) -> None:
        """Ask for the end: nothing more is read."""
        self._end_is_due = True
        app = get_app_or_none()
        if app is not None and app.is_running and not app.is_done:
            app.exit(exception=EOFError)

    def _message(self) -> StyleAndTextTuples:
        lines = [] if get_app().is_done or is_dumb_terminal() else self._preview()
        shown = "".join(f"{line}\n" for line in lines)
        return [("", "\n"), ("fg:ansibrightblack", f"{shown}\n" if shown else ""), ("bold", _PROMPT)]


def _keys(prompt: Prompt) -> KeyBindings:
    keys = KeyBindings()
    typing = has_focus("DEFAULT_BUFFER")

    @keys.add("enter", filter=typing)
    def _send(event: KeyPressEvent) -> None:
        if event.current_buffer.text.strip():
            event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter", filter=typing)
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c")
    def _interrupt(_: KeyPressEvent) -> None:
        prompt.interrupt()

    return keys


class _History(FileHistory):
    """Read again when its file was replaced: what was forgotten there does not come back with the arrow keys."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._path = path
        self._file = _number(path)

    @property
    def is_stale(self) -> bool:
        return _number(self._path) != self._file

    async def load(self) -> AsyncGenerator[str, None]:
        if self.is_stale:
            self._file, self._loaded = _number(self._path), False
        async for string in super().load():
            yield string

    def store_string(self, string: str) -> None:
        with suppress(OSError):  # a full disk
            super().store_string(typed(string))


def _number(path: Path) -> int:
    """What tells a file from another one of its name."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _history(path: Path) -> History:
    """What was typed before. A home that cannot be written costs the history, not the conversation."""
    try:
        path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        path.touch(mode=PRIVATE_FILE)
        set_mode(path, PRIVATE_FILE)
    except OSError:
        return InMemoryHistory()
    return _History(path)


def _output() -> Output | None:
    """Where the prompt is drawn, if not on stdout: the answers may go to a file."""
    return create_output(stdout=sys.stderr) if sys.stderr.isatty() and not sys.stdout.isatty() else None


class _PasteReader(PosixStdinReader):
    """Reads keys, and what is pasted as one paste.

    A terminal that does not mark a paste sends its lines within milliseconds: they are marked here. In a marked paste
    that holds the mark of an end, only the last one is the end.
    """

    _is_pasting = False

    def read(self, count: int = 1024) -> str:
        keys = super().read(count)
        while self._may_go_on(keys) and len(keys) < _MOST_AT_ONCE and (more := super().read(count)):
            keys += more
        if self._is_pasting or _PASTE in keys:
            keys = self._as_one_paste(keys)
        elif block := _BLOCK.fullmatch(keys):
            keys = f"{_PASTE}{block[1]}{_END_OF_PASTE}{block[2]}"
        return keys

    def _may_go_on(self, keys: str) -> bool:
        """Whether more comes at once of what looks like a paste. One that presses Enter alone does not wait."""
        if self.closed or not (self._is_pasting or len(keys) > 1):
            return False
        is_in_lines = self._is_pasting or _PASTE in keys or _LINES.fullmatch(keys) is not None
        return bool(select.select([self.stdin_fd], [], [], _LONGEST_PAUSE_IN_A_PASTE if is_in_lines else 0)[0])

    def _as_one_paste(self, keys: str) -> str:
        """All from the first mark of a beginning to the last one of an end."""
        before, _, pasted = ("", "", keys) if self._is_pasting else keys.partition(_PASTE)
        begun = "" if self._is_pasting else _PASTE
        pasted, end, after = pasted.rpartition(_END_OF_PASTE) if _END_OF_PASTE in pasted else (pasted, "", "")
        self._is_pasting = not end
        inside = pasted.replace(_PASTE, "").replace(_END_OF_PASTE, "")
        return f"{before}{begun}{inside}{end}{after}"

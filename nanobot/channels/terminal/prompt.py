"""The line in which a person types, on prompt_toolkit."""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app, get_app_or_none, run_in_terminal
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output
from prompt_toolkit.output.defaults import create_output
from prompt_toolkit.utils import is_dumb_terminal

from nanobot.channels.terminal.clean import typed
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER

_PROMPT = "> "
_MENU_LINES = 6
_LEAST_SECONDS_BETWEEN_DRAWINGS = 0.05


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
        self._interrupt_is_due = self._end_is_due = False
        words = {f"/{name}": what for name, what in commands}
        self._session: PromptSession[str] = PromptSession(
            self._message,
            multiline=True,
            prompt_continuation=" " * len(_PROMPT),
            history=_history(history),
            completer=WordCompleter(list(words), meta_dict=words, sentence=True, ignore_case=True),
            complete_while_typing=Condition(lambda: get_app().current_buffer.text.startswith("/")),
            reserve_space_for_menu=_MENU_LINES,
            key_bindings=_keys(self),
            enable_suspend=True,
            output=_output(),
            interrupt_exception=Interrupted,
        )
        self._session.app.min_redraw_interval = _LEAST_SECONDS_BETWEEN_DRAWINGS

    async def read(self, text: str = "") -> str:
        """What is typed next, starting from this text. Raises Interrupted at Ctrl-C, EOFError at the end."""
        if self._end_is_due:
            raise EOFError
        if self._interrupt_is_due:
            self._interrupt_is_due = False
            raise Interrupted(text)
        self._session.app.erase_when_done = False
        return typed(await self._session.prompt_async(default=text, handle_sigint=False, set_exception_handler=False))

    async def print_above(self, show: Callable[[], None]) -> None:
        """Run what prints something; the prompt steps aside meanwhile."""
        await run_in_terminal(show)

    def refresh(self) -> None:
        """Draw the preview again."""
        self._session.app.invalidate()

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
    def store_string(self, string: str) -> None:
        with suppress(OSError):  # a full disk
            super().store_string(typed(string))


def _history(path: Path) -> History:
    """What was typed before. A home that cannot be written costs the history, not the conversation."""
    try:
        path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        path.touch(mode=PRIVATE_FILE)
        path.chmod(PRIVATE_FILE)
    except OSError:
        return InMemoryHistory()
    return _History(path)


def _output() -> Output | None:
    """Where the prompt is drawn, if not on stdout: the answers may go to a file."""
    return create_output(stdout=sys.stderr) if sys.stderr.isatty() and not sys.stdout.isatty() else None

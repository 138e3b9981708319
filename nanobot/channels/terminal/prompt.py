"""The prompt line of the terminal, on prompt_toolkit."""

import os
import re
import select
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import Literal

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app, get_app_or_none, get_app_session, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input.posix_utils import PosixStdinReader
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent, merge_key_bindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output
from prompt_toolkit.output.defaults import create_output
from prompt_toolkit.utils import is_dumb_terminal

from nanobot.channels.terminal.machine import Names
from nanobot.channels.terminal.markdown import typed
from nanobot.channels.terminal.mentions import marks, spelled
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER, set_mode

_PROMPT = "> "
_MENU_LINES = 6
_LEAST_SECONDS_BETWEEN_DRAWINGS = 0.05
_ESCAPE_ALONE = 0.1  # seconds after which Esc is the key, not the beginning of another one
_NEXT_KEY = 0.5  # seconds in which the second key of two may follow
_LONGEST_PAUSE_IN_A_PASTE = 0.02  # seconds; nobody types a line that fast
_MOST_AT_ONCE = 1_000_000  # characters
_PASTE, _END_OF_PASTE = "\x1b[200~", "\x1b[201~"
_TEXT = r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"  # no key that does something, or the end of a line
_LINES = re.compile(rf"(?![\r\n]){_TEXT}+[\r\n]{_TEXT}*")
_BLOCK = re.compile(rf"((?![\r\n]){_TEXT}*[\r\n]{_TEXT}*[^\r\n])(\r|\n)?[\r\n]*")
_PASTED = "#pasted "  # in the file of the history, before what could name a file and came with a paste

MOST_OFFERED = 50
"""Files that are offered at once."""

WITH_FILES = ("export",)
"""Commands behind which a path stands."""

_AT = re.compile(r'(?<![A-Za-z0-9_.+/@\\-])@("[^"\n]*|(?:\\.|[^\s\\"@])*)$')
_BEHIND = re.compile(r"[/／]([\w-]+) +(.*)$")


class Interrupted(Exception):  # noqa: N818 - Ctrl-C is no error
    """Ctrl-C was pressed, with this text in the line."""


class Pressed(Exception):  # noqa: N818 - a key is no error
    """A key was pressed that leaves the line as it is, which is this."""

    def __init__(self, key: Literal["stop", "all"], line: Document) -> None:
        super().__init__(key)
        self.key = key
        self.line = line


class LineCompleter(Completer):
    """Completes the line up to the cursor."""

    def __init__(self, commands: Mapping[str, str], names: Names, folder: Path) -> None:
        """
        Args:
            commands: slash commands ("/help") and what they do.
            names: what may stand behind a command, by its name.
            folder: where relative paths start.
        """
        self._commands = commands
        self._names = names
        self._folder = folder

    def wants(self, document: Document) -> bool:
        """True if something is offered while this is typed, without being asked for."""
        text = document.text_before_cursor
        return text.startswith(("/", "／")) or _AT.search(text) is not None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        before = document.text_before_cursor
        if at := _AT.search(before):
            yield from self._files(at[1], quoted=True)
        elif behind := _BEHIND.match(before):
            yield from self._behind(behind[1].casefold().replace("_", "-"), behind[2])
        elif "\n" not in before:
            typed = before.casefold()
            for command, what in self._commands.items():
                if command.startswith(typed):
                    yield Completion(command, -len(before), display_meta=what)

    def _behind(self, command: str, typed: str) -> Iterator[Completion]:
        if command in WITH_FILES:
            yield from self._files(typed, quoted=False)
            return
        for name in self._names.get(command, list)():
            if name.casefold().startswith(typed.casefold()) or f":{typed.casefold()}" in name.casefold():
                yield Completion(name, -len(typed))

    def _files(self, typed: str, *, quoted: bool) -> Iterator[Completion]:
        """Return the files that complete the typed text; a folder ends in a slash."""
        path = re.sub(r"\\(.)", r"\1", typed.removeprefix('"')) if quoted else typed
        above, begun = os.path.split(path)
        for name in _entries(self._folder / Path(above).expanduser(), begun)[:MOST_OFFERED]:
            whole = os.path.join(above, name)  # noqa: PTH118 - as it was typed
            shown = spelled(whole) if quoted else whole
            if quoted and shown.startswith('"') and name.endswith("/"):
                shown = shown.removesuffix('"')  # it goes on
            yield Completion(shown, -len(typed), display=name)


class PromptLine:
    """Reads what is typed while other things are printed above it."""

    def __init__(
        self, history: Path, completer: LineCompleter, preview: Callable[[], Sequence[str]], is_busy: Callable[[], bool]
    ) -> None:
        """
        Args:
            history: the file of what was typed, for the arrow keys; private, made when missing.
            completer: what is offered while one types.
            preview: the lines to show above the prompt for the moment.
            is_busy: whether there is something to stop.
        """
        self.meant: Literal["words", "command", "pasted"] = "words"
        """Of what was read last: words, a command behind a ! that was typed, or one that was not."""
        self.is_busy = is_busy
        self.is_bang_typed = False
        self.pasted: set[str] = set()
        """What could name a file and came with a paste, since the line was begun."""
        self._preview = preview
        self._marks: dict[str, Set[str]] = {}  # what could name a file and came with a paste, by the line it stands in
        self._history = _history(history, self._marks)
        self._interrupt_is_due = self._end_is_due = False
        self._is_below = True  # the prompt stands below all that was printed
        self._session: PromptSession[str] = PromptSession(
            self._message,
            multiline=True,
            prompt_continuation=" " * len(_PROMPT),
            history=self._history,
            completer=completer,
            complete_while_typing=Condition(lambda: completer.wants(get_app().current_buffer.document)),
            reserve_space_for_menu=_MENU_LINES,
            key_bindings=merge_key_bindings([_line_keys(self), _other_keys(self)]),
            enable_suspend=True,
            output=_output(),
            interrupt_exception=Interrupted,
        )
        app, buffer = self._session.app, self._session.default_buffer
        app.min_redraw_interval = _LEAST_SECONDS_BETWEEN_DRAWINGS
        app.ttimeoutlen, app.timeoutlen = _ESCAPE_ALONE, _NEXT_KEY
        buffer.on_text_changed += lambda _: self._note_text(buffer.text)
        buffer.tempfile_suffix = ".md"  # for an editor
        keyboard = get_app_session().input
        if isinstance(keyboard, Vt100Input) and not isinstance(keyboard.stdin_reader, PasteReader):
            keyboard.stdin_reader = PasteReader(keyboard.fileno(), encoding=keyboard.stdin.encoding)

    async def read(self, line: str | Document = "") -> str:
        """Read the next line, starting from this text.

        Raises Interrupted at Ctrl-C, Pressed at a key that leaves the line as it is, EOFError at the end.
        """
        text = line if isinstance(line, str) else line.text
        if self._end_is_due:
            raise EOFError
        if self._interrupt_is_due:
            self._interrupt_is_due = False
            raise Interrupted(text)
        self._session.app.erase_when_done = False
        self._is_below = True
        self._note_text(text)
        if not text:
            self.pasted.clear()
        return typed(await self._session.prompt_async(default=line, handle_sigint=False, set_exception_handler=False))

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

    def press(self, key: Literal["stop", "all"]) -> None:
        """Leave the line for a moment, for what the key means."""
        app = get_app()
        app.erase_when_done = True
        app.exit(exception=Pressed(key, app.current_buffer.document))

    def take(self, buffer: Buffer) -> None:
        """Enter was pressed. Whoever did not type the ! at its beginning does not run a command by accident."""
        if not buffer.text.startswith("!"):
            self.meant = "words"
        elif self.is_bang_typed or _recalled(buffer):
            self.meant = "command"
        else:
            self.meant = "pasted"
            buffer.text = f" {buffer.text}"  # nor when it is recalled with the arrow keys
        self.pasted |= self._marks.get(_recalled(buffer), frozenset())
        if marked := self.pasted & marks(buffer.text):
            self._marks[buffer.text] = marked
        buffer.validate_and_handle()

    def _note_text(self, text: str) -> None:
        self.is_bang_typed = self.is_bang_typed and text.startswith("!")

    def end(self) -> None:
        """Ask for the end: nothing more is read."""
        self._end_is_due = True
        app = get_app_or_none()
        if app is not None and app.is_running and not app.is_done:
            app.exit(exception=EOFError)

    def _message(self) -> StyleAndTextTuples:
        lines = [] if get_app().is_done or is_dumb_terminal() else self._preview()
        shown = "".join(f"{line}\n" for line in lines)
        style = "bold fg:ansimagenta" if self.is_bang_typed else "bold"
        return [("", "\n"), ("fg:ansibrightblack", f"{shown}\n" if shown else ""), (style, _PROMPT)]


def _line_keys(prompt: PromptLine) -> KeyBindings:
    """Return the key bindings for Enter, ! and the editor."""
    keys = KeyBindings()
    typing = has_focus("DEFAULT_BUFFER")

    @keys.add("enter", filter=typing)
    def _send(event: KeyPressEvent) -> None:
        if event.current_buffer.text.strip():
            prompt.take(event.current_buffer)

    @keys.add("!", filter=typing)
    def _command(event: KeyPressEvent) -> None:
        is_alone = not event.key_processor.input_queue  # else it came with more at once: nobody types that fast
        is_first = event.current_buffer.cursor_position == 0
        event.current_buffer.insert_text("!")
        prompt.is_bang_typed = prompt.is_bang_typed or (is_first and is_alone)

    @keys.add(Keys.BracketedPaste, filter=typing)
    def _paste(event: KeyPressEvent) -> None:
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        prompt.pasted |= marks(text)
        event.current_buffer.insert_text(text)

    @keys.add("escape", "enter", filter=typing)
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-x", "c-e", filter=typing)
    def _edit(event: KeyPressEvent) -> None:
        event.current_buffer.open_in_editor()

    return keys


def _other_keys(prompt: PromptLine) -> KeyBindings:
    """Return the key bindings that stop, and that show more."""
    keys = KeyBindings()
    typing = has_focus("DEFAULT_BUFFER")

    @keys.add("escape", filter=typing)
    def _stop(event: KeyPressEvent) -> None:
        if event.current_buffer.complete_state:
            event.current_buffer.cancel_completion()
        elif prompt.is_busy():
            prompt.press("stop")

    @keys.add("c-o", filter=typing)
    def _show_all(_: KeyPressEvent) -> None:
        prompt.press("all")

    @keys.add("c-c")
    def _interrupt(_: KeyPressEvent) -> None:
        prompt.interrupt()

    return keys


def _entries(folder: Path, begun: str) -> Sequence[str]:
    """Return the entries of a folder that begin like this; hidden ones only on request."""
    try:
        with os.scandir(folder) as entries:
            found = [
                f"{entry.name}/" if entry.is_dir() else entry.name
                for entry in entries
                if entry.name.casefold().startswith(begun.casefold())
                and (begun.startswith(".") or not entry.name.startswith("."))
            ]
    except (OSError, RuntimeError, ValueError):
        return []
    return sorted(found)


def _recalled(buffer: Buffer) -> str:
    """The line of the history that was brought back, "" if this one was begun anew. What follows a ! there was run."""
    back = len(buffer._working_lines) - 1 - buffer.working_index
    return buffer.history.get_strings()[-back] if 0 < back <= len(buffer.history.get_strings()) else ""


class _History(FileHistory):
    """Read again when its file was replaced: what was forgotten there does not come back with the arrow keys."""

    def __init__(self, path: Path, marks: dict[str, Set[str]]) -> None:
        """`marks`: of each line, what came with a paste and could name a file; kept beside it."""
        super().__init__(path)
        self._path = path
        self._marks = marks
        self._file = _number(path)

    @property
    def is_stale(self) -> bool:
        return _number(self._path) != self._file

    async def load(self) -> AsyncGenerator[str, None]:
        if self.is_stale:
            self._file, self._loaded = _number(self._path), False
        async for string in super().load():
            yield string

    def load_history_strings(self) -> Iterable[str]:
        self._marks.update(_kept_marks(self._path))
        return super().load_history_strings()

    def store_string(self, string: str) -> None:
        with suppress(OSError):  # a full disk
            if marked := self._marks.get(string):
                with self._path.open("a", encoding="utf-8", errors="replace") as file:
                    file.write("".join(f"\n{_PASTED}{mark}" for mark in sorted(marked)))
            super().store_string(typed(string))


def _number(path: Path) -> int:
    """Return the number that tells a file from another one of its name."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _kept_marks(path: Path) -> Mapping[str, Set[str]]:
    """Return the notes above each line of the history."""
    kept, marked, line = dict[str, Set[str]](), set[str](), list[str]()
    for text in [*path.read_text(encoding="utf-8", errors="replace").split("\n"), ""]:
        if text.startswith("+"):
            line.append(text[1:])
            continue
        if line and marked:
            kept["\n".join(line)] = marked
        marked, line = set() if line else marked, []
        if text.startswith(_PASTED):
            marked.add(text.removeprefix(_PASTED))
    return kept


def _history(path: Path, marks: dict[str, Set[str]]) -> History:
    """Return the history of typed lines. A home that cannot be written costs the history, not the conversation."""
    try:
        path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        path.touch(mode=PRIVATE_FILE)
        set_mode(path, PRIVATE_FILE)
    except OSError:
        return InMemoryHistory()
    return _History(path, marks)


def _output() -> Output | None:
    """Return the output to draw the prompt on, if not stdout: the answers may go to a file."""
    return create_output(stdout=sys.stderr) if sys.stderr.isatty() and not sys.stdout.isatty() else None


class PasteReader(PosixStdinReader):
    """Reads keys, and what is pasted as one paste.

    A terminal that does not mark a paste sends its lines within milliseconds: they are marked here. In a marked paste
    that holds the mark of an end, only the last one is the end.
    """

    _is_pasting = False
    _begun = (
        ""  # of a mark, read last: before a paste it is handed on already, since it may be a key; in one it is kept
    )

    def read(self, count: int = 1024) -> str:
        before, self._begun = self._begun, ""
        keys = more = super().read(count)
        is_block = False
        while more and len(keys) < _MOST_AT_ONCE and (self._is_pasting or len(keys) > 1) and not self.closed:
            is_block = is_block or self._is_pasting or _PASTE in before + keys or _ends_a_line(more, keys)
            pause = _LONGEST_PAUSE_IN_A_PASTE if is_block else 0  # who presses Enter alone does not wait
            more = super().read(count) if select.select([self.stdin_fd], [], [], pause)[0] else ""
            keys += more
        if self._is_pasting:
            return self._as_one_paste(before + keys)
        if _PASTE in before + keys:
            return self._as_one_paste(before + keys).removeprefix(before)
        self._begun = _begun(before + keys, _PASTE)
        block = _BLOCK.fullmatch(keys) if is_block else None
        return f"{_PASTE}{block[1]}{_END_OF_PASTE}{block[2] or ''}" if block else keys

    def _as_one_paste(self, keys: str) -> str:
        """All from the first mark of a beginning to the last one of an end."""
        before, _, pasted = ("", "", keys) if self._is_pasting else keys.partition(_PASTE)
        begun = "" if self._is_pasting else _PASTE
        pasted, end, after = pasted.rpartition(_END_OF_PASTE) if _END_OF_PASTE in pasted else (pasted, "", "")
        self._is_pasting = not end
        self._begun = _begun(pasted, _END_OF_PASTE) if self._is_pasting else _begun(after, _PASTE)
        if self._is_pasting:
            pasted = pasted.removesuffix(self._begun)
        inside = pasted.replace(_PASTE, "").replace(_END_OF_PASTE, "")
        return f"{before}{begun}{inside}{end}{after}"


def _begun(keys: str, mark: str) -> str:
    """The longest end of the keys with which the mark begins, if that is not all of it."""
    return next((mark[:size] for size in range(len(mark) - 1, 0, -1) if keys.endswith(mark[:size])), "")


def _ends_a_line(more: str, keys: str) -> bool:
    return ("\r" in more or "\n" in more) and _LINES.fullmatch(keys) is not None

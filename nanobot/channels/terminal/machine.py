"""Actions on the person's own machine from within a conversation: commands, the clipboard."""

import asyncio
import base64
import codecs
import os
import re
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from nanobot.channels.terminal.markdown import parser
from nanobot.channels.terminal.mentions import Decode
from nanobot.channels.terminal.person import standing
from nanobot.messages import Quote
from nanobot.ports import Media
from nanobot.text import printable

MOST_CARRIED = 16_000
"""Characters of what a command printed that go along with the next message: its ends, if it is more."""

MOST_IN_SEQUENCE = 74_000
"""Characters that terminals take into the clipboard at once."""

_CHUNK = 65_536
_DRAIN = 0.5  # seconds in which output may still come after the command itself has ended
_PATIENCE = 5.0  # seconds that a tool of the system may take to fill the clipboard

_ESCAPES = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?|\x1b[ -/]*[0-~]?")
_BEGUN = re.compile("\x1b(?:\\[[0-?]*[ -/]*|[\\]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*)\\Z")  # an escape that may go on
_LONGEST_ESCAPE = 256  # characters of one that are waited for; a string in one may be of any length

Names = Mapping[str, Callable[[], Sequence[str]]]
"""What may stand behind a slash command, by the command's name, as it is at the moment."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine on which a terminal stands: where, and how files of it are read and kept.

    `here` is the folder that is opened for this conversation; None: none is.
    """

    folder: Path = field(default_factory=standing)
    decode: Decode = lambda data: data.decode("utf-8", "replace")
    media: Media | None = None
    names: Names = field(default_factory=dict)
    here: Path | None = None

    @property
    def opened(self) -> str:
        return str(self.here) if self.here else ""


class RunningCommand:
    """A command that the person typed, with their environment, without input; it ends with Ctrl-C."""

    def __init__(self, command: str, folder: Path, show: Callable[[str], None]) -> None:
        """`show` is handed what it prints, as that comes."""
        self._command = command
        self._folder = folder
        self._show = show
        self._process: Process | None = None
        self._pressed = 0
        self._head = ""
        self._tail = ""
        self._left_out = 0

    async def run(self) -> int:
        """Its exit code; negative is the signal that ended it. Raises OSError if there is no shell."""
        shell = os.environ.get("SHELL") or "/bin/sh"
        reading, writing = os.pipe()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(shell, "-c", self._command),
                cwd=self._folder,
                stdin=DEVNULL,
                stdout=writing,
                stderr=writing,
                start_new_session=True,
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        return await self._to_its_end(self._process, reading)

    def interrupt(self) -> None:
        """As Ctrl-C in a shell does; the second time, whether it wants to or not."""
        self._pressed += 1
        if self._process:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGINT if self._pressed == 1 else signal.SIGKILL)

    def quote(self, code: int) -> Quote:
        """Return the output as a quotation for the next message."""
        gap = f"\n[… {self._left_out:,} characters are left out here …]\n" if self._left_out else ""
        printed = f"{self._head}{gap}{self._tail}".rstrip("\n")
        end = f"[ended by signal {-code}]" if code < 0 else f"[exit code {code}]"
        return Quote("\n".join(filter(None, [printed, end])), self._command, "command")

    async def _to_its_end(self, process: Process, reading: int) -> int:
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
        with open(reading, "rb", buffering=0) as source:  # noqa: ASYNC230 - a descriptor
            transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
            collecting = asyncio.ensure_future(self._collect(reader))
            try:
                code = await process.wait()
                await asyncio.wait([collecting], timeout=_DRAIN)  # what it left in the background is the person's
                return code
            finally:
                if process.returncode is None:
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL)
                    await process.wait()
                collecting.cancel()
                await asyncio.wait([collecting])
                transport.close()

    async def _collect(self, reader: asyncio.StreamReader) -> None:
        printed = PrintedText()
        while chunk := await reader.read(_CHUNK):
            self._take(printed.feed(chunk))
        self._take(printed.end())

    def _take(self, text: str) -> None:
        if text:
            self._show(text)
        room = max(0, MOST_CARRIED // 2 - len(self._head))
        self._head += text[:room]
        self._tail += text[room:]
        if (surplus := len(self._tail) - MOST_CARRIED // 2) > 0:
            self._tail, self._left_out = self._tail[surplus:], self._left_out + surplus


class PrintedText:
    """Takes the bytes that a command prints, in whatever pieces they come, and gives lines without escape sequences."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""  # what may be the beginning of an escape sequence, or of the end of a line

    def feed(self, data: bytes) -> str:
        """Returns the text whose meaning no byte that follows can change."""
        text = self._held + self._decoder.decode(data)
        begun = _BEGUN.search(text)
        text, self._held = (text[: begun.start()], _shortest(begun[0])) if begun else (text, "")
        text = _ESCAPES.sub("", text)
        if text.endswith("\r"):
            text, self._held = text[:-1], f"\r{self._held}"
        return _lines(text)

    def end(self) -> str:
        """Returns the rest: nothing follows."""
        return _lines(_ESCAPES.sub("", self._held + self._decoder.decode(b"", final=True)))


def _lines(text: str) -> str:
    return printable(text.replace("\r\n", "\n").replace("\r", "\n"))


def _shortest(begun: str) -> str:
    """As much of an escape sequence that has begun as matters to its end."""
    if begun[1:2] in ("]", "P", "X", "^", "_"):
        return begun[:2] + "\x1b" * begun.endswith("\x1b", 2)
    return begun if len(begun) <= _LONGEST_ESCAPE else begun[:2] + begun[-1]


def last_code(markdown: str) -> str | None:
    """The last block of code in a text; None if it has none."""
    tokens = [token for token in parser().parse(markdown) if token.type in ("fence", "code_block")]
    return tokens[-1].content.rstrip("\n") if tokens else None


async def to_clipboard(text: str, write: Callable[[str], None] | None) -> str | None:
    """Put a text into the clipboard; how that was done ("tool", "sequence"), None if it cannot be.

    A tool of this system, unless the person sits elsewhere; else the sequence of which terminals know what to do.
    `write` writes to the terminal; None: there is none that understands it.
    """
    if not os.environ.get("SSH_CONNECTION"):
        for words in _tools(os.environ):
            if await _fed(words, text):
                return "tool"
    if write is None or len(encoded := base64.b64encode(text.encode("utf-8", "replace"))) > MOST_IN_SEQUENCE:
        return None
    write(f"\x1b]52;c;{encoded.decode('ascii')}\x07")
    return "sequence"


def _tools(environment: Mapping[str, str]) -> Iterator[Sequence[str]]:
    yield ("pbcopy",)
    if environment.get("WAYLAND_DISPLAY"):
        yield ("wl-copy",)
    if environment.get("DISPLAY"):
        yield ("xclip", "-selection", "clipboard")
        yield ("xsel", "--clipboard", "--input")
    if environment.get("WSL_DISTRO_NAME"):
        yield ("clip.exe",)


async def _fed(words: Sequence[str], text: str) -> bool:
    """True if a tool is there, and took the text."""
    if shutil.which(words[0]) is None:
        return False
    try:
        process = await asyncio.create_subprocess_exec(*words, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL)
    except OSError:
        return False
    try:
        async with asyncio.timeout(_PATIENCE):
            await process.communicate(text.encode("utf-8", "replace"))
    except TimeoutError:
        process.kill()
        await process.wait()
    return process.returncode == 0

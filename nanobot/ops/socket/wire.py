"""One connection, line by line."""

import asyncio
from contextlib import suppress
from typing import TypeVar

import msgspec

LONGEST = 16 * 1024 * 1024
"""Bytes of a line: more than any text that a person pastes."""

MOST_UNREAD = 32 * 1024 * 1024
"""Bytes that wait for somebody who does not read; then the connection is cut."""

FAREWELL = 2.0
"""Seconds that somebody may take to see that we have nothing more to say."""

T = TypeVar("T")


class WireError(Exception):
    """What came is no line of ours."""


class Wire:
    """Reads and writes lines; writing never waits, so that somebody who stops reading holds up nobody."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, decoder: msgspec.json.Decoder[T]) -> T | None:
        """The next line; None at the end, however it came. Raises WireError."""
        try:
            line = await self._reader.readline()
        except ConnectionError:
            return None
        except ValueError as error:  # longer than the limit of the reader
            raise WireError("a line is too long") from error
        if not line.endswith(b"\n"):  # the end, or half a line before it
            return None
        try:
            return decoder.decode(line)
        except ValueError as error:
            raise WireError(str(error)) from error

    def write(self, line: object) -> None:
        """Send a line; lost if nobody is there any more."""
        if self._writer.is_closing():
            return
        self._writer.write(msgspec.json.encode(line) + b"\n")
        if self._writer.transport.get_write_buffer_size() > MOST_UNREAD:
            self._writer.transport.abort()

    async def aclose(self) -> None:
        """Send what is left, and close.

        What the other one is still saying is read and dropped: closing before it has ended would be an error to it,
        and could cost it the last lines of ours.
        """
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(FAREWELL):
                self._writer.write_eof()
                while await self._reader.read(LONGEST):
                    pass
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

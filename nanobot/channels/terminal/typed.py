"""History of the lines typed in the terminal, and its erasure."""

import asyncio
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from nanobot.errors import StoreError
from nanobot.ports import ErasedPiece, ErasurePlan, StoreFindings
from nanobot.workspace import PRIVATE_FILE, set_mode

_FORGET = "/forget"
_TEMP = ".new"


class ErasableTypedLines:
    """Erasable over the file of prompt_toolkit: entries of lines that begin with +, each below its time."""

    place = "terminal"

    def __init__(self, path: Path) -> None:
        self._path = path

    def owns(self, path: Path) -> bool:
        return path in (self._path, self._path.with_name(f"{self._path.name}{_TEMP}"))

    async def find(self, meant: ErasurePlan) -> StoreFindings:
        """Find the lines to erase. The command that asks for it goes, too, but is not counted."""
        return await asyncio.to_thread(self._find, meant)

    async def erase(self, meant: ErasurePlan) -> None:
        await asyncio.to_thread(self._erase, meant)

    def _find(self, meant: ErasurePlan) -> StoreFindings:
        count = sum(_tells(entry, meant) and not _asks(entry, meant) for entry in self._entries())
        return StoreFindings(count, [ErasedPiece(str(self._path))] if count else [])

    def _erase(self, meant: ErasurePlan) -> None:
        entries = list(self._entries())
        kept = [entry for entry in entries if not _tells(entry, meant) and not _asks(entry, meant)]
        if len(kept) == len(entries):
            return
        temp = self._path.with_name(f"{self._path.name}{_TEMP}")
        try:  # a terminal that is open opens the file anew for each line
            with temp.open("wb") as file:
                set_mode(temp, PRIVATE_FILE)
                file.write("".join(kept).encode("utf-8", "surrogateescape"))
                file.flush()
                os.fsync(file.fileno())
            temp.replace(self._path)
        except OSError as error:
            raise StoreError(f"{self._path} could not be written: {error.strerror or error}") from error

    def _entries(self) -> Iterator[str]:
        """Each entry with its time above it."""
        try:
            text = self._path.read_bytes().decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            return
        entry = ""
        for line in text.splitlines(keepends=True):
            if not line.startswith("+") and "\n+" in entry:
                yield entry
                entry = ""
            entry += line
        if entry:
            yield entry


def _asks(entry: str, meant: ErasurePlan) -> bool:
    """True if it asked to forget something: it may tell what."""
    return meant.of_owner and _typed(entry).lstrip().startswith(_FORGET)


def _tells(entry: str, meant: ErasurePlan) -> bool:
    if not meant.of_owner:
        return False
    typed = _typed(entry)
    if _is_since(entry, meant.since) or any(key in typed for key in meant.sessions):
        return True
    return any(meant.traces.tell_all(line) for line in typed.split("\n") if line)


def _typed(entry: str) -> str:
    return "\n".join(line[1:] for line in entry.splitlines() if line.startswith("+"))


def _is_since(entry: str, since: str) -> bool:
    if not since:
        return False
    at = next((line[2:].strip() for line in entry.splitlines() if line.startswith("# ")), "")
    try:
        return datetime.fromisoformat(at).astimezone() >= datetime.fromisoformat(since)
    except ValueError:
        return True

"""Forgetting in the log."""

import asyncio
import logging
import os
import re
from collections.abc import Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path

from nanobot.errors import StoreError
from nanobot.ports import ErasedPiece, ErasurePlan, StoreFindings
from nanobot.workspace import PRIVATE_FILE, set_mode

_BEGINS = re.compile(r"\d{4}-\d{2}-\d{2}[ T]|\{")
_TEMP = ".new"


class ErasableLog:
    """Erasable over the log and its older files; what this process has open is opened anew.

    Only the owner, whose machine it is, reaches it, and whoever's session is named in a record.
    """

    place = "log"

    def __init__(self, path: Path) -> None:
        self._path = path

    def owns(self, path: Path) -> bool:
        return path.parent == self._path.parent and path.name.startswith(self._path.name)

    async def find(self, meant: ErasurePlan) -> StoreFindings:
        return await asyncio.to_thread(self._find, meant)

    async def erase(self, meant: ErasurePlan) -> None:
        await asyncio.to_thread(self._erase, meant)

    def _find(self, meant: ErasurePlan) -> StoreFindings:
        counts = {path: sum(_goes(record, meant) for record in _records(path)) for path in self._files()}
        return StoreFindings(sum(counts.values()), [ErasedPiece(str(path)) for path, count in counts.items() if count])

    def _files(self) -> list[Path]:
        found = self._path.parent.glob(f"{self._path.name}*")
        return [path for path in sorted(found) if path.is_file() and not path.name.endswith(_TEMP)]

    def _erase(self, meant: ErasurePlan) -> None:
        handlers = [handler for handler in logging.getLogger().handlers if self._is_ours(handler)]
        for handler in handlers:
            handler.acquire()
        try:
            for path in self._files():
                _rewrite(path, meant)
            for handler in handlers:
                if isinstance(handler, RotatingFileHandler) and handler.stream is not None:
                    handler.stream.close()
                    handler.stream = None  # as with `delay`: opened with the next record
        except OSError as error:
            raise StoreError(f"the log {self._path} could not be written: {error.strerror or error}") from error
        finally:
            for handler in handlers:
                handler.release()

    def _is_ours(self, handler: logging.Handler) -> bool:
        return isinstance(handler, RotatingFileHandler) and Path(handler.baseFilename) == self._path.absolute()


def _rewrite(path: Path, meant: ErasurePlan) -> None:
    records = list(_records(path))
    kept = [record for record in records if not _goes(record, meant)]
    if len(kept) == len(records):
        return
    temp = path.with_name(f"{path.name}{_TEMP}")
    with temp.open("wb") as file:
        set_mode(temp, PRIVATE_FILE)
        file.write("".join(kept).encode("utf-8", "surrogateescape"))
        file.flush()
        os.fsync(file.fileno())
    temp.replace(path)


def _records(path: Path) -> Iterator[str]:
    """Each record with the traceback below it."""
    record = ""
    for line in path.read_bytes().decode("utf-8", "surrogateescape").splitlines(keepends=True):
        if record and _BEGINS.match(line):
            yield record
            record = ""
        record += line
    if record:
        yield record


def _names(record: str, key: str) -> bool:
    """True if a conversation is named: this one, and no other whose key only begins or ends like it."""
    return key in record and re.search(rf"(?<![\w:-]){re.escape(key)}(?![\w-]|\.\w)", record) is not None


def _goes(record: str, meant: ErasurePlan) -> bool:
    """Records tell of conversations by key and turn, and hold what was said only by mishap."""
    if any(turn in record for turn in meant.turns) or any(_names(record, key) for key in meant.sessions):
        return True
    return meant.of_owner and meant.traces.stand_in(record.encode("utf-8", "surrogateescape"))

"""The files that people edit, read anew when they change."""

import logging
import time
from dataclasses import dataclass
from pathlib import Path

from nanobot.ports import Document
from nanobot.store.stamp import Stamp
from nanobot.store.text import check_plain, is_binary, read_bytes
from nanobot.text import decode

log = logging.getLogger(__name__)

_MISSING = Document(None)


@dataclass(frozen=True, slots=True)
class _Kept:
    stamp: Stamp
    settled: bool
    document: Document


class CachedDocuments:
    """Keeps each text for as long as time, size and inode of its file stay the same."""

    def __init__(self) -> None:
        self._kept: dict[Path, _Kept] = {}
        self._failed: dict[Path, Document] = {}

    def look(self, path: Path) -> Document:
        try:
            info = path.stat()
            kept = self._kept.get(path)
            if kept and kept.settled and kept.stamp == Stamp.of(info):
                return kept.document
            check_plain(info)
            document = self._read(path, kept)
        except FileNotFoundError:
            self._forget(path)
            return _MISSING
        except (OSError, ValueError) as error:
            return self._fail(path, getattr(error, "strerror", None) or str(error))
        self._failed.pop(path, None)
        return document

    def _read(self, path: Path, kept: _Kept | None) -> Document:
        before = time.time_ns()
        data, info = read_bytes(path)
        found = None if is_binary(data) else decode(data)
        if found is None:
            raise ValueError("it is not a text file")
        stamp, text = Stamp.of(info), found.canonical
        if kept and kept.stamp == stamp and kept.document.text == text:
            document = kept.document  # it was read only because it had been too fresh to be sure
        else:
            document = Document(text, info.st_mtime)
        self._kept[path] = _Kept(stamp, stamp.is_settled(before), document)
        return document

    def _fail(self, path: Path, reason: str) -> Document:
        failed = self._failed.get(path)
        if failed is None or failed.problem != reason:
            log.warning("%s cannot be read: %s", path, reason)
            self._forget(path)
            failed = self._failed[path] = Document(None, problem=reason)
        return failed

    def _forget(self, path: Path) -> None:
        self._kept.pop(path, None)
        self._failed.pop(path, None)

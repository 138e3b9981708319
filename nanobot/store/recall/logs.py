"""Following append-only logs into the search index: what is new, what changed."""

import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from nanobot.store.recall.database import Database
from nanobot.store.recall.entries import Entry, File, Texts, Words

PIECE = 256 * 1024
"""Bytes that one transaction takes in; others may write between two."""

ReadLine = Callable[[bytes, File], Iterator[Entry]]


class Log:
    """One kind of log: its lines are read by one function."""

    def __init__(self, database: Database, words: Words, read: ReadLine) -> None:
        self._database, self._words, self._read = database, words, read

    def take_in(self, path: Path, name: str, session: str, *, verify: bool) -> Iterator[int]:
        """Read a file from where it was left, a transaction for each piece; yields how far after each.

        With `verify` what was read before is looked at: if it is not what it was, the file is read anew.
        """
        finished = False
        while not finished:
            with self._database.write() as connection, path.open("rb") as opened:
                stat = os.fstat(opened.fileno())
                texts = Texts(connection, self._words)
                file = texts.file(name)
                if not _continues(file, stat, opened, verify=verify):
                    texts.drop(file)
                    file = texts.begin(name, session)
                opened.seek(file.read)
                piece = _whole_lines(opened)
                finished = file.read + len(piece) >= stat.st_size or not piece
                for raw in filter(None, piece.split(b"\n")):
                    for entry in self._read(raw, file):
                        texts.add(file, entry)
                file.read += len(piece)
                file.checksum = zlib.crc32(piece, file.checksum)
                file.inode, file.size, file.mtime = stamp(stat) if finished else (0, 0, 0)
                texts.save(file)
            verify = False
            yield file.read


def stamp(stat: os.stat_result) -> tuple[int, int, int]:
    """What tells one state of a file from another."""
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _continues(file: File, stat: os.stat_result, opened: BinaryIO, *, verify: bool) -> bool:
    """Whether the file still begins with what was read from it."""
    if not file.id or stat.st_size < file.read:
        return False
    if not verify:
        return file.inode in (0, stat.st_ino)
    checksum, left = 0, file.read
    while left:
        chunk = opened.read(min(left, PIECE))
        if not chunk:
            return False
        checksum, left = zlib.crc32(chunk, checksum), left - len(chunk)
    return checksum == file.checksum


def _whole_lines(opened: BinaryIO) -> bytes:
    """The next piece up to the last line end in it; a line that is not ended yet is for another time."""
    piece = opened.read(PIECE)
    while b"\n" not in piece and (more := opened.read(PIECE)):
        piece += more
    return piece[: piece.rfind(b"\n") + 1]

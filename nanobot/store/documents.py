"""Text files that people edit: found, decoded, read anew when they change, with YAML at their head."""

import logging
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from nanobot.errors import StoreError, yaml_advice
from nanobot.memory_files import FILES, MEMORY, NOTES_FOLDER
from nanobot.ports import Documents, DocumentText, Frontmatter
from nanobot.store.private import Stamp, private_folder, replace_only
from nanobot.text import decode, is_utf16
from nanobot.workspace import PRIVATE_FILE

if TYPE_CHECKING:
    from yaml import SafeLoader


# Text files.


MAX_TEXT_SIZE = 10_000_000
"""Bytes. A larger file is not one that a person wrote for the bot to read."""


def read_bytes(path: Path) -> tuple[bytes, os.stat_result]:
    """All of a plain file. Raises OSError, also for what is no plain file or larger than MAX_SIZE."""
    check_plain(path.stat())  # opening a pipe may wait for ever, a device may do something
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        info = os.fstat(file.fileno())
        check_plain(info)
        return file.read(), info


def check_plain(info: os.stat_result) -> None:
    """Raise OSError unless this is a file that can be read as a text."""
    check_regular(info)
    if info.st_size > MAX_TEXT_SIZE:
        raise OSError(f"it is larger than {MAX_TEXT_SIZE:,} bytes")


def check_regular(info: os.stat_result) -> None:
    """Raise OSError for a folder, a pipe, a device: opening one may wait for ever, or do something."""
    if not stat.S_ISREG(info.st_mode):
        raise OSError("it is a folder" if stat.S_ISDIR(info.st_mode) else "it is not a plain file")


def is_binary(data: bytes) -> bool:
    """True if it is no text: no editor writes a zero byte, but for UTF-16."""
    return b"\0" in data and not is_utf16(data)


# Frontmatter.


MAX_HEAD_SIZE = 64 * 1024
"""Characters. What is longer is not a head."""

_HEAD = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def read_frontmatter(text: str) -> Frontmatter:
    """The head of a text with plain newlines. Never raises: a broken head costs the fields."""
    if text.partition("\n")[0].rstrip() != "---":
        return Frontmatter({}, text)
    head = _HEAD.match(text, 0, MAX_HEAD_SIZE)
    if head is None:
        return Frontmatter({}, text, "there is no second line ---")
    body = text[head.end() :]
    from yaml import YAMLError, load  # only a file with a head needs it

    try:
        fields = load(head[1], _loader())  # noqa: S506  a SafeLoader with fewer kinds of values
    except YAMLError as error:
        return Frontmatter({}, body, _explained(error))
    except RecursionError:
        return Frontmatter({}, body, "it is nested too deeply")
    if fields is None:
        return Frontmatter({}, body)
    if not isinstance(fields, dict):
        return Frontmatter({}, body, "it holds no lines of the form key: value")
    return Frontmatter({str(key): value for key, value in fields.items()}, body)


@cache
def _loader() -> "type[SafeLoader]":
    """A loader to which only true and false are booleans, and a date, a number, a merge key are words.

    It refuses aliases: a few hundred bytes of them stand for as many values as one likes.
    """
    from yaml import AliasEvent, Node, SafeLoader
    from yaml.composer import ComposerError

    class Loader(SafeLoader):
        yaml_implicit_resolvers: dict[str, list[object]] = {}  # noqa: RUF012  the name is PyYAML's

        def compose_node(self, parent: Node | None, index: int) -> Node | None:
            if self.check_event(AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # PyYAML has no types here
                raise ComposerError(None, None, "a value cannot be repeated with * here; write it out", mark)
            return super().compose_node(parent, index)

    Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|false)$"), ["t", "f"])
    Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:null|~|)$"), ["n", "~", ""])
    return Loader


def _explained(error: Exception) -> str:
    """Return the problem, with the line in the file."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or not problem:
        return str(error).splitlines()[0]
    return f"line {mark.line + 2}: {yaml_advice(problem)}"  # the marks count from 0, below the first ---


# Cache of documents.


log = logging.getLogger(__name__)

_MISSING = DocumentText(None)


@dataclass(frozen=True, slots=True)
class _Kept:
    stamp: Stamp
    settled: bool
    document: DocumentText


class CachedDocuments:
    """Keeps each text for as long as time, size and inode of its file stay the same."""

    def __init__(self) -> None:
        self._kept: dict[Path, _Kept] = {}
        self._failed: dict[Path, DocumentText] = {}

    def look(self, path: Path) -> DocumentText:
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

    def _read(self, path: Path, kept: _Kept | None) -> DocumentText:
        before = time.time_ns()
        data, info = read_bytes(path)
        found = None if is_binary(data) else decode(data)
        if found is None:
            raise ValueError("it is not a text file")
        stamp, text = Stamp.of(info), found.canonical
        if kept and kept.stamp == stamp and kept.document.text == text:
            document = kept.document  # it was read only because it had been too fresh to be sure
        else:
            document = DocumentText(text, info.st_mtime)
        self._kept[path] = _Kept(stamp, stamp.is_settled(before), document)
        return document

    def _fail(self, path: Path, reason: str) -> DocumentText:
        failed = self._failed.get(path)
        if failed is None or failed.problem != reason:
            log.warning("%s cannot be read: %s", path, reason)
            self._forget(path)
            failed = self._failed[path] = DocumentText(None, problem=reason)
        return failed

    def _forget(self, path: Path) -> None:
        self._kept.pop(path, None)
        self._failed.pop(path, None)


# Memory folder.


_TRIES = 5
_OF_FACTS = frozenset(file.name.casefold() for file in FILES if file.is_of_scope and file.name != MEMORY)
_BESIDE = frozenset(file.name for file in FILES if file.of == "each" and file.guarded)


class MemoryFolder:
    """A MemoryStore on disk. Others edit these files, too: nothing of theirs is written over."""

    def __init__(self, path: Path, documents: Documents, lock: "threading.Lock | None" = None) -> None:
        """`path` is that of MEMORY.md; the notes are the Markdown files beside it.

        `lock` is held while the file is replaced; to be shared with whoever else in this process writes it.
        """
        self._path = path
        self._documents = documents
        self._one_writer = lock or threading.Lock()
        self._beside = frozenset() if path.parent.name == NOTES_FOLDER else _BESIDE
        self._paths: dict[str, Path] = {}  # making a path costs more than the stat it is for

    @property
    def path(self) -> Path:
        return self._path

    def memory(self) -> DocumentText:
        return self._documents.look(self._path)

    def notes(self) -> Mapping[str, DocumentText]:
        names = self._names()
        self._paths = {name: self._paths.get(name) or self._path.parent / name for name in names}
        found = {name: self._documents.look(path) for name, path in self._paths.items()}
        return {name: document for name, document in found.items() if document.text is not None or document.problem}

    def change(self, edit: Callable[[str], str]) -> None:
        with self._one_writer:
            try:
                if not any(self._try(edit) for _ in range(_TRIES)):
                    raise StoreError(f"{self._path} changes all the time; close the program that writes it.")
            except OSError as error:
                raise StoreError(f"{self._path} cannot be written: {error.strerror or error}") from error

    def _names(self) -> list[str]:
        """File names of the notes; MEMORY.md under another spelling, as some systems allow, is none, nor is a guarded
        file in the folder of a person or a group.

        Nor is a link that leads out of the folder: who may read this one, may not therefore read that file.
        """
        try:
            with os.scandir(self._path.parent) as entries:
                names = [entry.name for entry in entries if _is_note(entry.name) and not self._leads_out(entry)]
        except OSError:
            return []
        return sorted(name for name in names if not self._is_memory(name) and name not in self._beside)

    def _leads_out(self, entry: "os.DirEntry[str]") -> bool:
        if not entry.is_symlink():
            return False
        return not Path(os.path.realpath(entry.path)).is_relative_to(os.path.realpath(self._path.parent))

    def _is_memory(self, name: str) -> bool:
        own = self._path.name
        if len(name) != len(own) or name.casefold() != own.casefold():
            return False
        with suppress(OSError):
            return name == own or (self._path.parent / name).samefile(self._path)
        return False

    def _try(self, edit: Callable[[str], str]) -> bool:
        """Read, edit, replace; False if somebody changed the file between the first and the last."""
        target = Path(os.path.realpath(self._path))  # a link stays a link
        try:
            data, info = read_bytes(target)
            before, mode = data, info.st_mode & 0o777
        except FileNotFoundError:
            data, before, mode = b"", None, PRIVATE_FILE
        if is_utf16(data) or b"\0" in data:
            raise StoreError(f"{target} is not written in UTF-8. Save it as UTF-8 in your editor.")
        after = edit(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if after == data:
            return True
        private_folder(target.parent)
        return replace_only(target, before, after, mode)


class MemoryBeside(MemoryFolder):
    """The folder while another process keeps it: read as it is."""

    def change(self, edit: Callable[[str], str]) -> None:
        """Leave the index of notes to the other process."""


def _is_note(name: str) -> bool:
    """True for Markdown files but those of facts that stand beside the notes of a person or a group."""
    return name.lower().endswith(".md") and not name.startswith(".") and name.casefold() not in _OF_FACTS

"""The folder with MEMORY.md and the notes."""

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from nanobot.errors import StoreError
from nanobot.ports import Document, Documents
from nanobot.store.private import private_folder, replace_only
from nanobot.store.text import is_utf16, read_bytes
from nanobot.workspace import PRIVATE_FILE

_TRIES = 5


class MemoryFolder:
    """A MemoryStore on disk. Others edit these files, too: nothing of theirs is written over."""

    def __init__(self, path: Path, documents: Documents, lock: "threading.Lock | None" = None) -> None:
        """`path` is that of MEMORY.md; the notes are the Markdown files beside it.

        `lock` is held while the file is replaced; to be shared with whoever else in this process writes it.
        """
        self._path = path
        self._documents = documents
        self._one_writer = lock or threading.Lock()
        self._beside = "" if path.parent.name == "memory" else "TOOLS.md"
        self._paths: dict[str, Path] = {}  # making a path costs more than the stat it is for

    @property
    def path(self) -> Path:
        return self._path

    def memory(self) -> Document:
        return self._documents.look(self._path)

    def notes(self) -> Mapping[str, Document]:
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
        """File names of the notes; MEMORY.md under another spelling, as some systems allow, is none, nor is TOOLS.md
        in the folder of a person or a group.

        Nor is a link that leads out of the folder: who may read this one, may not therefore read that file.
        """
        try:
            with os.scandir(self._path.parent) as entries:
                names = [entry.name for entry in entries if _is_note(entry.name) and not self._leads_out(entry)]
        except OSError:
            return []
        return sorted(name for name in names if not self._is_memory(name) and name != self._beside)

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
    """USER.md stands beside the notes of a person or a group, and is none."""
    return name.lower().endswith(".md") and not name.startswith(".") and name.casefold() != "user.md"

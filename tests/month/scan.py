"""Looks for words in everything that lies on a disk, whatever it is packed into."""

import json
import sqlite3
import subprocess
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

SQLITE = b"SQLite format 3\0"


def places_of(words: Collection[str], root: Path, skip: Callable[[str], bool] = lambda _: False) -> set[str]:
    """Where any of these words stands under a folder, as "word in place"; `skip` leaves out files by their path."""
    needles = {word: _forms(word) for word in words}
    found: set[str] = set()
    for place, data in _everything(root, skip):
        seen = data.lower()
        found |= {f"{word} in {place}" for word, forms in needles.items() if any(form in seen for form in forms)}
    return found


def _forms(word: str) -> set[bytes]:
    """How a word may be written down."""
    forms = {word, json.dumps(word)[1:-1], word.casefold()}
    return {form.encode(code).lower() for form in forms for code in ("utf-8", "utf-16-le", "utf-16-be")}


def _everything(root: Path, skip: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if skip(name):
            continue
        yield f"the name of {name}", name.encode()
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        yield name, data
        if data.startswith(SQLITE):
            yield from ((f"{name}, row by row", row) for row in _rows(path))
        if path.parent.parent.name == "objects" and len(path.parent.name) == 2:
            yield f"{name}, unpacked", zlib.decompress(data)
        if path.suffix == ".pack":
            yield f"{name}, unpacked", _unpacked(path.parents[2])


def _rows(path: Path) -> Iterator[bytes]:
    """What a database says in every table, those included that only point to others."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in database.execute(f'SELECT * FROM "{table}"'):
                yield repr(row).encode()
    database.close()


def _unpacked(git_dir: Path) -> bytes:
    """Every object of a repository, reachable or not."""
    command = ["git", "--git-dir", str(git_dir), "cat-file", "--batch-all-objects", "--batch"]
    return subprocess.run(command, check=True, capture_output=True).stdout

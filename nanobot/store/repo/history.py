"""Versions, as they are read."""

import difflib
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from nanobot.errors import VersionError
from nanobot.ports import Author, FileDiff, Version
from nanobot.store.repo.git import Repository
from nanobot.store.repo.objects import author_of, email_of

_ID = re.compile(r"[0-9a-f]{4,40}")
_FULL = 40
_ABSENT, _REPOSITORY = "000000", "160000"
_CONTENTS = ("log", "--all", "-m", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules", "--format=")
_FIELDS = ("%H", "%P", "%an", "%ae", "%aI", "%B")
_LOG = (
    "log",
    "-z",
    "--name-only",
    "--full-diff",
    "--no-renames",
    "--no-color",
    "--no-notes",
    "--no-ext-diff",
    "--no-textconv",
)


def log(
    repo: Repository,
    *,
    limit: int | None = None,
    within: Sequence[str] = (),
    author: Author | None = None,
    since: str = "",
) -> Sequence[Version]:
    """Versions that changed these files or folders, the newest first; those after `since`, if given.

    Raises VersionError.
    """
    options = []
    if author in ("nanobot", "dream"):
        options += ["--fixed-strings", f"--author=<{email_of(author)}>"]
    if limit is not None and author != "person":
        options.append(f"--max-count={limit}")
    span = f"{since}..HEAD" if since else "HEAD"
    found = [version for version in _read(repo, *options, span, "--", *within) if author in (None, version.author)]
    return found[:limit]


def show(repo: Repository, version: str) -> tuple[Version, Sequence[FileDiff]]:
    """A version, by its full id, and what it did to each file. Raises VersionError."""
    found = one(repo, version)
    old = repo.tree(found.parent) if found.parent else {}
    new = repo.tree(version)
    paths = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    contents = {path: (_content(repo, old, path), _content(repo, new, path)) for path in paths}
    return found, [FileDiff(path, *sides, _patch(path, *sides)) for path, sides in contents.items()]


def one(repo: Repository, version: str) -> Version:
    """A version by its full id. Raises VersionError."""
    if not re.fullmatch(rf"[0-9a-f]{{{_FULL}}}", version) or not repo.is_ancestor(version, "HEAD"):
        raise VersionError("unknown", f"there is no version {version!r}")
    return next(_read(repo, "--max-count=1", version, "--"))


def resolve(repo: Repository, abbreviated: str, renamed: Mapping[str, str]) -> str:
    """The full id of a version from its first digits; `renamed` leads from ids that are gone. Raises VersionError."""
    start = abbreviated.strip().lower()
    if not _ID.fullmatch(start):
        raise VersionError("unknown", f"{abbreviated!r} is not the id of a version")
    objects = repo.run("rev-parse", f"--disambiguate={start}").decode().split()
    found = {name for name in objects if repo.is_ancestor(name, "HEAD")}
    found |= {new for old, new in renamed.items() if old.startswith(start) and repo.is_ancestor(new, "HEAD")}
    if not found:
        raise VersionError("unknown", f"there is no version {start}")
    if len(found) > 1:
        raise VersionError("ambiguous", f"{len(found)} versions begin with {start}")
    return found.pop()


def files_at(repo: Repository, version: str, within: Sequence[str] = ()) -> Mapping[str, bytes]:
    """The files as they were in a version, by its full id. Raises VersionError."""
    one(repo, version)
    return {path: repo.blob(name) for path, (_, name) in repo.tree(version, *within).items()}


def look_back(repo: Repository, look: Callable[[str, bytes], None]) -> None:
    """Show every content that a file has in any version, each once. Raises VersionError."""
    pieces = os.fsdecode(repo.run(*_CONTENTS)).split("\0")
    rows = zip(pieces[::2], pieces[1::2], strict=False)  # after the last row stands nothing more
    found = dict.fromkeys((*row.split()[1:4:2], path) for row, path in rows)
    for mode, name, path in found:
        if mode not in (_ABSENT, _REPOSITORY):
            look(path, repo.blob(name))


def origin(repo: Repository, path: str, line: bytes) -> Version | None:
    """The version that brought in a line that the file has now; None if it has no such line. Raises VersionError."""
    if not _has(repo, "HEAD", path, line):
        return None
    newest_first = log(repo, within=[path])
    return next(
        version for version in newest_first if version.parent is None or not _has(repo, version.parent, path, line)
    )


def _has(repo: Repository, version: str, path: str, line: bytes) -> bool:
    row = repo.tree(version, path).get(path)
    return row is not None and line.strip() in map(bytes.strip, repo.blob(row[1]).split(b"\n"))


def _read(repo: Repository, *arguments: str) -> Iterator[Version]:
    mark = secrets.token_hex(16)  # no text in the history can hold it
    layout = f"--format=tformat:%x00{mark}%x00{'%x00'.join(_FIELDS)}%x00{mark}"
    output = os.fsdecode(repo.run(*_LOG, "--no-ext-diff", "--no-textconv", layout, *arguments))
    pieces = output.split(f"\0{mark}\0")
    for fields, rest in zip(pieces[1::2], pieces[2::2], strict=True):
        name, parents, author, email, at, message = fields.split("\0")
        yield Version(
            id=name,
            parent=parents.partition(" ")[0] or None,
            author=author_of(email),
            name=author,
            at=datetime.fromisoformat(at),
            message=message,
            paths=tuple(filter(None, rest.removeprefix("\n").split("\0"))),
        )


def _content(repo: Repository, tree: Mapping[str, tuple[str, str]], path: str) -> bytes | None:
    return repo.blob(tree[path][1]) if path in tree else None


def _patch(path: str, before: bytes | None, after: bytes | None) -> str:
    if any(b"\0" in side for side in (before or b"", after or b"")):
        return ""
    old, new = f"a/{path}" if before is not None else "/dev/null", f"b/{path}" if after is not None else "/dev/null"
    lines = difflib.unified_diff(_lines(before or b""), _lines(after or b""), old, new, lineterm="")
    return "\n".join(lines)


def _lines(text: bytes) -> Sequence[str]:
    """The lines without their ends; one that has none at the end of a file says so, as git does."""
    if not text:
        return []
    lines = text.decode(errors="replace").split("\n")
    return lines[:-1] if not lines[-1] else [*lines[:-1], f"{lines[-1]}\n\\ No newline at end of file"]

"""Commits made of objects alone, and versions as they are read from them."""

import getpass
import os
import re
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from nanobot.errors import VersionError
from nanobot.memory.versions.git import EMAIL, NAME, Repository
from nanobot.ports import Author, FileDiff, Version

# Writing commits, of objects alone: neither the files on disk nor the index have a part in it.


_DREAM = "dream@nanobot.invalid"
_PERSON = "person@nanobot.invalid"
_SCRATCH = "refs/nanobot/scratch"
_NOTHING = "0" * 40

PLAIN, EXECUTABLE = "100644", "100755"


@dataclass(frozen=True, slots=True)
class Signature:
    """Author of a version, and the time."""

    author: Author
    at: datetime

    def lines(self) -> bytes:
        """Lines of a commit, as fast-import reads them."""
        offset = self.at.strftime("%z")[:5] or "+0000"
        when = f"{int(self.at.timestamp())} {offset}"
        return f"author {_identity(self.author)} {when}\ncommitter {NAME} <{EMAIL}> {when}\n".encode()


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file in a commit."""

    data: bytes
    mode: str = PLAIN


def author_of(email: str) -> Author:
    """Return the author of a commit by its address. Anyone but us is a person."""
    return {EMAIL: "nanobot", _DREAM: "dream"}.get(email, "person")  # type: ignore[return-value]  # get widens literals


def email_of(author: Author) -> str:
    """The address in the commits of one of ours."""
    return {"nanobot": EMAIL, "dream": _DREAM, "person": _PERSON}[author]


def make_commit(
    repo: Repository, files: Mapping[str, FileContent | None], message: str, signature: Signature, parent: str | None
) -> str:
    """Add a commit that changes these files of its parent; None takes one away. No branch moves to it.

    Returns its id. Raises VersionError.
    """
    start = f"from {parent}\n".encode() if parent else b""
    stream = [b"commit %s\nmark :1\n" % _SCRATCH.encode(), signature.lines(), data_of(message.encode(errors="replace"))]
    stream += [start, *(b"D %s\n" % quoted(path) for path, content in files.items() if content is None)]
    for path, content in files.items():
        if content is not None:
            stream.append(b"M %s inline %s\n%s" % (content.mode.encode(), quoted(path), data_of(content.data)))
    stream.append(f"\nreset {_SCRATCH}\nfrom {_NOTHING}\n\nget-mark :1\ndone\n".encode())
    return repo.run("fast-import", "--quiet", "--done", "--force", given=b"".join(stream)).decode().strip()


def move_branch(repo: Repository, branch: str, commit: str, parent: str | None, reason: str) -> None:
    """Let a branch end in this commit, unless it has moved from its parent. Raises VersionError."""
    repo.run("update-ref", "--create-reflog", "-m", reason, branch, commit, parent or _NOTHING)


def set_index(repo: Repository, version: str, paths: Sequence[str]) -> None:
    """Bring git's own list of files up to a version, in these files; what else a person has staged stays so.

    Raises VersionError.
    """
    if not (repo.git_dir / "index").exists():
        repo.run("read-tree", version)
        return
    tree = repo.tree(version)
    gone = [f"0 {_NOTHING}\t{path}\0" for path in paths if path not in tree]
    there = [f"{tree[path][0]} {tree[path][1]}\t{path}\0" for path in paths if path in tree]
    repo.run("update-index", "-z", "--index-info", given=os.fsencode("".join(gone + there)))


def quoted(path: str) -> bytes:
    """A path as fast-import reads it."""
    raw = os.fsencode(path)
    return b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def data_of(data: bytes) -> bytes:
    """Bytes as fast-import reads them."""
    return b"data %d\n%s\n" % (len(data), data)


def _identity(author: Author) -> str:
    name = {"nanobot": NAME, "dream": f"{NAME} dream"}.get(author) or _user()
    return f"{name} <{email_of(author)}>"


def _user() -> str:
    """The name of the person whose account this is, as git may hold it."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):  # a container without an entry for its user
        name = ""
    return "".join(char for char in name if char.isprintable() and char not in "<>").strip() or "you"


# Reading versions.


_ID = re.compile(r"[0-9a-f]{4,40}")
_FULL = 40
_ABSENT, _REPOSITORY = "000000", "160000"
_CONTENTS = ("log", "--all", "-m", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules", "--format=")
_FIELDS = ("%H", "%P", "%an", "%ae", "%aI", "%B")
_CHANGES = (
    "diff-tree",
    "--stdin",
    "-r",
    "-z",
    "--root",
    "--raw",
    "--no-abbrev",
    "--no-renames",
    "--diff-merges=first-parent",
)
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


_Changed = Mapping[str, tuple[str, str]]
"""The ids of the contents of files before and after, "" for none, by path."""


def version_log(
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
    return found, diffs(repo, [found])[0]


def diffs(repo: Repository, versions: Sequence[Version]) -> Sequence[Sequence[FileDiff]]:
    """Return the diffs of these versions by file, in their order. Raises VersionError."""
    return [
        [FileDiff(path, *(_content(repo, name) for name in sides)) for path, sides in sorted(changed.items())]
        for changed in _changed(repo, versions)
    ]


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
    row = repo.tree("HEAD", path).get(path)
    if row is None or not _has(repo, row[1], line):
        return None
    newest_first = version_log(repo, within=[path])
    before = (changed[path][0] if path in changed else "" for changed in _changed(repo, newest_first))
    return next(version for version, name in zip(newest_first, before, strict=True) if not _has(repo, name, line))


def _has(repo: Repository, content: str, line: bytes) -> bool:
    return line.strip() in map(bytes.strip, (_content(repo, content) or b"").split(b"\n"))


def _changed(repo: Repository, versions: Sequence[Version]) -> Iterator[_Changed]:
    """The files that each of these changed, in their order."""
    ids = "".join(f"{version.id}\n" for version in versions)
    pieces = iter(os.fsdecode(repo.run(*_CHANGES, given=ids.encode())).split("\0"))
    found: defaultdict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    version = ""
    for piece in pieces:
        if not piece.startswith(":"):
            version = piece
            continue
        old_mode, new_mode, old, new, _ = piece[1:].split(" ")
        found[version][next(pieces)] = _kept(old_mode, old), _kept(new_mode, new)
    return (found[version.id] for version in versions)


def _kept(mode: str, name: str) -> str:
    return "" if mode in (_ABSENT, _REPOSITORY) else name


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


def _content(repo: Repository, name: str) -> bytes | None:
    return repo.blob(name) if name else None

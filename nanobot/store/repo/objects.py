"""Commits, made of objects alone: neither the files on disk nor the index have a part in it."""

import getpass
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from nanobot.ports import Author
from nanobot.store.repo.git import EMAIL, NAME, Repository

_DREAM = "dream@nanobot.invalid"
_PERSON = "person@nanobot.invalid"
_SCRATCH = "refs/nanobot/scratch"
_NOTHING = "0" * 40

PLAIN, EXECUTABLE = "100644", "100755"


@dataclass(frozen=True, slots=True)
class Signature:
    """Who made a version, and when."""

    author: Author
    at: datetime

    def lines(self) -> bytes:
        """As git writes it."""
        offset = self.at.strftime("%z")[:5] or "+0000"
        when = f"{int(self.at.timestamp())} {offset}"
        return f"author {_identity(self.author)} {when}\ncommitter {NAME} <{EMAIL}> {when}\n".encode()


@dataclass(frozen=True, slots=True)
class Content:
    """A file in a commit."""

    data: bytes
    mode: str = PLAIN


def author_of(email: str) -> Author:
    """Who made a commit with this address. All that is not ours is a person's."""
    return {EMAIL: "nanobot", _DREAM: "dream"}.get(email, "person")  # type: ignore[return-value]  # get widens literals


def email_of(author: Author) -> str:
    """The address in the commits of one of ours."""
    return {"nanobot": EMAIL, "dream": _DREAM, "person": _PERSON}[author]


def make_commit(
    repo: Repository, files: Mapping[str, Content | None], message: str, signature: Signature, parent: str | None
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

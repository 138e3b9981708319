"""One history told anew to another repository: `git fast-export` is read, `git fast-import` is written."""

import os
import re
from collections.abc import Callable, Mapping

from nanobot.errors import VersionError
from nanobot.store.repo.git import Repository, end
from nanobot.store.repo.objects import data_of, quoted

Erase = Callable[[str, bytes], bytes | None]
"""Given a path and its content: what may stay of it, None if nothing."""

Reword = Callable[[str, Mapping[str, str]], str]
"""Given a message and the ids of earlier commits that changed, old to new: the message as it may stay."""

_EXPORT = ("fast-export", "--all", "--no-data", "--show-original-ids", "--reencode=no", "--signed-tags=strip")
_COMMANDS = (b"commit ", b"reset ", b"tag ")
_REPOSITORY = b"160000"
"""The mode of another repository in a tree: it has no content here."""

_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_NAMED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


class Rewriter:
    """For one use. What is told is all that the new repository gets: nothing of the old is taken over as it is."""

    def __init__(self, old: Repository, new: Repository, erase: Erase, reword: Reword) -> None:
        self._old = old
        self._erase = erase
        self._reword = reword
        self._changed: dict[str, str] = {}
        self._commit: bytes = b""
        self._name = ""
        self._source = old.start(*_EXPORT)
        self._target = new.start("fast-import", "--quiet", "--done", "--force")

    def run(self) -> Mapping[str, str]:
        """Tell all of it; returns the ids that changed, old to new. Raises VersionError."""
        try:
            for line in iter(self._source.stdout.readline, b""):
                self._pass_on(line)
            self._end_commit()
            self._tell(b"done\n")
            self._target.stdin.close()
            problems: bytes = self._source.stderr.read() + self._target.stderr.read()
            codes = [process.proc.wait() for process in (self._source, self._target) if process.proc]
        except OSError as error:
            raise VersionError("failed", f"the history cannot be told anew: {error}") from error
        finally:
            end(self._source)
            end(self._target)
        if any(codes):
            raise VersionError("failed", f"the history cannot be told anew: {problems.decode(errors='replace')[:500]}")
        return self._changed

    def _pass_on(self, line: bytes) -> None:
        word, _, rest = line.rstrip(b"\n").partition(b" ")
        if line.startswith(_COMMANDS):
            self._end_commit()
            self._name = ""
            self._tell(line)
            self._commit = b"unmarked" if word == b"commit" else b""
        elif word == b"original-oid":
            self._name = rest.decode()
        elif word == b"mark" and self._commit:
            self._commit = rest
            self._tell(line)
        elif word == b"data":
            self._message(self._source.stdout.read(int(rest)))
        elif word == b"M":
            self._file(*rest.split(b" ", 2))
        elif line != b"\n" or self._commit:  # between commands it says nothing, and is not always understood
            self._tell(line)

    def _message(self, raw: bytes) -> None:
        text = self._reword(raw.decode("utf-8", "surrogateescape"), self._changed)
        self._tell(data_of(text.encode("utf-8", "surrogateescape")))

    def _file(self, mode: bytes, name: bytes, path: bytes) -> None:
        if mode == _REPOSITORY:
            self._tell(b"M %s %s %s\n" % (mode, name, path))
            return
        where = os.fsdecode(_unquoted(path))
        content = self._erase(where, self._old.blob(name.decode()))
        if content is None:
            self._tell(b"D %s\n" % quoted(where))
        else:
            self._tell(b"M %s inline %s\n%s" % (mode, quoted(where), data_of(content)))

    def _end_commit(self) -> None:
        """Ask what the new id of a commit is, once all of it has been told."""
        if not self._commit:
            return
        self._tell(b"get-mark %s\n" % self._commit)
        self._target.stdin.flush()
        new = self._target.stdout.readline().decode().strip()
        if new != self._name:
            self._changed[self._name] = new
        self._commit = b""

    def _tell(self, data: bytes) -> None:
        self._target.stdin.write(data)


def _unquoted(path: bytes) -> bytes:
    """A path as git prints it where it holds unusual characters."""
    if not path.startswith(b'"'):
        return path
    return _ESCAPE.sub(_unescaped, path[1:-1])


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8)]) if len(code) == 3 else _NAMED.get(code, code)

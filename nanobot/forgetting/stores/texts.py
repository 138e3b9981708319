"""Forgetting in texts that no other store keeps, and in the program's own state files."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nanobot.aio import shielded
from nanobot.errors import StoreError
from nanobot.forgetting.stores.files import pieces
from nanobot.memory.versions.worktree import MAX_SIZE, unfit
from nanobot.memory_files import NOTES_FOLDER
from nanobot.nlp.matcher import MOST_OF_A_LINE, ShippedTexts, TextMatcher, beginning, plain
from nanobot.ports import ErasedPiece, ErasurePlan, StoreFindings
from nanobot.store.private import is_temp, put, remove, remove_stale_temps
from nanobot.store.state import read_state, write_state
from nanobot.text import Text, decode
from nanobot.workspace import VERSIONED_FILES, VERSIONED_FOLDERS, Workspace, is_versioned, scope_of

# Lines of the template.


_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_HEAD = re.compile(r"^[a-z]+: (.+)$", re.MULTILINE)  # a skill's head is also read without its keys
_EXAMPLE = ("- ", "* ")


def shipped_in(template: Path, *more: str) -> ShippedTexts:
    """The lines of the template's files, and `more` that the program writes by itself. Raises OSError.

    Examples in comments are lines that a person may come to write: they count only together with their comment.
    """
    lines: set[str] = set(map(plain, more))
    passages: list[tuple[str, ...]] = []
    files = sorted(path for path in template.rglob("*") if path.is_file())
    for path in files:
        text = path.read_text(encoding="utf-8")
        passages += [tuple(line.strip() for line in comment[0].split("\n")) for comment in _COMMENT.finditer(text)]
        lines.update(_lines(text))
        lines.update(plain(value) for value in _HEAD.findall(text))
    names = frozenset(path.relative_to(template).as_posix() for path in files)
    return ShippedTexts(frozenset(lines - {""}), names, tuple(passages))


def _lines(text: str) -> Iterator[str]:
    def without_examples(comment: re.Match[str]) -> str:
        return "\n".join(line for line in comment[0].split("\n") if not line.startswith(_EXAMPLE))

    yield from map(plain, _COMMENT.sub(without_examples, text).split("\n"))


# Store: files that are only reported.


_MOST = 4 << 20  # bytes of a file that is looked into
_NAMED = 20
"""So many places are named."""

Owns = Callable[[Path], bool]


class Untouched:
    """Erasable over files of which nothing is erased: a person's own, or the program's settings."""

    def __init__(self, place: str, files: Callable[[], Iterator[Path]], owns: Owns) -> None:
        """`files` gives those that are looked into, `owns` says which belong here, also those that are not."""
        self.place = place
        self._files = files
        self.owns: Owns = owns

    async def find(self, meant: ErasurePlan) -> StoreFindings:
        return await asyncio.to_thread(lambda: StoreFindings(left=self._left(meant)))

    async def erase(self, meant: ErasurePlan) -> None:
        """Nothing: they are not ours."""

    def _left(self, meant: ErasurePlan) -> Sequence[str]:
        if not meant.of_owner or not meant.traces.terms:
            return ()
        found: list[str] = []
        for path in self._files():
            if len(found) >= _NAMED:
                break
            found += _places(path, meant)
        return found[:_NAMED]


def _places(path: Path, meant: ErasurePlan) -> Iterator[str]:
    """The file if its name tells it, and `path:line` of each line that does."""
    try:
        if path.is_symlink() or path.stat().st_size > _MOST:
            return
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return
    if meant.traces.name(path.stem.replace("-", " ").replace("_", " ")):
        yield str(path)
    if meant.traces.may_name(text):
        for number, is_named in enumerate(meant.traces.named(text.split("\n")), 1):
            if is_named:
                yield f"{path}:{number}"


# Store: state files.


_DAMAGED = ".damaged"

ForgetChoice = Callable[[str], Awaitable[None]]
"""Takes away what was chosen in a session."""

ForgetNames = Callable[[Callable[[str, str], bool]], Awaitable[None]]
"""Takes away the names of people and groups that are meant, given their `channel:id` and their name."""


class ErasableState:
    """Erasable over .nanobot/state, but for what has an owner of its own: the choices of models by session, names of
    people and groups, names of sessions, and what was set aside as damaged.

    The other files hold times, numbers and names of files, or nothing.
    """

    place = "state"

    def __init__(self, workspace: Workspace, forget_choice: ForgetChoice, forget_names: ForgetNames) -> None:
        self._folder = workspace.state
        self._others = (
            workspace.spool.name,
            workspace.versions_journal.name,
            workspace.version_ids.name,
            workspace.proposals.name,
        )
        self._models_path = workspace.session_models
        self._names = workspace.session_names
        self._forget_choice = forget_choice
        self._forget_names = forget_names

    def owns(self, path: Path) -> bool:
        return path.parent == self._folder and not path.name.startswith(self._others)

    async def find(self, meant: ErasurePlan) -> StoreFindings:
        return await asyncio.to_thread(self._find, meant)

    async def erase(self, meant: ErasurePlan) -> None:
        for key in meant.sessions:
            await self._forget_choice(key)
        await self._forget_names(lambda who, name: who in meant.people or (meant.of_owner and meant.traces.name(name)))
        try:
            await asyncio.to_thread(self._erase, meant)
        except OSError as error:
            raise StoreError(f"{self._folder} could not be written: {error.strerror or error}") from error

    def _find(self, meant: ErasurePlan) -> StoreFindings:
        pieces = [ErasedPiece(str(path)) for path in self._damaged(meant)]
        pieces += [ErasedPiece(key) for key in self._named(meant)]
        return StoreFindings(len(pieces), pieces)

    def _erase(self, meant: ErasurePlan) -> None:
        if self._folder.is_dir():
            remove_stale_temps(self._folder)
        for path in list(self._damaged(meant)):
            remove(path)
        names = read_state(self._names, dict[str, str], {})
        kept = {path: key for path, key in names.items() if key not in meant.sessions}
        if kept != names:
            write_state(self._names, kept)

    def _named(self, meant: ErasurePlan) -> list[str]:
        chosen = read_state(self._models_path, dict[str, str], {})
        names = read_state(self._names, dict[str, str], {})
        return [key for key in meant.sessions if key in chosen or key in names.values()]

    def _damaged(self, meant: ErasurePlan) -> Iterator[Path]:
        """Return the unreadable state files: their meaning cannot be searched, so that they go as a whole."""
        for path in self._folder.glob(f"*{_DAMAGED}") if meant.of_owner else ():
            data = path.read_bytes()
            if meant.traces.stand_in(data) or any(key.encode() in data for key in meant.sessions):
                yield path


# Store: other text files.


_OVERLAP = 4096  # of two pieces: what is looked for is shorter
_PROSE = frozenset({"", ".md", ".markdown", ".txt", ".text", ".org", ".rst", ".log", ".csv"})
"""Endings of files from which a line can be taken without breaking the rest."""

_TOPS = (*VERSIONED_FOLDERS, NOTES_FOLDER)
_COPY = re.compile(  # of what an editor, a person or a merge keeps beside a file
    r"#(?P<emacs>.+)#|\.#(?P<lock>.+)|\.(?P<vim>.+)\.sw[a-z]|\.?(?P<kate>.+)\.kate-swp"
    r"|(?P<tilde>.+?)(?:\.~\d+)?~|(?P<ending>.+)\.(?:bak|old|orig|save|tmp|backup|copy|rej)\d*",
    re.IGNORECASE,
)


class ErasableTexts:
    """Erasable over a few of the owner's text files: the lines that name it go."""

    def __init__(self, place: str, files: Sequence[Path]) -> None:
        self.place = place
        self._files = files

    def owns(self, path: Path) -> bool:
        return path in self._files

    async def find(self, meant: ErasurePlan) -> StoreFindings:
        return await asyncio.to_thread(self._find, meant)

    async def erase(self, meant: ErasurePlan) -> None:
        await shielded(asyncio.to_thread(self._erase, meant))

    def _find(self, meant: ErasurePlan) -> StoreFindings:
        pieces = [
            ErasedPiece(f"{path.name}:{number}", beginning(line.lstrip("-*+ "), MOST_OF_A_LINE), is_own=True)
            for path, lines, named in self._each(meant)
            for number, (line, is_meant) in enumerate(zip(lines, named, strict=True), 1)
            if is_meant
        ]
        return StoreFindings(len(pieces), pieces)

    def _erase(self, meant: ErasurePlan) -> None:
        for path, lines, named in self._each(meant):
            if any(named):
                kept = [line for line, is_meant in zip(lines, named, strict=True) if not is_meant]
                try:
                    put(path, "\n".join(kept).encode("utf-8", "surrogateescape"))
                except OSError as error:
                    raise _failed(path, error) from error

    def _each(self, meant: ErasurePlan) -> Iterator[tuple[Path, Sequence[str], Sequence[bool]]]:
        """Each file with its lines, and which of them name it."""
        for path in self._files if meant.of_owner else ():
            try:
                lines = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
            except FileNotFoundError:
                continue
            except OSError as error:
                raise _failed(path, error) from error
            yield path, lines, meant.traces.named(lines)


def _failed(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path}: {error.strerror or error}")


def copied_name(name: str) -> str:
    """The name of the file of which one with this name is a copy, such as `SOUL.md` for `.SOUL.md.swp`; or its own."""
    while (match := _COPY.fullmatch(name)) and (inner := next(filter(None, match.groups()), "")) != name:
        name = inner
    return name


def is_copy_of_ours(inside: PurePosixPath, ours: Sequence[str]) -> bool:
    """True if a file at the workspace's root is what an editor left beside one of these."""
    original = copied_name(inside.name)
    return len(inside.parts) == 1 and original != inside.name and original in (*VERSIONED_FILES, *ours)


@dataclass(frozen=True, slots=True)
class _Stray:
    """A file with what goes of it: all of it, or these lines; or nothing, since it can only be named."""

    path: Path
    inside: PurePosixPath
    is_whole: bool = False
    text: Text | None = None
    lines: frozenset[int] = frozenset()

    @property
    def is_left(self) -> bool:
        return not (self.is_whole or self.lines)


class ErasableStrays:
    """Erasable over what nobody else owns of the folders where memory is kept, and copies beside files at the root.

    Of prose the lines that tell it go, as in a note; a copy of a file that goes whole goes whole. What is no prose,
    or cannot be read, is named: a line cannot be taken out of it without breaking it.
    """

    place = "strays"

    def __init__(self, root: Path, is_owned: Callable[[Path], bool], ours: Sequence[str]) -> None:
        """`is_owned`: whether another store keeps a file. `ours`: further files at the root that the program reads."""
        self._root = root
        self._is_owned = is_owned
        self._ours = ours

    def owns(self, path: Path) -> bool:
        if not path.is_relative_to(self._root):
            return False
        inside = PurePosixPath(path.relative_to(self._root))
        is_there = inside.parts[:1] and (inside.parts[0] in _TOPS or is_copy_of_ours(inside, self._ours))
        return bool(is_there) and not self._is_owned(path)

    async def find(self, meant: ErasurePlan) -> StoreFindings:
        return await asyncio.to_thread(self._find, meant)

    async def erase(self, meant: ErasurePlan) -> None:
        await shielded(asyncio.to_thread(self._erase, meant))

    def _find(self, meant: ErasurePlan) -> StoreFindings:
        shown: list[ErasedPiece] = []
        left: list[str] = []
        for stray in self._meant(meant):
            if stray.is_left:
                left.append(str(stray.path if meant.of_owner else stray.inside))
            elif stray.text is None or stray.is_whole:
                shown.append(ErasedPiece(str(stray.inside), is_own=True))
            else:
                for number, line in enumerate(stray.text.content.split("\n"), 1):
                    if number in stray.lines:
                        where = f"{stray.inside}:{number}"
                        shown.append(ErasedPiece(where, beginning(line.lstrip("-*+ "), MOST_OF_A_LINE), is_own=True))
        return StoreFindings(len(shown), shown, left)

    def _erase(self, meant: ErasurePlan) -> None:
        """One that cannot be changed keeps no other from it."""
        failed: OSError | None = None
        for stray in list(self._meant(meant)):
            try:
                if stray.is_whole:
                    remove(stray.path)
                elif stray.text is not None and stray.lines:
                    lines = enumerate(stray.text.content.split("\n"), 1)
                    kept = "\n".join(line for number, line in lines if number not in stray.lines)
                    put(stray.path, stray.text.encode(kept) if kept.strip() else b"")
            except OSError as error:
                failed = error
        if failed:
            raise StoreError(f"{failed.filename}: {failed.strerror or failed}") from failed

    def _meant(self, meant: ErasurePlan) -> Iterator[_Stray]:
        for path in self._files():
            inside = PurePosixPath(path.relative_to(self._root))
            if not meant.reaches(scope_of(inside)):
                continue
            original = str(inside.with_name(copied_name(inside.name)))
            if meant.takes_file(str(inside)) or meant.takes_file(original):
                yield _Stray(path, inside, is_whole=True)
            elif found := _looked_into(path, inside, meant.traces):
                yield found

    def _files(self) -> Iterator[Path]:
        """All that nobody else owns; links are not followed, and other histories not looked into."""
        yield from (path for path in self._in(self._root) if path.is_file() and self._is_ours(path))
        for top in _TOPS:
            for folder, folders, names in os.walk(self._root / top):
                folders[:] = sorted(name for name in folders if not name.startswith(".git"))
                yield from (path for name in sorted(names) if self._is_ours(path := Path(folder, name)))

    def _is_ours(self, path: Path) -> bool:
        if path.is_symlink() or is_temp(path.name):
            return False
        return self.owns(path) or (is_versioned(PurePosixPath(path.relative_to(self._root))) and not _is_kept(path))

    @staticmethod
    def _in(folder: Path) -> Sequence[Path]:
        try:
            return sorted(folder.iterdir())
        except OSError as error:
            raise StoreError(f"{folder} could not be read: {error.strerror or error}") from error


def _is_kept(path: Path) -> bool:
    """Return whether the history keeps what stands in one of its files: nothing that is large or no text."""
    try:
        return path.stat().st_size <= MAX_SIZE and not unfit(path.read_bytes())
    except OSError:
        return True  # whoever reads the others meets it, too


def _looked_into(path: Path, inside: PurePosixPath, traces: TextMatcher) -> _Stray | None:
    is_named = traces.name(PurePosixPath(copied_name(path.name)).stem.replace("-", " ").replace("_", " "))
    try:
        if path.stat().st_size > _MOST:
            return _Stray(path, inside) if is_named or _stands_in(path, traces) else None
        data = path.read_bytes()
    except FileNotFoundError:  # it went while we looked
        return None
    except OSError:  # nobody can say what stands in it
        return _Stray(path, inside) if is_named else None
    text = decode(data)
    original = PurePosixPath(copied_name(path.name))
    is_prose = original.suffix.lower() in _PROSE and not any(part.startswith(".") for part in inside.parent.parts)
    if text is None or not text.is_exact or not is_prose or original.name.startswith("."):
        return _Stray(path, inside) if is_named or traces.stand_in(data) else None
    lines = _lines_that_go(text.content.split("\n"), traces)
    if lines:
        return _Stray(path, inside, text=text, lines=lines)
    return _Stray(path, inside) if is_named else None


def _lines_that_go(every: Sequence[str], traces: TextMatcher) -> frozenset[int]:
    copies = TextMatcher(lines=traces.lines, shipped=traces.shipped)
    named = zip(every, traces.named(every), strict=True)
    return frozenset(number for number, (line, is_named) in enumerate(named, 1) if is_named or copies.tell(line))


def _stands_in(path: Path, traces: TextMatcher) -> bool:
    tail = b""
    with closing(pieces(path)) as every:
        for piece in every:
            if traces.name_in(tail + piece):
                return True
            tail = piece[-_OVERLAP:]
    return False

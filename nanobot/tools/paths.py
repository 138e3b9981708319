"""Where the file tools may go."""

import os
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from nanobot.authority import Authority, Role, Scope, may_touch
from nanobot.errors import ToolError
from nanobot.tools import shown
from nanobot.tools.shown import one_line
from nanobot.workspace import (
    Workspace,
    folder_of,
    is_guarded,
    is_hidden,
    is_hidden_elsewhere,
    is_note,
    is_remembered,
    is_secret,
    is_versioned,
    scope_of,
)

_CONTROL = re.compile("[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|file:", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:")
_SYSTEM = (Path("/proc"), Path("/sys"), Path("/dev"))


@dataclass(frozen=True, slots=True)
class Place:
    """Something a tool may touch: a folder that is open to tools, and a path below it without links.

    `is_opened`: the folder was opened for one conversation; what is written there takes a yes.
    """

    root: Path
    inside: PurePosixPath
    in_workspace: bool
    is_opened: bool = False

    @property
    def path(self) -> Path:
        return self.root / self.inside

    @property
    def name(self) -> str:
        """What the model calls it: relative in the workspace, absolute elsewhere."""
        return shown.name(self.inside if self.in_workspace else self.path)

    @property
    def folder(self) -> "Place":
        """What it lies in; the root lies in itself."""
        return replace(self, inside=self.inside.parent)

    @property
    def is_guarded(self) -> bool:
        return self.in_workspace and is_guarded(self.inside)

    @property
    def is_note(self) -> bool:
        return self.in_workspace and is_note(self.inside)

    @property
    def is_remembered(self) -> bool:
        return self.in_workspace and is_remembered(self.inside)

    @property
    def is_carried(self) -> bool:
        """Whether prompts may carry what stands here, or the model is told to follow it."""
        return self.is_remembered or self.is_guarded

    def is_in(self, paths: Container[str]) -> bool:
        """Whether this is one of some files of the workspace, by their paths there."""
        return self.in_workspace and str(self.inside) in paths

    @property
    def is_versioned(self) -> bool:
        return self.in_workspace and is_versioned(self.inside)

    @property
    def scope(self) -> Scope:
        """Whose it is; folders outside the workspace are the owners'."""
        return Scope(scope_of(self.inside)) if self.in_workspace else Scope.owner()


class Sandbox:
    """Turns what a model writes as a path into a place, or says why it may not."""

    def __init__(self, workspace: Workspace, allowed_dirs: Sequence[Path] = (), closed: Sequence[Path] = ()) -> None:
        """All are taken by their real paths as they are now.

        `allowed_dirs` are further folders, of the owners; `closed` are files that are open to no tool, such as the
        configuration.
        """
        self.workspace = workspace
        self.root = Path(os.path.realpath(workspace.root))
        self._allowed = [Path(os.path.realpath(folder.expanduser())) for folder in allowed_dirs]
        self.closed = frozenset(Path(os.path.realpath(path)) for path in closed)

    def locate(self, text: str, authority: Authority) -> Place:
        """The place that a path means, links followed; it need not exist.

        Raises ToolError for what is no path here, lies outside, is hidden, or belongs to somebody else.
        """
        _check_form(text)
        opened = self.opened(authority)
        base = opened.root if opened and _is_only_there(text, self.root, opened.root) else self.root
        place = self._place(Path(os.path.realpath(base / text)), opened)
        if place is None:
            raise ToolError(f"{one_line(text)} is outside the folders that are open to tools. {self._open_folders()}")
        if refusal := self._refusal(place, authority):
            raise ToolError(refusal)
        return place

    def child(self, place: Place, name: str) -> Place:
        """Something in a folder, by its true name."""
        child = replace(place, inside=place.inside / name)
        if not child.in_workspace and child.path.is_relative_to(self.root):
            return Place(self.root, PurePosixPath(child.path.relative_to(self.root)), in_workspace=True)
        return child

    def opened(self, authority: Authority) -> Place | None:
        """The folder that was opened for what is being said; owners alone open one, and for themselves."""
        if not authority.here or authority.role is not Role.OWNER or not authority.scope.is_owner:
            return None
        return Place(Path(os.path.realpath(authority.here)), PurePosixPath(), in_workspace=False, is_opened=True)

    def may_see(self, place: Place, authority: Authority) -> bool:
        """Whether a walk may come by here."""
        return self._refusal(place, authority) is None

    def _place(self, resolved: Path, opened: Place | None) -> Place | None:
        for above in (resolved, *resolved.parents):
            if above == self.root or _same(above, self.root):  # some file systems know it by other spellings, too
                return Place(self.root, PurePosixPath(resolved.relative_to(above)), in_workspace=True)
        if any(resolved.is_relative_to(folder) for folder in _SYSTEM):
            return None
        for root in self._allowed:
            if resolved.is_relative_to(root):
                return Place(root, PurePosixPath(resolved.relative_to(root)), in_workspace=False)
        if opened and resolved.is_relative_to(opened.root):
            return replace(opened, inside=PurePosixPath(resolved.relative_to(opened.root)))
        return None

    def _refusal(self, place: Place, authority: Authority) -> str | None:
        is_closed = is_hidden(place.inside) if place.in_workspace else self._is_closed(place)
        if is_closed:
            return f"{place.name} is kept by nanobot itself and not open to tools."
        if place.is_opened and is_secret(place.inside):
            return f"{place.name} looks like a secret and is not open to tools."
        if not may_touch(authority, place.scope):
            return f"{place.name} does not belong to the people in this chat ({authority.scope}). {_own(authority)}"
        return None

    def _is_closed(self, place: Place) -> bool:
        return is_hidden_elsewhere(place.inside) or place.path in self.closed

    def _open_folders(self) -> str:
        others = "".join(f", or absolute below {folder}" for folder in self._allowed)
        return f"Write paths relative to the workspace{others}."


def _own(authority: Authority) -> str:
    """Where those who speak here have their files."""
    if authority.role is Role.GUEST:
        return "Leave it alone."
    own = folder_of(authority.scope.name)
    return f"Theirs is what lies in {own}, media/{own} and spill/{own}; leave the rest alone."


def _check_form(text: str) -> None:
    if _CONTROL.search(text):
        raise ToolError("The path holds a control character. Write it in plain characters.")
    if _SCHEME.match(text):
        raise ToolError(f"{one_line(text)} is a URL. Write a path relative to the workspace.")
    if _DRIVE.match(text) or "\\" in text:
        raise ToolError(f"{one_line(text)} is a Windows path. Write it with / and relative to the workspace.")
    if text.startswith("~"):
        raise ToolError(f"{one_line(text)}: ~ is not known here. Write a path relative to the workspace.")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ToolError("The path holds half a character (a lone surrogate).") from None


def _is_only_there(text: str, workspace: Path, opened: Path) -> bool:
    """Whether a relative path means something in the folder that was opened, and nothing in the workspace."""
    return not os.path.lexists(workspace / text) and os.path.lexists(opened / text)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False

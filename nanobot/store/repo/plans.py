"""How to go back in the history."""

from collections.abc import Mapping

from nanobot.errors import VersionError
from nanobot.ports import Edit, Owned, Plan, Version
from nanobot.store.repo.git import Repository
from nanobot.store.repo.history import log, one
from nanobot.store.repo.lines import merged

_Tree = Mapping[str, tuple[str, str]]


def plan_restore(repo: Repository, version: str, owned: Owned) -> Plan:
    """The owned files exactly as they were before a version, by its full id. Raises VersionError."""
    parent = _parent(one(repo, version))
    then, now = _owned(repo.tree(parent), owned), _owned(repo.tree("HEAD"), owned)
    paths = sorted(path for path in then.keys() | now.keys() if then.get(path) != now.get(path))
    edits = {path: Edit(_content(repo, now, path), _content(repo, then, path)) for path in paths}
    return Plan(edits, [later for later in log(repo, since=parent) if any(map(owned, later.paths))])


def plan_undo(repo: Repository, version: str, owned: Owned) -> Plan:
    """The owned files without what one version did to them, by its full id. Raises VersionError."""
    undone = one(repo, version)
    before, after, now = (repo.tree(name) for name in (_parent(undone), version, "HEAD"))
    edits: dict[str, Edit] = {}
    conflicts: list[str] = []
    for path in filter(owned, undone.paths):
        was, became, current = (_content(repo, tree, path) for tree in (before, after, now))
        try:
            result = _without(repo, was, became, current)
        except _ConflictError:
            conflicts.append(path)
            continue
        if result != current:
            edits[path] = Edit(current, result)
    return Plan({} if conflicts else edits, [undone], conflicts)


class _ConflictError(Exception):
    """Later changes are in the way."""


def _without(repo: Repository, was: bytes | None, became: bytes | None, current: bytes | None) -> bytes | None:
    if current == became:
        return was
    if current == was:
        return current
    if was is None or became is None or current is None:
        raise _ConflictError
    both = merged(repo, base=became, ours=current, theirs=was)
    if both is None:
        raise _ConflictError
    return both


def _parent(version: Version) -> str:
    if version.parent is None:
        raise VersionError("first", "there is nothing before the first version")
    return version.parent


def _owned(tree: _Tree, owned: Owned) -> dict[str, str]:
    return {path: name for path, (_, name) in tree.items() if owned(path)}


def _content(repo: Repository, tree: Mapping[str, str] | _Tree, path: str) -> bytes | None:
    row = tree.get(path)
    return None if row is None else repo.blob(row if isinstance(row, str) else row[1])

"""Two changes of one text, put together line by line."""

import tempfile
from pathlib import Path

from nanobot.store.repo.git import Repository
from nanobot.text import LineChange, line_changes

_MOST_LINES = 20_000  # of a file; beyond it, only git's own merge is tried


def merged(repo: Repository, *, base: bytes, ours: bytes, theirs: bytes, keep_both: bool = False) -> bytes | None:
    """The text with both changes, None if they are in each other's way. Blocks; raises VersionError.

    As git merges. Where it gives up because the changes are on neighbouring lines, as two facts of a list are,
    they are put together nevertheless: a line that was changed and one beside it that was not are different facts.
    With `keep_both`, so are lines that both bring to one place.
    """
    for one, other in ((ours, theirs), (theirs, ours)):
        if one in (base, other):
            return other
    if any(b"\0" in text for text in (base, ours, theirs)):
        return None
    clean = _merged_by_git(repo, base, ours, theirs)
    return clean if clean is not None else _side_by_side(base, ours, theirs, keep_both=keep_both)


def _merged_by_git(repo: Repository, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    with tempfile.TemporaryDirectory(prefix="nanobot-merge-", dir=repo.git_dir) as name:
        paths = [Path(name) / side for side in ("ours", "base", "theirs")]
        for path, text in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(text)
        fine = tuple(range(128))  # how many conflicts there are
        code, output = repo.ask("merge-file", "--stdout", "--quiet", *map(str, paths), fine=fine)
    return None if code else output


def _side_by_side(base: bytes, ours: bytes, theirs: bytes, *, keep_both: bool) -> bytes | None:
    lines = base.splitlines(keepends=True)
    if len(lines) > _MOST_LINES:
        return None
    mine, yours = (line_changes(lines, text.splitlines(keepends=True)) for text in (ours, theirs))
    known = [line for one in mine for line in one.lines]
    if any(_are_in_the_way(one, other, keep_both=keep_both) for one in mine for other in yours):
        return None
    result = list(lines)
    at: dict[tuple[int, int], list[bytes]] = {(one.start, one.stop): list(one.lines) for one in mine}
    for other in yours:
        there = at.setdefault((other.start, other.stop), [])
        there += [] if there == list(other.lines) else [line for line in other.lines if not there or line not in known]
    for (start, stop), new in sorted(at.items(), reverse=True):
        result[start:stop] = new
    return b"".join(result) if all(line.endswith(b"\n") for line in result[:-1]) else None


def _are_in_the_way(one: LineChange, other: LineChange, *, keep_both: bool) -> bool:
    """Whether it cannot be told what both together come to. Changes that only touch can be told."""
    is_at_one_place = one.start == one.stop == other.start == other.stop
    return one != other and (one.overlaps(other) or (is_at_one_place and not keep_both))

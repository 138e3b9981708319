"""What a version did to a file, line by line as `git diff` shows it."""

import difflib
from collections.abc import Sequence

from nanobot.ports import FileDiff


def patch(diff: FileDiff) -> str:
    """The unified diff, "" if the file is no text."""
    if any(b"\0" in side for side in (diff.before or b"", diff.after or b"")):
        return ""
    old = f"a/{diff.path}" if diff.before is not None else "/dev/null"
    new = f"b/{diff.path}" if diff.after is not None else "/dev/null"
    return "\n".join(difflib.unified_diff(_lines(diff.before), _lines(diff.after), old, new, lineterm=""))


def _lines(text: bytes | None) -> Sequence[str]:
    """The lines without their ends; one that has none at the end of a file says so, as git does."""
    if not text:
        return []
    lines = text.decode(errors="replace").split("\n")
    return lines[:-1] if not lines[-1] else [*lines[:-1], f"{lines[-1]}\n\\ No newline at end of file"]

"""What came with the program: its template of a workspace, read line by line."""

import re
from collections.abc import Iterator
from pathlib import Path

from nanobot.forgotten import Shipped, plain

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_HEAD = re.compile(r"^[a-z]+: (.+)$", re.MULTILINE)  # a skill's head is also read without its keys
_EXAMPLE = ("- ", "* ")


def shipped_in(template: Path, *more: str) -> Shipped:
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
    return Shipped(frozenset(lines - {""}), names, tuple(passages))


def _lines(text: str) -> Iterator[str]:
    def without_examples(comment: re.Match[str]) -> str:
        return "\n".join(line for line in comment[0].split("\n") if not line.startswith(_EXAMPLE))

    yield from map(plain, _COMMENT.sub(without_examples, text).split("\n"))

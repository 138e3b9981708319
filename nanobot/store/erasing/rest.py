"""What is not for the program to change: it only says where it still stands."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from nanobot.ports import Found, Meant

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

    async def find(self, meant: Meant) -> Found:
        return await asyncio.to_thread(lambda: Found(left=self._left(meant)))

    async def erase(self, meant: Meant) -> None:
        """Nothing: they are not ours."""

    def _left(self, meant: Meant) -> Sequence[str]:
        if not meant.of_owner or not meant.traces.terms:
            return ()
        found: list[str] = []
        for path in self._files():
            if len(found) >= _NAMED:
                break
            found += _places(path, meant)
        return found[:_NAMED]


def _places(path: Path, meant: Meant) -> Iterator[str]:
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

"""Forgetting in texts that the program reads line by line, and no other store keeps."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from nanobot.errors import StoreError
from nanobot.ports import Found, Meant
from nanobot.store.erasing.log import lines_without
from nanobot.uncancelled import to_the_end


class ErasableTexts:
    """Erasable over a few of the owner's text files: the lines that name it go."""

    def __init__(self, place: str, files: Sequence[Path]) -> None:
        self.place = place
        self._files = files

    def owns(self, path: Path) -> bool:
        return path in self._files

    async def find(self, meant: Meant) -> Found:
        return await asyncio.to_thread(lambda: Found(sum(self._each(meant, write=False))))

    async def erase(self, meant: Meant) -> None:
        await to_the_end(asyncio.to_thread(lambda: list(self._each(meant, write=True))))

    def _each(self, meant: Meant, *, write: bool) -> Iterator[int]:
        def is_meant(line: bytes) -> bool:
            return meant.traces.name(line.decode("utf-8", "replace"))

        try:
            for path in self._files if meant.of_owner else ():
                yield lines_without(path, is_meant, write=write)
        except OSError as error:
            raise StoreError(f"{self._files[0].parent}: {error.strerror or error}") from error

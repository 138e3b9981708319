"""Forgetting in texts that the program reads line by line, and no other store keeps."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from nanobot.errors import StoreError
from nanobot.forgotten import MOST_OF_A_LINE, beginning
from nanobot.ports import Found, Meant, Piece
from nanobot.store.erasing.swapped import put
from nanobot.uncancelled import to_the_end


class ErasableTexts:
    """Erasable over a few of the owner's text files: the lines that name it go."""

    def __init__(self, place: str, files: Sequence[Path]) -> None:
        self.place = place
        self._files = files

    def owns(self, path: Path) -> bool:
        return path in self._files

    async def find(self, meant: Meant) -> Found:
        return await asyncio.to_thread(self._find, meant)

    async def erase(self, meant: Meant) -> None:
        await to_the_end(asyncio.to_thread(self._erase, meant))

    def _find(self, meant: Meant) -> Found:
        pieces = [
            Piece(f"{path.name}:{number}", beginning(line.lstrip("-*+ "), MOST_OF_A_LINE), is_own=True)
            for path, lines, named in self._each(meant)
            for number, (line, is_meant) in enumerate(zip(lines, named, strict=True), 1)
            if is_meant
        ]
        return Found(len(pieces), pieces)

    def _erase(self, meant: Meant) -> None:
        for path, lines, named in self._each(meant):
            if any(named):
                kept = [line for line, is_meant in zip(lines, named, strict=True) if not is_meant]
                try:
                    put(path, "\n".join(kept).encode("utf-8", "surrogateescape"))
                except OSError as error:
                    raise _failed(path, error) from error

    def _each(self, meant: Meant) -> Iterator[tuple[Path, Sequence[str], Sequence[bool]]]:
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

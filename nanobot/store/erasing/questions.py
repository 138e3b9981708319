"""What waits for a yes, on disk for some minutes: whoever asks in one process may answer in the next."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec

from nanobot.errors import StoreError
from nanobot.ports.erasable import Question
from nanobot.store.erasing.swapped import remove
from nanobot.store.state import read_state, write_state
from nanobot.uncancelled import to_the_end


class QuestionsFile:
    """The Questions in a small file; there is none while nothing waits."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> Sequence[Question]:
        return await asyncio.to_thread(lambda: read_state(self._path, list[Question], []))

    async def write(self, questions: Sequence[Question]) -> None:
        await to_the_end(asyncio.to_thread(self._write, questions))

    def _write(self, questions: Sequence[Question]) -> None:
        try:
            if questions:
                write_state(self._path, msgspec.to_builtins(questions))
            else:
                remove(self._path)
        except OSError as error:
            raise StoreError(f"{self._path} could not be written: {error.strerror or error}") from error

"""The journal of forgetting: what is being erased, and questions that wait for a yes, kept on disk."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from nanobot.aio import shielded
from nanobot.errors import StoreError
from nanobot.nlp.matcher import TextMatcher
from nanobot.ports.erasable import ErasureQuestion, Order
from nanobot.store.private import remove, write_private
from nanobot.store.state import read_state, write_state

# Journal of an erasure.


_log = logging.getLogger(__name__)


class JournalFile:
    """The Journal in a small file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> Order | None:
        return await asyncio.to_thread(self._read)

    async def write(self, order: Order) -> None:
        await shielded(asyncio.to_thread(lambda: write_private(self._path, msgspec.json.encode(_bare(order)))))

    async def clear(self) -> None:
        await shielded(asyncio.to_thread(self._clear))

    def _read(self) -> Order | None:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Order)
        except FileNotFoundError:
            return None
        except ValueError:  # written whole or not at all: somebody else was at it, and it may tell what was to go
            _log.error("%s cannot be read and is removed: ask again for what was being forgotten", self._path)
            self._clear()
            return None
        except OSError as error:
            raise StoreError(f"{self._path} could not be read: {error.strerror or error}") from error

    def _clear(self) -> None:
        try:
            remove(self._path)
        except OSError as error:
            raise StoreError(f"{self._path} could not be removed: {error.strerror or error}") from error


def _bare(order: Order) -> Order:
    """Without what was derived for looking things up."""
    if order.meant is None:
        return order
    traces = order.meant.traces
    return replace(order, meant=replace(order.meant, traces=TextMatcher(traces.terms, traces.lines, traces.shipped)))


# Questions that wait for a yes.


class QuestionsFile:
    """The Questions in a small file; there is none while nothing waits."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> Sequence[ErasureQuestion]:
        return await asyncio.to_thread(lambda: read_state(self._path, list[ErasureQuestion], []))

    async def write(self, questions: Sequence[ErasureQuestion]) -> None:
        await shielded(asyncio.to_thread(self._write, questions))

    def _write(self, questions: Sequence[ErasureQuestion]) -> None:
        try:
            if questions:
                write_state(self._path, msgspec.to_builtins(questions))
            else:
                remove(self._path)
        except OSError as error:
            raise StoreError(f"{self._path} could not be written: {error.strerror or error}") from error

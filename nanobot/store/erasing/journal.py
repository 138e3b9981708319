"""What is being forgotten, on disk until it is done."""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

import msgspec

from nanobot.errors import StoreError
from nanobot.forgotten import Traces
from nanobot.ports.erasable import Order
from nanobot.store.erasing.swapped import remove
from nanobot.store.private import write_private
from nanobot.uncancelled import to_the_end

_log = logging.getLogger(__name__)


class JournalFile:
    """The Journal in a small file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> Order | None:
        return await asyncio.to_thread(self._read)

    async def write(self, order: Order) -> None:
        await to_the_end(asyncio.to_thread(lambda: write_private(self._path, msgspec.json.encode(_bare(order)))))

    async def clear(self) -> None:
        await to_the_end(asyncio.to_thread(self._clear))

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
    return replace(order, meant=replace(order.meant, traces=Traces(traces.terms, traces.lines, traces.shipped)))

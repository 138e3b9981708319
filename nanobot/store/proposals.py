"""Changes that wait for a yes, on disk."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from nanobot.errors import StoreError
from nanobot.ports import Edit, ProposedChange
from nanobot.store.erasing.swapped import remove
from nanobot.store.state import read_state, write_state
from nanobot.uncancelled import to_the_end

_log = logging.getLogger(__name__)


class _Row(msgspec.Struct):
    """As it stands in the file: the contents apart, as text in which a byte that is no UTF-8 is half a surrogate."""

    proposal: ProposedChange
    texts: dict[str, tuple[str | None, str | None]]


class ProposalsFile:
    """The ProposalStore in a small file; there is none while nothing waits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._one_at_a_time = asyncio.Lock()

    async def read(self) -> Sequence[ProposedChange]:
        return await asyncio.to_thread(self._read)

    async def change(self, edit: Callable[[Sequence[ProposedChange]], Sequence[ProposedChange]]) -> None:
        async with self._one_at_a_time:
            await to_the_end(asyncio.to_thread(self._change, edit))

    def _change(self, edit: Callable[[Sequence[ProposedChange]], Sequence[ProposedChange]]) -> None:
        before = self._read()
        after = edit(before)
        if list(after) == list(before):
            return
        _log.debug("%d proposals are to be kept", len(after))
        try:
            if after:
                write_state(self._path, [msgspec.to_builtins(_row(proposal)) for proposal in after])
            else:
                remove(self._path)
        except OSError as error:
            raise StoreError(f"{self._path} could not be written: {error.strerror or error}") from error
        _log.debug("%d proposals are kept", len(after))

    def _read(self) -> Sequence[ProposedChange]:
        return [_proposal(row) for row in read_state(self._path, list[_Row], [])]


def _row(proposal: ProposedChange) -> _Row:
    texts = {path: (_text(edit.before), _text(edit.after)) for path, edit in proposal.edits.items()}
    return _Row(replace(proposal, edits={}), texts)


def _proposal(row: _Row) -> ProposedChange:
    edits = {path: Edit(_bytes(before), _bytes(after)) for path, (before, after) in row.texts.items()}
    return replace(row.proposal, edits=edits)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")

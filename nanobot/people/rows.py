"""Rows of the book of people, by channel and id."""

from collections.abc import Sequence
from typing import Protocol, TypeVar


class Known(Protocol):
    @property
    def channel(self) -> str: ...

    @property
    def id(self) -> str: ...


K = TypeVar("K", bound=Known)


def row_of(rows: Sequence[K], channel: str, id_: str) -> K | None:
    """The row of a person or a group."""
    return next((row for row in rows if (row.channel, row.id) == (channel, id_)), None)


def without(rows: Sequence[K], gone: Known) -> tuple[K, ...]:
    """All but those of the same person or group."""
    return tuple(row for row in rows if (row.channel, row.id) != (gone.channel, gone.id))

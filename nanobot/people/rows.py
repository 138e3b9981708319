"""Rows of the book of people, by channel and id."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from nanobot.ports.people import Book


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


def without_names(book: Book, is_meant: Callable[[str, str], bool]) -> Book:
    """The book without the names that are meant, given `channel:id` and the name."""
    people = tuple(
        replace(row, name="") if row.name and is_meant(f"{row.channel}:{row.id}", row.name) else row
        for row in book.people
    )
    groups = tuple(
        replace(row, title="") if row.title and is_meant(f"{row.channel}:{row.id}", row.title) else row
        for row in book.groups
    )
    asking = tuple(
        replace(row, name="") if row.name and is_meant(f"{row.channel}:{row.id}", row.name) else row
        for row in book.asking
    )
    return replace(book, people=people, groups=groups, asking=asking)

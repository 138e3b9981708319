"""The book of people and groups that were let in, a JSON file in the workspace's state."""

import asyncio

import msgspec

from nanobot.ports.people import Book
from nanobot.store.state import read_state, write_state
from nanobot.workspace import Workspace


class PeopleFile:
    """A PeopleStore, written by one process."""

    def __init__(self, workspace: Workspace) -> None:
        self._path = workspace.people

    def read(self) -> Book:
        return read_state(self._path, Book, Book())

    async def write(self, book: Book) -> None:
        await asyncio.to_thread(write_state, self._path, msgspec.to_builtins(book))

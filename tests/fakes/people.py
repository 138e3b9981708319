"""A book of people in memory."""

from nanobot.errors import StoreError
from nanobot.people.people import ConfiguredPeople, People
from nanobot.ports.people import PeopleBook, PeopleStore
from tests.fakes.clock import FakeClock

OWNER = "1"
MEMBER = "2"
STRANGER = "99"
GROUP = "-100"


class MemoryPeople:
    """A PeopleStore; with `full` set, nothing can be written."""

    def __init__(self, book: PeopleBook | None = None) -> None:
        self.book = book or PeopleBook()
        self.full = False

    def read(self) -> PeopleBook:
        return self.book

    async def write(self, book: PeopleBook) -> None:
        if self.full:
            raise StoreError("no room")
        self.book = book


def some_people(clock: FakeClock | None = None, store: PeopleStore | None = None) -> People:
    """An owner, a member, and a group on Telegram, by the configuration."""
    configured = ConfiguredPeople(owners=[OWNER], members=[MEMBER], groups={GROUP: "mention"})
    return People(store or MemoryPeople(), clock or FakeClock(), {"telegram": configured})


def nobody(clock: FakeClock | None = None, store: PeopleStore | None = None) -> People:
    """Two channels, and nobody who may talk there."""
    return People(
        store or MemoryPeople(), clock or FakeClock(), {"telegram": ConfiguredPeople(), "discord": ConfiguredPeople()}
    )

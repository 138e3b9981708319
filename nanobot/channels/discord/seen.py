"""How far each chat has been read, and until when all that was said anywhere was heard."""

from collections import OrderedDict
from collections.abc import Sequence

from nanobot.channels.discord.settings import NAME
from nanobot.ports import Bookmarks

_REMEMBERED = 10_000
_HEARD_UNTIL = f"{NAME}.heard_until"
_NOTED_EVERY = 60_000 << 22
"""A minute, in ids: their upper bits are the milliseconds at which a message was written (Discord's documentation,
"Snowflakes"). After a crash so much is looked through again; what was published is known by its id."""


class Seen:
    """Which messages have been dealt with: the last one of each chat, and the latest ones by their ids.

    What was taken in is noted on disk at once; what was only looked at, when all ends in order.
    """

    def __init__(self, bookmarks: Bookmarks) -> None:
        self._bookmarks = bookmarks
        self._last: dict[str, int] = {}
        self._looked: dict[str, int] = {}
        self._lately: OrderedDict[str, None] = OrderedDict()
        self._pending: set[int] = set()
        self._newest = 0
        self._noted = 0

    async def load(self) -> None:
        """Read what earlier processes noted."""
        marks = await self._bookmarks.marks(f"{NAME}:")
        self._last = {key.partition(":")[2]: int(last) for key, last in marks.items() if last.isdigit()}
        until = (await self._bookmarks.marks(_HEARD_UNTIL)).get(_HEARD_UNTIL, "")
        self._noted = self._newest = int(until) if until.isdigit() else 0

    @property
    def heard_until(self) -> int:
        """The id up to which all messages are dealt with, wherever they were written; 0 before the first start."""
        return min([self._newest, *(message - 1 for message in self._pending)])

    def begin(self, message: int) -> None:
        """A message came, and is not dealt with yet."""
        self._pending.add(message)

    async def done(self, message: int) -> None:
        """It is dealt with. Raises StoreError."""
        self._pending.discard(message)
        await self.hear_until(message)

    async def hear_until(self, message: int, *, note: bool = False) -> None:
        """No message before this one is missing; that is noted on disk now and then. Raises StoreError."""
        self._newest = max(self._newest, message)
        until = self.heard_until
        if until > self._noted and (note or until - self._noted > _NOTED_EVERY):
            self._noted = until
            await self._bookmarks.mark(_HEARD_UNTIL, str(until))

    @property
    def channels(self) -> Sequence[str]:
        """The chats that the bot knows."""
        return tuple(self._last)

    def last(self, channel: str) -> int:
        """The last message of a chat that was dealt with; 0 if there is none."""
        return max(self._last.get(channel, 0), self._looked.get(channel, 0))

    def is_new(self, what: str) -> bool:
        """Whether an id was not noted lately."""
        return what not in self._lately

    def note(self, what: str) -> None:
        """An id is dealt with: its next delivery is a repetition."""
        self._lately[what] = None
        while len(self._lately) > _REMEMBERED:
            self._lately.popitem(last=False)

    def look(self, channel: str, message: int) -> None:
        """A message in a chat that the bot knows does not concern it."""
        if channel in self._last:
            self._looked[channel] = max(message, self._looked.get(channel, 0))

    async def keep(self) -> None:
        """Note on disk what was only looked at. Raises StoreError."""
        for channel, message in self._looked.items():
            await self.advance(channel, message)
        await self.hear_until(0, note=True)

    async def advance(self, channel: str, message: int) -> None:
        """A chat is read up to here. Raises StoreError."""
        if message > self._last.get(channel, 0):
            await self._bookmarks.mark(f"{NAME}:{channel}", str(message))
            self._last[channel] = message

    async def forget(self, channel: str) -> None:
        """A chat is gone. Raises StoreError."""
        await self._bookmarks.mark(f"{NAME}:{channel}", "")
        self._last.pop(channel, None)
        self._looked.pop(channel, None)

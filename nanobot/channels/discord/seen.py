"""How far each chat has been read."""

from collections import OrderedDict
from collections.abc import Sequence

from nanobot.channels.discord.settings import NAME
from nanobot.ports import Bookmarks

_REMEMBERED = 10_000


class Seen:
    """Which messages have been dealt with: the last one of each chat, and the latest ones by their ids.

    What was taken in is noted on disk at once; what was only looked at, when all ends in order.
    """

    def __init__(self, bookmarks: Bookmarks) -> None:
        self._bookmarks = bookmarks
        self._last: dict[str, int] = {}
        self._looked: dict[str, int] = {}
        self._lately: OrderedDict[str, None] = OrderedDict()

    async def load(self) -> None:
        """Read what earlier processes noted."""
        marks = await self._bookmarks.marks(f"{NAME}:")
        self._last = {key.partition(":")[2]: int(last) for key, last in marks.items() if last.isdigit()}

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

"""Forgetting in the spool."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from nanobot.bus.spool import Spool
from nanobot.messages import InboundMessage, OutboundMessage
from nanobot.ports import Found, Meant, Piece, Trouble

_COMMAND = "/forget"

OpenSpool = Callable[[], AbstractAsyncContextManager[Spool]]


class ErasableSpool:
    """Erasable over the messages on their way, the bookmarks of the channels, and what was set aside as damaged."""

    place = "spool"

    def __init__(self, path: Path, open_spool: OpenSpool) -> None:
        """`open_spool` gives the running one, or opens it for a while; it is not asked if there is no file."""
        self._path = path
        self._open = open_spool

    def owns(self, path: Path) -> bool:
        return path.parent == self._path.parent and path.name.startswith(self._path.name)

    async def find(self, meant: Meant) -> Found:
        if not self._path.exists():
            return Found()
        async with self._open() as spool:
            count = await spool.count(_counted(meant)) + len(await _marks(spool, meant))
        return Found(count, [Piece(str(self._path))] if count else [])

    async def erase(self, meant: Meant) -> None:
        if not self._path.exists():
            return
        async with self._open() as spool:
            for name in await _marks(spool, meant):
                await spool.mark(name, "")
            await spool.erase(_meant(meant), meant.sessions)


async def _marks(spool: Spool, meant: Meant) -> list[str]:
    """The bookmarks that tell it: whose they are, they do not say, so that only the owner reaches them."""
    marks = await spool.marks("") if meant.of_owner else {}
    return [name for name, value in marks.items() if meant.traces.stand_in(value.encode("utf-8", "replace"))]


def _counted(meant: Meant) -> Callable[[InboundMessage | OutboundMessage | Trouble], bool]:
    """What is told to people: not the command that asks for it, which is gone by itself when it is answered."""
    is_meant = _meant(meant)
    return lambda item: is_meant(item) and not (isinstance(item, InboundMessage) and item.text.startswith(_COMMAND))


def _meant(meant: Meant) -> Callable[[InboundMessage | OutboundMessage | Trouble], bool]:
    def is_meant(item: InboundMessage | OutboundMessage | Trouble) -> bool:
        match item:
            case InboundMessage():
                return inbound_is_meant(item, meant)
            case OutboundMessage():
                key = item.address.session_key
                is_told = item.turn in meant.turns or meant.traces.show(item.text)
                return key in meant.sessions or (meant.hears(key) and is_told)
        key = item.address.session_key if item.address else ""
        return key in meant.sessions or (meant.hears(key) and meant.traces.show(item.reason))

    return is_meant


def inbound_is_meant(message: InboundMessage, meant: Meant) -> bool:
    """Whether a message that is not dealt with yet is meant."""
    if not meant.reaches(message.authority.scope.name):
        return False
    if message.id in meant.inbound or message.address.session_key in meant.sessions:
        return True
    quotes = any(meant.traces.show(quote.text) for quote in message.quotes)
    return quotes or meant.traces.name(message.text) or any(meant.traces.name(file.name) for file in message.files)

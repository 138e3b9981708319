"""Forgetting in the spool."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from nanobot.messages import Address, InboundMessage, OutboundMessage
from nanobot.ports import Alert, DurableBus, ErasedPiece, ErasurePlan, StoreFindings

_COMMAND = "/forget"

WhoseMark = Callable[[str, str], tuple[str, Address, str] | None]
"""Of a message that a channel has written down under a bookmark, by name and value: its scope, where it was said, and
its id on the bus. None for other bookmarks."""

OpenSpool = Callable[[], AbstractAsyncContextManager[DurableBus]]


class ErasableSpool:
    """Erasable over the messages on their way, the bookmarks of the channels, and what was set aside as damaged."""

    place = "spool"

    def __init__(self, path: Path, open_spool: OpenSpool, whose: WhoseMark) -> None:
        """`open_spool` gives the running one, or opens it for a while; it is not asked if there is no file."""
        self._path = path
        self._open = open_spool
        self._whose = whose

    def owns(self, path: Path) -> bool:
        return path.parent == self._path.parent and path.name.startswith(self._path.name)

    async def find(self, meant: ErasurePlan) -> StoreFindings:
        if not self._path.exists():
            return StoreFindings()
        async with self._open() as spool:
            count = await spool.count(_counted(meant)) + len(await self._marks(spool, meant))
        return StoreFindings(count, [ErasedPiece(str(self._path))] if count else [])

    async def erase(self, meant: ErasurePlan) -> None:
        if not self._path.exists():
            return
        async with self._open() as spool:
            for name, message in (await self._marks(spool, meant)).items():
                await (spool.drop(name, message) if message else spool.mark(name, ""))
            await spool.erase(_meant(meant), meant.sessions)

    async def _marks(self, spool: DurableBus, meant: ErasurePlan) -> dict[str, str]:
        """The bookmarks that tell it, each with the id of the message in it; "" for others, which the owner reaches."""
        found: dict[str, str] = {}
        for name, value in (await spool.marks("")).items():
            scope, address, message = self._whose(name, value) or ("owner", None, "")
            if meant.reaches(scope):
                is_all = scope in meant.emptied or (address is not None and address.session_key in meant.sessions)
                if is_all or meant.traces.stand_in(value.encode("utf-8", "replace")):
                    found[name] = message
        return found


def _counted(meant: ErasurePlan) -> Callable[[InboundMessage | OutboundMessage | Alert], bool]:
    """Return the count shown to people: without the command that asks, which is erased when it is answered."""
    is_meant = _meant(meant)
    return lambda item: is_meant(item) and not (isinstance(item, InboundMessage) and item.text.startswith(_COMMAND))


def _meant(meant: ErasurePlan) -> Callable[[InboundMessage | OutboundMessage | Alert], bool]:
    def is_meant(item: InboundMessage | OutboundMessage | Alert) -> bool:
        match item:
            case InboundMessage():
                return inbound_is_meant(item, meant)
            case OutboundMessage():
                is_told = item.turn in meant.turns or meant.traces.show(item.text)
                return item.address.session_key in meant.sessions or (_is_heard(item.address, meant) and is_told)
        key = item.address.session_key if item.address else ""
        is_heard = meant.of_owner if item.address is None else _is_heard(item.address, meant)
        return key in meant.sessions or (is_heard and meant.traces.show(item.reason))

    return is_meant


def _is_heard(address: Address, meant: ErasurePlan) -> bool:
    """True if what goes to a chat may be looked at: of one in which nothing is written down yet its scope tells."""
    chat = f"{address.channel}-{address.chat}"
    return meant.hears(address.session_key) or meant.reaches(f"person:{chat}") or meant.reaches(f"group:{chat}")


def inbound_is_meant(message: InboundMessage, meant: ErasurePlan) -> bool:
    """True if a message that is not dealt with yet is meant."""
    if not meant.reaches(message.authority.scope.name):
        return False
    if message.id in meant.inbound or message.address.session_key in meant.sessions:
        return True
    if message.authority.scope.name in meant.emptied and not message.text.startswith(_COMMAND):
        return True
    quotes = any(meant.traces.show(quote.text) for quote in message.quotes)
    return quotes or meant.traces.name(message.text) or any(meant.traces.name(file.name) for file in message.files)

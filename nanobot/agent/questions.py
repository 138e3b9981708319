"""Questions that wait for a person."""

import asyncio
from collections.abc import Sequence

from nanobot.ids import new_id
from nanobot.messages import Address, Button, InboundMessage, OutboundMessage
from nanobot.ports import Bus


class Questions:
    """The Asker: sends a question with buttons and hands the choice back to who asked."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._open: dict[str, tuple[Address, frozenset[str], asyncio.Future[str]]] = {}

    async def ask(self, at: Address, question: str, choices: Sequence[Button]) -> str:
        question_id = new_id()
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._open[question_id] = (at, frozenset(button.value for button in choices), answer)
        try:
            await self._bus.send(
                OutboundMessage(id=question_id, address=at, text=question, kind="question", buttons=tuple(choices))
            )
            return await answer
        finally:
            del self._open[question_id]

    def answer(self, message: InboundMessage) -> bool:
        """Hand on a chosen button; False if nothing (any longer) waits for it there."""
        address, values, waiting = self._open.get(message.answers or "", (None, frozenset(), None))
        if waiting is None or address != message.address or message.text not in values or waiting.done():
            return False
        waiting.set_result(message.text)
        return True

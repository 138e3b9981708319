"""What the channel answers by itself, without the model."""

from telegram import Message

from nanobot.channels.telegram.chats import Moved
from nanobot.channels.telegram.ids import inbound_id
from nanobot.channels.telegram.people import address
from nanobot.channels.telegram.settings import House
from nanobot.i18n import say
from nanobot.messages import OutboundMessage


class Answers:
    """Says that something could not be done; once for each message and reason."""

    def __init__(self, house: House, moved: Moved) -> None:
        self._house = house
        self._moved = moved

    async def tell(self, message: Message, what: str, **values: object) -> None:
        """Answer a message with the sentence `what` of the catalogue's section. Raises StoreError."""
        where = address(await self._moved.original(message.chat_id), message)
        inbound = inbound_id(message.chat_id, message.message_id)
        await self._house.notify(
            OutboundMessage(
                id=f"{inbound}:{what}",
                address=where,
                text=say(f"telegram.{what}", self._house.language(where), **values),
                kind="notice",
                reply_to=inbound,
                failed=True,
            )
        )

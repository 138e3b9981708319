"""Ids of what people say: `discord:<channel or thread>:<message>[:<mark>]`."""

from dataclasses import dataclass
from typing import Self

from nanobot.channels.discord.settings import NAME

BY_BOT = "bot"


@dataclass(frozen=True, slots=True)
class MessageId:
    """Where a message stands, by Discord's numbers. `mark`: "bot" if a bot said it, or which edit it is."""

    channel: str
    message: str
    mark: str = ""

    def __str__(self) -> str:
        return ":".join(part for part in (NAME, self.channel, self.message, self.mark) if part)

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """None for what is no id of ours."""
        name, _, rest = (text or "").partition(":")
        channel, _, rest = rest.partition(":")
        message, _, mark = rest.partition(":")
        return cls(channel, message, mark) if name == NAME and message.isdigit() else None

"""What a tool reported long ago, in a line."""

from dataclasses import replace

from nanobot.transcript import Message

LENGTH = 160
"""Characters that are shown of it."""


def brief(message: Message) -> Message:
    """The same message with the first line of a long result only; what people and the model said stays whole."""
    text = message.content or ""
    if message.role != "tool" or len(text) <= 2 * LENGTH:
        return message
    first = text.lstrip().split("\n", 1)[0][:LENGTH].rstrip()
    left_out = len(text) - len(first)
    return replace(message, content=f"{first} [… {left_out} more characters; call the tool again if you need them]")

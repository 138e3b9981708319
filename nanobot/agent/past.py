"""What became of a message before the process died."""

from collections.abc import Sequence
from dataclasses import dataclass

from nanobot.transcript import Message


@dataclass(frozen=True, slots=True)
class Past:
    """The turn in which a message was recorded.

    `is_first`: the message began the turn, others joined it. `is_open`: neither answered nor ended.
    `answer` is how it was answered, whole or cut off.
    """

    turn: str
    is_first: bool
    is_open: bool
    answer: Message | None


def past_of(inbound: str, messages: Sequence[Message], ended: set[str]) -> Past | None:
    """Look for a message by its id on the bus, from the end; None if it was never recorded here."""
    turn = next((message.turn for message in reversed(messages) if message.inbound == inbound), "")
    if not turn:
        return None
    lines = [message for message in messages if message.turn == turn]
    answer = lines[-1] if lines[-1].role == "assistant" and not lines[-1].tool_calls else None
    is_last = messages[-1].turn == turn
    return Past(turn, lines[0].inbound == inbound, answer is None and turn not in ended and is_last, answer)

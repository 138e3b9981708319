"""What became of a message before the process died."""

from collections.abc import Sequence
from dataclasses import dataclass

from nanobot.history import INTERRUPTED
from nanobot.transcript import Message


@dataclass(frozen=True, slots=True)
class Past:
    """The turn in which a message was recorded.

    `is_first`: the message began the turn, others joined it. `is_open`: neither answered nor ended.
    `answer` is how it was answered, whole or cut off. `cut_short` are the tools that the end of a process interrupted
    while they may have been at work. `scope` is that in which it was said.
    """

    turn: str
    is_first: bool
    is_open: bool
    answer: Message | None
    cut_short: Sequence[str] = ()
    scope: str | None = None


def past_of(inbound: str, messages: Sequence[Message], ended: set[str]) -> Past | None:
    """Look for a message by its id on the bus, from the end; None if it was never recorded here."""
    turn = next((message.turn for message in reversed(messages) if message.inbound == inbound), "")
    if not turn:
        return None
    lines = [message for message in messages if message.turn == turn]
    is_said = lines[-1].role == "assistant" and not lines[-1].tool_calls
    is_half = lines[-1].incomplete == "interrupted" and turn not in ended  # the program ended in it
    answer = lines[-1] if is_said and not is_half else None
    is_last = messages[-1].turn == turn
    is_open = answer is None and turn not in ended and is_last
    return Past(turn, lines[0].inbound == inbound, is_open, answer, _cut_short(lines), lines[0].scope)


def _cut_short(lines: Sequence[Message]) -> Sequence[str]:
    closed = {line.tool_call_id for line in lines if line.role == "tool" and line.content == INTERRUPTED}
    calls = (call for line in lines for call in line.tool_calls if call.id in closed)
    return list(dict.fromkeys(call.name for call in calls))

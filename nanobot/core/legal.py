"""Legal message sequences that fit a model's window."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from nanobot.authority import Origin
from nanobot.transcript import Message, ToolCall

INTERRUPTED = (
    "Interrupted: nanobot stopped before this tool reported a result. It may or may not have had its effect. "
    "Do not run it again without checking, or asking, first."
)

NOT_ALLOWED = (
    "Not run: the person was asked and had not answered when this turn was interrupted. It had no effect. "
    "If it is still wanted, call it again, and they are asked anew."
)

Size = Callable[[Message], float]


def legal(messages: Iterable[Message]) -> list[Message]:
    """The same conversation in a form that every endpoint accepts.

    Each tool call is followed by exactly one result, in the order of the calls (a missing one is
    stated as interrupted); a result whose call is not there is left out, as are assistant messages
    with neither text nor calls, system messages, and whatever stands before the first user message.
    Calls that share an id, or whose arguments are no JSON object, are mended.
    The same input always gives the same output, so that a repaired prefix stays byte for byte the same.
    """
    kept: list[Message] = []
    results: dict[int, dict[str, Message]] = {}  # place of an assistant message in `kept` -> its results
    asked: dict[str, int] = {}  # call id -> place of the newest message that makes such a call
    for message in messages:
        if message.role == "tool":
            place = asked.get(message.tool_call_id or "")
            if place is not None:
                results[place].setdefault(message.tool_call_id or "", message)
        elif message.role == "user" or (message.role == "assistant" and kept and not _is_empty(message)):
            if message.tool_calls:
                message = _with_sound_calls(message)
                results[len(kept)] = {}
                asked |= {call.id: len(kept) for call in message.tool_calls}
            kept.append(message)
    return [line for place, message in enumerate(kept) for line in _with_results(message, results.get(place, {}))]


def open_calls(messages: Iterable[Message]) -> list[ToolCall]:
    """The tool calls among these messages that have no result."""
    calls: dict[str, ToolCall] = {}
    for message in messages:
        calls |= {call.id: call for call in message.tool_calls}
        if message.role == "tool":
            calls.pop(message.tool_call_id or "", None)
    return list(calls.values())


def interrupted(call: ToolCall, text: str = INTERRUPTED) -> Message:
    """The result of a call that never reported one."""
    return Message(role="tool", content=text, tool_call_id=call.id, origin=Origin.TOOL)


def turns_of(messages: Sequence[Message]) -> list[Sequence[Message]]:
    """The messages turn by turn; what stands before the first user message belongs to the first turn."""
    starts = [i for i in range(1, len(messages)) if _begins_turn(messages, i)]
    return [messages[start:end] for start, end in pairwise([0, *starts, len(messages)]) if start < end]


def within_turn(messages: Sequence[Message], size: Size, room: float) -> list[Message]:
    """A turn that is too long by itself, without its oldest rounds of tools.

    The user messages stay, and so do the newest rounds as far as they fit (the last one always): a
    round is an assistant message with all its results, so that the sequence stays legal.
    """
    rounds: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and rounds:
            rounds[-1].append(message)
        else:
            rounds.append([message])
    room -= sum(size(part[0]) for part in rounds if part[0].role == "user")
    kept: list[list[Message]] = []
    full = False
    for part in reversed(rounds):
        if part[0].role != "user":
            room -= sum(map(size, part))
            full = full or (room < 0 and any(p[0].role != "user" for p in kept))
            if full:
                continue
        kept.append(part)
    return [message for part in reversed(kept) for message in part]


def _begins_turn(messages: Sequence[Message], i: int) -> bool:
    if messages[i].role != "user":
        return False
    return i == 0 or not messages[i].turn or messages[i].turn != messages[i - 1].turn


def _is_empty(message: Message) -> bool:
    return not message.tool_calls and not (message.content or "").strip()


def _with_sound_calls(message: Message) -> Message:
    """Its calls with one id each and arguments that are JSON of an object, as strict endpoints want them."""
    calls = {
        call.id: call if _is_object(call.arguments) else replace(call, arguments="{}") for call in message.tool_calls
    }
    if list(calls.values()) == list(message.tool_calls):
        return message
    return replace(message, tool_calls=tuple(calls.values()))


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _with_results(message: Message, results: dict[str, Message]) -> Iterable[Message]:
    yield message
    for call in message.tool_calls:
        yield results.get(call.id) or interrupted(call)

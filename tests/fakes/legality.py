"""What picky endpoints refuse in a request; the fake server and property tests ask it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any


def what_is_illegal(body: Mapping[str, Any]) -> str | None:
    """The first thing wrong with a chat-completions request; None if it is legal."""
    messages = body.get("messages") or []
    roles = [message["role"] for message in messages]
    if "system" in roles[1:]:
        return "a system message may only be the first"
    if [role for role in roles if role != "system"][:1] != ["user"]:
        return "the first message behind the system message must be a user message"
    for at, message in enumerate(messages):
        if message["role"] == "assistant" and (reason := _assistant(message)):
            return f"messages[{at}]: {reason}"
        if message["role"] == "user" and not message.get("content"):
            return f"messages[{at}]: an empty user message"
    return _calls_and_results(messages) or _tools(body)


def _assistant(message: Mapping[str, Any]) -> str | None:
    calls = message.get("tool_calls")
    if not calls and not (message.get("content") or "").strip():
        return "an assistant message with neither text nor tool calls"
    for call in calls or ():
        arguments = _strictly(call["function"]["arguments"])
        if not isinstance(arguments, dict):
            return f"the arguments of {call['function']['name']} are not a JSON object"
    ids = [call["id"] for call in calls or ()]
    return "two tool calls have the same id" if len(set(ids)) < len(ids) else None


def _strictly(text: str) -> object:
    """What a strict parser makes of JSON; None if it is none: Python lets NaN and halves of surrogate pairs pass."""
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return None
    return value


def _calls_and_results(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Each call is answered once, directly behind its message, and nothing else is."""
    waiting: set[str] = set()
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                return f"messages[{at}]: a tool message that answers no call directly before it"
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return f"messages[{at}]: tool calls before it were not answered: {', '.join(sorted(waiting))}"
        waiting = {call["id"] for call in message.get("tool_calls") or ()}
    return f"the last tool calls were not answered: {', '.join(sorted(waiting))}" if waiting else None


def _tools(body: Mapping[str, Any]) -> str | None:
    if "tools" in body and not body["tools"]:
        return "an empty list of tools"
    if "tool_choice" in body and "tools" not in body:
        return "tool_choice is only allowed with tools"
    return None

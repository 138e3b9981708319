"""What becomes of one message of a conversation."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nanobot.forgotten import FORGOTTEN, Traces
from nanobot.messages import Quote
from nanobot.ports import Meant
from nanobot.transcript import Message, ToolCall

_OWNER = "owner"
_ROWS = ("time: ", "channel: ")


class Changing:
    """For the messages of one conversation, in their order."""

    def __init__(self, meant: Meant, key: str) -> None:
        self._meant = meant
        self._dropped = meant.dropped.get(key, frozenset())
        self._blanked = meant.blanked.get(key, frozenset())
        channel, _, chat = key.partition(":")
        # As elsewhere: lines that do not say whose they are, are the owner's in the terminal, else the chat's.
        self._scope = _OWNER if channel == "cli" else f"group:{channel}-{chat}"

    def __call__(self, message: Message) -> Message | None:
        """The message as it may stay: the same object if nothing changes, None if it goes."""
        is_reached = self.reaches(message)
        if message.id in self._dropped and (is_reached or not message.scope):
            return None
        if not is_reached:
            return message
        new = _blank(message) if message.id in self._blanked else message
        new = _without(new, self._meant)
        return message if new == message else new

    def reaches(self, message: Message) -> bool:
        """Whether the next message is in a memory that is reached."""
        self._scope = message.scope or self._scope
        return self._meant.reaches(self._scope)


def _blank(message: Message) -> Message:
    calls = tuple(replace(call, arguments="{}", extra=None) for call in message.tool_calls)
    content = FORGOTTEN if message.content else message.content
    return replace(message, content=content, quotes=(), files=(), tool_calls=calls, extra=None)


def _without(message: Message, meant: Meant) -> Message:
    """The message without what shows it: blocks that the model was given, results of tools, quotes, names."""
    traces = meant.traces
    sender = message.sender
    if sender is not None and traces.tell(sender.name):
        sender = replace(sender, name="")
    content = _content(message, traces)
    beside = None if content != message.content else message.extra  # it told the same in other words
    return replace(
        message,
        content=content,
        context=_context(message.context, traces) if message.context else message.context,
        sender=sender,
        quotes=tuple(quote for quote in message.quotes if not _tells(quote, traces)),
        files=tuple(file for file in message.files if file.path not in meant.files and not traces.tell(file.name)),
        tool_calls=_calls(message.tool_calls, traces),
        extra=None if _hold(beside, traces) else beside,
    )


def _context(context: str, traces: Traces) -> str:
    """The blocks without what shows it. Where and when it was said are rows of the program's own."""
    if not traces.show(context):
        return context
    return "\n".join(line for line in context.split("\n") if line.startswith(_ROWS) or not traces.show(line))


def _content(message: Message, traces: Traces) -> str | None:
    content = message.content
    if not content or content == FORGOTTEN:
        return content
    if message.role == "tool":
        return traces.without(content, quoted=True) or FORGOTTEN
    return FORGOTTEN if traces.name(content) else content


def _tells(quote: Quote, traces: Traces) -> bool:
    return traces.show(quote.text) or traces.tell(quote.by)


def _calls(calls: Sequence[ToolCall], traces: Traces) -> tuple[ToolCall, ...]:
    cut = [replace(call, extra=None) if _hold(call.extra, traces) else call for call in calls]
    return tuple(
        replace(call, arguments="{}") if traces.stand_in(call.arguments.encode("utf-8", "replace")) else call
        for call in cut
    )


def _hold(extra: Mapping[str, object] | None, traces: Traces) -> bool:
    """Whether it stands in what an endpoint sent along, which nobody can cut without breaking its signature."""
    return bool(extra) and traces.stand_in(json.dumps(extra, ensure_ascii=False).encode("utf-8", "replace"))

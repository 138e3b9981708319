"""The lines of a session file."""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_type_hints

import msgspec

from nanobot.messages import Attachment, Quote, Sender
from nanobot.store.jsonl import loads
from nanobot.store.private import utf8
from nanobot.transcript import (
    ApprovalMark,
    Archived,
    Ended,
    Line,
    Message,
    QueuedMessage,
    Reset,
    ToolCall,
    Usage,
    Window,
)

VERSION = 1

_QUICK = b'{"type":"message",'  # so we write them; the common ones are read straight into messages
_UNKNOWN_MIME = Attachment("").mime
_EMPTY: tuple[object, ...] = (None, "", (), [])


class _Function(msgspec.Struct):
    name: str
    arguments: str


class _Call(msgspec.Struct):
    """A tool call in the shape of OpenAI's API, which other programs know."""

    id: str
    function: _Function
    extra: dict[str, object] | None = None


_SHAPES = {"files": tuple[Attachment, ...], "quotes": tuple[Quote, ...], "tool_calls": tuple[_Call, ...] | None}
"""The fields of a message that are read as something else than they are kept as."""


def _field(name: str, kind: object, default: object) -> tuple[str, Any] | tuple[str, Any, Any]:
    shape = _SHAPES.get(name, kind)
    return (name, shape) if default is dataclasses.MISSING else (name, shape, default)


_HINTS = get_type_hints(Message)
_WireMessage = msgspec.defstruct(
    "_WireMessage",
    [_field(field.name, _HINTS[field.name], field.default) for field in dataclasses.fields(Message)],
    kw_only=True,
)


class _Window(msgspec.Struct):
    at: str
    start: str = msgspec.field(name="from")
    kept: tuple[str, ...] = ()
    brief: str | None = None
    episodes: int | None = None


class _Queued(msgspec.Struct):
    at: str
    message: msgspec.Raw


class _Kind(msgspec.Struct):
    type: str


class _Time(msgspec.Struct):
    at: str


_message = msgspec.json.Decoder(Message).decode
_wire_message = msgspec.json.Decoder(_WireMessage).decode
_window = msgspec.json.Decoder(_Window).decode
_waiting = msgspec.json.Decoder(_Queued).decode
_kind = msgspec.json.Decoder(_Kind).decode
_time = msgspec.json.Decoder(_Time).decode


def header(key: str, at: str) -> bytes:
    """The first line of a session file."""
    fields = {"type": "session", "version": VERSION, "key": key, "at": at}
    try:
        return msgspec.json.encode(fields) + b"\n"
    except UnicodeEncodeError:  # the key must come back as it is, so lone surrogates are escaped
        return json.dumps(fields).encode() + b"\n"


def header_key(line: bytes) -> str | None:
    """The key that a first line names; None if it does not."""
    try:
        fields = loads(line)
    except ValueError:
        return None
    key = fields.get("key") if isinstance(fields, dict) and fields.get("type") == "session" else None
    return key if isinstance(key, str) else None


def encode(lines: Sequence[Line]) -> tuple[bytes, Sequence[Line]]:
    """Bytes to append, and the lines as they will be read from them: without lone surrogates."""
    raw: list[bytes] = []
    kept: list[Line] = []
    for line in lines:
        fields = _WRITERS[type(line)](line)
        try:
            raw.append(msgspec.json.encode(fields))
            kept.append(line)
        except UnicodeEncodeError:
            raw.append(_without_lone_surrogates(fields))
            kept.append(decode(raw[-1]) or line)
    return b"".join(one + b"\n" for one in raw), kept


def decode(raw: bytes) -> Line | None:
    """Decode a line; None for the header, or a type that a later version may know. Raises ValueError."""
    if raw.startswith(_QUICK):
        try:
            message = _message(raw)
        except (ValueError, RecursionError):
            pass  # it has tool calls, or something is wrong: the careful way knows
        else:
            return message if not (message.files or message.quotes) else _read_message(raw)
    return _decode(raw)


def time_of(raw: bytes) -> str:
    """Return the time of a line. Raises ValueError."""
    try:
        return _time(raw).at
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _decode(raw: bytes) -> Line | None:
    try:
        return _read(raw)
    except ValueError:
        if rb"\ud" not in raw and rb"\uD" not in raw:
            raise
        return _read(_without_lone_surrogates(loads(raw)))  # legal JSON, but not to msgspec
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _read(raw: bytes) -> Line | None:
    read = _READERS.get(_kind(raw).type)
    return read(raw) if read else None


def _read_message(raw: bytes) -> Message:
    wire = msgspec.structs.asdict(_wire_message(raw))
    calls = (
        ToolCall(call.id, call.function.name, call.function.arguments, call.extra) for call in wire["tool_calls"] or ()
    )
    return Message(**(wire | {"tool_calls": tuple(calls)}))


def _read_window(raw: bytes) -> Window:
    return Window(**msgspec.structs.asdict(_window(raw)))


def _read_waiting(raw: bytes) -> QueuedMessage:
    wire = _waiting(raw)
    return QueuedMessage(at=wire.at, message=_read_message(bytes(wire.message)))


_READERS: Mapping[str, Callable[[bytes], Line]] = {
    "message": _read_message,
    "archived": msgspec.json.Decoder(Archived).decode,
    "window": _read_window,
    "reset": msgspec.json.Decoder(Reset).decode,
    "ended": msgspec.json.Decoder(Ended).decode,
    "asked": msgspec.json.Decoder(ApprovalMark).decode,
    "waiting": _read_waiting,
}


def _write_message(message: Message) -> dict[str, object]:
    row: dict[str, object] = {"type": "message"}
    for name in _ORDER:
        value = getattr(message, name)
        if name in _ALWAYS or (value not in _EMPTY and value != _USUAL.get(name)):
            write = _FIELD_WRITERS.get(name)
            row[name] = write(value) if write else value
    return row


def _write_sender(sender: Sender) -> dict[str, object]:
    return _filled(id=sender.id, name=sender.name)


def _write_usage(usage: Usage) -> dict[str, int]:
    return {"input": usage.input, "output": usage.output} | ({"cached": usage.cached} if usage.cached else {})


def _write_call(call: ToolCall) -> dict[str, object]:
    row: dict[str, object] = {"id": call.id, "type": "function"}
    row["function"] = {"name": call.name, "arguments": call.arguments}
    return row | ({"extra": call.extra} if call.extra else {})


def _write_file(file: Attachment) -> dict[str, object]:
    return _filled(path=file.path, mime=file.mime if file.mime != _UNKNOWN_MIME else None, name=file.name)


def _write_quote(quote: Quote) -> dict[str, object]:
    return _filled(text=quote.text, by=quote.by, how=quote.how)


def _filled(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value not in _EMPTY}


_FIRST = ("id", "at", "turn", "role", "origin", "content")
_ORDER = (*_FIRST, *(field.name for field in dataclasses.fields(Message) if field.name not in _FIRST))
_ALWAYS = frozenset({"id", "at", "content"})  # written also when they are empty
_USUAL: Mapping[str, object] = {"to_bot": True}  # not written when they are so
_FIELD_WRITERS: Mapping[str, Callable[[Any], object]] = {
    "sender": _write_sender,
    "quotes": lambda quotes: [_write_quote(quote) for quote in quotes],
    "files": lambda files: [_write_file(file) for file in files],
    "tool_calls": lambda calls: [_write_call(call) for call in calls],
    "usage": _write_usage,
}
_WRITERS: Mapping[type[Line], Callable[[Any], dict[str, object]]] = {
    Message: _write_message,
    Archived: lambda mark: {"type": "archived", "at": mark.at, "through": mark.through, "cursor": mark.cursor},
    Window: lambda mark: (
        {"type": "window", "at": mark.at, "from": mark.start}
        | _filled(kept=tuple(mark.kept), brief=mark.brief, episodes=mark.episodes)
    ),
    Reset: lambda mark: {"type": "reset", "at": mark.at} | _filled(through=mark.through),
    Ended: lambda mark: {"type": "ended", "turn": mark.turn, "how": mark.how, "at": mark.at},
    ApprovalMark: lambda mark: {"type": "asked", "turn": mark.turn, "open": mark.open, "at": mark.at},
    QueuedMessage: lambda mark: {"type": "waiting", "at": mark.at, "message": _write_message(mark.message)},
}


def _without_lone_surrogates(fields: object) -> bytes:
    return utf8(json.dumps(fields, ensure_ascii=False, separators=(",", ":")))

"""What a request looks like on the wire: the messages and tools of a chat completion."""

import base64
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from nanobot.messages import Attachment
from nanobot.ports import Request, ToolSpec
from nanobot.transcript import Message, ToolCall

Json = dict[str, object]

PICTURE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What endpoints that see pictures accept."""

MAX_PICTURE = 15 * 2**20
"""Bytes. Base64 adds a third, and endpoints refuse requests beyond 20 to 30 MB."""

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64  # both from OpenAI's reference; others are no stricter


def well_formed(text: str) -> str:
    """The text with surrogate pairs joined and lone ones replaced, so that UTF-8 can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def read_pictures(request: Request, media: Path) -> Mapping[str, str]:
    """The pictures of the running turn as data URIs, by path; those that cannot be read are left out.

    Blocks on the disk: call it in a thread. `media` is the folder that paths start from and stay in.
    """
    pictures: dict[str, str] = {}
    for file in chain.from_iterable(_new_files(message, request) for message in request.messages):
        if file.mime in PICTURE_TYPES and (data := _read(media, file.path)):
            pictures[file.path] = f"data:{file.mime};base64,{base64.b64encode(data).decode('ascii')}"
    return pictures


def _read(media: Path, path: str) -> bytes | None:
    try:
        full = (media / path).resolve()
        if not full.is_relative_to(media.resolve()) or full.stat().st_size > MAX_PICTURE:
            return None
        return full.read_bytes()
    except (OSError, ValueError):
        return None


def messages_to_wire(request: Request, pictures: Mapping[str, str]) -> list[Json]:
    """The conversation, in an order of keys that never varies: an unchanged message gives the same bytes.

    Pictures follow as a user's message where the role of their message cannot carry any: those
    of tools after all results of their step, since nothing may stand between a call and its results.
    """
    wire: list[Json] = []
    from_tools: list[Attachment] = []
    for message in request.messages:
        shown = [file for file in _new_files(message, request) if file.path in pictures]
        if message.role == "tool":
            from_tools += shown
        elif from_tools:
            wire.append(_seen_by_tools(from_tools, pictures))
            from_tools = []
        if message.role == "user":
            wire.append(_user(_text(message), shown, pictures))
        elif message.role != "assistant" or message.tool_calls or (message.content or "").strip():
            wire.append(_other(message))
    if from_tools:
        wire.append(_seen_by_tools(from_tools, pictures))
    return [{key: _scrub(value) for key, value in message.items()} for message in wire]


def tools_to_wire(tools: Sequence[ToolSpec]) -> list[Json]:
    """The tools, in the order they were given."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": well_formed(tool.description),
                "parameters": _scrub(dict(tool.parameters)),
            },
        }
        for tool in tools
    ]


def _new_files(message: Message, request: Request) -> Sequence[Attachment]:
    return message.files if request.turn and message.turn == request.turn else ()


def _seen_by_tools(files: Sequence[Attachment], pictures: Mapping[str, str]) -> Json:
    return _user(f"What the tools found:\n{_places(files)}", files, pictures)


def _user(text: str, shown: Sequence[Attachment], pictures: Mapping[str, str]) -> Json:
    if not shown:
        return {"role": "user", "content": text}
    images = [{"type": "image_url", "image_url": {"url": pictures[file.path]}} for file in shown]
    return {"role": "user", "content": [{"type": "text", "text": text}, *images]}


def _other(message: Message) -> Json:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id or "", "content": _text(message) or "(nothing)"}
    if message.tool_calls:
        calls = [_call(call) for call in message.tool_calls]
        return {"role": "assistant", "content": message.content or None, "tool_calls": calls}
    return {"role": message.role, "content": message.content or ""}


def _call(call: ToolCall) -> Json:
    """A call as the endpoint wants it back; a name that a model made up may hold what endpoints refuse."""
    name = _NOT_IN_NAMES.sub("_", call.name)[:_LONGEST_NAME]
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": call.arguments}}


def _text(message: Message) -> str:
    """The blocks the model was shown with the words, the words, and the names of the files."""
    words = "\n\n".join(part for part in (message.context, message.content) if part)
    return "\n".join(part for part in (words, _places(message.files)) if part)


def _places(files: Sequence[Attachment]) -> str:
    return "\n".join(f"[{'picture' if file.is_picture else 'file'}: {file.path}]" for file in files)


def _scrub(value: object) -> object:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, Mapping):
        return {_scrub(key): _scrub(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_scrub(item) for item in value]
    return value

"""The wire format: messages and tools of a chat completion, in the dialect of its endpoint."""

import base64
import hashlib
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from nanobot.messages import Attachment
from nanobot.models import dialect as traits
from nanobot.models.dialect import ModelDialect
from nanobot.ports import Request, ToolSpec
from nanobot.text import well_formed
from nanobot.transcript import Message, ToolCall

log = logging.getLogger(__name__)

Json = dict[str, object]

PICTURE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What endpoints that see pictures accept."""

MAX_PICTURE = 15 * 2**20
"""Bytes. Base64 adds a third, and endpoints refuse requests beyond 20 to 30 MB."""

UNANSWERED = "(This was not answered.)"
READ_ON = "(There is more from the user.)"
"""What stands for the assistant where an endpoint wants roles to alternate and nothing was said."""

NO_TOOLS = "You have no tools in this conversation. Say so where one would be needed, and never claim to have used one."

MAX_EXTRA = 2**20
"""Characters of what an endpoint may send beside one answer; nobody thinks so much, and the session keeps it all."""

_TEXTS_OF_ENTRIES = ("text", "summary", "thinking", "data", "content")
_NOTHING = " "  # as reasoning of a message that had none: an empty text counts as missing at some endpoints
_UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""What Gemini takes for a signature it did not make."""

_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_REASONING = re.compile(r"reason|think|thought(?!.*signature)", re.IGNORECASE)
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64  # both from OpenAI's reference; others are no stricter


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


_NO_DIALECT = ModelDialect()


def messages_to_wire(request: Request, pictures: Mapping[str, str], dialect: ModelDialect = _NO_DIALECT) -> list[Json]:
    """The conversation, in an order of keys that never varies: an unchanged message gives the same bytes.

    Pictures follow as a user's message where the role of their message cannot carry any: those
    of tools after all results of their step, since nothing may stand between a call and its results.
    """
    shown = {} if dialect.has(traits.NO_PICTURES) else pictures
    rows = list(_rows(request, shown, dialect))
    if request.tools and dialect.has(traits.NO_TOOLS) and rows and rows[0].role == "system":
        rows[0].fields["content"] = f"{rows[0].fields['content']}\n\n{NO_TOOLS}"
    if dialect.has(traits.NO_SYSTEM):
        rows = _without_system(rows)
    if dialect.has(traits.ALTERNATING):
        rows = list(_alternating(rows))
    elif dialect.has(traits.LINE_AFTER_TOOL):
        rows = list(_with_lines_after_tools(rows))
    return [{key: scrub(value) for key, value in row.fields.items()} for row in rows]


def fields_beside(messages: Iterable[Message], dialect: ModelDialect) -> set[str]:
    """The names of the fields that the protocol does not know and that go back to this endpoint."""
    names: set[str] = set()
    for message in messages:
        names |= _sent_back(message, dialect).keys()
        for call in message.tool_calls if message.endpoint == dialect.endpoint else ():
            names |= (call.extra or {}).keys()
            names |= _nested(call.extra, "function").keys()
    return {name for name in names if name != "function" and dialect.takes_field(name)}


class ExtraRoom:
    """Counts the characters of all extra fields of one answer; beyond MAX_EXTRA none of them is kept."""

    def __init__(self) -> None:
        self._left = MAX_EXTRA

    @property
    def is_exceeded(self) -> bool:
        return self._left < 0

    def take(self, characters: int) -> None:
        if 0 <= self._left < characters:
            log.warning("the model sent more beside its answer than is kept")
        self._left = self._left - characters if self._left >= 0 else -1


class ExtraFields:
    """Gathers the fields that the protocol does not know from the pieces of an answer, or of a call.

    Texts grow and lists get longer; entries of a list that share `index` and `type` are pieces of one. A text that
    comes again as it was (a signature, an id) is no further piece, unless it is one of the reasoning. A piece costs
    as much as it is long, however many came before it.
    """

    def __init__(self, room: ExtraRoom) -> None:
        self._room = room
        self._fields: dict[str, object] = {}

    def add(self, piece: Mapping[str, object], known: Collection[str]) -> None:
        """Take in a piece, without the fields that are `known`."""
        for name, value in piece.items():
            if name not in known and value is not None and value not in ([], {}):
                self._put(self._fields, name, value, grows=bool(_REASONING.search(name)))
        if self._room.is_exceeded:
            self._fields.clear()

    def whole(self) -> Json:
        """The fields as they are by now; none if there was no room for all."""
        return {} if self._room.is_exceeded else {name: _whole(value) for name, value in self._fields.items()}

    def _put(self, fields: dict[str, object], name: str, value: object, *, grows: bool) -> None:
        if self._room.is_exceeded:
            return
        if name not in fields:
            self._room.take(len(name) + 4)
        fields[name] = self._joined(fields.get(name), value, grows=grows)

    def _joined(self, old: object, new: object, *, grows: bool) -> object:
        if isinstance(new, str):
            text = old if isinstance(old, _Pieces) else _Pieces()
            if grows or not text.is_same(new):
                self._room.take(len(new))
                text.add(new)
            return text
        if isinstance(new, Mapping):
            fields: dict[str, object] = old if isinstance(old, dict) else {}
            for name, value in new.items():
                self._put(fields, name, value, grows=False)
            return fields
        if isinstance(new, list):
            entries = old if isinstance(old, _Entries) else _Entries()
            for entry in new:
                self._add_entry(entries, entry)
            return entries
        return old if new is None else new

    def _add_entry(self, entries: "_Entries", entry: object) -> None:
        known = entries.of_same_place(entry)
        if known is None or not isinstance(entry, Mapping):
            self._room.take(4)
            entries.add(entry, self._joined(None, entry, grows=False))
            return
        for name, value in entry.items():
            self._put(known, name, value, grows=name in _TEXTS_OF_ENTRIES)


class _Pieces:
    """A text that comes in pieces, joined once."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0

    def add(self, text: str) -> None:
        self._texts.append(text)
        self._length += len(text)

    def is_same(self, text: str) -> bool:
        return bool(self._texts) and self._length == len(text) and self.whole() == text

    def whole(self) -> str:
        return "".join(self._texts)


class _Entries:
    """A list that gets longer; entries with an `index` are found by it and their `type`."""

    def __init__(self) -> None:
        self._list: list[object] = []
        self._by_place: dict[tuple[object, object], dict[str, object]] = {}

    def of_same_place(self, entry: object) -> dict[str, object] | None:
        place = _place(entry)
        return self._by_place.get(place) if place else None

    def add(self, entry: object, gathered: object) -> None:
        self._list.append(gathered)
        if isinstance(gathered, dict) and (place := _place(entry)):
            self._by_place[place] = gathered

    def whole(self) -> list[object]:
        return [_whole(entry) for entry in self._list]


def tools_to_wire(tools: Sequence[ToolSpec]) -> list[Json]:
    """The tools, in the order they were given."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": well_formed(tool.description),
                "parameters": scrub(dict(tool.parameters)),
            },
        }
        for tool in tools
    ]


def _new_files(message: Message, request: Request) -> Sequence[Attachment]:
    return message.files if request.turn and message.turn == request.turn else ()


@dataclass(slots=True)
class _Row:
    """A message on the wire; of a user's, the turn that it belongs to and whether it was said to the bot."""

    role: str
    fields: Json
    turn: str = ""
    to_bot: bool = True


@dataclass(slots=True)
class _CallIds:
    """The ids of the calls in one request: each once, and the same from request to request."""

    short: bool
    used: set[str] = field(default_factory=set)
    sent: dict[str, str] = field(default_factory=dict)

    def of_call(self, known: str) -> str:
        number = 1
        wanted = _short_id(known) if self.short else known
        while wanted in self.used:
            number += 1
            wanted = _short_id(f"{known} {number}") if self.short else f"{known}_{number}"
        self.used.add(wanted)
        self.sent[known] = wanted
        return wanted

    def of_result(self, known: str) -> str:
        return self.sent.get(known, known)


@dataclass(slots=True)
class _Writer:
    """Writes the messages of one request, in the dialect of its endpoint."""

    pictures: Mapping[str, str]
    dialect: ModelDialect
    ids: _CallIds
    names: dict[str, str] = field(default_factory=dict)  # of the tools, by the ids of their calls

    def row(self, message: Message, shown: Sequence[Attachment]) -> _Row:
        if message.role == "user":
            return _Row("user", _user(_text(message), shown, self.pictures), message.turn, message.to_bot)
        if message.role == "assistant":
            return _Row("assistant", self._assistant(message), message.turn)
        if message.role == "tool":
            return self._result(message)
        return _Row(message.role, {"role": message.role, "content": message.content or ""})

    def _assistant(self, message: Message) -> Json:
        row: Json = {"role": "assistant", "content": message.content or ""}
        self.names |= {call.id: call.name for call in message.tool_calls}
        if message.tool_calls and self.dialect.has(traits.NO_TOOLS):
            words = [f"[Called {call.name} with {call.arguments}]" for call in message.tool_calls]
            row["content"] = "\n".join(filter(None, [message.content, *words]))
        elif message.tool_calls:
            if not message.content and not self.dialect.has(traits.TEXT_BESIDE_CALLS):
                row["content"] = None
            row["tool_calls"] = self._calls(message)
        beside = _sent_back(message, self.dialect)
        row |= {name: value for name, value in beside.items() if name not in ("role", "content", "tool_calls")}
        if self.dialect.has(traits.REASONING_BACK):
            row.setdefault("reasoning_content", _NOTHING)
        return row

    def _result(self, message: Message) -> _Row:
        called, text = message.tool_call_id or "", _text(message) or "(nothing)"
        if self.dialect.has(traits.NO_TOOLS):
            words = f"[What {self.names.get(called, 'the tool')} reported; not the user's words]\n{text}"
            return _Row("user", {"role": "user", "content": words}, message.turn)
        return _Row("tool", {"role": "tool", "tool_call_id": self.ids.of_result(called), "content": text}, message.turn)

    def _calls(self, message: Message) -> list[Json]:
        is_theirs = message.endpoint == self.dialect.endpoint
        calls = [self._call(call, call.extra if is_theirs else None) for call in message.tool_calls]
        if self.dialect.has(traits.SIGNATURE_BACK) and not any("extra_content" in call for call in calls):
            calls[0]["extra_content"] = _UNSIGNED
        return calls

    def _call(self, call: ToolCall, extra: Mapping[str, object] | None) -> Json:
        """A call as the endpoint wants it back; a name that a model made up may hold what endpoints refuse."""
        takes = self.dialect.takes_field
        function: Json = {"name": _NOT_IN_NAMES.sub("_", call.name)[:_LONGEST_NAME], "arguments": call.arguments}
        function |= {key: value for key, value in _nested(extra, "function").items() if takes(key)}
        row: Json = {"id": self.ids.of_call(call.id), "type": "function", "function": function}
        return row | {key: value for key, value in (extra or {}).items() if key not in row and takes(key)}


def _short_id(known: str) -> str:
    if _SHORT_ID.fullmatch(known):
        return known
    number = int.from_bytes(hashlib.sha256(known.encode("utf-8", "replace")).digest()[:8])
    return "".join(_DIGITS[number // 62**place % 62] for place in range(9))


def _rows(request: Request, pictures: Mapping[str, str], dialect: ModelDialect) -> Iterator[_Row]:
    writer = _Writer(pictures, dialect, _CallIds(dialect.has(traits.SHORT_IDS)))
    from_tools: list[Attachment] = []
    is_single = dialect.has(traits.SINGLE_CALLS) and not dialect.has(traits.NO_TOOLS)
    for message in _single_calls(request.messages) if is_single else request.messages:
        shown = [file for file in _new_files(message, request) if file.path in pictures]
        if message.role == "tool":
            from_tools += shown
        elif from_tools:
            yield _Row("user", _seen_by_tools(from_tools, pictures), message.turn)
            from_tools = []
        if message.role != "assistant" or message.tool_calls or (message.content or "").strip():
            yield writer.row(message, shown)
    if from_tools:
        yield _Row("user", _seen_by_tools(from_tools, pictures), request.turn)


def _single_calls(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages with each step of several calls as steps of one, the result of each behind it."""
    waiting: list[Message] = []  # steps whose results are read
    results: list[Message] = []
    for message in messages:
        if waiting and message.role == "tool":
            results.append(message)
            continue
        yield from _with_results(waiting, results)
        waiting, results = [], []
        if len(message.tool_calls) < 2:
            yield message
            continue
        first, *rest = message.tool_calls
        others = [replace(message, content=None, tool_calls=[call], extra=None) for call in rest]
        waiting = [replace(message, tool_calls=[first]), *others]
    yield from _with_results(waiting, results)


def _with_results(steps: Sequence[Message], results: list[Message]) -> Iterator[Message]:
    for step in steps:
        yield step
        called = step.tool_calls[0].id
        if result := next((each for each in results if each.tool_call_id == called), None):
            results.remove(result)
            yield result
    yield from results


def _without_system(rows: Sequence[_Row]) -> list[_Row]:
    """The system text in front of the first user message."""
    texts = [str(row.fields["content"]) for row in rows if row.role == "system"]
    rest = [row for row in rows if row.role != "system"]
    first = next((row for row in rest if row.role == "user"), None)
    if texts and first is not None:
        _put_before(first, "\n\n".join(texts))
    return rest


def _alternating(rows: Iterable[_Row]) -> Iterator[_Row]:
    """The rows with no two users' or assistants' messages in a row, results of tools between them or not.

    What one turn or one group has to say is one message. Between messages of different turns stands a line instead:
    the first was sent by itself before, and what was sent stays as it was.
    """
    last: _Row | None = None
    for row in rows:
        if last is not None and last.role == row.role == "user":
            if not last.to_bot or last.turn == row.turn or not row.turn:
                _put_after(last, row)
                continue
            yield last
            last = _line(UNANSWERED)
        elif last is not None and last.role == "tool" and row.role == "user":
            yield last
            last = _line(READ_ON)
        elif last is not None and last.role == row.role == "assistant" and not last.fields.get("tool_calls"):
            _put_before(row, str(last.fields["content"]))
            last = None
        if last is not None:
            yield last
        last = row
    if last is not None:
        yield last


def _with_lines_after_tools(rows: Iterable[_Row]) -> Iterator[_Row]:
    last = ""
    for row in rows:
        if last == "tool" and row.role == "user":
            yield _line(READ_ON)
        yield row
        last = row.role


def _line(text: str) -> _Row:
    return _Row("assistant", {"role": "assistant", "content": text})


def _put_before(row: _Row, text: str) -> None:
    content = row.fields["content"]
    parts = content if isinstance(content, list) else None
    row.fields["content"] = [{"type": "text", "text": text}, *parts] if parts else f"{text}\n\n{content or ''}".rstrip()


def _put_after(row: _Row, more: _Row) -> None:
    """Add another user's message to this one."""
    first, second = row.fields["content"], more.fields["content"]
    if isinstance(first, str) and isinstance(second, str):
        row.fields["content"] = f"{first}\n\n{second}"
    else:
        row.fields["content"] = [*_parts(first), *_parts(second)]
    row.turn, row.to_bot = more.turn or row.turn, more.to_bot


def _parts(content: object) -> Sequence[object]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _place(entry: object) -> tuple[object, object] | None:
    """The index and type by which an entry of a list is found again; None if it has none."""
    if not isinstance(entry, Mapping):
        return None
    index, kind = entry.get("index"), entry.get("type")
    return (index, kind) if isinstance(index, str | int | float) and isinstance(kind, str | None) else None


def _whole(value: object) -> object:
    """Return the gathered pieces as a JSON value."""
    if isinstance(value, _Pieces | _Entries):
        return value.whole()
    return {name: _whole(each) for name, each in value.items()} if isinstance(value, dict) else value


def _sent_back(message: Message, dialect: ModelDialect) -> Mapping[str, object]:
    """Return the fields to send back beside a message; reasoning beside an answer only if the endpoint wants it.

    Beside tool calls reasoning is a part of what goes on; that of an answer would only take room in the window.
    """
    if not message.extra or message.endpoint != dialect.endpoint:
        return {}
    has_all = bool(message.tool_calls) or dialect.has(traits.REASONING_BACK)
    return {
        name: value
        for name, value in message.extra.items()
        if dialect.takes_field(name) and (has_all or not _REASONING.search(name))
    }


def _nested(extra: Mapping[str, object] | None, name: str) -> Mapping[str, object]:
    value = (extra or {}).get(name)
    return value if isinstance(value, Mapping) else {}


def _seen_by_tools(files: Sequence[Attachment], pictures: Mapping[str, str]) -> Json:
    return _user(f"What the tools found:\n{_places(files)}", files, pictures)


def _user(text: str, shown: Sequence[Attachment], pictures: Mapping[str, str]) -> Json:
    if not shown:
        return {"role": "user", "content": text}
    images = [{"type": "image_url", "image_url": {"url": pictures[file.path]}} for file in shown]
    return {"role": "user", "content": [{"type": "text", "text": text}, *images]}


def _text(message: Message) -> str:
    """The blocks the model was shown with the words, the words, and the names of the files."""
    words = "\n\n".join(part for part in (message.context, message.content) if part)
    return "\n".join(part for part in (words, _places(message.files)) if part)


def _places(files: Sequence[Attachment]) -> str:
    return "\n".join(f"[{'picture' if file.is_picture else 'file'}: {file.path}]" for file in files)


def scrub(value: object) -> object:
    """The value with all its texts well formed."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, Mapping):
        return {scrub(key): scrub(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [scrub(item) for item in value]
    return value

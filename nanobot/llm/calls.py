"""The tool calls of an answer, put together from their pieces."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from nanobot.llm.wire import Json, gather, well_formed
from nanobot.transcript import ToolCall

_KNOWN = ("index", "id", "type", "function")
_KNOWN_INSIDE = ("name", "arguments")


@dataclass(slots=True)
class _Growing:
    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: Json = field(default_factory=dict)


class Calls:
    """Collects what stands in `tool_calls`, of deltas or of a whole message.

    Providers differ: indexes are missing or all 0, ids are missing, repeated in each piece, made up anew
    for each piece or the same for all calls, several calls grow at once, arguments come whole and even as
    an object, and some begin with an empty object that is none of them.
    """

    def __init__(self) -> None:
        self._calls: list[_Growing] = []
        self._by_index: dict[object, _Growing] = {}

    @property
    def any(self) -> bool:
        """Whether anything came that may be a call."""
        return bool(self._calls)

    def add(self, pieces: object) -> None:
        """Take in the value of `tool_calls`; anything that is not a piece of a call is skipped."""
        if isinstance(pieces, Mapping):
            pieces = [pieces]
        for piece in pieces if isinstance(pieces, list) else ():
            function = piece.get("function") if isinstance(piece, Mapping) else None
            if isinstance(function, Mapping):
                call = self._add(piece.get("index"), _text(piece.get("id")), function)
                gather(call.extra, piece, _KNOWN)
                inner: Json = {}
                gather(inner, function, _KNOWN_INSIDE)
                if inner:
                    gather(call.extra, {"function": inner}, ())

    def finished(self, taken: Iterable[str]) -> tuple[ToolCall, ...]:
        """The calls, each with an id of its own that is not among the `taken` ones of the conversation.

        The same pieces and the same conversation give the same ids. A call without a name is none.
        """
        used = set(taken)
        calls: list[ToolCall] = []
        for call in self._calls:
            if call.name:
                unique = _unique(well_formed(call.id), used)
                used.add(unique)
                arguments = call.arguments if call.arguments.strip() else "{}"
                calls.append(ToolCall(unique, well_formed(call.name), well_formed(arguments), call.extra or None))
        return tuple(calls)

    def _add(self, index: object, call_id: str, function: Mapping[str, object]) -> _Growing:
        name = _text(function.get("name"))
        arguments = _arguments(function.get("arguments"))
        call = self._growing(index, call_id, name)
        if call is None or _another(call, call_id, name, arguments):
            call = _Growing(call_id)
            self._calls.append(call)
        self._by_index[index] = call
        call.id = call.id or call_id
        if name != call.name:  # some repeat the name in each piece, some send it in pieces
            call.name += name
        if call.arguments.strip() == "{}" and arguments.lstrip().startswith("{"):
            call.arguments = ""  # it stood for "none yet"
        call.arguments += arguments
        return call

    def _growing(self, index: object, call_id: str, name: str) -> _Growing | None:
        """The call that a piece may belong to: of the same index, of the same id, or the last one."""
        if index is None and call_id:
            same = [call for call in self._calls if call.id == call_id]
            if same or (name and all(call.id for call in self._calls)):
                return same[-1] if same else None
        call = self._by_index.get(index)
        if call is None and self._calls and not name and not call_id:
            return self._calls[-1]
        return call


def _another(call: _Growing, call_id: str, name: str, arguments: str) -> bool:
    """Whether a piece that may belong to this call begins another one: none does that without a name."""
    if not name:
        return False
    if name != call.name:
        return bool(call.arguments) or bool(call.name and call_id and call.id and call_id != call.id)
    if call.arguments.strip() == "{}" and call_id == call.id != "" and arguments.lstrip().startswith("{"):
        return False
    return bool(call.arguments) and _is_whole(call.arguments)


def _is_whole(arguments: str) -> bool:
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return True


def _arguments(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _text(value: object) -> str:
    """An id may be a number."""
    return "" if value is None else str(value)


def _unique(wanted: str, used: Collection[str]) -> str:
    if wanted and wanted not in used:
        return wanted
    stem = wanted or "call"
    number = 2 if wanted else 1
    while f"{stem}_{number}" in used:
        number += 1
    return f"{stem}_{number}"

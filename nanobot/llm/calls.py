"""The tool calls of an answer, put together from their pieces."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from nanobot.llm.wire import well_formed
from nanobot.transcript import ToolCall


@dataclass(slots=True)
class _Growing:
    id: str = ""
    name: str = ""
    arguments: str = ""


class Calls:
    """Collects what stands in `tool_calls`, of deltas or of a whole message.

    Providers differ: indexes are missing or all 0, ids are missing, repeated in each piece or the
    same for all calls, several calls grow at once, arguments come whole and even as an object.
    """

    def __init__(self) -> None:
        self._calls: list[_Growing] = []
        self._by_index: dict[object, _Growing] = {}

    def add(self, pieces: object) -> None:
        """Take in the value of `tool_calls`; anything that is not a piece of a call is skipped."""
        if isinstance(pieces, Mapping):
            pieces = [pieces]
        for piece in pieces if isinstance(pieces, list) else ():
            function = piece.get("function") if isinstance(piece, Mapping) else None
            if isinstance(function, Mapping):
                self._add(piece.get("index"), _text(piece.get("id")), function)

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
                calls.append(ToolCall(unique, well_formed(call.name), well_formed(arguments)))
        return tuple(calls)

    def _add(self, index: object, call_id: str, function: Mapping[str, object]) -> None:
        name = _text(function.get("name"))
        call = self._by_index.get(index)
        if call is None or _another(call, call_id, name):
            call = _Growing(call_id)
            self._calls.append(call)
            self._by_index[index] = call
        call.id = call.id or call_id
        if name != call.name:  # some repeat the name in each piece, some send it in pieces
            call.name += name
        call.arguments += _arguments(function.get("arguments"))


def _another(call: _Growing, call_id: str, name: str) -> bool:
    """Whether a piece with the same index as this call begins another one."""
    if call_id and call.id and call_id != call.id:
        return True
    return bool(name and call.arguments) and (name != call.name or _is_whole(call.arguments))


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

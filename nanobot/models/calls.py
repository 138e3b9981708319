"""The tool calls of an answer: put together from their pieces, or read from the text that they were written as."""

import ast
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Literal

from nanobot.models.wire import ExtraFields, ExtraRoom
from nanobot.ports import ToolSpec
from nanobot.text import well_formed
from nanobot.transcript import ToolCall

_KNOWN = ("index", "id", "type", "function")
_KNOWN_INSIDE = ("name", "arguments")
_NONE: tuple[object, ...] = (None, [], {})

CALL_MARKS = frozenset((
    "<tool_call>", "<tool_calls>", "<toolcall>", "<function_call>", "<function_calls>", "<function=",
    "<invoke name=", "<minimax:tool_call>", "<seed:tool_call>", "[tool_calls]", "<|python_tag|>",
    "<|tool_call|>", "<|tool_call>", "<|tool_call_start|>", "<|start_action|>", "<|action_start|>",
    "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tools_prefix|>",
    "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜dsml｜function_calls>", "<｜dsml｜invoke",
))  # fmt: skip
"""What a call begins with that a model writes into its text, in lower case; a new family is a new line."""

_AROUND = re.compile(
    r"</?(?:tool_calls?|toolcall|function_calls?|minimax:tool_call|seed:tool_call|｜dsml｜function_calls)>"
    r"|<\|?/?tool_call\|?>|\[tool_calls\]|<\|python_tag\|>|<\|tool_call_(?:start|end)\|>|<\|(?:start|end)_action\|>"
    r"|<\|action_(?:start|end)\|>|<\|plugin\|>|<\|tool_calls_section_(?:begin|end)\|>|<\|tool_call_(?:begin|end)\|>"
    r"|<\|tools_(?:prefix|suffix)\|>|<｜tool▁calls?▁(?:begin|end)｜>|<\|im_end\|>|<\|eot_id\|>|<\|eom_id\|>|</s>"
    r"|<\|(?:call|end|return)\|>|<\|tool_response>",
    re.IGNORECASE,
)
_BEHIND_NAME = (
    r"(?:\[CALL_ID\][^\[{]*)?(?:\[ARGS\]|<\|tool_call_argument_begin\|>|<｜tool▁sep｜>)?\s*(?:```(?:json)?\s*)?"
)
_NAMED = re.compile(rf"(?:function\s*<｜tool▁sep｜>)?([\w.:/-]+)\s*{_BEHIND_NAME}(?={{)", re.IGNORECASE)
_HARMONY = re.compile(r"<\|(?:start|channel)\|>[^{]*?\bto=([\w.:/-]+)[^{]*?<\|message\|>\s*(?={)")
_TAGGED = re.compile(r"<function=([^<>\s]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
_INVOKED = re.compile(r"<(?:｜DSML｜)?invoke name=[\"']([^\"']+)[\"']>(.*?)(?:</(?:｜DSML｜)?invoke>|\Z)", re.DOTALL)
_PARAMETER = re.compile(
    r"<parameter=([^>\s]+)>(.*?)</parameter>"
    r"|<(?:｜DSML｜)?parameter name=[\"']([^\"']+)[\"'][^>]*>(.*?)</(?:｜DSML｜)?parameter>",
    re.DOTALL,
)
_KEY = r"<arg_key>((?:(?!</?arg_key>).)*)</arg_key>\s*"
_VALUE = r"<arg_value>((?:(?!<arg_key>|</arg_value>).)*)</arg_value>"
_KEY_AND_VALUE = re.compile(_KEY + _VALUE, re.DOTALL)
_KEYED = re.compile(rf"([\w.:/-]+)\s*((?:{_KEY}{_VALUE}\s*)+|\Z)", re.DOTALL)
_GEMMA = re.compile(r"call:([\w.:/-]+)(?={)")
_GEMMA_QUOTE = '<|"|>'
_GEMMA_KEY = re.compile(r"([{,]\s*)([A-Za-z_]\w*)\s*:")

_SHAPED = re.compile(
    r"\s*(?:\[?\s*{|<function=|<(?:｜DSML｜)?invoke name=|call:|\[\s*[\w.]+\("
    rf"|[\w.:/-]+\s*(?:{_BEHIND_NAME}{{|<arg_key>))",
    re.IGNORECASE,
)

_NAMES = ("name", "tool_name", "tool", "function", "function_name", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "params")
_BESIDE = ("type", "id", "index", "tool_call_id", "call_id")
_FIRST_KEYS = "|".join((*_NAMES, *_ARGUMENTS, *_BESIDE, "tool_calls", "tool_uses", "function_call"))
_BEGINNING = re.compile(rf'\s*(?:functools)?(?:\[\s*)?{{\s*"(?:{_FIRST_KEYS})"\s*:|\s*\[\s*[\w.]+\(')
_BEFORE_BEGINNING = re.compile(r'\s*(?:f\w{0,8})?(?:\[\s*)?(?:{\s*(?:"\w{0,20}"?\s*)?)?|\s*\[\s*[\w.]{1,80}')
_LANGUAGE = re.compile(r"[ \t]*(\w*)")
_LAST_OBJECT = re.compile(r"(?:^|\n)(?={)")
_ANNOUNCED = 600
"""Characters of a text before a call that still announce it; behind a longer one it is an example."""


_SHORT = 64  # characters of arguments that are looked at as a whole, however often
_TURNING = re.compile(r'\\.?|["{}\[\]]', re.DOTALL)


class _Growing:
    """A call, put together from pieces: what is done for each of them does not grow with those before it."""

    def __init__(self, extra: ExtraFields, call_id: str, name: str = "", arguments: str = "") -> None:
        self.extra = extra
        self.id = call_id
        self.name = name
        self._pieces = [arguments] if arguments else []
        self._size = len(arguments)
        self._read = 0  # pieces of which it is known how deep they lead
        self._depth = 0
        self._is_quoted = self._is_escaped = False

    @property
    def arguments(self) -> str:
        return "".join(self._pieces)

    @property
    def has_arguments(self) -> bool:
        return self._size > 0

    @property
    def stands_for_none(self) -> bool:
        """True if the arguments are an empty object so far."""
        return self._size <= _SHORT and self.arguments.strip() == "{}"

    def grow(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            self._size += len(piece)

    def forget_arguments(self) -> None:
        self._pieces, self._size, self._read = [], 0, 0
        self._depth, self._is_quoted, self._is_escaped = 0, False, False

    def is_whole(self) -> bool:
        """True if the arguments are JSON already; they are read only where their brackets are closed."""
        for piece in self._pieces[self._read :]:
            self._follow(piece)
        self._read = len(self._pieces)
        return (self._size <= _SHORT or not (self._depth or self._is_quoted)) and _is_json(self.arguments)

    def _follow(self, piece: str) -> None:
        if self._is_escaped:
            piece, self._is_escaped = piece[1:], False
        for match in _TURNING.finditer(piece):
            mark = match[0]
            if mark == '"':
                self._is_quoted = not self._is_quoted
            elif mark[0] == "\\":
                self._is_escaped = mark == "\\"
            elif not self._is_quoted:
                self._depth += 1 if mark in "{[" else -1


class Calls:
    """Collects what stands in `tool_calls`, of deltas or of a whole message.

    Providers differ: indexes are missing or all 0, ids are missing, repeated in each piece, made up anew
    for each piece or the same for all calls, several calls grow at once, arguments come whole and even as
    an object, and some begin with an empty object that is none of them.
    """

    def __init__(self, room: ExtraRoom) -> None:
        """`room` is what the fields beside the calls share with those beside the answer."""
        self._room = room
        self._calls: list[_Growing] = []
        self._by_index: dict[object, _Growing] = {}

    @property
    def any(self) -> bool:
        """True if anything came that may be a call."""
        return bool(self._calls)

    def add(self, pieces: object) -> None:
        """Take in the value of `tool_calls`; anything that is not a piece of a call is skipped."""
        if isinstance(pieces, Mapping):
            pieces = [pieces]
        for piece in pieces if isinstance(pieces, list) else ():
            function = piece.get("function") if isinstance(piece, Mapping) else None
            if isinstance(function, Mapping):
                call = self._add(piece.get("index"), _text(piece.get("id")), function)
                call.extra.add(piece, _KNOWN)
                beside = {name: function[name] for name in function if name not in _KNOWN_INSIDE}
                call.extra.add({"function": {name: beside[name] for name in beside if beside[name] not in _NONE}}, ())

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
                arguments = call.arguments
                arguments = arguments if arguments.strip() else "{}"
                calls.append(
                    ToolCall(unique, well_formed(call.name), well_formed(arguments), call.extra.whole() or None)
                )
        return tuple(calls)

    def write(self, calls: Iterable[tuple[str, str]]) -> None:
        """Take in calls that were written as text."""
        self._calls += [_Growing(ExtraFields(self._room), "", name, arguments) for name, arguments in calls]

    def _add(self, index: object, call_id: str, function: Mapping[str, object]) -> _Growing:
        name = _text(function.get("name"))
        arguments = _arguments(function.get("arguments"))
        call = self._growing(index, call_id, name)
        if call is None or _another(call, call_id, name, arguments):
            call = _Growing(ExtraFields(self._room), call_id)
            self._calls.append(call)
        self._by_index[index] = call
        call.id = call.id or call_id
        if name != call.name:  # some repeat the name in each piece, some send it in pieces
            call.name += name
        if call.stands_for_none and arguments.lstrip().startswith("{"):
            call.forget_arguments()  # it stood for "none yet"
        call.grow(arguments)
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
    """True if a piece that may belong to this call begins another one: none does that without a name."""
    if not name:
        return False
    if name != call.name:
        return call.has_arguments or bool(call.name and call_id and call.id and call_id != call.id)
    if call.stands_for_none and call_id == call.id != "" and arguments.lstrip().startswith("{"):
        return False
    return call.has_arguments and call.is_whole()


def _is_json(arguments: str) -> bool:
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


def may_be_call(text: str) -> bool | None:
    """True if a whole answer that begins like this may be a call in bare JSON; None if it is too early to say."""
    if _BEGINNING.match(text):
        return True
    return None if _BEFORE_BEGINNING.fullmatch(text) else False


def is_shaped_like_call(text: str) -> bool:
    """True if a text that begins with a mark of a call goes on like one; such marks are also talked about."""
    return bool(_HARMONY.match(text) or _SHAPED.match(_AROUND.sub("", text)))


def written_calls(text: str, tools: Sequence[ToolSpec]) -> Sequence[tuple[str, str]]:
    """Names and arguments of the calls that a text consists of; none if it is anything but calls of these tools."""
    reader = _WrittenCalls(tools)
    rest = _AROUND.sub("\n", text.strip()) if "<|message|>" not in text else text
    if rest.lstrip().startswith("functools["):
        rest = rest.lstrip().removeprefix("functools")
    calls: list[tuple[str, str]] = []
    while rest := rest.lstrip(" \t\r\n,;`"):
        found, rest = reader.first(rest)
        if not found:
            return ()
        calls += found
    return calls


def announced_call(text: str, tools: Sequence[ToolSpec]) -> Literal["bare", "fenced"] | None:
    """True if a text ends in what was meant as a call, or begins with one: it is not carried out by guess."""
    reader = _WrittenCalls(tools)
    if fenced := _fenced(text):
        length, language, code = fenced
        is_call = length <= _ANNOUNCED and (bool(written_calls(code, tools)) or language in ("tool_code", "tool_call"))
        return "fenced" if is_call else None
    if text.lstrip().startswith(("{", "[")) and reader.first(text.lstrip())[0]:
        return "bare"
    for start in _LAST_OBJECT.finditer(text):
        before, last = text[: start.start()], text[start.end() :].strip()
        if len(before) > _ANNOUNCED or "```" in before:
            return None
        if written_calls(last, tools) or reader.fits_one_named(last, before):
            return "bare"
    return None


def _fenced(text: str) -> tuple[int, str, str] | None:
    """The characters before the first fence of a text that ends in one of its kind, its language, what stands inside.

    Every answer is read for it, so the lines are walked once, however many fences there are.
    """
    text = text.rstrip()
    mark = text[-1:]
    closing = len(text) - len(text.rstrip(mark))
    if mark not in ("`", "~") or closing < 3:
        return None
    start = 0
    for line in text.split("\n")[:-1]:
        if line.startswith(mark * 3):
            behind = line.lstrip(mark)
            code = text[start + len(line) + 1 : len(text) - min(closing, len(line) - len(behind))]
            language = _LANGUAGE.match(behind)
            return start, language[1] if language else "", code.removesuffix("\n")
        start += len(line) + 1
    return None


class _WrittenCalls:
    """Reads calls of certain tools in the forms in which families of models write them."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = {tool.name: tool.parameters for tool in tools}

    def first(self, text: str) -> tuple[Sequence[tuple[str, str]], str]:
        """The calls that a text begins with, and what stands behind them."""
        if text[0] in "{[" and (found := self._json(text))[0]:
            return found
        for form in (self._tags, self._named, self._gemma, self._keys, self._python):
            if (found := form(text))[0]:
                return found
        return (), text

    def fits_one_named(self, text: str, before: str) -> bool:
        """True if a text is the arguments, and nothing else, of a tool that is named before it."""
        value, rest = _decoded(text)
        if not isinstance(value, dict) or rest.strip():
            return False
        named = [parameters for name, parameters in self._tools.items() if re.search(rf"\b{re.escape(name)}\b", before)]
        return any(value and value.keys() <= _properties(schema).keys() for schema in named)

    def _known(self, name: str) -> str:
        """The tool of this name; "" if there is none. A namespace before it is passed over."""
        parts = (name, re.sub(r":\d+$", "", name), *reversed(re.split(r"[.:/]+", re.sub(r":\d+$", "", name))))
        return next((part for part in parts if part in self._tools), "")

    def _one(self, name: str, arguments: object) -> Sequence[tuple[str, str]]:
        known = self._known(name.strip())
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        return [(known, text)] if known else ()

    def _json(self, text: str) -> tuple[Sequence[tuple[str, str]], str]:
        value, rest = _decoded(text)
        return self._in(value), rest

    def _in(self, value: object) -> Sequence[tuple[str, str]]:
        """The calls in a JSON value; none if any of it is something else."""
        if isinstance(value, list):
            each = [self._in(item) for item in value]
            return [call for calls in each for call in calls] if all(each) else ()
        if not isinstance(value, dict):
            return ()
        for key in ("tool_calls", "tool_uses", "function_call", "function"):
            if isinstance(value.get(key), dict | list) and value.keys() <= {key, *_BESIDE}:
                return self._in(value[key])
        names = [key for key in _NAMES if isinstance(value.get(key), str)]
        arguments = [key for key in _ARGUMENTS if isinstance(value.get(key), dict | str)]
        if len(names) != 1 or len(arguments) != 1 or not value.keys() <= {*names, *arguments, *_BESIDE}:
            return ()
        return self._one(value[names[0]], value[arguments[0]])

    def _tags(self, text: str) -> tuple[Sequence[tuple[str, str]], str]:
        for form in (_TAGGED, _INVOKED):
            if call := form.match(text):
                inner = call[2].strip()
                value, rest = _decoded(inner)
                if isinstance(value, dict) and not rest.strip():
                    return self._one(call[1], value), text[call.end() :]
                pairs = [(found[1] or found[3], found[2] or found[4] or "") for found in _PARAMETER.finditer(inner)]
                if not _PARAMETER.sub("", inner).strip():
                    return self._one(call[1], self._typed(call[1], pairs)), text[call.end() :]
        return (), text

    def _named(self, text: str) -> tuple[Sequence[tuple[str, str]], str]:
        """A name, and an object behind it."""
        head = _HARMONY.match(text) or _NAMED.match(text)
        if head is None:
            return (), text
        value, rest = _decoded(text[head.end() :])
        rest = _AROUND.sub("\n", rest) if head.re is _HARMONY else rest
        return (self._one(head[1], value), rest) if isinstance(value, dict) else ((), text)

    def _gemma(self, text: str) -> tuple[Sequence[tuple[str, str]], str]:
        head = _GEMMA.match(text)
        if head is None:
            return (), text
        parts = text[head.end() :].split(_GEMMA_QUOTE)
        for at, part in enumerate(parts):
            parts[at] = json.dumps(part, ensure_ascii=False) if at % 2 else _GEMMA_KEY.sub(r'\1"\2":', part)
        value, rest = _decoded("".join(parts))
        return (self._one(head[1], value), rest) if isinstance(value, dict) else ((), text)

    def _keys(self, text: str) -> tuple[Sequence[tuple[str, str]], str]:
        head = _KEYED.match(text)
        if head is None or not self._known(head[1]):
            return (), text
        pairs = [(found[1].strip(), found[2]) for found in _KEY_AND_VALUE.finditer(head[2])]
        return self._one(head[1], self._typed(head[1], pairs)), text[head.end() :]

    def _python(self, text: str) -> tuple[Sequence[tuple[str, str]], str]:
        """A list of calls as Python writes them, with constants for arguments."""
        if not text.startswith("["):
            return (), text
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            tree = ast.parse(text.strip(), mode="eval").body
            if isinstance(tree, ast.List):
                each = [self._python_call(item) for item in tree.elts]
                return ([call for calls in each for call in calls], "") if each and all(each) else ((), text)
        return (), text

    def _python_call(self, item: ast.expr) -> Sequence[tuple[str, str]]:
        if not isinstance(item, ast.Call) or item.args:
            return ()
        arguments = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in item.keywords}
        return self._one(ast.unparse(item.func), arguments) if "" not in arguments else ()

    def _typed(self, name: str, pairs: Iterable[tuple[str, str]]) -> dict[str, object]:
        """Values that were written without quotes, as the tool's schema wants them."""
        properties = _properties(self._tools.get(self._known(name), {}))
        typed: dict[str, object] = {}
        for key, written in pairs:
            schema = properties.get(key)
            text = written.removeprefix("\n").removesuffix("\n")
            typed[key] = text
            if not isinstance(schema, Mapping) or schema.get("type") != "string":
                with suppress(ValueError, RecursionError):
                    typed[key] = json.loads(text)
        return typed


def _properties(schema: Mapping[str, object]) -> Mapping[str, object]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _decoded(text: str) -> tuple[object, str]:
    """The JSON value that a text begins with, and what stands behind it; None if it begins with none."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None, text
    return value, text[end:]

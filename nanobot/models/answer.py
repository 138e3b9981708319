"""An answer as it grows: from the chunks of a stream, or one whole body, to a Reply."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from nanobot.errors import LLMError
from nanobot.models.calls import Calls, announced_call, is_shaped_like_call, written_calls
from nanobot.models.reasoning import VisibleText
from nanobot.models.wire import ExtraFields, ExtraRoom
from nanobot.ports import Reply, ToolSpec
from nanobot.text import well_formed
from nanobot.transcript import Usage

_CUT_BY_LIMIT = ("length", "max_tokens", "max_output_tokens")
_DECLINED = ("content_filter", "safety", "refusal", "prohibited_content", "recitation", "sensitive")
_FAILED = ("error", "abort", "insufficient_system_resource", "network_error")
_NOT_SAID = ("null", "none", "undefined")
"""finish_reason, in lower case; what is in none of these is a normal end."""

_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details", "thinking")
"""Fields of a delta in which endpoints send reasoning beside the text."""

_KNOWN = ("role", "content", "tool_calls", "refusal")
"""Fields of a message that the protocol knows; others go back to the endpoint as they came."""


class GrowingAnswer:
    """Answer of one attempt as far as it has come."""

    def __init__(self, visible: VisibleText, tools: Sequence[ToolSpec] = ()) -> None:
        """`tools` are those offered to the model: calls of these may be written as text."""
        self._visible = visible
        self._tools = tools
        self._room = ExtraRoom()
        self._calls = Calls(self._room)
        self._usage: Usage | None = None
        self._finish = ""
        self._refusal = ""
        self._half_pair = ""
        self._doubted = False
        self._extra = ExtraFields(self._room)
        self.begun = False
        """Whether anything has arrived that is part of an answer."""
        self.grows = False
        """Whether anything has arrived that the model wrote, be it reasoning."""

    @property
    def finished(self) -> bool:
        """True if the endpoint said that nothing more comes, and may be believed.

        Gateways say so in every chunk, or with the thoughts before the answer. Then only the end of the
        stream is the end.
        """
        return bool(self._finish) and not self._doubted and self._is_plausible_end()

    @property
    def has_finish(self) -> bool:
        """True if the endpoint said at any time that nothing more comes; enough once its stream has ended."""
        return bool(self._finish)

    @property
    def text(self) -> str:
        """Readable text of the answer so far."""
        return self._visible.text.rstrip()

    def add(self, chunk: Mapping[str, object]) -> None:
        """Take in a chunk, or a whole chat completion. Chunks without choices may still hold usage."""
        self._usage = _usage(chunk.get("usage")) or self._usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, Mapping) and choice.get("index") in (0, None):
                self._add_choice(choice)

    def reply(self, model: str, taken: Collection[str]) -> Reply:
        """The finished answer; `taken` are the call ids that the conversation holds already.

        Raises LLMError: filtered, empty, or server if the endpoint says that it failed.
        """
        finish: Literal["stop", "length"] = "length" if self._finish in _CUT_BY_LIMIT else "stop"
        self._visible.end(cut=finish == "length")
        if self._finish in _DECLINED or (self._refusal and not self._visible.text.strip()):
            raise LLMError("filtered", self._finish or "a refusal")  # its words are for nobody's log
        if self._finish in _FAILED:
            raise LLMError("server", f"finish_reason {self._finish}", partial=self.text)
        written = self._written() if self._tools and not self._calls.any else None
        calls = self._calls.finished(taken)
        text = self._visible.text + (self._visible.held if written else "")
        if not calls and not text.strip():
            raise LLMError("empty", f"finish_reason {self._finish}")
        # the end of a text that is to be continued is left as it is: the next word comes right behind
        said = text if finish == "length" else text.rstrip()
        return Reply(said, calls, finish, self._usage, model, written_call=written, extra=self._extra.whole() or None)

    def _written(self) -> Literal["bare", "fenced"] | None:
        """Take what is a call as a whole for one; else say whether the text holds something like one."""
        held = self._visible.held
        if held and not self._visible.text.strip() and (calls := written_calls(held, self._tools)):
            self._calls.write(calls)
            return None
        if held.startswith(("<", "[TOOL_CALLS]")) and is_shaped_like_call(held):
            return "bare"
        self._visible.release()
        return announced_call(self._visible.text, self._tools)

    def _is_plausible_end(self) -> bool:
        """A normal end comes behind an answer, not behind nothing but reasoning."""
        is_normal = self._finish not in (*_CUT_BY_LIMIT, *_DECLINED, *_FAILED)
        return not is_normal or self._calls.any or not self._visible.is_empty or bool(self._refusal)

    def _add_choice(self, choice: Mapping[str, object]) -> None:
        delta, message = choice.get("delta"), choice.get("message")
        finish = _finish(choice.get("finish_reason"))
        if isinstance(delta, Mapping):
            is_piece = self._add_delta(delta)
            has_thoughts = any(delta.get(name) for name in _THOUGHTS)
            self.grows = self.grows or is_piece or has_thoughts
            went_on = self.has_finish and (is_piece or has_thoughts)
            self._doubted = self._doubted or went_on or (bool(finish) and has_thoughts and not is_piece)
        elif isinstance(message, Mapping) and not self.begun:  # behind deltas it would only repeat them
            self._extra = ExtraFields(self._room)
            self._add_delta(message)
            self._finish = "stop"
        self._finish = finish or self._finish

    def _add_delta(self, delta: Mapping[str, object]) -> bool:
        """Take in a piece of the answer; whether it held any."""
        text = _content(delta.get("content"))
        refusal = _content(delta.get("refusal"))
        self._refusal += refusal
        self._calls.add(delta.get("tool_calls"))
        self._extra.add(delta, _KNOWN)
        is_piece = bool(text or refusal or delta.get("tool_calls"))
        self.begun = self.begun or is_piece
        if text:
            self._show(text)
        return is_piece

    def _show(self, text: str) -> None:
        """Some servers split a character outside the basic plane into two chunks with half a pair each."""
        text = self._half_pair + text
        self._half_pair = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
        self._visible.feed(well_formed(text.removesuffix(self._half_pair) if self._half_pair else text))


def _content(value: object) -> str:
    """Content is a text, or a list of parts of which only those of type text are for people."""
    if isinstance(value, str):
        return value
    parts = [part for part in value if isinstance(part, Mapping)] if isinstance(value, list) else []
    return "".join(_content(part.get("text")) for part in parts if part.get("type") in ("text", None))


def _finish(value: object) -> str:
    finish = value.lower() if isinstance(value, str) else ""
    return "" if finish in _NOT_SAID else finish


def _usage(value: object) -> Usage | None:
    if not isinstance(value, Mapping):
        return None
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else value.get("prompt_cache_hit_tokens")
    usage = Usage(_count(value.get("prompt_tokens")), _count(value.get("completion_tokens")), _count(cached))
    return usage if usage != Usage() else None


def _count(value: object) -> int:
    return int(value) if isinstance(value, int | float) and value > 0 else 0

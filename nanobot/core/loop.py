"""The ReAct loop: ask the model, run its tools, ask again, until it answers. Knows nothing of chats."""

import asyncio
import json
import logging
import re
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal, Protocol

from nanobot.authority import Origin
from nanobot.errors import LLMError, ToolError
from nanobot.ports import LLM, Caller, Reply, Request, Stream, Tool, ToolResult
from nanobot.text import well_formed
from nanobot.transcript import Incomplete, Message, ToolCall

log = logging.getLogger(__name__)

MAX_CONTINUATIONS = 3
"""How often an answer that hit the output limit is continued."""

MAX_SAME_FAILURES = 2
"""After so many steps in which the model makes the same unusable calls, asking again is in vain."""

MAX_STALE = 3
"""After so many steps in a row that brought nothing new, a call that was made before is not made again."""

MAX_REFUSED = 2
"""After so many steps of calls that were not made again, the turn ends."""

CONTINUE = Message(role="user", content="Go on exactly where you stopped. Repeat nothing, add no introduction.")
SUM_UP = Message(
    role="user",
    content="No more tools for this request. Say what you found and did so far, and what is left to do.",
)
CALL = Message(
    role="user",
    content="What you wrote looks like a tool call, but text is not carried out. To use a tool, make a real tool call "
    "now. If the text was meant to be read as it is, write it again.",
)
REPEATED = (
    "not run: you have made this same call several times in this turn, and its result was the same each time; "
    "it stands above. Go on with that result: answer, or do something else."
)

_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")  # the name of a file with a long result has another one each time
_NAMESPACE = re.compile(r"[.:/]+")
_NOT_OF_NAMES = re.compile(r"<\||\s|[(\"'`]")


class Run(Protocol):
    """Dependencies of the loop on its turn."""

    @property
    def caller(self) -> Caller: ...

    @property
    def stream(self) -> Stream: ...

    async def messages(self) -> Sequence[Message]:
        """Everything the model is to read now."""
        ...

    async def record(self, message: Message) -> None:
        """Keep a message of this turn, durably, at once."""
        ...

    def spent(self, request: Request, reply: Reply) -> None:
        """A model call was paid for."""
        ...

    async def join_waiting(self) -> None:
        """Let messages that arrived meanwhile join the turn."""
        ...

    async def join_edits(self) -> bool:
        """Let edits of the turn's own messages join it; return whether there were any."""
        ...

    def show_tool(self, text: str) -> None:
        """Tell the person what a tool is about to do."""
        ...

    def show_output(self, text: str) -> None:
        """Show the person what a command printed."""
        ...

    async def shrink(self) -> bool:
        """The endpoint says that it was asked too much: have less in view; False if there is no less."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of the loop: a text of this model, perhaps cut off by the output limit, or a failure."""

    text: str
    incomplete: Incomplete | None = None
    model: str = ""
    trouble: Literal["stuck", "too_many_steps", "repeating", "written_call"] | None = None


class RepetitionGuard:
    """Calls and results of one turn; tells when calls only repeat what was had before.

    A step is stale if each of its calls was made before and had the same result. Calls that poll for something
    that changes are never stale, and neither are those made again after something else was done.
    """

    def __init__(self) -> None:
        self._made: set[tuple[str, str]] = set()
        self._seen: set[tuple[str, str, str]] = set()
        self._stale = 0
        self._refused = 0

    @property
    def is_over(self) -> bool:
        """True if the model was told often enough."""
        return self._refused >= MAX_REFUSED

    def refuses(self, calls: Sequence[ToolCall]) -> bool:
        """True if a step of these calls is not to be run, since it would only repeat others."""
        refused = self._stale >= MAX_STALE and all(_same(call) in self._made for call in calls)
        self._refused = self._refused + 1 if refused else 0
        return refused

    def note(self, calls: Sequence[ToolCall], results: Sequence[str]) -> None:
        """Take in a step that was run."""
        seen = {(*_same(call), _ID.sub("", result)) for call, result in zip(calls, results, strict=True)}
        self._stale = self._stale + 1 if seen <= self._seen else 0
        self._seen |= seen
        self._made |= {_same(call) for call in calls}


def _same(call: ToolCall) -> tuple[str, str]:
    """Return the key under which two calls are the same, whatever the order of their arguments."""
    return call.name, json.dumps(json.loads(call.arguments), sort_keys=True)


class Loop:
    """Asks one model with one set of tools."""

    def __init__(self, llm: LLM, tools: Iterable[Tool], *, max_steps: int) -> None:
        self._llm = llm
        self._tools = {tool.spec.name: tool for tool in tools}
        self._specs = [tool.spec for tool in self._tools.values()]
        self._max_steps = max_steps

    async def run(self, run: Run) -> Outcome:
        """Raises LLMError when the model gives no answer; what was said until then is recorded."""
        unusable: list[Sequence[ToolCall]] = []  # the calls of the last steps, if none of them could be run
        repetition = RepetitionGuard()
        hint: Sequence[Message] = ()  # for the next request only; once in a turn
        once: set[str] = set()
        for _ in range(self._max_steps):
            await run.join_waiting()
            reply = await self._answer(run, hint)
            if not reply.tool_calls:
                ending = await self._ending(run, reply, once)
                if isinstance(ending, Outcome):
                    return ending
                hint = ending
                run.stream.restart()
                continue
            hint = ()
            if await self._run_tools(run, reply, repetition):
                unusable.clear()
                if repetition.is_over:
                    return await self._sum_up(run, "repeating")
                continue
            unusable.append([ToolCall("", call.name, call.arguments) for call in reply.tool_calls])
            if unusable[-MAX_SAME_FAILURES:] == [unusable[-1]] * MAX_SAME_FAILURES:
                return Outcome("", trouble="stuck")
        return await self._sum_up(run, "too_many_steps")

    async def _ending(self, run: Run, reply: Reply, once: set[str]) -> Outcome | Sequence[Message]:
        """End with a reply that calls no tool, or return what to add to another request.

        The model is asked again if what was asked has been edited meanwhile, and if it wrote a call as text; for
        each of these reasons `once`, so that every turn comes to an end.
        """
        if reply.written_call is None or ("told" in once and reply.written_call == "fenced"):
            if "edited" in once or not await run.join_edits():
                return await self._finish(run, reply)
            once.add("edited")
            return ()
        if "told" in once:
            run.stream.restart()
            return Outcome("", trouble="written_call")
        once.add("told")
        return Message(role="assistant", content=reply.text), CALL

    async def _sum_up(self, run: Run, why: Literal["too_many_steps", "repeating"]) -> Outcome:
        """Ask for an answer without tools; if there is none, say why the turn ends."""
        reply = await self._ask(run, [*await run.messages(), SUM_UP], may_call=False)
        if not reply.text or reply.written_call:
            return Outcome("", trouble=why)
        return await self._finish(run, reply)

    async def _answer(self, run: Run, hint: Sequence[Message]) -> Reply:
        """Ask; once more with less in view if that was more than the model can read."""
        try:
            return await self._ask(run, [*await run.messages(), *hint], may_call=True)
        except LLMError as error:
            if error.kind != "context" or not await run.shrink():
                raise
        return await self._ask(run, [*await run.messages(), *hint], may_call=True)

    async def _ask(
        self, run: Run, messages: Sequence[Message], *, may_call: bool, stream: Stream | None = None
    ) -> Reply:
        request = Request(messages, self._specs, may_call=may_call or not self._specs, turn=run.caller.turn)
        log.debug("turn %s: the model is asked", run.caller.turn)
        reply = await self._llm.complete(request, stream or run.stream)
        log.debug("turn %s: the model has answered", run.caller.turn)
        run.spent(request, reply)
        return reply

    async def _finish(self, run: Run, reply: Reply) -> Outcome:
        """Record the answer, continued as long as the output limit cuts it."""
        text, usage = reply.text, reply.usage
        for _ in range(MAX_CONTINUATIONS):
            if reply.finish != "length":
                break
            so_far = Message(role="assistant", content=text)
            asked = [*await run.messages(), so_far, CONTINUE]
            try:
                rest = await self._ask(run, asked, may_call=False, stream=_Continued(run.stream, text))
            except LLMError:
                log.warning("the rest of a cut answer did not come", exc_info=True)
                break
            if not rest.text:
                break
            reply = rest
            text += reply.text
            usage = reply.usage
        incomplete: Incomplete | None = "cut" if reply.finish == "length" else None
        await run.record(
            Message(
                role="assistant",
                content=text,
                usage=usage,
                model=reply.model or None,
                incomplete=incomplete,
                extra=reply.extra,
                endpoint=reply.endpoint,
            )
        )
        return Outcome(text, incomplete, reply.model)

    async def _run_tools(self, run: Run, reply: Reply, repetition: RepetitionGuard) -> bool:
        """Run a step's calls, those that only read side by side; whether any could be run at all."""
        named = [replace(call, name=self._known(call.name)) for call in reply.tool_calls]
        parsed = [(call, self._arguments(call, cut=reply.finish == "length")) for call in named]
        calls = [replace(call, arguments=_as_object(call, arguments)) for call, arguments in parsed]
        await run.record(
            Message(
                role="assistant",
                content=reply.text or None,
                tool_calls=calls,
                usage=reply.usage,
                model=reply.model or None,
                extra=reply.extra,
                endpoint=reply.endpoint,
            )
        )
        can_run = [call for call, (_, arguments) in zip(calls, parsed, strict=True) if isinstance(arguments, dict)]
        is_refused = len(can_run) == len(calls) and repetition.refuses(calls)
        if is_refused:
            parsed = [(call, REPEATED) for call in named]
        results: list[str] = []
        for reads_only, group in groupby(parsed, key=lambda item: self._reads_only(item[0])):
            batch = list(group)
            size = len(batch) if reads_only else 1
            for start in range(0, len(batch), size):
                results += await _side_by_side(
                    self._run_one(run, call, args) for call, args in batch[start : start + size]
                )
        if can_run and not is_refused:
            repetition.note(calls, results)
        return bool(can_run)

    async def _run_one(self, run: Run, call: ToolCall, arguments: dict[str, object] | str) -> str:
        if isinstance(arguments, str):
            result = ToolResult(f"Error: {arguments}")
        else:
            result = await self._result(run, call, arguments)
            if result.printed:
                run.show_output(result.printed)
        await run.record(
            Message(
                role="tool", content=result.text, origin=result.origin, tool_call_id=call.id, files=tuple(result.files)
            )
        )
        return result.text

    async def _result(self, run: Run, call: ToolCall, arguments: Mapping[str, object]) -> ToolResult:
        tool = self._tools.get(call.name)
        if tool is None:
            return ToolResult(f"Error: there is no tool {call.name!r}. There are: {', '.join(self._tools) or 'none'}.")
        try:
            run.show_tool(tool.describe(arguments, run.caller.language))
            return await tool.run(arguments, run.caller)
        except ToolError as error:
            return ToolResult(f"Error: {error}", Origin.TOOL)
        except Exception:
            log.exception("tool %s failed", call.name)
            return ToolResult(f"Error: {call.name} failed for a reason of its own; the log has the details.")

    def _known(self, name: str) -> str:
        """The tool that a model means by a name: some put a namespace before it, or control tokens behind it."""
        if name in self._tools:
            return name
        plain = re.sub(r":\d+$", "", _NOT_OF_NAMES.split(name.strip("\"'` \n"))[0])
        return next((known for known in (plain, _NAMESPACE.split(plain)[-1]) if known in self._tools), name)

    def _arguments(self, call: ToolCall, *, cut: bool) -> dict[str, object] | str:
        tool = self._tools.get(call.name)
        needs_none = tool is not None and not tool.spec.parameters.get("required")
        return _arguments(call, cut=cut, needs_none=needs_none)

    def _reads_only(self, call: ToolCall) -> bool:
        tool = self._tools.get(call.name)
        return tool is not None and tool.spec.reads_only


class _Continued:
    """The stream of the rest of an answer: what is void after a failed attempt is the rest only."""

    def __init__(self, stream: Stream, so_far: str) -> None:
        self._stream = stream
        self._so_far = so_far
        self.text = stream.text
        self.waiting = stream.waiting
        self.fallback = stream.fallback
        self.lacks = stream.lacks

    def restart(self) -> None:
        self._stream.restart()
        self._stream.text(self._so_far)


def _arguments(call: ToolCall, *, cut: bool, needs_none: bool) -> dict[str, object] | str:
    """The arguments of a call, or why it must not be run. What was cut off is never repaired and run.

    JSON text of JSON text of an object is that object; null is none, for a tool that needs none.
    """
    if cut:
        return (
            f"the output limit cut this call to {call.name} off, so it was not run. "
            "Do it in several smaller calls (write a file piece by piece)."
        )
    try:
        arguments = json.loads(call.arguments or "{}", parse_constant=_refuse)
        if isinstance(arguments, str) and arguments.lstrip().startswith("{"):
            arguments = json.loads(arguments, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        start = call.arguments[:200]
        return f"the arguments of {call.name} are not valid JSON ({error}), so it was not run. They began: {start}"
    if arguments in (None, "") and needs_none:
        return {}
    if not isinstance(arguments, dict):
        return (
            f"the arguments of {call.name} must be a JSON object, so it was not run. They were: {call.arguments[:200]}"
        )
    return arguments


def _as_object(call: ToolCall, arguments: dict[str, object] | str) -> str:
    """Return arguments as a JSON object: endpoints refuse a conversation for ever that holds anything else."""
    if not isinstance(arguments, dict) or not arguments:
        return "{}"
    if call.arguments.lstrip().startswith("{") and r"\ud" not in call.arguments.lower():
        return call.arguments
    text = json.dumps(arguments, ensure_ascii=False)  # Python reads half a surrogate pair, strict parsers do not
    return well_formed(text)


def _refuse(constant: str) -> None:
    """NaN and Infinity: Python reads them, JSON does not know them."""
    raise ValueError(f"{constant} is no JSON")


async def _side_by_side(work: Iterable[Coroutine[None, None, str]]) -> list[str]:
    try:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(one) for one in work]
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
    return [task.result() for task in running]

"""Any model behind an OpenAI-compatible endpoint, and its bad days."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from pathlib import Path

from nanobot.errors import LLMError
from nanobot.llm.answer import GrowingAnswer
from nanobot.llm.endpoint import Connection, Endpoint
from nanobot.llm.failures import failure
from nanobot.llm.limits import Limit, TooLongError, time_limit
from nanobot.llm.reasoning import Visible
from nanobot.llm.retry import OutOfTimeError, Retries
from nanobot.llm.seen import Seen
from nanobot.llm.sse import payloads
from nanobot.llm.wire import Json, messages_to_wire, read_pictures, tools_to_wire
from nanobot.ports import Clock, ModelInfo, Reply, Request, Stream

log = logging.getLogger(__name__)

GRACE = 2.0
"""Seconds to wait, behind a complete answer, for the usage that some endpoints never send."""

DRAIN = 0.1
"""Seconds for the end of the body behind [DONE], without which the connection cannot be used again."""

OPTIONAL = ("stream_options", "temperature", "max_tokens", "max_completion_tokens", "tool_choice")
"""What we ask for and can do without, should an endpoint refuse it."""


class OpenAIModel:
    """Asks one model at one endpoint; fulfils the port LLM."""

    def __init__(self, info: ModelInfo, endpoint: Endpoint, clock: Clock, media: Path) -> None:
        """`media` is the folder that the paths of attached files start from, and may not leave."""
        self._info = info
        self._endpoint = endpoint
        self._connection = Connection(endpoint, clock)
        self._clock = clock
        self._media = media
        self._refused: set[str] = set()
        self._unopened_reasoning = False

    @property
    def info(self) -> ModelInfo:
        return self._info

    def warm(self) -> None:
        """Do what the first question would wait for, a second of imports. Call it in a thread."""
        with suppress(LLMError):  # the first question will say it
            self._connection.warm()

    async def aclose(self) -> None:
        """Close the connections that are kept for the next question."""
        await self._connection.aclose()

    async def complete(self, request: Request, stream: Stream) -> Reply:
        pictures: Mapping[str, str] = {}
        if self._info.vision and any(message.files for message in request.messages):
            pictures = await asyncio.to_thread(read_pictures, request, self._media)
        messages = messages_to_wire(request, pictures)
        retries = Retries(self._endpoint.attempts if request.patient else 1)
        seen = Seen(stream)
        partial = ""
        while True:
            options = self._options(request)
            try:
                return await self._attempt(request, messages, options, seen)
            except LLMError as error:
                log.info("%s: %s", self._info.preset, error)
                error.model = self._info.preset
                error.partial = partial = max(error.partial, partial, key=len)
                wait = retries.wait(error, mended=self._does_without(error, options))
                if wait is None:
                    raise
                seen.restart()
                if wait:
                    seen.waiting(wait, error.kind)
                    await self._clock.sleep(wait)

    async def _attempt(self, request: Request, messages: list[Json], options: Json, seen: Seen) -> Reply:
        """One request. Whatever breaks behind the end of an answer does not harm it."""
        visible = Visible(seen, unopened=self._unopened_reasoning)
        answer = GrowingAnswer(visible)
        try:
            async with (
                time_limit(self._clock, self._endpoint.timeout, self._endpoint.idle_timeout) as limit,
                self._connection.ask(self._info.model, messages, options) as chunks,
            ):
                await self._read(chunks, answer, limit)
        except TooLongError as late:
            if not answer.finished:
                raise _timeout(late, answer) from None
        except LLMError as error:
            if not answer.finished:
                error.partial = answer.text
                if error.kind == "network" and answer.begun:
                    error.kind = "cut"
                raise
        self._unopened_reasoning = visible.unopened
        taken = {call.id for message in request.messages for call in message.tool_calls}
        return answer.reply(self._info.preset, taken)

    async def _read(self, chunks: AsyncGenerator[bytes], answer: GrowingAnswer, limit: Limit) -> None:
        async with aclosing(payloads(chunks)) as events:
            await self._take(events, answer, limit)
            if answer.finished:
                async with time_limit(self._clock, GRACE):
                    async for payload in events:
                        answer.add(payload)
                        if not answer.finished:
                            break
            if not answer.finished:  # it went on behind what was called its end
                limit.progress()
                await self._take(events, answer, limit)
            if not answer.has_finish:
                raise LLMError("cut" if answer.begun else "empty", "the stream ended without a finish_reason")
        async with time_limit(self._clock, DRAIN):
            async for _ in chunks:
                pass

    async def _take(self, events: AsyncGenerator[Json], answer: GrowingAnswer, limit: Limit) -> None:
        """Let the answer grow to what may be believed to be its end, or to the end of the stream."""
        async for payload in events:
            limit.progress()
            if _is_error(payload):
                raise failure(None, payload, {}, self._clock.now())
            answer.add(payload)
            if answer.finished:
                return

    def _options(self, request: Request) -> Json:
        limit = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        options: Json = {
            "stream_options": {"include_usage": True},
            "temperature": self._endpoint.temperature,
            limit: self._endpoint.max_output,
            "tools": tools_to_wire(request.tools) or None,
            "tool_choice": "none" if request.tools and not request.may_call else None,
        }
        return {name: value for name, value in options.items() if value is not None and name not in self._refused}

    def _does_without(self, error: LLMError, options: Json) -> bool:
        """Whether the endpoint refused an optional part of the request; from now on it is left out."""
        if error.kind != "request":
            return False
        refused = {name for name in OPTIONAL if name in options and name in error.detail}
        self._refused |= refused
        return bool(refused)


def _is_error(payload: Json) -> bool:
    """Some endpoints report a failure with status 200, or in the middle of a stream, each in its own shape."""
    if payload.get("error") or payload.get("object") == "error":
        return True
    return "choices" not in payload and any(payload.get(name) for name in ("message", "msg", "detail"))


def _timeout(late: TooLongError, answer: GrowingAnswer) -> LLMError:
    if not late.stalled:
        return OutOfTimeError("timeout", str(late), partial=answer.text)
    return LLMError("cut" if answer.begun else "timeout", str(late), partial=answer.text)

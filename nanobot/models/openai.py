"""Any model behind an OpenAI-compatible endpoint, and its bad days."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path

from nanobot.errors import LLMError
from nanobot.models.answer import GrowingAnswer
from nanobot.models.dialect import (
    NO_PICTURES,
    NO_TOOLS,
    TOLD_NO_TOOLS,
    ModelDialect,
    ModelDialects,
    endpoint_id,
    learnt,
)
from nanobot.models.endpoint import (
    Connection,
    Deadline,
    Endpoint,
    OutOfTimeError,
    Retries,
    TooLongError,
    payloads,
    time_limit,
)
from nanobot.models.failures import failure
from nanobot.models.reasoning import ShownStream, VisibleText
from nanobot.models.wire import (
    MAX_EXTRA,
    Json,
    fields_beside,
    messages_to_wire,
    read_pictures,
    scrub,
    tools_to_wire,
)
from nanobot.ports import Clock, Lacking, ModelInfo, Reply, Request, Stream
from nanobot.text import well_formed

log = logging.getLogger(__name__)

GRACE = 2.0
"""Seconds to wait, behind a complete answer, for the usage that some endpoints never send."""

DRAIN = 0.1
"""Seconds for the end of the body behind [DONE], without which the connection cannot be used again."""

_MISSED: Mapping[str, Lacking] = {TOLD_NO_TOOLS: "tools", NO_PICTURES: "pictures"}


class OpenAIModel:
    """Asks one model at one endpoint; fulfils the port LLM."""

    def __init__(
        self, info: ModelInfo, endpoint: Endpoint, clock: Clock, media: Path, dialects: ModelDialects | None = None
    ) -> None:
        """`media` is the folder that the paths of attached files start from, and may not leave."""
        self._dialects = dialects or ModelDialects(clock)
        self._info = replace(info, endpoint=endpoint_id(endpoint.base_url, info.model))
        self._endpoint = endpoint
        self._connection = Connection(endpoint, clock)
        self._clock = clock
        self._media = media
        self._unopened_reasoning = False

    @property
    def info(self) -> ModelInfo:
        dialect = self._dialect
        has_tools, has_eyes = not dialect.has(NO_TOOLS), self._info.vision and not dialect.has(NO_PICTURES)
        return replace(self._info, tools=has_tools, vision=has_eyes)

    @property
    def _dialect(self) -> ModelDialect:
        return self._dialects.of(self._endpoint.base_url, self._info.model)

    def warm(self) -> None:
        """Do what the first question would wait for, a second of imports. Call it in a thread."""
        with suppress(LLMError):  # the first question will say it
            self._connection.warm()

    async def aclose(self) -> None:
        """Close the connections that are kept for the next question."""
        await self._connection.aclose()

    async def complete(self, request: Request, stream: Stream) -> Reply:
        pictures = await self._pictures(request)
        retries = Retries(self._endpoint.attempts if request.patient else 1)
        seen = ShownStream(stream)
        partial = ""
        known = dialect = self._dialect
        while True:
            body: Json = {
                "messages": messages_to_wire(request, pictures, dialect),
                **self._options(request, dialect),
            }
            try:
                reply = await self._attempt(request, body, seen)
            except LLMError as error:
                error.model = self._info.preset
                error.partial = partial = max(error.partial, partial, key=len)
                better = learnt(error, body, fields_beside(request.messages, dialect), dialect)
                self._endpoint.reword(error, body["messages"])
                log.info("%s: %s", self._info.preset, error)
                wait = 0.0 if better else retries.wait(error)
                if wait is None:
                    raise
                dialect = better or dialect
                seen.restart()
                if wait:
                    seen.waiting(wait, error.kind)
                    await self._clock.sleep(wait)
            else:
                await self._remember(dialect, known, request, seen)
                return self._with_extra(reply)

    async def _pictures(self, request: Request) -> Mapping[str, str]:
        if not (self._info.vision and any(message.files for message in request.messages)):
            return {}
        return await asyncio.to_thread(read_pictures, request, self._media)

    async def _remember(self, dialect: ModelDialect, known: ModelDialect, request: Request, seen: ShownStream) -> None:
        """Keep the dialect that was understood, and tell the person what they will miss.

        What a dream or a summary has met first is told to the first person who would have had it.
        """
        if dialect.has(NO_TOOLS) and request.turn and request.tools:
            dialect = dialect.knowing(TOLD_NO_TOOLS)
        for trait in await self._dialects.keep(dialect, known):
            log.info("%s: learnt from a refusal: %s", self._info.preset, trait)
            if trait in _MISSED:
                seen.lacks(self._info.preset, _MISSED[trait])

    def _with_extra(self, reply: Reply) -> Reply:
        """The answer with what came beside it, which belongs to this endpoint."""
        calls = [call for call in reply.tool_calls if call.extra]
        if not reply.extra and not calls:
            return reply
        if len(json.dumps([reply.extra, *(call.extra for call in calls)])) > MAX_EXTRA:
            log.warning("%s sent more beside its answer than is kept", self._info.preset)
            bare = [replace(call, extra=None) for call in reply.tool_calls]
            return replace(reply, tool_calls=bare, extra=None)
        sound = [replace(call, extra=_sound(call.extra)) for call in reply.tool_calls]
        return replace(reply, tool_calls=tuple(sound), extra=_sound(reply.extra), endpoint=self._info.endpoint)

    async def _attempt(self, request: Request, body: Json, seen: ShownStream) -> Reply:
        """One request. Whatever breaks behind the end of an answer does not harm it."""
        visible = VisibleText(seen, unopened=self._unopened_reasoning, calls=bool(request.tools))
        answer = GrowingAnswer(visible, request.tools)
        try:
            async with (
                time_limit(
                    self._clock, self._endpoint.timeout, self._endpoint.idle_timeout, self._endpoint.first_timeout
                ) as limit,
                self._connection.ask(self._info.model, body) as chunks,
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

    async def _read(self, chunks: AsyncGenerator[bytes], answer: GrowingAnswer, limit: Deadline) -> None:
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

    async def _take(self, events: AsyncGenerator[Json], answer: GrowingAnswer, limit: Deadline) -> None:
        """Let the answer grow to what may be believed to be its end, or to the end of the stream."""
        async for payload in events:
            if _is_error(payload):
                raise failure(None, payload, {}, self._clock.now())
            answer.add(payload)
            limit.progress(has_begun=answer.grows)
            if answer.finished:
                return

    def _options(self, request: Request, dialect: ModelDialect) -> Json:
        limit = "max_tokens" if dialect.takes("max_tokens") else "max_completion_tokens"
        room = [tokens for tokens in (self._endpoint.max_output, dialect.max_output) if tokens]
        tools = () if dialect.has(NO_TOOLS) else request.tools
        options: Json = {
            "stream_options": {"include_usage": True},
            "temperature": self._endpoint.temperature,
            limit: min(room, default=None),
            "tools": tools_to_wire(tools) or None,
            "tool_choice": "none" if tools and not request.may_call else None,
        }
        return {name: value for name, value in options.items() if value is not None and dialect.takes(name)}


def _sound(extra: Mapping[str, object] | None) -> Json | None:
    return {well_formed(name): scrub(value) for name, value in extra.items()} if extra else None


def _is_error(payload: Json) -> bool:
    """Some endpoints report a failure with status 200, or in the middle of a stream, each in its own shape."""
    if payload.get("error") or payload.get("object") == "error":
        return True
    return "choices" not in payload and any(payload.get(name) for name in ("message", "msg", "detail"))


def _timeout(late: TooLongError, answer: GrowingAnswer) -> LLMError:
    if not late.stalled:
        return OutOfTimeError("timeout", str(late), partial=answer.text, limit="timeout")
    return LLMError("cut" if answer.begun else "timeout", str(late), partial=answer.text, limit="idle_timeout")

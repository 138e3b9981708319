"""What the fake OpenAI server can say: answers, made of parts that are sent one by one."""

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol

from aiohttp import web

Json = dict[str, Any]


class Part(Protocol):
    """Something that happens while an answer is sent."""

    async def play(self, request: web.Request, response: web.StreamResponse) -> None: ...


@dataclass(frozen=True)
class Send:
    """These bytes."""

    data: bytes

    async def play(self, request: web.Request, response: web.StreamResponse) -> None:
        await response.write(self.data)


@dataclass(frozen=True)
class Wait:
    """Nothing until the event is set."""

    until: asyncio.Event

    async def play(self, request: web.Request, response: web.StreamResponse) -> None:
        await self.until.wait()


@dataclass(frozen=True)
class Pause:
    """Nothing for so many real seconds; to watch a stream at a terminal."""

    seconds: float

    async def play(self, request: web.Request, response: web.StreamResponse) -> None:
        await asyncio.sleep(self.seconds)


class Hang:
    """Nothing more, and the connection stays open."""

    async def play(self, request: web.Request, response: web.StreamResponse) -> None:
        await asyncio.Event().wait()


class Ping:
    """Keep-alive comments for ever."""

    async def play(self, request: web.Request, response: web.StreamResponse) -> None:
        while True:
            await response.write(b": ping\n\n")
            await asyncio.sleep(0.01)


class Reset:
    """The connection is torn down."""

    async def play(self, request: web.Request, response: web.StreamResponse) -> None:
        if request.transport is not None:
            request.transport.abort()


@dataclass(frozen=True)
class Answer:
    """What is sent: parts one by one. `whole` answers a request that did not ask for a stream."""

    parts: tuple[Part, ...] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)
    whole: Json | None = None


USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def say(text: str, *, finish: str = "stop", size: int = 8, usage: Json | None = USAGE, pause: float = 0) -> Answer:
    """A text in chunks of so many characters, `pause` seconds apart."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    answer = chunks(*({"content": piece} for piece in pieces), finish=finish, usage=usage)
    whole = _completion({"role": "assistant", "content": text}, finish, usage)
    parts = tuple(chain.from_iterable((part, Pause(pause)) for part in answer.parts)) if pause else answer.parts
    return Answer(parts, whole=whole)


def call(*calls: tuple[str, object], text: str = "", finish: str = "tool_calls", usage: Json | None = USAGE) -> Answer:
    """Tool calls, each (name, arguments): arguments that are a text are sent as they are, else as JSON."""
    whole: list[Json] = []
    deltas: list[Json] = [{"content": text}] if text else []
    for index, (name, value) in enumerate(calls):
        arguments = value if isinstance(value, str) else json.dumps(value)
        head = {"id": f"call_{index + 1}_{name}", "type": "function"}
        whole.append({**head, "function": {"name": name, "arguments": arguments}})
        pieces = [arguments[at : at + 16] for at in range(0, len(arguments), 16)]
        deltas.append({"tool_calls": [{"index": index, **head, "function": {"name": name, "arguments": ""}}]})
        deltas.extend({"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces)
    message = {"role": "assistant", "content": text or None, "tool_calls": whole}
    return Answer(chunks(*deltas, finish=finish, usage=usage).parts, whole=_completion(message, finish, usage))


def chunks(*deltas: Json, finish: str | None = "stop", usage: Json | None = None, done: bool = True) -> Answer:
    """Any deltas; without `finish` nothing says that the answer is complete."""
    payloads: list[object] = [_chunk({"role": "assistant", "content": ""}), *map(_chunk, deltas)]
    if finish is not None:
        payloads.append(_chunk({}, finish))
    if usage is not None:
        payloads.append({**_chunk({}), "choices": [], "usage": usage})
    return Answer((*map(event, payloads), *([event("[DONE]")] if done else [])))


def event(payload: object) -> Send:
    """One server-sent event; a text is sent as it is."""
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return Send(f"data: {text}\n\n".encode())


def beginning(text: str, *then: Part) -> Answer:
    """Some text, then whatever happens instead of the rest."""
    return Answer((*chunks({"content": text}, finish=None, done=False).parts, *then))


def fail(status: int, message: str = "no", *, retry_after: str | None = None, **fields: object) -> Answer:
    """An error as OpenAI words it; further fields (code, type, param) go into the error."""
    headers = {"Retry-After": retry_after} if retry_after is not None else {}
    return plain({"error": {"message": message, **fields}}, status=status, headers=headers)


def plain(body: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """A JSON body, whatever was asked for."""
    return Answer((Send(json.dumps(body).encode()),), status, "application/json", headers or {})


def html(status: int = 200) -> Answer:
    """A page where an answer should be."""
    return Answer((Send(b"<!DOCTYPE html>\n<html><body>login</body></html>"),), status, "text/html")


def echo(body: Json) -> Answer:
    """Says what was said last."""
    content = body["messages"][-1]["content"]
    return say(content if isinstance(content, str) else json.dumps(content), pause=0.03)


_OWN_PROMPTS = (
    "You write the memory of a personal assistant.",
    "You keep the long-term memory of a personal assistant.",
)


def is_for_itself(body: Json) -> bool:
    """Whether the bot asks for a summary or a dream, not for an answer to somebody."""
    return str(body["messages"][0]["content"]).startswith(_OWN_PROMPTS)


def nothing_new(body: Json) -> Answer:
    """A summary that says little; a dream that changes nothing."""
    is_dream = str(body["messages"][0]["content"]).startswith(_OWN_PROMPTS[1])
    return say('{"operations": []}' if is_dream else "- they talked")


def noted(body: Json) -> Answer:
    """A summary of what people said, word for word; a dream that changes nothing."""
    said = re.findall(r"^#\d+ .*?\[\w+\] [^:\n]*: (\S.*)$", str(body["messages"][-1]["content"]), re.MULTILINE)
    is_dream = str(body["messages"][0]["content"]).startswith(_OWN_PROMPTS[1])
    return nothing_new(body) if is_dream or not said else say("\n".join(f"- {line[:200]}" for line in said[-10:]))


def read_script(lines: Iterable[str]) -> list[Answer]:
    """The answers that a script file describes."""
    return [_from_script(json.loads(line)) for line in lines if line.strip()]


def _from_script(entry: Json) -> Answer:
    match entry:
        case {"say": str(text)}:
            return say(text, pause=0.03)
        case {"call": {"name": str(name), "arguments": arguments}}:
            return call((name, arguments))
        case {"fail": int(status)}:
            return fail(status, entry.get("message", "no"), retry_after=entry.get("retry_after"))
        case {"html": int(status)}:
            return html(status)
        case {"hang": str(text)}:
            return beginning(text, Hang())
        case {"cut": str(text)}:
            return beginning(text, Reset())
    raise ValueError(f"not a line of a script: {entry}")


def _chunk(delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "fake-model", "choices": [choice]}


def _completion(message: Json, finish: str, usage: Json | None) -> Json:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "fake-model", "choices": [choice], "usage": usage}

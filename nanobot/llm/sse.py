"""The events of a stream, read so that keep-alive comments and half lines stay what they are."""

import json
import re
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing

from nanobot.errors import LLMError

_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
_LONGEST_LINE = 32 * 2**20
_DETAIL = 2_000  # longer than what is told in the end: half a key at its end would not be known any more
_ANSWERED = re.compile(r'("(?:content|text|reasoning\w*|arguments)"\s*:\s*")(?:[^"\\]|\\.)*')


async def lines(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """The lines of a body, split at line feeds alone (JSON text may hold U+2028), the last one as it is.

    Raises LLMError("protocol") for a line without end.
    """
    rest: list[bytes] = []
    size = 0
    start = BOM_UTF8
    async for chunk in chunks:
        *complete, last = chunk.split(b"\n")
        for line in complete:
            rest.append(line)
            yield b"".join(rest).removeprefix(start).rstrip(b"\r")
            rest, size, start = [], 0, b""
        rest.append(last)
        size += len(last)
        if size > _LONGEST_LINE:
            raise LLMError("protocol", "a line without end")
    if rest := [piece for piece in rest if piece]:
        yield b"".join(rest).removeprefix(start)


async def payloads(chunks: AsyncIterable[bytes]) -> AsyncGenerator[dict[str, object]]:
    """The JSON objects of a stream until [DONE] or its end; of a body that is no stream, the one it is.

    Each `data:` line counts by itself: chat completions never use several for one object, but some
    servers leave out the empty line between two. A last line without its end is not trusted unless
    it is whole. Raises LLMError("protocol") for HTML and for data that is not JSON.
    """
    body: list[bytes] = []
    broken = ""
    streaming = False
    async with aclosing(lines(chunks)) as rows:
        async for line in rows:
            streaming = streaming or (not body and line.startswith(_FIELDS))
            if not streaming:
                _collect(line, body)
                continue
            if broken:
                raise LLMError("protocol", f"not JSON: {broken}")
            if (data := _data(line)).startswith(b"[DONE]"):
                return
            payload, broken = _payload(data)
            if payload is not None:
                yield payload
    if body:
        yield _whole(b"\n".join(body))


def _collect(line: bytes, body: list[bytes]) -> None:
    if not body and line.lstrip().startswith(b"<"):
        raise LLMError("protocol", f"not an answer: {line[:_DETAIL].decode('utf-8', 'replace')}")
    if body or line.strip():
        body.append(line)


def _data(line: bytes) -> bytes:
    field, _, value = line.partition(b":")
    return value.strip() if field == b"data" else b""


def _payload(data: bytes) -> tuple[dict[str, object] | None, str]:
    """The object in a data line; or what was broken, to be complained about only if it is not the end."""
    text = data.decode("utf-8", "replace")
    if not text:
        return None, ""
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return None, _ANSWERED.sub(r"\1…", text[:_DETAIL])
    return (payload, "") if isinstance(payload, dict) else (None, "")


def _whole(body: bytes) -> dict[str, object]:
    payload, broken = _payload(body)
    if payload is None:
        raise LLMError("protocol", f"not an answer: {broken or body[:_DETAIL].decode('utf-8', 'replace')}")
    return payload

"""An OpenAI-compatible endpoint: the openai package, patience with it, the events of its streams, speech to text."""

import asyncio
import json
import logging
import os
import random
import re
import threading
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from nanobot.errors import NEAR, LLMError, LLMErrorKind
from nanobot.models.dialect import host_of
from nanobot.models.failures import failure, without_echo
from nanobot.models.wire import Json
from nanobot.ports import Clock

if TYPE_CHECKING:
    import ssl

    from openai import AsyncOpenAI, Omit


# Endpoint and connection: the one place that knows the openai package.


MASK = "********"
SHORTEST_SECRET = 6
_MOST_SAID = 500
_KEY_LIKE = r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|AIza)[-_]?[\w-]{16,}|(?<=Bearer )\S+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Endpoint of a model, and the patience with it.

    `timeout` is for one attempt as a whole, `idle_timeout` for the time without progress in it, and
    `first_timeout` for that before the model writes anything (None: as idle_timeout), all in seconds;
    `attempts` are all requests that one question may cost. `max_output` in tokens; None leaves it, like
    the temperature, to the endpoint.
    """

    base_url: str
    api_key: str = field(default="", repr=False)
    temperature: float | None = None
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_body: Mapping[str, object] = field(default_factory=dict)
    timeout: float = 120.0
    idle_timeout: float = 45.0
    first_timeout: float | None = None
    attempts: int = 4
    max_output: int | None = None

    def reword(self, error: LLMError, sent: object = ()) -> None:
        """Leave of an endpoint's words what may be logged and shown: no key, nothing that it repeats, and not much.

        `sent` are the messages that it was asked with.
        """
        error.reword(lambda words: without_echo(self._without_secrets(words), sent)[:_MOST_SAID])

    def _without_secrets(self, text: str) -> str:
        """Take out the keys that were sent to it, and what looks like others."""
        for secret in (self.api_key.strip(), *self.extra_headers.values()):
            text = text.replace(secret, MASK) if len(secret) >= SHORTEST_SECRET else text
        return re.sub(_KEY_LIKE, MASK, text)

    @property
    def is_local(self) -> bool:
        """True if it is on this machine, so that no proxy leads there."""
        host = host_of(self.base_url)
        return host == "localhost" or host.endswith(".localhost") or host == "::1" or host.startswith("127.")

    @property
    def proxy_variable(self) -> str:
        """The variable of the environment that names a proxy on the way there; "" if there is none."""
        from urllib.request import proxy_bypass  # slow to import, and rarely needed

        host = host_of(self.base_url)
        if not host or self.is_local or proxy_bypass(host):
            return ""
        names = (f"{self.base_url.partition(':')[0].lower()}_proxy", "all_proxy")
        return next((given for name in names for given in (name, name.upper()) if os.environ.get(given)), "")


def is_near(base_url: str) -> bool:
    """True if an address is of a machine at home: this one, or one in a private network. Such are slow to begin."""
    host = host_of(base_url)
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".lan", ".internal", ".home.arpa", ".ts.net"))


@cache
def tls(*, trust_env: bool) -> "ssl.SSLContext":
    """One for all connections, as making it reads 150 certificates; `trust_env`: those that SSL_CERT_FILE names."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=trust_env)


class Connection:
    """Speaks HTTP with an endpoint; raises LLMError and nothing else. Keeps its connections for the next question."""

    def __init__(self, endpoint: Endpoint, clock: Clock) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._client: AsyncOpenAI | None = None
        self._making = threading.Lock()

    def warm(self) -> "AsyncOpenAI":
        """Import the client and make it ready. Blocks for a second the first time: call it in a thread."""
        with self._making:
            client = self._client = self._client or self._make()
            return client

    async def aclose(self) -> None:
        """Close the connections; the next question opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    @asynccontextmanager
    async def ask(self, model: str, body: Json) -> AsyncIterator[AsyncGenerator[bytes]]:
        """Send a chat completion request, and yield the body of the answer as it arrives.

        Leaving the context closes what is still open. Nothing here ends by itself: set a limit around it.
        """
        async with (
            self._speaking() as client,
            client.chat.completions.with_streaming_response.create(
                model=model,
                messages=[],  # the real ones come below: here they would be walked through, 0.2 ms for each
                stream=True,
                extra_body={**body, **self._endpoint.extra_body},
                extra_headers=self._headers(),
            ) as response,
            aclosing(cast("AsyncGenerator[bytes]", response.iter_bytes())) as chunks,
        ):
            yield chunks

    async def transcribe(self, model: str, file: tuple[str, bytes, str]) -> bytes:
        """Send a recording (name, content, type); the body of the answer. Set a limit around it, too."""
        async with self._speaking() as client:
            answer = await client.audio.transcriptions.with_raw_response.create(
                model=model,
                file=file,
                response_format="json",
                extra_body=self._endpoint.extra_body,
                extra_headers=self._headers(),
            )
            return answer.content

    @asynccontextmanager
    async def _speaking(self) -> "AsyncIterator[AsyncOpenAI]":
        """The client; what goes wrong inside comes out as LLMError."""
        client = self._client
        if client is None:
            client = await asyncio.to_thread(self.warm)
        import anyio
        import httpx2
        from openai import APIStatusError, OpenAIError

        try:
            yield client
        except APIStatusError as error:
            # Not from it: a traceback would tell the whole body.
            raise failure(error.status_code, error.body, error.response.headers, self._clock.now()) from None
        except (OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, anyio.EndOfStream, OSError) as error:
            cause = error.__cause__ or error
            detail, proxy = f"{type(cause).__name__}: {cause}", self._endpoint.proxy_variable
            near = NEAR if is_near(self._endpoint.base_url) else ""
            raise LLMError("proxy" if proxy else "network", detail, said=proxy or near) from error

    def _make(self) -> "AsyncOpenAI":
        import httpx2
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        trust_env = not self._endpoint.is_local
        try:
            client = AsyncOpenAI(
                http_client=DefaultAsyncHttpxClient(trust_env=trust_env, verify=tls(trust_env=trust_env)),
                base_url=self._endpoint.base_url,
                api_key=self._endpoint.api_key.strip() or "none",
                max_retries=0,  # its retries would multiply ours, and it may sleep long past any timeout
                timeout=None,  # it counts per read, so keep-alive comments defeat it
            )
        except httpx2.InvalidURL as error:
            raise LLMError("network", f"base_url: {error}") from error
        _ = client.chat.completions.with_streaming_response  # reached for the first time, it imports the rest
        return client

    def _headers(self) -> "dict[str, str | Omit]":
        """Remove headers that the openai package takes from the environment: they are meant for OpenAI only."""
        from openai import omit

        for name, value in {"Authorization": self._endpoint.api_key.strip(), **self._endpoint.extra_headers}.items():
            if not (value.isascii() and value.isprintable()):
                detail = f"the header {name} holds characters that no header can hold"
                raise LLMError("auth" if name == "Authorization" else "request", detail)
        headers: dict[str, str | Omit] = {"OpenAI-Organization": omit, "OpenAI-Project": omit}
        if not self._endpoint.api_key.strip():
            headers["Authorization"] = omit
        return {**headers, **self._endpoint.extra_headers}


# Time limits and retries.


MAX_WAIT = 60.0
"""Seconds. An endpoint that asks for more is not waited for within a turn: the person is told."""

_FIRST_WAIT = 1.0
_LONGEST_WAIT = 20.0

_REPEATS: dict[LLMErrorKind, int | None] = {
    "rate_limit": None,
    "server": None,
    "network": None,
    "proxy": None,
    "cut": None,
    "timeout": 1,
    "empty": 1,
    "protocol": 1,
}
"""How often an attempt that failed so is repeated; None: as often as attempts are allowed. What is not here: never."""


class OutOfTimeError(LLMError):
    """The whole time for an attempt is used up: another one would only take as long again."""


class Retries:
    """The attempts of one request."""

    def __init__(self, attempts: int) -> None:
        self._left = attempts
        self._failed: dict[LLMErrorKind, int] = {}

    def wait(self, error: LLMError) -> float | None:
        """Seconds until the next attempt; None if there is to be none."""
        self._left -= 1
        failed = self._failed[error.kind] = self._failed.get(error.kind, 0) + 1
        allowed = _REPEATS.get(error.kind, 0)
        if self._left <= 0 or isinstance(error, OutOfTimeError) or (allowed is not None and failed > allowed):
            return None
        if not error.retry_after:
            return self._back_off()
        if error.retry_after > MAX_WAIT:
            return None
        return error.retry_after + _jitter(min(1.0, error.retry_after / 10))

    def _back_off(self) -> float:
        """Twice as long each time; a random half keeps many clients from coming back at the same moment."""
        longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (sum(self._failed.values()) - 1))
        return longest / 2 + _jitter(longest / 2)


def _jitter(most: float) -> float:
    return random.uniform(0, most)  # noqa: S311 - spreads load, guards no secret


class TooLongError(Exception):
    """The work was cancelled. `stalled` tells a lack of progress from the end of all patience."""

    def __init__(self, *, stalled: bool) -> None:
        super().__init__("no progress" if stalled else "not done in time")
        self.stalled = stalled


class Deadline:
    """Two deadlines: one for the whole, one that each sign of progress moves on. In seconds.

    Until the work has begun, the second one is `first` after the last sign.
    """

    def __init__(self, clock: Clock, overall: float, idle: float, first: float) -> None:
        self._clock = clock
        self._idle = first
        self._idle_later = idle
        self._last = clock.monotonic()
        self._end = self._last + overall
        self.exceeded: TooLongError | None = None

    def progress(self, *, has_begun: bool = True) -> None:
        """The work moved on."""
        self._last = self._clock.monotonic()
        if has_begun:
            self._idle = self._idle_later

    async def watch(self, scope: asyncio.Timeout) -> None:
        """Sleep from deadline to deadline; when one passes, end the work inside the scope."""
        while (left := min(self._end, self._last + self._idle) - self._clock.monotonic()) > 0:
            await self._clock.sleep(min(left, self._idle_later))  # meanwhile the work may begin
        self.exceeded = TooLongError(stalled=self._clock.monotonic() < self._end)
        scope.reschedule(asyncio.get_running_loop().time())


@asynccontextmanager
async def time_limit(
    clock: Clock, overall: float, idle: float | None = None, first: float | None = None
) -> AsyncIterator[Deadline]:
    """Cancel what stands inside when it takes too long, and raise TooLongError in its place.

    The timeouts of HTTP clients start again with every byte, so a server that sends
    keep-alive comments would defeat them.
    """
    idle = overall if idle is None else idle
    limit = Deadline(clock, overall, idle, idle if first is None else first)
    try:
        async with asyncio.timeout(None) as scope:
            watcher = asyncio.create_task(limit.watch(scope))
            try:
                yield limit
            finally:
                watcher.cancel()
                await asyncio.wait([watcher])
    except TimeoutError:
        if limit.exceeded is None:
            raise
        raise limit.exceeded from None


# Server-sent events.


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


# Speech to text.


log = logging.getLogger(__name__)

_SHOWN = 200


class _Heard(msgspec.Struct):
    text: str


class EndpointTranscriber:
    """Fulfils the port Transcriber, with `POST {base_url}/audio/transcriptions`."""

    def __init__(self, model: str, endpoint: Endpoint, clock: Clock) -> None:
        """`model` as the endpoint calls it. `endpoint.timeout` is for one attempt."""
        self._model = model
        self._endpoint = endpoint
        self._connection = Connection(endpoint, clock)
        self._clock = clock

    async def transcribe(self, path: Path, mime: str) -> str:
        try:
            recording = path.name, await asyncio.to_thread(path.read_bytes), mime
        except OSError as error:
            raise LLMError("request", f"{path.name} cannot be read: {error.strerror or error}") from error
        retries = Retries(self._endpoint.attempts)
        while True:
            try:
                return await self._attempt(recording)
            except LLMError as error:
                self._endpoint.reword(error)
                log.info("transcription with %s: %s", self._model, error)
                error.model = self._model
                wait = retries.wait(error)
                if wait is None:
                    raise
                await self._clock.sleep(wait)

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        await self._connection.aclose()

    async def _attempt(self, recording: tuple[str, bytes, str]) -> str:
        try:
            async with time_limit(self._clock, self._endpoint.timeout):
                answer = await self._connection.transcribe(self._model, recording)
        except TooLongError as late:
            raise LLMError("timeout", str(late)) from None
        try:
            return msgspec.json.decode(answer, type=_Heard).text.strip()
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise LLMError("protocol", f"not a transcription: {answer[:_SHOWN]!r}") from error

"""An OpenAI-compatible endpoint, reached through the openai package: the one place that knows it."""

import asyncio
import os
import re
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, cast

from nanobot.errors import NEAR, LLMError
from nanobot.llm.dialect import host_of
from nanobot.llm.failures import failure, without_echo
from nanobot.llm.wire import Json
from nanobot.ports import Clock

if TYPE_CHECKING:  # importing openai takes half a second and more, so it is imported when first used
    import ssl

    from openai import AsyncOpenAI, Omit

MASK = "********"
SHORTEST_SECRET = 6
_MOST_SAID = 500
_KEY_LIKE = r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|AIza)[-_]?[\w-]{16,}|(?<=Bearer )\S+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a model is asked, and how patiently.

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
        """Whether it is on this machine, so that no proxy leads there."""
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
    """Whether an address is of a machine at home: this one, or one in a private network. Such are slow to begin."""
    from ipaddress import ip_address  # slow to import

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
        """What the openai package takes from the environment is meant for OpenAI, not for every endpoint."""
        from openai import omit

        for name, value in {"Authorization": self._endpoint.api_key.strip(), **self._endpoint.extra_headers}.items():
            if not (value.isascii() and value.isprintable()):
                detail = f"the header {name} holds characters that no header can hold"
                raise LLMError("auth" if name == "Authorization" else "request", detail)
        headers: dict[str, str | Omit] = {"OpenAI-Organization": omit, "OpenAI-Project": omit}
        if not self._endpoint.api_key.strip():
            headers["Authorization"] = omit
        return {**headers, **self._endpoint.extra_headers}

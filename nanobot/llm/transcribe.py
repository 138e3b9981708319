"""Speech to text, by an OpenAI-compatible endpoint."""

import asyncio
import logging
from pathlib import Path

import msgspec

from nanobot.errors import LLMError
from nanobot.llm.endpoint import Connection, Endpoint
from nanobot.llm.retry import Retries, TooLongError, time_limit
from nanobot.ports import Clock

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

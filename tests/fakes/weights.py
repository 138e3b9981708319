"""Model files that hold nothing, and an engine that loads them."""

import struct
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any


def gguf(size: int = 100_000, *, architecture: str = "llama") -> bytes:
    """A whole GGUF file of exactly so many bytes: one tensor, and texts of all shapes before it."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    pairs = [
        text("general.architecture") + struct.pack("<I", 8) + text(architecture),
        text("general.alignment") + struct.pack("<II", 4, 64),
        text("tokens") + struct.pack("<IIQ", 9, 8, 3) + text("a") + text("é") + text(""),
        text("scores") + struct.pack("<IIQ", 9, 6, 2) + bytes(8),
        text("is_so") + struct.pack("<IB", 7, 1),
    ]
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, len(pairs)) + b"".join(pairs) + text("w")
    start = -(-(len(head) + 4 + 8 + 12) // 64) * 64
    elements = (size - start) // 4
    head += struct.pack("<IQIQ", 1, elements, 0, 0)
    return head.ljust(size, b"\0")


def engine_module(*, refuses: bool = False) -> ModuleType:
    """Stands where xllamacpp is imported from, and loads any file, or none."""

    def start(settings: Any) -> object:
        assert Path(settings.model.path).is_file()
        if refuses:
            raise RuntimeError("Failed to init server")
        return object()

    module = ModuleType("xllamacpp")
    module.CommonParams = lambda: SimpleNamespace(  # type: ignore[attr-defined]
        model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
    )
    module.Server = start  # type: ignore[attr-defined]
    return module

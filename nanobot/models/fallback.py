"""Several models asked in order, until one answers."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from nanobot.errors import LLMError, LLMErrorKind
from nanobot.models.reasoning import ShownStream
from nanobot.ports import LLM, Clock, ModelInfo, Reply, Request, Stream

log = logging.getLogger(__name__)

REST = 60.0
"""Seconds for which a model that is down is asked last, or a turn of many steps would wait for it at each."""

LONGEST_REST = 600.0
"""Seconds after which one that asked for an even longer rest is tried again: limits are lifted early, too."""

_DOWN: tuple[LLMErrorKind, ...] = (
    "auth",
    "unset",
    "model",
    "quota",
    "rate_limit",
    "timeout",
    "network",
    "proxy",
    "server",
    "engine",
)
"""Failures that do not depend on the question, so the next question would meet them as well."""


@dataclass(frozen=True, slots=True)
class _Rest:
    until: float
    asked_for: bool
    error: LLMError


class UnsetModel:
    """A preset whose key stands in a variable that is not set here; fulfils the port LLM by saying so."""

    def __init__(self, info: ModelInfo, sentence: str) -> None:
        self.info = info
        self._sentence = sentence

    def warm(self) -> None: ...

    async def aclose(self) -> None: ...

    async def complete(self, request: Request, stream: Stream) -> Reply:
        raise LLMError("unset", self._sentence, retry_after=LONGEST_REST, model=self.info.preset, said=self._sentence)


class Fallback:
    """Fulfils the port LLM by asking the first of several models, and the next one when it fails.

    Another model is no way around a refusal to answer ("filtered"), and when a conversation is too
    long only one that reads more is asked. A model that said for how long it is closed is not asked
    meanwhile; one that is down for another reason, only after the others.
    """

    def __init__(self, models: Sequence[LLM], clock: Clock) -> None:
        """`models` in the order in which they are asked; at least one."""
        self._models = tuple(models)
        self._clock = clock
        self._resting: dict[str, _Rest] = {}

    @property
    def info(self) -> ModelInfo:
        """Info of the first model that can be asked: the conversation is made to fit it."""
        return self._first.info

    def warm(self) -> None:
        """Only the first: the others are asked seldom."""
        self._first.warm()

    @property
    def _first(self) -> LLM:
        return next((model for model in self._models if not isinstance(model, UnsetModel)), self._models[0])

    async def aclose(self) -> None:
        for model in self._models:
            await model.aclose()

    async def complete(self, request: Request, stream: Stream) -> Reply:
        """Ask until one answers. If none does, raises the LLMError of the one that was asked first."""
        seen = ShownStream(stream)
        failed: list[LLMError] = []
        too_small = 0
        for model in self._in_order():
            if model.info.context_window <= too_small:
                continue
            if failed:
                seen.restart()
                seen.fallback(model.info.preset, failed[-1].kind)
            try:
                reply = await model.complete(request, seen)
            except LLMError as error:
                failed.append(self._noted(model, error))
                if error.kind == "filtered":
                    raise
                if error.kind == "context":
                    too_small = max(too_small, model.info.context_window)
            else:
                self._resting.pop(model.info.preset, None)
                return reply
        raise self._first_of(failed)

    def _in_order(self) -> Sequence[LLM]:
        """Return the models that are up, then those that were down; without those that asked to be left alone.

        A fallback whose key is not set is none, and nobody is told that it answers.
        """
        now = self._clock.monotonic()
        self._resting = {preset: rest for preset, rest in self._resting.items() if rest.until > now}
        down = [model for model in self._models if model.info.preset in self._resting]
        usable = [self._models[0], *(model for model in self._models[1:] if not isinstance(model, UnsetModel))]
        up = [model for model in usable if model not in down]
        return [*up, *(model for model in down if not self._resting[model.info.preset].asked_for)]

    def _noted(self, model: LLM, error: LLMError) -> LLMError:
        """A failure, which says whose it is; the model is let rest if the next question would meet it as well."""
        log.warning("%s failed: %s", model.info.preset, error)
        error.model = error.model or model.info.preset
        if error.kind in _DOWN:
            seconds = min(error.retry_after or REST, LONGEST_REST)
            until = self._clock.monotonic() + seconds
            self._resting[model.info.preset] = _Rest(until, bool(error.retry_after), error)
        return error

    def _first_of(self, failed: Sequence[LLMError]) -> LLMError:
        """The first failure, with the others and what is known of those that were not asked."""
        if not failed:
            return self._closed()
        known = {error.model for error in failed}
        failed[0].also = [*failed[1:], *(self._rest_of(preset) for preset in self._resting if preset not in known)]
        return failed[0]

    def _closed(self) -> LLMError:
        """All asked to be left alone: the error of the one that opens first, with the time that is left."""
        return self._rest_of(min(self._resting, key=lambda preset: self._resting[preset].until))

    def _rest_of(self, preset: str) -> LLMError:
        rest = self._resting[preset]
        left = rest.until - self._clock.monotonic()
        return LLMError(rest.error.kind, rest.error.detail, retry_after=left, model=preset, said=rest.error.said)

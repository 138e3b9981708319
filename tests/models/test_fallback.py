"""When one model fails, the next one is asked."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from nanobot.app.context import build_models
from nanobot.config import Config, ModelPreset
from nanobot.config.values import UnsetSecret
from nanobot.errors import ConfigError, LLMError, LLMErrorKind
from nanobot.models.fallback import LONGEST_REST, REST, Fallback, UnsetModel
from nanobot.ports import ModelInfo, Reply, Request, Stream
from nanobot.workspace import Home, Workspace
from tests.fakes.bot import Bot
from tests.fakes.clock import FakeClock
from tests.models.watching import Watcher, question


class Model:
    """Says what it is told: a text, or an error behind some words."""

    def __init__(self, preset: str, *answers: str | LLMError, window: int = 8_000, words: str = "") -> None:
        self.info = ModelInfo(preset, preset, window, 1_000)
        self.asked = 0
        self._answers = answers
        self._words = words

    def warm(self) -> None:
        """Nothing to load."""

    async def aclose(self) -> None:
        """Nothing to give back."""

    async def complete(self, request: Request, stream: Stream) -> Reply:
        answer = self._answers[min(self.asked, len(self._answers) - 1)]
        self.asked += 1
        if isinstance(answer, LLMError):
            stream.text(self._words)
            raise answer
        stream.text(answer)
        return Reply(answer, model=self.info.preset)


def error(kind: LLMErrorKind, **details: float) -> LLMError:
    return LLMError(kind, **details)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [kind for kind in get_args(LLMErrorKind) if kind not in ("filtered", "context")])
async def test_the_next_is_asked_and_half_an_answer_taken_back(
    kind: LLMErrorKind, clock: FakeClock, watcher: Watcher
) -> None:
    models = [Model("main", error(kind), words="half"), Model("cheap", "whole")]
    reply = await Fallback(models, clock).complete(question(), watcher)
    assert (reply.text, reply.model) == ("whole", "cheap")
    assert watcher.fallbacks == [("cheap", kind)]
    assert (watcher.screen, watcher.restarts) == ("whole", 1)


async def test_a_model_that_answers_leaves_the_others_alone(clock: FakeClock, watcher: Watcher) -> None:
    models = [Model("main", "yes"), Model("cheap", "no")]
    fallback = Fallback(models, clock)
    assert (await fallback.complete(question(), watcher)).text == "yes"
    assert models[1].asked == 0
    assert fallback.info.preset == "main"


async def test_a_refusal_to_answer_is_not_taken_elsewhere(clock: FakeClock, watcher: Watcher) -> None:
    models = [Model("main", error("filtered")), Model("cheap", "sure")]
    with pytest.raises(LLMError) as caught:
        await Fallback(models, clock).complete(question(), watcher)
    assert caught.value.kind == "filtered"
    assert models[1].asked == 0


async def test_what_is_too_long_goes_only_to_one_that_reads_more(clock: FakeClock, watcher: Watcher) -> None:
    models = [Model("main", error("context")), Model("same", "?"), Model("large", "read it", window=32_000)]
    assert (await Fallback(models, clock).complete(question(), watcher)).text == "read it"
    assert models[1].asked == 0
    with pytest.raises(LLMError) as caught:
        await Fallback(models[:2], clock).complete(question(), watcher)
    assert caught.value.kind == "context"


async def test_if_all_fail_the_first_failure_is_told(clock: FakeClock, watcher: Watcher) -> None:
    models = [Model("main", error("quota")), Model("cheap", error("network")), Model("local", error("engine"))]
    with pytest.raises(LLMError) as caught:
        await Fallback(models, clock).complete(question(), watcher)
    assert caught.value.kind == "quota"
    assert watcher.fallbacks == [("cheap", "quota"), ("local", "network")]
    assert [(other.model, other.kind) for other in caught.value.also] == [("cheap", "network"), ("local", "engine")]


async def test_one_that_asked_to_be_left_alone_is_named_beside_the_one_that_fails(
    clock: FakeClock, watcher: Watcher
) -> None:
    main, cheap = Model("main", error("quota", retry_after=300.0)), Model("cheap", "here", error("auth"))
    fallback = Fallback([main, cheap], clock)
    await fallback.complete(question(), watcher)
    with pytest.raises(LLMError) as caught:
        await fallback.complete(question(), watcher)
    assert (caught.value.model, caught.value.kind) == ("cheap", "auth")
    assert [(other.model, other.kind) for other in caught.value.also] == [("main", "quota")]


async def test_a_person_hears_what_is_wrong_with_each_of_them(clock: FakeClock, tmp_path: Path) -> None:
    models = [Model("main", error("quota")), Model("cheap", error("auth"))]
    async with Bot(tmp_path, Fallback(models, clock)).running() as bot:
        said = await bot.ask("hi")
    assert said.failed
    assert "The account behind main has used up" in said.text
    assert "Nor did another model answer: The endpoint of cheap refuses the key." in said.text


async def test_why_the_second_try_of_a_broken_answer_failed_is_told(clock: FakeClock, tmp_path: Path) -> None:
    broken = LLMError("rate_limit", partial="One, two,", model="main", retry_after=300.0)
    async with Bot(tmp_path, Fallback([Model("main", broken)], clock)).running() as bot:
        said = await bot.ask("count")
    assert said.text.startswith("One, two,\n\n[cut off here")
    assert "[I asked again, and that failed: main has had too many requests" in said.text


async def test_one_that_said_how_long_it_is_closed_is_not_asked_meanwhile(clock: FakeClock, watcher: Watcher) -> None:
    main, cheap = Model("main", error("rate_limit", retry_after=300.0), "back"), Model("cheap", "here")
    fallback = Fallback([main, cheap], clock)
    for _ in range(3):
        assert (await fallback.complete(question(), watcher)).text == "here"
    assert main.asked == 1
    assert len(watcher.fallbacks) == 1, "it is said once, not at each step"
    clock.advance(300)
    assert (await fallback.complete(question(), watcher)).text == "back"


async def test_even_a_very_long_rest_is_tried_in_between(clock: FakeClock, watcher: Watcher) -> None:
    main, cheap = Model("main", error("rate_limit", retry_after=86_400.0), "back"), Model("cheap", "here")
    fallback = Fallback([main, cheap], clock)
    await fallback.complete(question(), watcher)
    clock.advance(LONGEST_REST)
    assert (await fallback.complete(question(), watcher)).text == "back"


async def test_if_all_are_closed_none_is_asked_and_the_shortest_time_is_told(
    clock: FakeClock, watcher: Watcher
) -> None:
    models = [Model(name, error("rate_limit", retry_after=wait)) for name, wait in (("main", 300.0), ("cheap", 200.0))]
    fallback = Fallback(models, clock)
    with pytest.raises(LLMError):
        await fallback.complete(question(), watcher)
    clock.advance(50)
    with pytest.raises(LLMError) as caught:
        await fallback.complete(question(), watcher)
    assert [model.asked for model in models] == [1, 1]
    assert (caught.value.kind, caught.value.retry_after, caught.value.model) == ("rate_limit", 150, "cheap")


async def test_one_that_is_down_is_asked_last_for_a_while(clock: FakeClock, watcher: Watcher) -> None:
    main, cheap = Model("main", error("network"), "back"), Model("cheap", "here", "still here", error("server"))
    fallback = Fallback([main, cheap], clock)
    assert [(await fallback.complete(question(), watcher)).text for _ in range(3)] == ["here", "still here", "back"]
    clock.advance(REST)
    assert (await fallback.complete(question(), watcher)).text == "back"


async def test_cancelling_asks_nobody_else(clock: FakeClock, watcher: Watcher) -> None:
    class Hanging(Model):
        async def complete(self, request: Request, stream: Stream) -> Reply:
            self.asked += 1
            await asyncio.Event().wait()
            return Reply("never")

    models = [Hanging("main"), Model("cheap", "no")]
    task = asyncio.create_task(Fallback(models, clock).complete(question(), watcher))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [model.asked for model in models] == [1, 0]


async def test_a_model_whose_key_is_not_set_is_passed_over(clock: FakeClock, watcher: Watcher) -> None:
    unset = UnsetModel(ModelInfo("main", "big", 8_000, 1_000), "KEY is not set")
    spare = Model("spare", "yes", window=4_000)
    fallback = Fallback([unset, spare], clock)
    assert fallback.info is spare.info, "the conversation fits the one that answers"
    for _ in range(3):
        assert (await fallback.complete(question(), watcher)).model == "spare"
    assert watcher.fallbacks == [("spare", "unset")], "said once, not with each question"


async def test_a_fallback_whose_key_is_not_set_is_never_said_to_answer(clock: FakeClock, watcher: Watcher) -> None:
    unset = UnsetModel(ModelInfo("spare", "small", 8_000, 1_000), "KEY is not set")
    with pytest.raises(LLMError) as caught:
        await Fallback([Model("main", error("network")), unset], clock).complete(question(), watcher)
    assert (caught.value.kind, watcher.fallbacks, watcher.restarts) == ("network", [], 0)
    last = Model("last", "yes")
    await Fallback([Model("main", error("network")), unset, last], clock).complete(question(), watcher)
    assert watcher.fallbacks == [("last", "network")]


def test_models_without_a_key_here_are_made_only_beside_one_that_can_be_asked(tmp_path: Path) -> None:
    main = ModelPreset(base_url="http://h/v1", model="big", api_key=UnsetSecret.because("set KEY"))
    spare = ModelPreset(base_url="http://h/v1", model="small")
    place = Home(tmp_path), Workspace(tmp_path), FakeClock()
    config = Config(models={"main": main, "spare": spare}, model="main", fallbacks=("spare",))
    assert build_models(config, *place).get("cli:x")[0].info.preset == "spare"
    with pytest.raises(ConfigError, match="set KEY"):
        build_models(replace(config, fallbacks=()), *place).get("cli:x")

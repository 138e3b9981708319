"""A real client against a real server on loopback, with a clock that the test owns."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from nanobot.models.endpoint import Endpoint
from nanobot.models.openai import OpenAIModel
from nanobot.ports import ModelInfo
from tests.fakes.clock import FakeClock
from tests.fakes.openai_server import FakeOpenAI
from tests.models.watching import Watcher

MakeModel = Callable[..., OpenAIModel]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as running:
        yield running
        assert running.illegal == [], "the model sent an illegal request"


@pytest.fixture
async def make_model(clock: FakeClock, tmp_path: Path) -> AsyncIterator[MakeModel]:
    """Makes models whose connections are closed at the end; keywords go to Endpoint."""
    async with AsyncExitStack() as closing:

        def make(base_url: str, *, vision: bool = False, **endpoint: object) -> OpenAIModel:
            info = ModelInfo("main", "fake-model", 8_000, 1_000, vision=vision)
            model = OpenAIModel(info, Endpoint(base_url=base_url, **endpoint), clock, tmp_path)  # type: ignore[arg-type]
            closing.push_async_callback(model.aclose)
            return model

        yield make


@pytest.fixture
def model(server: FakeOpenAI, make_model: MakeModel) -> OpenAIModel:
    return make_model(server.base_url, api_key="key-for-tests")


@pytest.fixture
def watcher(clock: FakeClock) -> Watcher:
    return Watcher(clock)

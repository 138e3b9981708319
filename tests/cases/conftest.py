"""A home, a strict endpoint, and the real bot between them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cases.person import Desk
from tests.fakes.openai_server import FakeOpenAI


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    """Refuses what picky endpoints refuse; that it never had to is checked at the end."""
    async with FakeOpenAI() as server:
        yield server
        assert server.illegal == []


@pytest.fixture
def desk(private_home: Path, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(private_home, server, monkeypatch)

"""A scene for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.channels.telegram.scene import Scene
from tests.fakes.telegram_server import FakeTelegram


@pytest.fixture
async def telegram() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as server:
        yield server


@pytest.fixture
async def scene(telegram: FakeTelegram, tmp_path: Path) -> AsyncIterator[Scene]:
    async with Scene(telegram, tmp_path) as made:
        yield made

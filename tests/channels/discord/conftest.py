"""A scene for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.channels.discord.scene import Scene
from tests.fakes.discord_server import FakeDiscord


@pytest.fixture
async def discord() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as server:
        yield server


@pytest.fixture
def scene(discord: FakeDiscord, tmp_path: Path) -> Scene:
    return Scene(discord, tmp_path)

from pathlib import Path

import pytest

from tests.memory.dream.bedroom import Bedroom


@pytest.fixture
async def bedroom(tmp_path: Path) -> Bedroom:
    """A workspace with a history of its memory, in which nothing was said yet."""
    return await Bedroom(tmp_path / "workspace").began()


@pytest.fixture
async def git_bedroom(tmp_path: Path) -> Bedroom:
    """The same with a real history in git."""
    return await Bedroom(tmp_path / "workspace", git=True).began()

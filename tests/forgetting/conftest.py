"""A furnished home for each test: made once, and copied."""

import asyncio
import shutil
from pathlib import Path

import pytest

from tests.forgetting.household import SECRET, Household


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which everything is used."""
    root = tmp_path_factory.mktemp("furnished") / "home"
    asyncio.run(Household(root).furnish())
    return root


@pytest.fixture
def house(furnished: Path, private_home: Path) -> Household:
    """The same for one test."""
    shutil.copytree(furnished, private_home, symlinks=True)
    return Household(private_home)


@pytest.fixture(scope="session")
def emptied(furnished: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Household, str]:
    """The same when the one thing has been forgotten, with the receipt. To be looked at only."""
    root = tmp_path_factory.mktemp("emptied") / "home"
    shutil.copytree(furnished, root, symlinks=True)
    household = Household(root)
    return household, asyncio.run(household.forget(SECRET)).text

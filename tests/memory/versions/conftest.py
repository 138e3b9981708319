import asyncio
import shutil
from pathlib import Path

import pytest

from tests.memory.versions.desk import BASE, Desk


def _furnished(root: Path) -> Desk:
    desk = Desk(root)
    for path, data in BASE.items():
        desk.write(path, data)
    desk.write("sessions/cli/x.jsonl", b"{}\n")
    return desk


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose history has begun: to be copied, that is quicker than to begin anew."""
    root = tmp_path_factory.mktemp("begun") / "workspace"
    asyncio.run(_furnished(root).store.ensure())
    return root


@pytest.fixture
def desk(begun: Path, tmp_path: Path) -> Desk:
    """A workspace with a history of one version."""
    shutil.copytree(begun, tmp_path / "workspace")
    return Desk(tmp_path / "workspace")


@pytest.fixture
def new_desk(tmp_path: Path) -> Desk:
    """A workspace as it was before it had a history."""
    return _furnished(tmp_path / "workspace")

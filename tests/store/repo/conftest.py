from pathlib import Path

import pytest

from tests.store.repo.desk import BASE, Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A workspace as it was before it had a history."""
    desk = Desk(tmp_path / "workspace")
    for path, data in BASE.items():
        desk.write(path, data)
    desk.write("sessions/cli/x.jsonl", b"{}\n")
    return desk

"""How a gateway gets the workspace of a process that is not one."""

import asyncio
from pathlib import Path

import pytest

from nanobot.app.takeover import taken
from nanobot.store.lock import InUseError, Precedence, WorkspaceLock
from nanobot.workspace import Workspace


async def test_one_that_is_just_leaving_is_waited_for_and_nobody_is_faster(tmp_path: Path) -> None:
    workspace, said, has_asked = Workspace(tmp_path), list[str](), asyncio.Event()

    def tell(line: str) -> None:
        said.append(line)
        has_asked.set()

    async def begin() -> bool:
        async with taken(workspace, "en", tell, asyncio.Event()) as is_taken:
            with pytest.raises(InUseError), WorkspaceLock(workspace):
                pass
            return is_taken

    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        with WorkspaceLock(workspace):
            gateway = tasks.create_task(begin())
            await has_asked.wait()
        with pytest.raises(InUseError) as refused, WorkspaceLock(workspace):
            pass  # it is free, and kept for the gateway
        assert refused.value.holder is not None
        assert refused.value.holder.serves
        assert await gateway
    assert len(said) == 1
    with WorkspaceLock(workspace):
        pass


async def test_whoever_is_told_to_end_waits_no_longer(tmp_path: Path) -> None:
    workspace, ended = Workspace(tmp_path), asyncio.Event()
    async with asyncio.timeout(30):
        with WorkspaceLock(workspace):
            async with taken(workspace, "en", lambda _: ended.set(), ended) as is_taken:
                assert not is_taken


def test_one_gateway_waits_at_a_time(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    with WorkspaceLock(workspace), Precedence(workspace):
        with pytest.raises(InUseError) as refused, Precedence(workspace):
            pass
        assert refused.value.holder is not None
        assert refused.value.holder.serves

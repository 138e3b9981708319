"""The socket of the gateway: who reaches it, and how it goes on when they misbehave."""

import asyncio
import stat
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nanobot.errors import NanobotError, StoreError, WorkspaceError
from nanobot.ops.socket import ControlError, Handler, NoGatewayError, SocketServer, Tell, ask, connected, served
from nanobot.workspace import Workspace

VERSION = "1.0"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path / "workspace")
    workspace.state.mkdir(parents=True, mode=0o700)
    return workspace


@asynccontextmanager
async def serving(workspace: Workspace, **handlers: Handler) -> AsyncIterator[None]:
    task = asyncio.create_task(SocketServer(workspace, VERSION, served(handlers)).run())
    await asyncio.sleep(0)  # it listens before it waits for anything
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def echo(args: Sequence[str], tell: Tell) -> object:
    for arg in args:
        tell(f"looking at {arg}")
    return {"args": list(args)}


async def test_what_is_asked_is_answered_and_long_work_says_how_it_goes(workspace: Workspace) -> None:
    heard: list[str] = []
    async with serving(workspace, echo=echo):
        assert await ask(workspace, VERSION, "echo", ["a", "你好\n"], heard.append) == {"args": ["a", "你好\n"]}
    assert heard == ["looking at a", "looking at 你好\n"]


async def test_an_error_arrives_as_its_sentence_and_a_bug_without_its_text(workspace: Workspace) -> None:
    async def full(_: Sequence[str], __: Tell) -> object:
        raise StoreError("the disk is full")

    async def bug(_: Sequence[str], __: Tell) -> object:
        raise KeyError("a secret")

    async with serving(workspace, full=full, bug=bug):
        with pytest.raises(ControlError, match="the disk is full"):
            await ask(workspace, VERSION, "full")
        with pytest.raises(ControlError, match="log") as caught:
            await ask(workspace, VERSION, "bug")
        assert "secret" not in str(caught.value)
        with pytest.raises(ControlError, match="'dance'"):
            await ask(workspace, VERSION, "dance")


async def test_only_its_owner_can_reach_it_and_it_is_gone_at_the_end(workspace: Workspace) -> None:
    async with serving(workspace, echo=echo):
        assert stat.S_IMODE(workspace.socket.stat().st_mode) == 0o600
    assert not workspace.socket.exists()
    with pytest.raises(NoGatewayError):
        await ask(workspace, VERSION, "echo")


async def test_somebody_who_talks_nonsense_or_leaves_does_not_hinder_the_others(workspace: Workspace) -> None:
    async with serving(workspace, echo=echo):
        for nonsense in (b"", b"\n", b"\xff\xfe\n", b'{"do": 7}\n', b'{"do": "echo"', b"x" * 100_000):
            reader, writer = await asyncio.open_unix_connection(workspace.socket)
            await reader.readline()
            writer.write(nonsense)
            writer.write_eof()
            async with asyncio.timeout(120):
                await reader.read()
            writer.close()
            await writer.wait_closed()
        assert await ask(workspace, VERSION, "echo", ["a"]) == {"args": ["a"]}


async def test_a_gateway_that_ends_in_the_middle_of_it_is_told(workspace: Workspace) -> None:
    begun = asyncio.Event()

    async def long(_: Sequence[str], __: Tell) -> object:
        begun.set()
        await asyncio.Event().wait()
        return None

    async with serving(workspace, long=long):
        asking = asyncio.create_task(ask(workspace, VERSION, "long"))
        await begun.wait()
    with pytest.raises(ControlError, match="ended before it answered"):
        await asking


async def test_another_version_is_not_talked_to(workspace: Workspace) -> None:
    async with serving(workspace, echo=echo):
        with pytest.raises(WorkspaceError, match="Restart the gateway"):
            await ask(workspace, "2.0", "echo")


async def test_who_comes_to_a_socket_at_which_nobody_answers_hears_that(workspace: Workspace) -> None:
    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_unix_server(deaf, workspace.socket):
        with pytest.raises(WorkspaceError, match="does not answer"):
            await connected(workspace, VERSION, "echo")


async def test_a_folder_of_somebody_else_in_the_place_of_ours_is_not_trusted(
    workspace: Workspace, tmp_path: Path
) -> None:
    place = tmp_path / "elsewhere" / "socket"
    place.parent.mkdir(mode=0o755)
    workspace.socket_elsewhere.write_text(str(place))

    async def stranger(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_unix_server(stranger, place):
        with pytest.raises(NoGatewayError):
            await connected(workspace, VERSION, "echo")


async def test_a_workspace_on_which_sockets_cannot_be_made_is_told(workspace: Workspace) -> None:
    workspace.socket.mkdir()
    with pytest.raises(NanobotError, match="socket"):
        await SocketServer(workspace, VERSION, {}).run()

"""A home that an earlier version wrote is opened whole: every conversation, every memory, every change of it."""

import asyncio
import json
import tarfile
from pathlib import Path

import pytest

from nanobot.workspace import Home
from tests.fakes.gateway import Done, configure, nanobot
from tests.fakes.openai_answers import say
from tests.fakes.openai_server import FakeOpenAI
from tests.homes.make import FOLDER, TALK, remembers

VERSIONS = sorted(path.name.removesuffix(".tar.xz") for path in FOLDER.glob("*.tar.xz"))


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_home_of_an_earlier_version_goes_on(private_home: Path, version: str) -> None:
    await asyncio.to_thread(_unpack, version, private_home)
    async with FakeOpenAI() as endpoint:
        endpoint.otherwise, endpoint.aside = (lambda _: say("Still here.")), remembers
        configure(private_home, endpoint.base_url)

        async def run(*arguments: str) -> str:
            done: Done = await nanobot(private_home, *arguments)
            assert done.code == 0, (arguments, done)
            return done.out

        said = await run("sessions", "show", "cli:default")
        assert all(text in said for text in (*TALK, "The plumber comes on Friday."))
        assert "cli:work" in await run("sessions", "list")
        assert "Eva" in await run("recall", "sister")
        memory = await run("memory", "show")
        assert "The spare key is at the neighbour's." in memory
        assert "red bike" not in memory  # it was undone
        why = json.loads(await run("memory", "why", "sister", "--json"))
        assert [one["text"] for one in why["said"]] == [TALK[0]]
        kinds = [one["kind"] for one in json.loads(await run("memory", "log", "--json"))["versions"]]
        assert {"remember", "dream", "undo", "hand"} <= set(kinds), kinds
        assert await run("chat", "-m", "Are you there?") == "Still here.\n"
        asked = json.dumps(endpoint.requests[-1].body["messages"], ensure_ascii=False)
        assert all(text in asked for text in ("The plumber comes on Friday.", "Answer briefly.", "Eva", "我喜欢喝茶"))
        await run("dream")
        assert "plumber" in (Home(private_home).workspace / "USER.md").read_text(encoding="utf-8")
        await run("doctor", "memory")


def _unpack(version: str, home: Path) -> None:
    with tarfile.open(FOLDER / f"{version}.tar.xz") as packed:
        packed.extractall(home.parent, filter="data")
    assert home.is_dir()

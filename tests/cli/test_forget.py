"""Forgetting as people do it: in a chat with the gateway, and at the shell with and without one."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nanobot.workspace import Home, Workspace
from tests.fakes.databases import locked
from tests.fakes.gateway import NOBODY, GatewayProcess, configure, nanobot
from tests.fakes.openai_answers import say
from tests.fakes.openai_server import FakeOpenAI

SECRET = "marzipan"


@pytest.fixture
async def model(private_home: Path) -> AsyncIterator[FakeOpenAI]:
    """A model that repeats the secret once, and a configuration that names it."""
    async with FakeOpenAI() as server:
        configure(private_home, server.base_url, telegram=NOBODY)
        server.will(say(f"So it is {SECRET}."))
        server.otherwise = lambda _: say("Good.")
        yield server


def holding(home: Path, word: str) -> list[str]:
    files = [path for path in home.rglob("*") if path.is_file()]
    return [str(path.relative_to(home)) for path in files if word.encode() in path.read_bytes().lower()]


async def test_with_a_gateway_it_is_gone_with_a_yes_in_the_chat_or_at_the_shell_and_the_model_sees_it_no_more(
    model: FakeOpenAI, private_home: Path
) -> None:
    async with GatewayProcess(private_home) as gateway:
        await nanobot(private_home, "chat", "-m", f"My blood type is {SECRET}.")
        await nanobot(private_home, "chat", "-m", f"/remember the blood type is {SECRET}")
        shown = await nanobot(private_home, "chat", "-m", f"/forget {SECRET}")
        assert re.search(r"/forget yes \w{4}", shown.out), shown.out + shown.err
        assert f"My blood type is {SECRET}." in shown.out
        assert holding(private_home, SECRET) != []
        locks = locked(gateway.pid, private_home)

        done = await nanobot(private_home, "chat", "-m", "yes")
        assert done.out.startswith("Forgotten:"), done.out + done.err
        assert "cannot reach" in done.out
        await nanobot(private_home, "chat", "-m", "What do I like?")
        assert SECRET not in json.dumps(model.requests[-1].body)
        assert holding(private_home, SECRET) == []
        assert locks <= locked(gateway.pid, private_home)  # else the next who looks in takes the log away

        await nanobot(private_home, "chat", "-m", f"My blood type is {SECRET}.")
        at_shell = await nanobot(private_home, "memory", "forget", SECRET, "--yes")
        assert (at_shell.code, at_shell.err) == (0, "")
        assert "Forgotten:" in at_shell.out
        assert await gateway.stop() == 0
    assert holding(private_home, SECRET) == []


async def test_at_the_shell_it_works_without_a_gateway(model: FakeOpenAI, private_home: Path) -> None:
    await nanobot(private_home, "chat", "-m", f"My blood type is {SECRET}.")

    kept = await nanobot(private_home, "memory", "forget", SECRET)
    assert kept.code == 1  # there is nobody who could say yes
    assert kept.err.endswith(f"run: nanobot memory forget --yes {SECRET}\n")
    done = await nanobot(private_home, "memory", "forget", SECRET, "--yes")
    assert (done.code, done.err) == (0, "")
    assert "Shall I" not in done.out
    assert "Your shell keeps a history" in done.out
    assert holding(private_home, SECRET) == []


async def test_what_a_dead_process_left_undone_is_finished_when_the_next_one_starts(
    model: FakeOpenAI, private_home: Path
) -> None:
    await nanobot(private_home, "chat", "-m", f"My blood type is {SECRET}.")
    space = Workspace(Home(private_home).workspace)
    order = {
        "kind": "words",
        "value": SECRET,
        "scopes": None,
        "address": {"channel": "cli", "chat": "default"},
        "language": "en",
    }
    space.forgetting.write_text(json.dumps(order), encoding="utf-8")

    asked = await nanobot(private_home, "chat", "-m", "hello")

    assert "Good." in asked.out
    assert "Forgotten:" in asked.out + asked.err
    assert not space.forgetting.exists()
    assert SECRET not in json.dumps(model.requests[-1].body)
    assert holding(private_home, SECRET) == []

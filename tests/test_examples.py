"""The examples do what they say."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nanobot.cli import main
from nanobot.config import read
from nanobot.memory.markdown import without_comments
from nanobot.workspace import Home
from tests.fakes.openai_answers import call, fail, say
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.processes import Running

EXAMPLES = Path(__file__).parent.parent / "examples"
KEY = "EXAMPLE_API_KEY"
PATIENCE = 120.0


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as server:
        yield server


def configure(home: Path, example: str, replaced: dict[str, str]) -> None:
    """Put an example where the bot looks for its configuration, with the addresses of the moment."""
    text = (EXAMPLES / example).read_text(encoding="utf-8")
    for old, new in replaced.items():
        assert old in text
        text = text.replace(old, new)
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(text, encoding="utf-8")


async def run(*command: str) -> str:
    """What a program prints, in an environment with a key; it must end well."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        env={**os.environ, KEY: "sk-of-the-example"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


async def chat(text: str) -> str:
    """The answer of the bot, in the same environment."""
    process = await Running.start("chat", "-m", text, env={KEY: "sk-of-the-example"})
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


async def test_the_shortest_configuration_reaches_a_model_with_the_key_from_the_environment(
    server: FakeOpenAI, private_home: Path
) -> None:
    configure(private_home, "endpoint.yaml", {"https://api.example.com/v1": server.base_url})
    server.will(say("Hello, Ada."))

    assert await chat("I am Ada.") == "Hello, Ada.\n"
    assert server.requests[0].headers["Authorization"] == "Bearer sk-of-the-example"
    assert server.requests[0].body["model"] == "big-model"


async def test_when_the_large_model_cannot_answer_the_spare_one_does(server: FakeOpenAI, private_home: Path) -> None:
    addresses = {"https://api.example.com/v1": server.base_url, "http://127.0.0.1:8080/v1": server.base_url}
    configure(private_home, "fallbacks.yaml", addresses)
    server.will(fail(401, "no such key"), say("The spare one is here."))

    assert await chat("Anybody there?") == "The spare one is here.\n"
    assert [request.body["model"] for request in server.requests] == ["big-model", "small-model"]


async def test_a_program_asks_one_question_and_the_bot_may_use_its_tools(
    server: FakeOpenAI, private_home: Path
) -> None:
    configure(private_home, "endpoint.yaml", {"https://api.example.com/v1": server.base_url})
    note = {"path": "memory/garden.md", "content": "The roses are yellow.\n"}
    server.will(call(("write_file", note)), say("I made a note."))

    assert await run(str(EXAMPLES / "ask.py"), "The roses", "are yellow.") == "I made a note.\n"
    assert (private_home / "workspace/memory/garden.md").read_text() == "The roses are yellow.\n"
    assert (private_home / "workspace/sessions/script/questions.jsonl").exists()


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("*.yaml")))
def test_every_configuration_can_be_used_once_its_variables_are_set(
    example: str, private_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (KEY, "TELEGRAM_TOKEN"):
        monkeypatch.setenv(name, "12345678:AAExampleExampleExampleExampleExample")
    monkeypatch.setenv("DISCORD_TOKEN", "MTk4Example.Example.Example")

    assert main(["--config", str(EXAMPLES / example), "config", "check"]) == 0
    assert read(Home(private_home), EXAMPLES / example, None, os.environ).config.models


def test_the_example_of_a_character_says_something_beside_its_comment() -> None:
    text = (EXAMPLES / "SOUL.md").read_text(encoding="utf-8")

    assert without_comments(text).strip().startswith("You are")


def test_every_example_stands_in_the_list() -> None:
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")

    assert [path.name for path in EXAMPLES.iterdir() if path.is_file() and f"]({path.name})" not in listed] == [
        "README.md"
    ]

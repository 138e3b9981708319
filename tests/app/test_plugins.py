"""What packages of others offer is loaded by name, and fails in a sentence."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web

from nanobot.app.plugins import configured_channels, has_channels, plugin_tools
from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.channels.registry import BUILT_IN
from nanobot.config import Config
from nanobot.errors import ConfigError
from nanobot.messages import Address
from nanobot.people.people import ConfiguredPeople
from nanobot.ports import Caller
from tests.fakes.gateway import NANOBOT, configure
from tests.fakes.openai_answers import say
from tests.fakes.openai_server import FakeOpenAI

PLUGIN = Path(__file__).parents[2] / "examples" / "plugin"


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example, and a package whose code is not there, as pip leaves them."""
    channel = "[nanobot.channels]\nlobby = nanobot_lobby:CHANNEL\n"
    _install(tmp_path, "nanobot-dice", f"[nanobot.tools]\ndice = nanobot_dice:tools\n{channel}")
    _install(tmp_path, "broken", "[nanobot.tools]\nbroken = not_there_at_all:tools\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(PLUGIN)
    monkeypatch.delitem(sys.modules, "nanobot_dice", raising=False)


def _install(folder: Path, name: str, entry_points: str) -> None:
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


async def test_a_plugin_that_is_named_brings_its_tools_with_its_settings() -> None:
    (dice,) = plugin_tools({"dice": {"sides": 2}})
    caller = Caller(Address("cli", "default"), OWNER_IN_TERMINAL, "turn", "en")
    assert {(await dice.run({}, caller)).text for _ in range(64)} == {"1", "2"}
    assert not has_channels(Config(plugins={"dice": None}))
    assert has_channels(Config(plugins={"lobby": None}))
    assert plugin_tools({}) == []


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("weather", {}, "no package that is installed offers a plugin weather"),
        ("broken", {}, r"package broken\) could not be loaded: ModuleNotFoundError: No module named"),
        ("dice", {"sides": 1}, "plugins.dice: sides must be a whole number from 2 on"),
        ("dice", "six", r"package nanobot-dice\) could not be loaded: AttributeError"),
    ],
)
def test_what_cannot_be_loaded_is_a_sentence(name: str, settings: object, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        plugin_tools({name: settings})


def test_two_tools_of_one_name_end_the_start() -> None:
    (dice,) = plugin_tools({"dice": None}, ["exec"])
    with pytest.raises(ConfigError, match=rf"plugins\.dice: there is another tool called {dice.spec.name}"):
        plugin_tools({"dice": None}, ["exec", dice.spec.name])


def test_a_channel_with_the_name_of_another_ends_the_start(tmp_path: Path) -> None:
    _install(tmp_path, "half", "[nanobot.channels]\nhalf = nanobot_lobby:CHANNEL\nno = nanobot_lobby:NAME\n")

    (channel,) = configured_channels(Config(plugins={"half": None}))
    assert channel.name == "lobby"
    with pytest.raises(ConfigError, match=r"plugins\.half: there is another channel called lobby"):
        configured_channels(Config(plugins={"lobby": None, "half": None}))
    with pytest.raises(ConfigError, match=r"plugins\.no: nanobot_lobby:NAME is no ChannelType"):
        configured_channels(Config(plugins={"no": None}))


def test_a_platform_that_comes_along_needs_a_package_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cast("dict[str, str]", BUILT_IN), "hall", "nanobot_lobby:CHANNEL")
    config = Config(plugins={"hall": {"token": "t", "server": "http://127.0.0.1:9", "owners": [42]}})

    (channel,) = configured_channels(config)
    assert has_channels(config)
    assert (channel.name, list(channel.settings().owners)) == ("lobby", ["42"])
    assert plugin_tools(config.plugins) == []


def test_a_channel_of_a_plugin_has_owners_and_groups_as_built_in_ones_have() -> None:
    says = {"token": "t", "server": "http://127.0.0.1:9", "owners": [42, "43"], "groups": {"7": "open"}}
    (channel,) = configured_channels(Config(plugins={"lobby": says}))
    settings = channel.settings()
    assert isinstance(settings, ConfiguredPeople)
    assert (list(settings.owners), settings.groups) == (["42", "43"], {"7": "open"})


@pytest.mark.parametrize(
    ("says", "sentence"),
    [
        ({"server": "http://x"}, "plugins.lobby: .*`token`"),
        ({"token": "t", "server": "http://x", "owner": [1]}, "owner is not a key that the channel knows; did you mean"),
        ({"token": "t", "server": "http://x", "groups": {"7": "always"}}, r"plugins.lobby: .*always.*groups"),
        ({"token": "t", "server": "http://x", "every": 0}, "plugins.lobby: every must be more than 0"),
        ({"token": "t", "server": "http://x", "members": [1.5]}, "plugins.lobby: .*members"),
    ],
)
def test_a_mistake_in_the_settings_of_a_channel_is_a_sentence(says: Mapping[str, object], sentence: str) -> None:
    (channel,) = configured_channels(Config(plugins={"lobby": says}))
    with pytest.raises(ConfigError, match=sentence):
        channel.settings()


class Lobby:
    """The chat server of the example: what people say, and what the bot answers."""

    TOKEN = "secret-of-the-lobby"

    def __init__(self) -> None:
        self.server = ""
        self.messages: list[dict[str, object]] = []
        self.sent: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    @property
    def section(self) -> dict[str, object]:
        """The settings under plugins.lobby."""
        return {
            "token": self.TOKEN,
            "server": self.server,
            "owners": [42],
            "groups": {"7": "mention"},
            "every": 0.05,
        }

    def says(self, sender: str, text: str, room: str, *, private: bool = True) -> None:
        message = {"id": len(self.messages) + 1, "room": room, "private": private, "sender": sender, "name": "Ada"}
        self.messages.append({**message, "text": text})

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["Lobby"]:
        app = web.Application(middlewares=[self._check])
        app.add_routes([web.get("/me", self._me), web.get("/messages", self._news), web.post("/messages", self._send)])
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.server = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()

    @web.middleware
    async def _check(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {self.TOKEN}":
            return web.Response(status=401)
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _me(self, request: web.Request) -> web.Response:
        return web.json_response({"username": "LobbyBot"})

    async def _news(self, request: web.Request) -> web.Response:
        return web.json_response(self.messages[int(request.query["after"]) :])

    async def _send(self, request: web.Request) -> web.Response:
        said = await request.json()
        self.sent.put_nowait((said["room"], said["text"]))
        return web.json_response({"id": f"b{self.sent.qsize()}"})


@asynccontextmanager
async def _process(*arguments: str, home: Path, path: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A command in a Python of its own, in which the example is installed."""
    env = {**os.environ, "NANOBOT_HOME": str(home), "PYTHONPATH": f"{path}{os.pathsep}{PLUGIN}"}
    out, err = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
    process = await asyncio.create_subprocess_exec(*NANOBOT, *arguments, env=env, stdout=out, stderr=err)
    try:
        async with asyncio.timeout(60):
            yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _output(*arguments: str, home: Path, path: Path) -> str:
    async with _process(*arguments, home=home, path=path) as process:
        return (await process.communicate())[0].decode()


@asynccontextmanager
async def _gateway(lobby: Lobby, home: Path, path: Path) -> AsyncIterator[str]:
    """The gateway with the example's channel, once it is up; what it said until then."""
    async with FakeOpenAI() as model:
        model.otherwise = lambda body: say(f"You said {body['messages'][-1]['content'].split()[-1]}.")
        configure(home, model.base_url, plugins={"lobby": lobby.section})
        async with _process("gateway", home=home, path=path) as gateway:
            assert gateway.stdout
            said = ""
            while "lobby: up as @LobbyBot" not in said:
                line = await gateway.stdout.readline()
                assert line, said
                said += line.decode()
            yield said
    assert lobby.TOKEN not in (home / "nanobot.log").read_text()


async def test_a_channel_of_a_plugin_hears_its_owner_and_its_groups(tmp_path: Path, private_home: Path) -> None:
    async with Lobby().serving() as lobby, _gateway(lobby, private_home, tmp_path) as said:
        assert "Nobody owns this bot" not in said
        lobby.says("42", "apple", "42")
        assert await lobby.sent.get() == ("42", "You said apple.")
        lobby.says("42", "not for the bot", "7", private=False)
        lobby.says("99", "@LobbyBot what a stranger says in the group", "7", private=False)
        lobby.says("42", "@LobbyBot pear", "7", private=False)
        assert await lobby.sent.get() == ("7", "You said pear.")


async def test_a_channel_of_a_plugin_pairs_people_and_is_listed(tmp_path: Path, private_home: Path) -> None:
    async with Lobby().serving() as lobby, _gateway(lobby, private_home, tmp_path):
        lobby.says("99", "let me in", "99")
        room, text = await lobby.sent.get()
        code = re.search(r"\b[A-Z0-9]{4}-?[A-Z0-9]{4}\b", text)
        assert room == "99"
        assert code
        lobby.says("42", f"/pair approve {code[0]}", "42")
        assert {(await lobby.sent.get())[0] for _ in range(2)} == {"42", "99"}
        lobby.says("42", "/status", "42")
        assert "lobby: up as @LobbyBot" in (await lobby.sent.get())[1]
        status = json.loads(await _output("status", "--json", home=private_home, path=tmp_path))
        assert [(each["name"], each["state"]) for each in status["channels"]] == [("lobby", "up")]
        assert "lobby:99" in await _output("pair", "list", home=private_home, path=tmp_path)


async def test_doctor_asks_the_platform_of_a_plugin_who_the_bot_is(tmp_path: Path, private_home: Path) -> None:
    async with Lobby().serving() as lobby:
        configure(private_home, "http://127.0.0.1:9", plugins={"lobby": lobby.section})
        assert re.search(r"Lobby.*the bot is @LobbyBot", await _output("doctor", home=private_home, path=tmp_path))
        section = {**lobby.section, "token": "another"}
        configure(private_home, "http://127.0.0.1:9", plugins={"lobby": section})
        said = await _output("doctor", home=private_home, path=tmp_path)
        assert re.search(r"Lobby.*does not know this token \(401\)", said)

"""What packages of others offer is loaded by name, and fails in a sentence."""

import sys
from pathlib import Path
from typing import cast

import pytest

from nanobot.app.channels import ChannelServices, has_channels, plugin_channels, plugin_tools
from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.errors import ConfigError
from nanobot.messages import Address
from nanobot.ports import Caller

PLUGIN = Path(__file__).parents[2] / "examples" / "plugin"


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example, and a package whose code is not there, as pip leaves them."""
    offers = {"nanobot-dice": "dice = nanobot_dice:tools", "broken": "broken = not_there_at_all:tools"}
    for name, offer in offers.items():
        info = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[nanobot.tools]\n{offer}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(PLUGIN)
    monkeypatch.delitem(sys.modules, "nanobot_dice", raising=False)


async def test_a_plugin_that_is_named_brings_its_tools_with_its_settings() -> None:
    (dice,) = plugin_tools({"dice": {"sides": 2}})
    caller = Caller(Address("cli", "default"), OWNER_IN_TERMINAL, "turn", "en")
    assert {(await dice.run({}, caller)).text for _ in range(64)} == {"1", "2"}
    assert not has_channels({"dice": None})
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
    info = tmp_path / "half-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: half\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[nanobot.channels]\nhalf = half_a_channel:channel\n")
    (tmp_path / "half_a_channel.py").write_text(
        "from types import SimpleNamespace\n\n\ndef channel(settings, house):\n    return SimpleNamespace(**settings)\n"
    )
    house = cast("ChannelServices", None)

    (channel,) = plugin_channels({"half": {"name": "matrix"}}, house, ["telegram"])
    assert channel.name == "matrix"
    with pytest.raises(ConfigError, match=r"plugins\.half: there is another channel called telegram"):
        plugin_channels({"half": {"name": "telegram"}}, house, ["telegram"])

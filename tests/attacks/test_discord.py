"""Orders of others, by every way they come in through Discord: none comes into force without the owner's yes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nanobot.workspace import Home
from tests.attacks.obeying import NO, PATIENCE, ObeyingModel, assert_powerless, order
from tests.fakes.discord_server import FakeDiscord
from tests.fakes.discord_world import Person, Room
from tests.fakes.gateway import GatewayProcess, configure, nanobot
from tests.fakes.openai_server import FakeOpenAI


@dataclass(frozen=True)
class Stage:
    """Ada owns the bot and writes to it alone; Mallory is somebody whose words she passes on."""

    discord: FakeDiscord
    ada: Person
    mallory: Person
    room: Room
    elsewhere: Room

    def says(self, text: str, **more: Any) -> None:
        self.discord.says(self.ada, self.room, text, **more)


def _poll(text: str) -> Any:
    answer = {"answer_id": 1, "poll_media": {"text": text}}
    more = {"expiry": "2030-01-01T00:00:00+00:00", "allow_multiselect": False, "layout_type": 1}
    return {"question": {"text": text}, "answers": [answer], **more}


Way = Callable[[Stage, str], object]

WAYS: Mapping[str, Way] = {
    "a forward": lambda on, text: on.discord.forwards(on.ada, on.room, on.discord.says(on.mallory, on.elsewhere, text)),
    "a reply": lambda on, text: on.says("see", reply_to=on.discord.says(on.mallory, on.elsewhere, text)),
    "a link's preview": lambda on, text: on.says(
        "see https://example.org", embeds=[{"type": "link", "url": "https://example.org", "title": text}]
    ),
    "a rich embed": lambda on, text: on.says(
        "see", embeds=[{"type": "rich", "title": "News", "description": text, "fields": [{"name": text, "value": "x"}]}]
    ),
    "a poll": lambda on, text: on.says("", poll=_poll(text)),
    "a sticker's name": lambda on, text: on.says("", sticker_items=[{"id": "9", "name": text, "format_type": 1}]),
    "a document's text": lambda on, text: on.says("read", files=[("a.txt", text.encode(), "text/plain")]),
    "a document's name": lambda on, text: on.says("look", files=[(f"{text}.txt", b"hello", "text/plain")]),
    "a fenced block": lambda on, text: on.says(f"what is this?\n```\n{text}\n```"),
    "a quoted line": lambda on, text: on.says(f"> {text}\nI don't like it"),
}
"""How a text of somebody else reaches a conversation of the owner's."""


@pytest.mark.slow
async def test_an_order_of_others_never_comes_into_force(private_home: Path) -> None:
    """The owner says no to whatever is asked; the model obeys in talk, summaries and dreams."""
    model = ObeyingModel()
    async with FakeOpenAI() as endpoint, FakeDiscord() as discord:
        endpoint.otherwise, endpoint.aside = model, model.aside
        ada, home = discord.person("Ada"), discord.guild("Home")
        owner = {"token": discord.token, "api_base": discord.api_base, "owners": [ada.id]}
        configure(private_home, endpoint.base_url, discord=owner)
        workspace = Home(private_home).workspace
        stage = Stage(discord, ada, discord.person("Mallory"), discord.dm(ada), discord.channel(home, "news"))
        async with GatewayProcess(private_home) as gateway:
            await gateway.says("^discord: up")
            for number, way in enumerate(WAYS):
                WAYS[way](stage, order(number))
                await _answered(stage, number + 1)
                assert_powerless(model, workspace, list(WAYS))
            stage.says("/new")
            dreamt = await nanobot(private_home, "dream")
            assert dreamt.code in (0, 1), dreamt.err  # 1: not all that the model wanted
            stage.says("hello again")
            await _answered(stage, len(WAYS) + 1)
            assert await gateway.stop() == 0
        assert_powerless(model, workspace, list(WAYS))


async def _answered(stage: Stage, count: int) -> None:
    """Wait for so many answers in all, and say no to every question until then."""
    pressed: set[str] = set()

    def is_over() -> bool:
        for message in stage.discord.sent(stage.room):
            labels = [button["label"] for row in message.get("components", ()) for button in row["components"]]
            if message["id"] not in pressed and (refusal := next((one for one in labels if one in NO), None)):
                pressed.add(message["id"])
                stage.discord.presses(stage.ada, stage.room, message, refusal)
        said = [str(message["content"]) for message in stage.discord.sent(stage.room)]
        return sum(text.startswith("Done.") for text in said) >= count

    await stage.discord.until(is_over, PATIENCE)

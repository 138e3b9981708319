"""People on a fake platform, a model that talks slowly, and a home that knows them."""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from tests.fakes.discord_server import FakeDiscord
from tests.fakes.gateway import configure
from tests.fakes.openai_answers import Answer, Json, say
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.telegram_server import FakeTelegram


def answer_to(number: int) -> str:
    return f"This is what I have to say to question {number}, word by word."


def answer(body: Json, *, growing: bool) -> Answer:
    """To the last question; slow enough to be shown growing, or at once."""
    asked = re.findall(r"question (\d+)", str(body["messages"][-1]["content"]))
    return say(answer_to(int(asked[-1])), size=6, pause=0.13 if growing else 0)


class Scene(Protocol):
    """A platform with one person, who owns the bot."""

    def ask(self, text: str) -> None: ...

    def shown(self) -> Sequence[str]:
        """What the bot has said, as the person sees it now."""
        ...


class OnTelegram:
    """In private."""

    def __init__(self, server: FakeTelegram) -> None:
        self._ada = server.world.person(42, "Ada")
        self.config: dict[str, Any] = {"token": server.token, "api_base": server.api_base, "owners": [42]}

    def ask(self, text: str) -> None:
        self._ada.says(text)

    def shown(self) -> Sequence[str]:
        return [message.text for message in self._ada.chat.by_bot]


class OnDiscord:
    """In a direct message."""

    def __init__(self, server: FakeDiscord) -> None:
        self._server, self._ada = server, server.person("Ada")
        self._room = server.dm(self._ada)
        self.config: dict[str, Any] = {
            "token": server.token,
            "api_base": server.api_base,
            "owners": [int(self._ada.id)],
        }

    def ask(self, text: str) -> None:
        self._server.says(self._ada, self._room, text)

    def shown(self) -> Sequence[str]:
        return [message["content"] for message in self._server.sent(self._room)]


@asynccontextmanager
async def scene(platform: str, home: Path, *, growing: bool) -> AsyncIterator[Scene]:
    """The platform and the model run; a gateway in this home finds them. In the end nothing illegal was asked."""
    async with FakeOpenAI() as model, FakeTelegram() as telegram, FakeDiscord() as discord:
        model.otherwise = partial(answer, growing=growing)
        place = OnTelegram(telegram) if platform == "telegram" else OnDiscord(discord)
        configure(home, model.base_url, **{"log": {"level": "debug"}, platform: place.config})
        yield place
        assert model.illegal == []

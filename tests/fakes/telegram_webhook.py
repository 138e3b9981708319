"""How a fake Telegram calls a webhook: the updates of one chat one after the other, until each is answered with 200."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import aiohttp

from tests.fakes.telegram_checks import bad
from tests.fakes.telegram_world import Json, World

PAUSE = 0.05
"""Seconds until an update that was not taken is brought again (Telegram waits longer)."""


class WebhookCaller:
    """`address` is where the public URL really leads in a test; its path is kept."""

    def __init__(self, world: World) -> None:
        self.info: Json = {"url": "", "has_custom_certificate": False, "pending_update_count": 0}
        self.secret = ""
        self.address = ""
        self.answers: list[int] = []
        self._world = world
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def set(self, told: Mapping[str, Any]) -> bool:
        url = str(told.get("url", ""))
        if not url.startswith("https://"):
            raise bad("bad webhook: An HTTPS URL must be provided for webhook")
        self.info["url"] = url
        self.secret = str(told.get("secret_token", ""))
        self._world.on_change = self._call
        self._call()
        return True

    async def delete(self) -> bool:
        self.info["url"] = ""
        await self.stop()
        return True

    async def stop(self) -> None:
        self._world.on_change = lambda: None
        tasks, self._tasks = list(self._tasks.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def quiet(self) -> None:
        """Wait until every update was taken."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    def _call(self) -> None:
        for chat in {_chat(update) for update in self._world.updates} - self._tasks.keys():
            self._tasks[chat] = asyncio.create_task(self._bring(chat))

    async def _bring(self, chat: int) -> None:
        async with aiohttp.ClientSession() as session:
            while update := next((each for each in self._world.updates if _chat(each) == chat), None):
                if await self._post(session, update) == 200:
                    self._world.updates.remove(update)
                    self._world.confirmed.append(update["update_id"])
                else:
                    await asyncio.sleep(PAUSE)
        self._tasks.pop(chat, None)
        self._call()  # what came while the connection was closed

    async def _post(self, session: aiohttp.ClientSession, update: Json) -> int:
        path = "/" + self.info["url"].partition("://")[2].partition("/")[2]
        headers = {"X-Telegram-Bot-Api-Secret-Token": self.secret} if self.secret else {}
        with suppress(aiohttp.ClientError):
            async with session.post(self.address + path, json=update, headers=headers) as answer:
                self.answers.append(answer.status)
                return answer.status
        return 0


def _chat(update: Json) -> int:
    content = next(value for name, value in update.items() if name != "update_id")
    return int(content.get("message", content).get("chat", {}).get("id", 0))

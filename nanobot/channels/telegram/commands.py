"""Commands: how they are written on Telegram, which knows only letters, digits and `_` in them, and its menu."""

import hashlib
import re
from collections.abc import Iterable, Sequence

from telegram import BotCommand

from nanobot.channels.telegram.api import Api
from nanobot.channels.telegram.settings import MenuCommand
from nanobot.i18n import Language
from nanobot.ports import Bookmarks

_PREFIX = "telegram:menu:"
_LONGEST = 256
_LANGUAGES: tuple[tuple[Language, str | None], ...] = (("en", None), ("zh", "zh"))
"""Ours, and the code under which Telegram shows it; None: to everybody else."""


class Spelling:
    """Writes /dream-log as /dream_log, wherever it stands in a text. Typed, both are understood everywhere."""

    def __init__(self, names: Iterable[str]) -> None:
        """`names` are those of all commands."""
        hyphenated = "|".join(re.escape(name) for name in names if "-" in name)
        self._commands = re.compile(rf"(?<![A-Za-z0-9_/])/(?:{hyphenated})(?![A-Za-z0-9_-])") if hyphenated else None

    def __call__(self, text: str) -> str:
        if self._commands is None:
            return text
        return self._commands.sub(lambda found: name_here(found[0]), text)


def name_here(name: str) -> str:
    """A command's name as Telegram knows it."""
    return name.replace("-", "_")


class Menu:
    """Commands of Telegram hold letters, digits and `_` only: /dream-restore is shown as /dream_restore."""

    def __init__(self, api: Api, bookmarks: Bookmarks, commands: Sequence[MenuCommand]) -> None:
        self._api = api
        self._bookmarks = bookmarks
        self._commands = commands

    async def update(self) -> None:
        """Tell Telegram, if anything has changed since it was told. Raises TelegramError, StoreError."""
        menus = {code: self._menu(language) for language, code in _LANGUAGES}
        key, state = f"{_PREFIX}{self._api.me.id}", hashlib.sha256(repr(menus).encode()).hexdigest()
        if (await self._bookmarks.marks(key)).get(key) == state:
            return
        for code, menu in menus.items():
            await self._api.bot.set_my_commands([BotCommand(*row) for row in menu], language_code=code)
        await self._bookmarks.mark(key, state)

    def _menu(self, language: Language) -> list[tuple[str, str]]:
        spelled = Spelling(each.name for each in self._commands)
        return [(name_here(each.name), spelled(each.help[language])[:_LONGEST]) for each in self._commands]

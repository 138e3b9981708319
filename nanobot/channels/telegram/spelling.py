"""How commands are written on Telegram, which knows only letters, digits and `_` in them."""

import re
from collections.abc import Iterable


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

"""Which language each person reads."""

from typing import Literal

from nanobot.i18n import Language, language_of

Setting = Literal["auto", "en", "zh"]


class Languages:
    """The configured language, or ("auto") the one that was last written in a session."""

    def __init__(self, setting: Setting, default: Language) -> None:
        """`default` serves until somebody has written something."""
        self._setting = setting
        self._default = default
        self._spoken: dict[str, Language] = {}

    def of(self, session_key: str) -> Language:
        return self._spoken.get(session_key, self._default) if self._setting == "auto" else self._setting

    def hear(self, session_key: str, text: str) -> None:
        """Learn from what a person wrote; a text without letters teaches nothing."""
        self._spoken[session_key] = language_of(text, otherwise=self.of(session_key))

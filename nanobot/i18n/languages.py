"""The language of each person: told from what they write, or chosen."""

import re

from nanobot.i18n import LANGUAGES, Language, count_telling, is_told_by_script, language_of, words_in
from nanobot.nlp.pasted import own_part

_READ = 20_000
"""Characters at the beginning of a message that tell its language."""

_SHELL_LINE = re.compile(r"^[ \t]*(?:[!$#>/／]).*$", re.MULTILINE)
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_ASCII = re.compile(r"[!-~]+")
_OF_NAMES = re.compile(r"[/\\_@=<>{}\[\]|;$#*&+^~]|[A-Za-z0-9][.:][A-Za-z0-9]|[A-Za-z]\d|--|\w\(")
"""In a word: what is in addresses, paths, names of files and pieces of code, and in no word of a sentence."""

_OF_CODE = re.compile(
    r"[{}=<>|;]|\w\(|(?:Error|Exception)\b|^\s*(?:import|from|def|class|return|for|while|else|sudo|select|File|at)\s",
    re.IGNORECASE,
)
"""In a line: what is in code and in what programs print."""


class Languages:
    """The configured language, or ("auto") the one that was last written in a session."""

    def __init__(self, setting: str, default: Language) -> None:
        """`setting` is a language, or "auto"; `default` serves until somebody has written something."""
        self._setting = setting
        self._default = default
        self._spoken: dict[str, Language] = {}
        self._presumed: dict[str, Language] = {}

    def of(self, session_key: str) -> Language:
        if self._setting != "auto":
            return self._setting
        return self._spoken.get(session_key) or self._presumed.get(session_key, self._default)

    def presume(self, session_key: str, language: Language) -> None:
        """Speak this language in a session until its person has written something that tells theirs."""
        self._presumed[session_key] = language

    def hear(self, session_key: str, text: str) -> None:
        """Learn from what a person wrote; commands, code, names and pastes teach nothing."""
        if spoken := evident_language(text):
            self._spoken[session_key] = spoken


def evident_language(text: str) -> Language | None:
    """Return the language that a person evidently writes in; None if nothing in the text is a sentence of theirs.

    Code, shell lines, names of files and pastes are no evidence, and few words of a script that languages share are
    none either: they may be names. A script that one language alone has is.
    """
    words = _INLINE_CODE.sub(" ", _SHELL_LINE.sub(" ", own_part(text[:_READ])))
    language = language_of(_without_names(words))
    if is_told_by_script(language):
        return language
    prose = "\n".join(line for line in words.splitlines() if not _OF_CODE.search(line))
    said = words_in(_without_names(prose))
    telling = {each: count_telling(said, each) for each in LANGUAGES if not is_told_by_script(each)}
    language = max(telling, key=lambda each: telling[each])
    return language if len(said) >= 2 and telling[language] >= 1 and telling[language] * 6 >= len(said) else None


def _without_names(text: str) -> str:
    return _ASCII.sub(lambda word: " " if _OF_NAMES.search(word[0]) else word[0], text)

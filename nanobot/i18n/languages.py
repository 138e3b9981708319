"""The language of each person: told from what they write, or chosen."""

import re
from typing import Literal

from nanobot.i18n import Language, language_of
from nanobot.nlp.pasted import own_part

Setting = Literal["auto", "en", "zh"]

_READ = 20_000
"""Characters at the beginning of a message that tell its language."""

_SHELL_LINE = re.compile(r"^[ \t]*(?:[!$#>/／]).*$", re.MULTILINE)
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_ASCII = re.compile(r"[!-~]+")
_OF_NAMES = re.compile(r"[/\\_@=<>{}\[\]|;$#*&+^~]|[A-Za-z0-9][.:][A-Za-z0-9]|[A-Za-z]\d|--|\w\(")
"""In a word: what is in addresses, paths, names of files and pieces of code, and in no word of a sentence."""

_LATIN_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_OF_CODE = re.compile(
    r"[{}=<>|;]|\w\(|(?:Error|Exception)\b|^\s*(?:import|from|def|class|return|for|while|else|sudo|select|File|at)\s",
    re.IGNORECASE,
)
"""In a line: what is in code and in what programs print."""

_OF_SENTENCES = re.compile(
    r"(?:a|about|am|an|and|are|ask|at|be|because|but|can|can't|could|did|do|does|doesn't|don't|for|good|have|he|hello|help|hi|"
    r"her|his|how|i|i'd|i'll|i'm|i've|in|is|it|it's|let's|may|me|more|my|no|not|now|of|ok|on|our|please|read|remember|say|"
    r"see|she|should|some|tell|thank|thanks|that|that's|the|their|them|then|there|these|they|this|to|want|was|we|were|what|"
    r"what's|when|where|which|who|why|will|with|would|write|yes|you|your)"
)
"""English words that hold a sentence together; a command, a name or a list of nouns does without."""


class Languages:
    """The configured language, or ("auto") the one that was last written in a session."""

    def __init__(self, setting: Setting, default: Language) -> None:
        """`default` serves until somebody has written something."""
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
    """The language that a person evidently writes in; None if nothing in the text is a sentence of theirs.

    Code, shell lines, names of files and what is pasted are no evidence, and few Latin words are none either: they may
    be names. Chinese characters are.
    """
    words = _INLINE_CODE.sub(" ", _SHELL_LINE.sub(" ", own_part(text[:_READ])))
    if language_of(_without_names(words)) == "zh":
        return "zh"
    prose = "\n".join(line for line in words.splitlines() if not _OF_CODE.search(line))
    said = _LATIN_WORD.findall(_without_names(prose).casefold().replace("’", "'"))
    telling = sum(bool(_OF_SENTENCES.fullmatch(word)) for word in said)
    return "en" if len(said) >= 2 and telling >= 1 and telling * 6 >= len(said) else None


def _without_names(text: str) -> str:
    return _ASCII.sub(lambda word: " " if _OF_NAMES.search(word[0]) else word[0], text)

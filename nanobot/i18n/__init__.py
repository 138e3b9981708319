"""The bot's own sentences, and short answers of people, in each language that it speaks."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from string import Formatter

from nanobot.languages import alternatives, languages_with, table, tables

Language = str
"""The code of a language that the bot speaks: one of LANGUAGES."""

LANGUAGES: Sequence[Language] = languages_with("sentences")
"""The languages that the bot speaks, English first."""


def say(key: str, language: Language, /, **values: object) -> str:
    """Return the sentence with this key ("section.name" in the catalogues) with its values put in.

    What agrees with a number stands behind it: "{count} {count:line|lines}" is "1 line" or "2 lines". Raises KeyError
    for a key that is not in the catalogue: that is a bug, and a test looks for it.
    """
    return _FORMATTER.format(_catalogue(language)[key], **values)


def say_in_all(key: str, **values: object) -> str:
    """Return the sentence in each language, a paragraph each, for somebody whose language is not known."""
    return "\n\n".join(say(key, language, **values) for language in LANGUAGES)


def has_sentence(key: str) -> bool:
    """Return True if the catalogue has a sentence with this key."""
    return key in _catalogue("en")


def known_language(code: str) -> Language:
    """Return the language of a code such as "zh" or "zh_CN.UTF-8"; English if the bot does not speak it."""
    return next((language for language in LANGUAGES if code.startswith(language)), "en")


def platform_codes(language: Language, platform: str) -> Sequence[str]:
    """Return the codes by which a platform knows a language; none for the one that it shows to everybody else."""
    codes: Sequence[str] = table(language, "speech")["codes"][platform]
    return codes


def language_of(text: str, otherwise: Language = "en") -> Language:
    """Return the language that a text is written in; `otherwise` if it has no letters of any.

    The script tells it, and among languages of the same script the words that hold sentences together.
    """
    weights = {
        letters: sum(map(len, pattern.findall(text))) * weight for letters, (pattern, weight) in _scripts().items()
    }
    if not any(weights.values()):
        return otherwise
    script = max(weights, key=lambda letters: weights[letters])
    written = [language for language in LANGUAGES if table(language, "speech")["letters"] == script]
    if len(written) == 1:
        return written[0]
    return max(written, key=lambda language: count_telling(words_in(text), language))


def is_told_by_script(language: Language) -> bool:
    """Return True if nothing but the script of a language is needed to know it."""
    return "words" not in table(language, "speech")


def words_in(text: str) -> Sequence[str]:
    """Return the words of a text in small letters, in scripts that set blanks between them."""
    return _WORD.findall(text.casefold().replace("’", "'"))


def count_telling(words: Sequence[str], language: Language) -> int:
    """Count the words that hold sentences of a language together."""
    telling = _telling(language)
    return sum(word in telling for word in words)


_WORD = re.compile(r"[^\W\d_][\w'-]*")


@cache
def _telling(language: Language) -> frozenset[str]:
    return frozenset(table(language, "speech").get("words", "").replace("\n", "").split("|"))


@cache
def _scripts() -> Mapping[str, tuple[re.Pattern[str], int]]:
    """For each script the runs of its letters, and how much one letter carries."""
    spoken = [table(language, "speech") for language in LANGUAGES]
    return {each["letters"]: (re.compile(f"[{each['letters']}]+"), each.get("weight", 1)) for each in spoken}


class _AgreeingFormatter(Formatter):
    """As str.format, with words that agree with a number."""

    def format_field(self, value: object, format_spec: str) -> str:
        one, bar, many = format_spec.partition("|")
        if not bar:
            return str(super().format_field(value, format_spec))
        return one if str(value) == "1" else many


_FORMATTER = _AgreeingFormatter()


@cache
def _catalogue(language: Language) -> Mapping[str, str]:
    return {
        f"{section}.{name}": sentence
        for section, rows in table(language, "sentences").items()
        for name, sentence in rows.items()
    }


# Answers as people type them.

_AROUND = " \t\r\n.!,。！，~～"


def consent(typed: str) -> bool | None:
    """True if a text says yes (True) or no (False), in English or Chinese; None if it says anything else or more.

    Case, spaces, punctuation and a "please" around the word do not matter. A text with more than the word is none of
    both: "yes, but …" is a thought, not a permission. A question mark makes it a question.
    """
    word = " ".join(_polite().sub("", _bare(typed)).strip(_AROUND).split())
    if word in answers("yes"):
        return True
    return False if word in answers("no") else None


@cache
def answers(kind: str) -> frozenset[str]:
    """Return what people type, in any language, to say "yes" or "no", to "leave" or to ask for "help"."""
    return frozenset(word for each in tables("speech") for word in each.get(kind, ()))


@cache
def _polite() -> re.Pattern[str]:
    return re.compile(rf"(?<=[\w'])[\s,，]*(?:{alternatives('speech', 'polite')})$")


def leaves(typed: str) -> bool:
    """True if a text chooses nothing of what there is to choose: a no, or 0."""
    return consent(typed) is False or _bare(typed) == "0"


def picked(choices: Sequence[str], typed: str, refusal: int | None = None) -> int | None:
    """Return the place of the answer that is meant, None if none is: by its number from 1, its words, yes or no, or the
    first letter that only it has.

    `refusal` is the place of the one that says no, if there is one: "yes" then means the first, which grants the least.
    """
    said, every = _bare(typed), [_bare(choice) for choice in choices]
    if said.isdecimal():
        return int(said) - 1 if 1 <= int(said) <= len(every) else None
    if said in every:
        return every.index(said)
    if refusal is not None and (agrees := consent(typed)) is not None:
        return 0 if agrees else refusal
    first = [place for place, answer in enumerate(every) if said and said == answer[:1]]
    return first[0] if len(first) == 1 else None


def _bare(typed: str) -> str:
    return typed.strip(_AROUND).casefold().replace("’", "'")

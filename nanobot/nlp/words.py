"""Words of a text as it is indexed and compared: stems, stop words, synonyms, similarity of two texts."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Literal

from nanobot.languages import alternatives, tables

# English words brought to their stems, so that "went hiking" is found by "go on a hike".


_VOWELS = "aeiou"
_LONGEST = 40  # letters; what is longer is no English word

# M. F. Porter, "An algorithm for suffix stripping" (1980): the suffixes of its steps 2 to 4.
_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"), ("logi", "log"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = tuple(
    (suffix, "")
    for suffix in ("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive",
                   "ize", "al", "er", "ic", "ou")
)  # fmt: skip


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a lower-case word: "allergies" and "allergy" have the same. Other scripts stay as they are."""
    word = _irregular().get(word, word)
    if not 3 <= len(word) <= _LONGEST or not word.isascii() or not word.isalpha():
        return word
    word = _past_and_progressive(_singular(word))
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _STEP_2, 0)
    word = _replace(word, _STEP_3, 0)
    if word.endswith(("sion", "tion")):
        word = word[:-3] if _measure(word[:-3]) > 1 else word
    else:
        word = _replace(word, _STEP_4, 1)
    return _tidy(word)


@cache
def _irregular() -> Mapping[str, str]:
    """For each irregular form its base."""
    lines = "|".join(each.get("irregular", "") for each in tables("words")).replace("\n", "|").split("|")
    return {form: base for line in lines if line.strip() for base, *forms in [line.split()] for form in forms}


def _shape(word: str) -> str:
    """The word in c(onsonants) and v(owels); y after a consonant is a vowel."""
    shape = ""
    for letter in word:
        vowel = letter in _VOWELS or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Return the number of vowel-consonant sequences: the algorithm's m."""
    return _shape(word).count("vc")


def _ends_short(word: str) -> bool:
    """True if it ends like "hop": consonant, vowel, consonant, the last not w, x or y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and word[-1] not in _VOWELS


def _singular(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_progressive(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        rest = word.removesuffix(suffix)
        if rest == word or "v" not in _shape(rest):
            continue
        if rest.endswith(("at", "bl", "iz")) or (_measure(rest) == 1 and _ends_short(rest)):
            return rest + "e"
        return rest[:-1] if _ends_double(rest) and rest[-1] not in "lsz" else rest
    return word


def _replace(word: str, suffixes: tuple[tuple[str, str], ...], more_than: int) -> str:
    for suffix, replacement in suffixes:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return rest + replacement if _measure(rest) > more_than else word
    return word


def _tidy(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


# The words by which a text is indexed and found.


_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# Scripts that are written without blanks: Chinese characters, and the kana between them.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
_MARKS = re.compile(r"[\u0300-\u036f]+")


def words_of(text: str) -> list[str]:
    """The words of a text in their order: Latin and other spaced scripts stemmed, others character by character.

    A run of Chinese gives its single characters and its overlapping pairs.
    """
    text = unicodedata.normalize("NFKC", text).lower().replace("\u2019", "'")
    if text.isascii():
        return [stem(word.partition("'")[0]) for word in _WORD.findall(text)]
    text = _MARKS.sub("", unicodedata.normalize("NFKD", text))
    found: list[str] = []
    for word in _WORD.findall(text):
        if _UNSPACED.search(word):
            found.extend(_mixed(word))
        else:
            found.append(stem(word.partition("'")[0]))
    return found


def _mixed(word: str) -> list[str]:
    found: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        found.extend(stem(part) for part in (word[end : run.start()],) if part)
        found.extend(run[0])
        found.extend(run[0][place : place + 2] for place in range(len(run[0]) - 1))
        end = run.end()
    if word[end:]:
        found.append(stem(word[end:]))
    return found


def is_stop(word: str) -> bool:
    """True if a word tells nothing of what is asked for."""
    stems, characters = _stops()
    return word in stems or all(char in characters for char in word)


@cache
def _stops() -> tuple[frozenset[str], frozenset[str]]:
    """The stems of stop words, and characters that are such words."""
    stems = {stem(word) for each in tables("words") for word in re.findall(r"[^\W\d_]+", each.get("stop", ""))}
    return frozenset(stems), frozenset("".join(each.get("stop_characters", "") for each in tables("words")))


# Words of everyday talk that stand for one another, from a small table that ships with the program.


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    """For each stem the stems that it may be said with; for Chinese, for each character or pair."""
    table: dict[str, set[str]] = {}
    for line in "\n".join(each.get("synonyms", "") for each in tables("words")).splitlines():
        group = {_key(word) for word in line.split()}
        for word in group:
            table.setdefault(word, set()).update(group - {word})
    return {word: frozenset(others) for word, others in table.items()}


def _key(word: str) -> str:
    """The most telling of the words that the index has for it: the pair rather than its characters."""
    return max(words_of(word), key=len)


# Whether two texts speak of the same thing, and in what they differ.


Difference = Literal["date", "number", "negation", "name"]

_NAME = re.compile(r"[^\W\d_a-z][\w'\u2019-]*")
_UNSPACED_TEXT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


def content_words(text: str) -> set[str]:
    """The words by which a text can be told from others; all of its words if it has no such words."""
    words = words_of(text)
    return {word for word in words if not is_stop(word)} or set(words)


def overlap(one: str, other: str) -> float:
    """The share of the words of the shorter text that the other has, too."""
    a, b = content_words(one), content_words(other)
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def difference(one: str, other: str, *, in_passing: bool = False) -> Difference | None:
    """In what two texts that speak of the same thing differ, so that one of them cannot stand for both.

    In scripts without capitals and blanks a name cannot be told from other words, so that any word counts as one.
    If the other says it `in_passing`, it may hold more such words, and more times that leave the day open.
    """
    open_times = _found(_expression("open_time"), other) if in_passing else set()
    kinds: Sequence[Difference] = ("date", "number", "negation")
    for kind in kinds:
        pattern = _expression(kind)
        mine, others = _found(pattern, one), _found(pattern, other)
        is_said_otherwise = in_passing and kind == "negation" and mine and others  # "without sugar", "no sugar"
        if mine != others - (open_times - mine) and not is_said_otherwise:
            return kind
    more = _unspaced(other) - _unspaced(one)
    is_other_word = not _unspaced(one) <= _unspaced(other) or (more and not in_passing)
    names = (_names(one) - _words(other)) | (_names(other) - _words(one))
    if in_passing:
        names = {name for name in names if not _UNSPACED_TEXT.search(name)}
    return "name" if is_other_word or names else None


@cache
def _expression(key: str) -> re.Pattern[str]:
    digits = r"\d+|" if key == "number" else ""
    return re.compile(digits + alternatives("words", key), re.IGNORECASE)


def _found(pattern: re.Pattern[str], text: str) -> set[str]:
    return {match.casefold() for match in pattern.findall(text)}


def _names(text: str) -> set[str]:
    """The words in capitals, as they are compared: at the beginning of a sentence they may be any word."""
    found = {word for name in _NAME.findall(text) for word in words_of(name) if not is_stop(word)}
    return found & _words(text)


def _words(text: str) -> set[str]:
    return set(words_of(text))


def _unspaced(text: str) -> set[str]:
    return {char for char in _UNSPACED_TEXT.findall(text) if not is_stop(char)}

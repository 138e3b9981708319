"""Words of a text as it is indexed and compared: stems, stop words, synonyms, similarity of two texts."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources
from typing import Literal

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

_IRREGULAR = {
    form: base
    for line in """
    be am is are was were been being|begin began begun|bite bit bitten|blow blew blown|break broke broken|bring brought
    build built|buy bought|catch caught|choose chose chosen|come came|deal dealt|dig dug|draw drew drawn|dream dreamt
    drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found
    fly flew flown|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given
    go goes went gone|grow grew grown|hang hung|have has had|hear heard|hide hid hidden|hold held|keep kept
    know knew known|lead led|learn learnt|leave left|lend lent
    lose lost|make made|mean meant|meet met|pay paid|ride rode ridden
    ring rang rung|rise rose risen|run ran|say said|see saw seen|sell sold|send sent|shake shook shaken|shoot shot
    show shown|sing sang sung|sink sank sunk|sit sat|sleep slept|speak spoke spoken|spend spent|stand stood
    steal stole stolen|stick stuck|swear swore sworn|sweep swept|swim swam swum|take took taken|teach taught
    tear tore torn|tell told|think thought|throw threw thrown|understand understood|wake woke woken|wear wore worn
    win won|write wrote written|child children kid kids|man men|woman women|person people persons|foot feet
    tooth teeth|mouse mice|wife wives|life lives live|knife knives""".replace("\n", "|").split("|")
    if line.strip()
    for base, *forms in [line.split()]
    for form in forms
}


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a lower-case word: "allergies" and "allergy" have the same. Other scripts stay as they are."""
    word = _IRREGULAR.get(word, word)
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

# What a question is made of beside what it asks for.
_STOP_WORDS = """
a an the and or but if of to in on at by for with from as into about than then so such that this these those it its he
him his she her hers they them their we us our you your i me my mine who whom whose what which when where why how do
does did done doing be am is are was were been being have has had having will would shall should can could may might
must not no there here also any some s t d ll m re ve"""
_STOP_STEMS = frozenset(stem(word) for word in re.findall("[a-z]+", _STOP_WORDS))
_STOP_CHARACTERS = frozenset(
    "的了吗呢吧啊呀么是在有和跟与我你您他她它们这那哪谁什怎几个就都也还很把被给对要会能可以为着过到说"
)


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
    return word in _STOP_STEMS or all(char in _STOP_CHARACTERS for char in word)


# Words of everyday talk that stand for one another, from a small table that ships with the program.


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    """For each stem the stems that it may be said with; for Chinese, for each character or pair."""
    table: dict[str, set[str]] = {}
    for line in resources.files(__package__).joinpath("synonyms.txt").read_text(encoding="utf-8").splitlines():
        group = {_key(word) for word in line.split()}
        for word in group:
            table.setdefault(word, set()).update(group - {word})
    return {word: frozenset(others) for word, others in table.items()}


def _key(word: str) -> str:
    """The most telling of the words that the index has for it: the pair rather than its characters."""
    return max(words_of(word), key=len)


# Whether two texts speak of the same thing, and in what they differ.


Difference = Literal["date", "number", "negation", "name"]

_NUMBER = re.compile(
    r"\d+|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|once|twice|both)\b"
    r"|[零〇一二两三四五六七八九十百千万亿半]",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|today|tomorrow|yesterday"
    r"|spring|summer|autumn|fall|winter|morning|noon|evening|night|midnight|am|pm|weekly|daily|monthly|yearly)\b"
    r"|(?:周|星期|礼拜)[一二三四五六日天]|今[天年]|明[天年]|昨天|去年|上午|下午|早上|晚上|春|夏|秋|冬",
    re.IGNORECASE,
)
_OPEN_TIME = re.compile(
    r"\b(?:today|morning|noon|evening|night|am|pm|weekly|daily|monthly|yearly)\b|今[天年]|上午|下午|早上|晚上",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:not?|never|none|nor|neither|nothing|nobody|without|cannot|stop(?:s|ped)?|quit|no longer)\b|n['\u2019]t\b"
    r"|[不没沒未别別无無非勿莫]",
    re.IGNORECASE,
)
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
    open_times = _found(_OPEN_TIME, other) if in_passing else set()
    patterns: tuple[tuple[Difference, re.Pattern[str]], ...] = (
        ("date", _DATE),
        ("number", _NUMBER),
        ("negation", _NEGATION),
    )
    for kind, pattern in patterns:
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

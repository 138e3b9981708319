"""The words by which a text is indexed and found."""

import re
import unicodedata

from nanobot.memory.recall.stem import stem

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
    """Whether a word tells nothing of what is asked for."""
    return word in _STOP_STEMS or all(char in _STOP_CHARACTERS for char in word)

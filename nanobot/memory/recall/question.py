"""What a person asks for, read from their words."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from nanobot.memory.recall.dates import days_in, without_days
from nanobot.memory.recall.days import Days
from nanobot.memory.recall.words import is_stop, words_of

_WHEN = re.compile(
    r"\bwhen\b|\bwhat (?:time|date|day|month|year)\b|\bhow long\b|什么时候|何时|几时|几点|哪天|哪一天|多久|几月|几号",
    re.IGNORECASE,
)
# What a Chinese question is made of beside what it asks for; between blanks it joins no pair of characters.
_ASKING = re.compile(
    "什么时候|什么|为什么|多少|多久|多大|怎么样|怎么|怎样|如何|哪里|哪儿|哪个|哪些|哪种|哪天|哪一[天个次]|哪|谁|几点|几个|几号|几岁|几"
    "|是不是|有没有|有没|能不能|记不记得|还记得|记得|告诉我|说过|提到过?|吗|呢|请问"
)
_SELF = re.compile(r"\b(?:i|my|me|mine|myself)\b|我", re.IGNORECASE)
_OTHER = re.compile(r"\b(?:you|your|yours)\b|你", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """A question in the terms of the index.

    `words` are the stems to look for, each once; `about` the speakers it names; `days` the time it
    names; `own` whether it is about the one who asks, `bots` about the one who is asked.
    """

    words: Sequence[str]
    about: frozenset[str]
    days: Sequence[Days]
    asks_when: bool
    own: bool
    bots: bool


def read_question(text: str, today: date, speakers: Sequence[str], years: Sequence[int]) -> Question:
    """Read a question.

    Args:
        text: as it was typed.
        today: the day on which it is asked; "yesterday" is the day before.
        speakers: the names of all who ever spoke; a name that is asked about is not looked for as a word.
        years: the years in which anything was said; "in May" may mean each of them.
    """
    days = days_in(text, today, years)
    every = words_of(_ASKING.sub(" ", without_days(text, today)))
    named = {speaker: set(words_of(speaker)) for speaker in speakers}
    about = frozenset(speaker for speaker, name in named.items() if name and not name.isdisjoint(every))
    names = {word for speaker in about for word in named[speaker]}
    words = [word for word in every if word not in names]
    telling = [word for word in words if not is_stop(word)]
    own, bots = bool(_SELF.search(text)), bool(_OTHER.search(text))
    return Question(
        words=list(dict.fromkeys(telling or ([] if days else words))),
        about=about,
        days=days,
        asks_when=bool(_WHEN.search(text)),
        own=own and not about,
        bots=bots and not own and not about,
    )


def without_names(text: str, speakers: Iterable[str]) -> str:
    """The text without the names of these: they are in everything that is said to them."""
    names = sorted({part for speaker in speakers for part in (speaker, *speaker.split())}, key=len, reverse=True)
    for name in names:
        text = re.sub(rf"(?<!\w){re.escape(name)}(?:['\u2019]s)?(?!\w)", "", text, flags=re.IGNORECASE)
    return text

"""Wishes to remember or to forget something, in the words that people use."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from nanobot.languages import alternatives, compile_form, languages_with, table, tables

MOST = 1000
"""Characters. In a longer message such words are more likely part of what somebody else wrote."""

MOST_TO_FORGET = 120
"""Characters of an order to forget: in longer ones more is meant than what is named."""

_UNSPACED = re.compile("[\u3400-\u9fff]")
_END = re.compile(r"(?:[吗嗎]?[?？]|[.!。！…])*$")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|(?<![:：\n])\n+")


def remember_request(text: str) -> str | None:
    """The fact, in the person's own words, if a message asks to remember one; else None.

    Questions ("do you remember that …?"), memories of one's own ("I remember that …") and errands
    ("remember to call me", "记得买牛奶") ask for something else. What is asked behind the fact is no part of it.
    """
    if len(text) > MOST:
        return None
    sentences = [sentence for sentence in _SENTENCE_END.split(text.strip()) if sentence]
    return next((fact for first in range(len(sentences)) if (fact := _wished(sentences[first:]))), None)


def forget_request(text: str) -> str | None:
    """Return the subject of an order to forget something; None for any other message.

    "Forget it" and "don't forget …" are no such orders, nor is what somebody has forgotten themselves. The forms stand
    in languages/<code>/forget.toml.
    """
    said = _without_tag(text.strip()).strip()
    if not said or len(said) > MOST_TO_FORGET or "\n" in said:
        return None
    folded = said.lower()
    hints = {code: table(code, "forget")["hints"] for code in languages_with("forget")}
    codes = [code for code, words in hints.items() if any(word in folded for word in words)]
    return next((what for code in codes if (what := _Orders.of(code).what(said))), None)


def without_whose(words: str) -> str:
    """Leave out whose a thing is, or that it is the one: "my address" is found where an address stands."""
    return _whose().sub("", words, count=1)


@cache
def _whose() -> re.Pattern[str]:
    every = [language["whose"] for language in tables("forget")]
    spaced = "|".join(f"(?:{words})" for words in every if not _UNSPACED.search(words))
    unspaced = "|".join(f"(?:{words})" for words in every if _UNSPACED.search(words))
    return re.compile(rf"^(?:(?:{spaced})\s+|(?:{unspaced})(?=\S\S))(?=\S)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Orders:
    """The orders to forget of one language, compiled when the first message of it is read."""

    forms: Sequence[re.Pattern[str]]
    asking: re.Pattern[str]
    never: re.Pattern[str]
    nothing: re.Pattern[str]

    @staticmethod
    @cache
    def of(language: str) -> "_Orders":
        told = table(language, "forget")
        forms = (f"{told['before']}(?:{each['form']}){told['after']}" for each in told["forms"])
        parts = told["parts"]
        return _Orders(
            [compile_form(form, parts) for form in forms],
            *(compile_form(told[name], parts) for name in ("asking", "never", "nothing")),
        )

    def what(self, said: str) -> str | None:
        if _is_question(said) and not self.asking.search(said):
            return None
        order = _END.sub("", said)
        for form in self.forms:
            match = form.fullmatch(order)
            if match and not self.never.fullmatch(order[match.start("what") :]):
                what: str = match["what"].strip(" ,，")
                if not self.nothing.fullmatch(what):
                    return what
        return None


@dataclass(frozen=True, slots=True)
class _Wishes:
    """The wishes to remember of one language; `tells` and `no_object` where it has no word for "that"."""

    form: re.Pattern[str]
    tells: re.Pattern[str] | None
    no_object: re.Pattern[str] | None

    @staticmethod
    @cache
    def of(language: str) -> "_Wishes":
        told = table(language, "remember")
        tells, no_object = (re.compile(told[key]) if key in told else None for key in ("tells", "no_object"))
        return _Wishes(compile_form(told["form"], told["parts"]), tells, no_object)

    def is_told(self, match: re.Match[str]) -> bool:
        """Return True if what follows the wish reads as something told."""
        if self.tells is None or self.no_object is None:
            return True
        if any(mark in match["mark"] for mark in ":：") or (match["sure"] and match["mark"]):
            return True
        if match["sure"]:
            return not self.no_object.match(match["fact"])
        return bool(self.tells.match(match["fact"]))


def _wished(sentences: list[str]) -> str | None:
    """Return the fact in a wish that the first of these sentences begins."""
    said = _without_tag(sentences[0])
    every = (_Wishes.of(language) for language in languages_with("remember"))
    found = next(((wishes, match) for wishes in every if (match := wishes.form.fullmatch(said))), None)
    if found is None:
        return None
    wishes, match = found
    first = match["fact"]
    if _is_question(first):
        if not match["asking"]:
            return None
        first = _asking_end().sub("", first)
    if _nothing().fullmatch(first) or not wishes.is_told(match):
        return None
    return " ".join([first.strip(), *_statements(sentences[1:])])


def _statements(sentences: list[str]) -> Iterator[str]:
    """Yield the sentences up to the first that asks something."""
    for sentence in sentences:
        if _is_question(sentence):
            return
        yield _without_tag(sentence).strip()


def _without_tag(text: str) -> str:
    return _tag().sub("", text)


def _is_question(text: str) -> bool:
    return _question().search(text) is not None


@cache
def _tag() -> re.Pattern[str]:
    return re.compile(rf"[\s,，]*(?:{alternatives('remember', 'tag')})[.!?。！？]*$", re.IGNORECASE)


@cache
def _question() -> re.Pattern[str]:
    return re.compile(rf"[?？]\s*$|{alternatives('remember', 'question')}")


@cache
def _asking_end() -> re.Pattern[str]:
    return re.compile(rf"(?:{alternatives('remember', 'asks_with')})?\s*[?？]+\s*$")


@cache
def _nothing() -> re.Pattern[str]:
    return re.compile(rf"(?:{alternatives('remember', 'nothing')})?[.!。！…\s]*", re.IGNORECASE)

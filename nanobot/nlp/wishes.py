"""Wishes to remember or to forget something, in the words that people use."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

MOST = 1000
"""Characters. In a longer message such words are more likely part of what somebody else wrote."""

_HELLO = r"(?:(?:hey|hi|hello|ok|okay|so|and|also|oh|well|now|then|nanobot)[,:!.]?\s+)*"
_ASKING = r"(?P<asking>(?:can|could|would|will)\s+you\s+)?"
_WANTING = r"(?:i\s+(?:want|need|would like)\s+you\s+to\s+|i['’]d\s+like\s+you\s+to\s+|you\s+(?:should|must)\s+)?"
_VERB = (
    r"(?:remember(?:\s+(?:this|the following))?(?:\s+for\s+(?:me|later))?"
    r"|(?:do\s+not|don['’]?t|never)\s+(?:ever\s+)?forget(?:\s+this)?"
    r"|make\s+a\s+note|take\s+a\s+note|keep\s+in\s+mind|bear\s+in\s+mind"
    r"|(?:save|add|put|write)\s+(?:this\s+)?(?:to|in|into)\s+(?:your\s+)?memory)"
)
_I_SAY = (  # "remember my birthday" tells nothing, "remember my birthday is in May" does
    r"(?:i|i['’]m|i['’]ve|i['’]d|i['’]ll|we|we['’]re|we['’]ve)\s"
    r"|(?:my|our|the)\s[^.!?\n]*(?:['’]s\s|\b(?:is|are|was|were|has|have|had|will|can|can['’]t|does|doesn['’]t|likes?|loves?"
    r"|hates?|lives?|works?|needs?|wants?|prefers?|goes|comes|starts?|ends?|means?)\b)"
)
_SHOWN = r"(?:time|times|day|night|one|moment|summer|trip|guy|man|woman|movie|film|song|book|place|party)\s"
_ENGLISH = re.compile(
    rf"{_HELLO}{_ASKING}(?:please[,:]?\s+)?{_WANTING}(?:please\s+)?(?:always\s+|just\s+|also\s+)?{_VERB}(?:,?\s+please)?"
    rf"(?:\s*[:：]\s*|\s+[-–—]+\s+|,?\s+that(?:\s*[:,])?\s+(?!{_SHOWN})|,?\s+(?={_I_SAY}))"
    r"(?P<fact>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_CHINESE = re.compile(
    r"(?:(?:你好|您好|嗨|早上好|晚上好|好的?|嗯|哦|对了|那|还有|另外)[，,。！!\s]*)*"
    r"(?P<asking>(?:你?(?:能不能|可不可以|可以|能)|麻[烦煩]你?)?(?:[请請]你?|[帮幫]我|[帮幫]忙|替我|[给給]我))*"
    r"(?:你(?:要|得|一定要)?|一定要?|千[万萬]要?|[务務]必|要)?"
    r"(?:(?P<sure>[记記](?:住|下[来來]?|一下|[个個]事|[个個][笔筆][记記])|[记記][录錄](?:一下|下[来來]))|[记記][得着著]|[别別]忘了?|不要忘[记記]?了?)"
    r"(?:一下|[这這](?:[个個]|件事|一[点點]))?(?P<mark>[：:，,。！!\s]*)(?P<fact>\S.*)",
    re.DOTALL,
)
_TAG = re.compile(  # ", okay?"
    r"[\s,，]*(?:\b(?:please|thanks|thank you|okay|ok|alright|will you|would you)"
    r"|好吗|好嗎|好不好|可以吗|行吗|谢谢|謝謝)[.!?。！？]*$",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|(?<![:：\n])\n+")
_IS_QUESTION = re.compile(r"[?？]\s*$|[吗嗎呢]\s*[。.!！]?\s*$|什[么麼]\s*$")
_NOTHING = re.compile(
    r"(?:this|that|it|me|us|everything|all of (?:this|that|it)|i (?:said|told you)\b.*"
    r"|[这這][个個些]?|我|它|我[刚剛]?[才剛]?[说說]的.{0,3})?[.!。！…\s]*",
    re.IGNORECASE,
)
MOST_TO_FORGET = 120
"""Characters of an order to forget: in longer ones more is meant than what is named."""

_UNSPACED = re.compile("[\u3400-\u9fff]")
_PART = re.compile(r"\{([a-zA-Z]+)\}")
_END = re.compile(r"(?:[吗嗎]?[?？]|[.!。！…])*$")
_NO_OBJECT = re.compile(r"[了过過的不得]")
_TELLS = re.compile(r"我(?!们?[吗嗎])|咱|[^，。]*(?:是|叫|喜[欢歡]|[讨討][厌厭]|[过過]敏)")


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
    in patterns/forget.toml.
    """
    said = _TAG.sub("", text.strip()).strip()
    if not said or len(said) > MOST_TO_FORGET or "\n" in said:
        return None
    folded = said.lower()
    languages = [name for name, language in _orders().items() if any(hint in folded for hint in language["hints"])]
    return next((what for name in languages if (what := _Orders.of(name).what(said))), None)


def without_whose(words: str) -> str:
    """Leave out whose a thing is, or that it is the one: "my address" is found where an address stands."""
    return _whose().sub("", words, count=1)


@cache
def _whose() -> re.Pattern[str]:
    every = [language["whose"] for language in _orders().values()]
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
        told = _orders()[language]
        forms = (f"{told['before']}(?:{each['form']}){told['after']}" for each in told["forms"])
        parts = told["parts"]
        return _Orders(
            [_in_full(form, parts) for form in forms],
            *(_in_full(told[name], parts) for name in ("asking", "never", "nothing")),
        )

    def what(self, said: str) -> str | None:
        if _IS_QUESTION.search(said) and not self.asking.search(said):
            return None
        order = _END.sub("", said)
        for form in self.forms:
            match = form.fullmatch(order)
            if match and not self.never.fullmatch(order[match.start("what") :]):
                what: str = match["what"].strip(" ,，")
                if not self.nothing.fullmatch(what):
                    return what
        return None


@cache
def _orders() -> Mapping[str, Any]:
    """Read the forms of all languages, by name."""
    data = (resources.files("nanobot.nlp") / "patterns" / "forget.toml").read_text(encoding="utf-8")
    return tomllib.loads(data)


def _in_full(form: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    """Put the parts into their places, and any white space for a blank."""
    while (filled := _PART.sub(lambda part: f"(?:{parts[part[1]]})", form)) != form:
        form = filled
    return re.compile(form.replace("\n", "").replace(" ", r"\s+"), re.IGNORECASE)


def _wished(sentences: list[str]) -> str | None:
    """The fact in a wish that the first of these sentences begins."""
    match = _ENGLISH.fullmatch(_TAG.sub("", sentences[0])) or _CHINESE.fullmatch(_TAG.sub("", sentences[0]))
    if match is None:
        return None
    first = match["fact"]
    if _IS_QUESTION.search(first):
        if not match["asking"]:
            return None
        first = re.sub(r"[吗嗎]?\s*[?？]+\s*$", "", first)
    if _NOTHING.fullmatch(first) or not _is_told(match):
        return None
    return " ".join([first.strip(), *_statements(sentences[1:])])


def _statements(sentences: list[str]) -> Iterator[str]:
    """The sentences up to the first that asks something."""
    for sentence in sentences:
        if _IS_QUESTION.search(sentence):
            return
        yield _TAG.sub("", sentence).strip()


def _is_told(match: re.Match[str]) -> bool:
    """Chinese leaves out what English says with "that": what follows must read as something told."""
    if match.re is _ENGLISH:
        return True
    if any(mark in match["mark"] for mark in ":：") or (match["sure"] and match["mark"]):
        return True
    if match["sure"]:
        return not _NO_OBJECT.match(match["fact"])
    return bool(_TELLS.match(match["fact"]))

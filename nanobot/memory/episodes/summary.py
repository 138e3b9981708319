"""Parser of a model's summary, in whatever form it came."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from nanobot.languages import expression
from nanobot.nlp.words import content_words, words_of

LONGEST = 4_000
"""Characters of a summary."""

LONGEST_FACT = 400
LONGEST_CATEGORY = 40
MOST_FACTS = 30

_THOUGHT = re.compile(r"<\s*think(?:ing)?\s*>.*?(?:<\s*/\s*think(?:ing)?\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^[^\S\n]*```\w*[^\S\n]*$", re.MULTILINE)
_FACT = re.compile(
    r"^[\W_]*FACTS?\b[\W_]*?\[(?P<from>[^\]]*)\]\s*(?:[(（](?P<about>[^)）]*)[)）])?[\s:：*_-]*(?P<text>\S.*)$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*•·]|\d{1,2}[.)])\s+")
_NUMBER = re.compile(r"\d+")
_ERROR = re.compile(
    r"\W*(?:error\b|exception\b|traceback\b|http[ /]?\d|(?:4\d\d|5\d\d)\s|<!doctype|<html"
    r"|internal server|bad gateway"
    r"|(?:rate limit|quota exceeded|unauthorized|forbidden|invalid api|model not found|service unavailable)"
    r"|(?:request|connection|api) (?:failed|error|timed out)|timed? ?out|错误|请求失败)",
    re.IGNORECASE,
)
_HEAD = re.compile(r"^(?:#\d+ )?[\d:]* ?\[\w+\] [^:\n]*:", re.MULTILINE)  # of a line: when, on whose authority, who
_MARK = re.compile(r"\[\w+\] ")
_FEW_WORDS = 6
_FEWEST = 3  # letters that say something
_HAN = re.compile("[\u3400-\u9fff]")
_LETTER = re.compile("[^\\W\\d_\u3400-\u9fff]")
_TEXTS = ("summary", "content", "history_entry", "text", "message", "output", "answer", "arguments", "args", "input")
"""Where models put the text when they answer in JSON."""


@dataclass(frozen=True, slots=True)
class FactRead:
    """A fact as the model put it; `numbers` are of messages, and may be of none."""

    text: str
    numbers: Sequence[int]
    category: str = ""
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary in a few lines, and the facts in it."""

    text: str
    facts: Sequence[FactRead] = ()


def read_summary(answer: str, about: str) -> Summary | None:
    """The summary in an answer; None if there is none: nothing, a refusal, an error, talk about something else.

    Args:
        answer: as the model gave it: the lines that were asked for, JSON, or prose.
        about: the text that was to be summarised.
    """
    text = _FENCE.sub("", _THOUGHT.sub("", answer)).strip()
    document = _json(text)
    if document is None:
        rows = [line.strip() for line in text.splitlines() if _json(line) is None]
        facts = [fact for row in rows if (fact := _fact_line(row))]
        heading = expression("talk", "heading", r"^\W*{}\W*$")
        said = [row for row in rows if row and not heading.match(row) and not _FACT.match(row)]
    else:
        facts = list(_facts_in(document))
        said = [line.strip() for line in _text_in(document).splitlines() if line.strip()]
    text = _cut("\n".join(said or (f"- {fact.text}" for fact in facts)))
    return Summary(text, facts[:MOST_FACTS]) if _is_summary(text, about, is_listed=bool(facts)) else None


def is_supported(text: str, said: str) -> bool:
    """True if a text speaks of what was said at all. From Chinese to English and back this cannot be told."""
    said = _MARK.sub("", said)
    return _is_chinese(text) != _is_chinese(said) or _is_akin(content_words(text), content_words(said))


def _is_akin(some: Collection[str], others: Collection[str]) -> bool:
    """True if words of both share more than a few letters, however their language builds forms of a word.

    That is: half of a word begins another (endings that are glued to a stem), or two thirds of it stand in another
    (prefixes, and words made of words).
    """
    if not set(some).isdisjoint(others):
        return True
    return any(_shares_letters(a, b) for a, b in ((some, others), (others, some)))


def _shares_letters(words: Collection[str], others: Collection[str]) -> bool:
    text = f" {' '.join(others)} "
    for word in words:
        start, run = max(_FEWEST, (len(word) + 1) // 2), max(_FEWEST, (2 * len(word) + 2) // 3)
        if len(word) < _FEWEST:
            continue
        if f" {word[:start]}" in text or any(word[at : at + run] in text for at in range(len(word) - run + 1)):
            return True
    return False


def _is_chinese(text: str) -> bool:
    """A character of Chinese says as much as a few letters."""
    return 3 * len(_HAN.findall(text)) > len(_LETTER.findall(text))


def _is_summary(text: str, about: str, *, is_listed: bool) -> bool:
    """True if a text may stand for a summary.

    What was asked for is never refused: lines that begin with "-" may be about errors, and a single one only says
    what it was about, as does anything that is said of a few words.
    """
    if not any(char.isalpha() for char in text):
        return False
    lines = text.splitlines()
    is_in_form = all(line.startswith("- ") for line in lines)
    if _ERROR.match(text) or (expression("talk", "declined", r"\W*{}").match(text) and not is_listed):
        return is_in_form and not content_words(text).isdisjoint(content_words(about))
    is_short = len(words_of(_HEAD.sub("", about))) <= _FEW_WORDS and len(words_of(text)) > 1
    return (is_in_form and len(lines) == 1) or is_short or is_supported(text, about)


def _fact_line(row: str) -> FactRead | None:
    match = _FACT.match(row)
    if match is None:
        return None
    about = match["about"] or ""
    sure = re.search(r"(?<![\w.])(?:0?\.\d+|[01](?:\.\d+)?)(?![\w.])", about)
    category = about.replace(sure[0], "") if sure else about
    return _fact(match["text"], map(int, _NUMBER.findall(match["from"])), category, float(sure[0]) if sure else 1.0)


def _fact(text: str, numbers: Iterable[int], category: str, confidence: float) -> FactRead | None:
    text, category = " ".join(text.split()).strip("*_ "), " ".join(re.sub(r"[,;:/|]+", " ", category).split())
    if not text or len(text) > LONGEST_FACT:
        return None
    return FactRead(text, tuple(dict.fromkeys(numbers)), category[:LONGEST_CATEGORY], min(1.0, max(0.0, confidence)))


def _json(text: str) -> object | None:
    """Return the JSON object or list that a text is; None if it is anything else."""
    if not text.strip().startswith(("{", "[")):
        return None
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document


def _text_in(document: object, depth: int = 4) -> str:
    """The text in an answer of JSON, wherever models put it."""
    if isinstance(document, str):
        inner = _json(document)
        return document if inner is None else _text_in(inner, depth - 1) if depth else ""
    if isinstance(document, list) and depth:
        return "\n".join(filter(None, (_text_in(part, depth - 1) for part in document)))
    if isinstance(document, dict) and depth:
        found = (_text_in(document[name], depth - 1) for name in _TEXTS if name in document)
        return next(filter(None, found), "")
    return ""


def _facts_in(document: object) -> Iterator[FactRead]:
    rows = document.get("facts") if isinstance(document, dict) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and isinstance(row.get("text"), str):
            named = row.get("messages", row.get("from", ()))
            numbers = map(int, _NUMBER.findall(json.dumps(named)))
            category, confidence = row.get("category", ""), row.get("confidence", 1.0)
            is_number = isinstance(confidence, int | float) and confidence == confidence
            fact = _fact(
                row["text"], numbers, category if isinstance(category, str) else "", confidence if is_number else 1.0
            )
            if fact:
                yield fact


def _cut(text: str) -> str:
    """Whole lines, as many as fit; a bullet before each is one that people read."""
    lines: list[str] = []
    for line in text.splitlines():
        line = f"- {_BULLET.sub('', line)}" if _BULLET.match(line) else line
        if sum(map(len, lines)) + len(line) > LONGEST:
            return "\n".join(lines) if lines else line[:LONGEST]
        lines.append(line)
    return "\n".join(lines)

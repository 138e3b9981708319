"""Prompt of a small model: its character, the one relevant memory, and the question.

Small models drown in long prompts and lose what stands in the middle. How this is put was chosen by
trying the shapes that come to mind on the embedded model with questions about the user: with all
facts in the system message it answered 12 of 24 rightly, with the one that matters, said again just
before the question, 23. Its own earlier answers do harm: it repeats them, in the voice that they had.
"""

import re
from collections.abc import Iterable, Sequence

from nanobot.memory.recall.injection import shown_memories
from nanobot.nlp.pasted import own_part
from nanobot.nlp.wishes import remember_request
from nanobot.transcript import Message

CHARACTER = 400
"""Characters of SOUL.md at most, in whole paragraphs; the first one is always read."""

EARLIER = 2
"""Messages before the question that go along with one that has no subject of its own ("why?", "go on")."""

LENGTH = 300
"""Characters of each of these, and of what a user says of themselves in one message."""

CARRIED = 2_000
"""Characters of a file, or of what a command printed, that came along with the question."""

ASKED = "What do you know about me?"

_COMMON = frozenset(
    """
    a about again am an and any are at be been being but by called can could did do does doing for from had has
    have her hers him his how i if in is it its just know let may me might mine must my no not now of on
    or our please remember shall she should so some tell than thank thanks that the their them then there these
    they this those to too up us user user's was we well were what what's when where which who whom whose why will
    with would yes you your yours
    """.split()  # noqa: SIM905 - a list of words is best read as words
)
_WORD = re.compile(r"[a-z0-9']+|[\u4e00-\u9fff]{2,}")
_SENTENCE_END = re.compile(
    r"(?<=[.!?]) +|(?<=[。！？])|\n|(?:,| and| but)+ (?=(?:i|my|we|our)\b)|，(?=我)", re.IGNORECASE
)
_DATE = re.compile(r"(?<!\s)\s*\(\d{4}-\d{2}-\d{2}\)\s*$")
_OF_ONESELF = re.compile(r"\b(?:i|i'm|my|mine|me|we|our)\b|我", re.IGNORECASE)
_OF_USER = re.compile(r"(?:my|the user's) (.{2,40}?) (?:is|are) (?:called |named )?(.+)", re.IGNORECASE)


def compact_messages(soul: str, facts: str, replay: Sequence[Message]) -> list[Message]:
    """The request for a small model.

    Args:
        soul: SOUL.md without its comments.
        facts: what USER.md and MEMORY.md say, one fact a line.
        replay: the conversation, its newest message last.
    """
    spoken = (message for message in replay if message.role in ("user", "assistant"))
    said = [message for message in spoken if message.content or message.quotes]
    question = next((message for message in reversed(said) if message.role == "user"), None)
    if question is None:
        return [Message(role="system", content=_character(soul))]
    earlier = [message for message in said[: said.index(question)] if message.content]
    known = [*_recalled(question), *_statements(earlier), *_facts(facts)]  # what was written down counts more
    fact = _most_relevant(known, question.content or "")
    asked = Message(role="user", content=_with_files(question), files=question.files, turn=question.turn)
    if fact is None:
        before = [] if _stems(question.content or "") else _shortened(earlier)
        return [Message(role="system", content=_character(soul)), *before, asked]
    return [
        Message(role="system", content=f"{_character(soul)}\n\nWhat you know about the user:\n{fact}"),
        Message(role="user", content=ASKED),
        Message(role="assistant", content=f"{fact}."),
        asked,
    ]


def _with_files(question: Message) -> str:
    """The words, and before them the beginnings of the files, outputs and words of others that came along."""
    texts = [quote.text for quote in question.quotes if quote.how not in ("reply", "quote")]
    shown = [f"{text[:CARRIED]}\n[the rest is left out]" if len(text) > CARRIED else text for text in texts]
    return "\n\n".join([*shown, question.content or ""])


def _character(soul: str) -> str:
    first, *more = soul.split("\n\n")
    for paragraph in more:
        if len(first) + len(paragraph) > CHARACTER:
            break
        first = f"{first}\n\n{paragraph}"
    return first


def _facts(text: str) -> list[str]:
    """The sentences of the lines that say something: of headings and marks a small model would talk."""
    lines = (_DATE.sub("", line.strip().lstrip("-*+ ")) for line in text.splitlines() if not line.startswith("#"))
    return [sentence for line in lines for sentence in _sentences(line)]


def _statements(earlier: Iterable[Message]) -> list[str]:
    """Return the user's statements about themselves in this conversation."""
    texts = (own_part(message.content or "") for message in earlier if message.role == "user")
    wished = (remember_request(text) or text for text in texts if len(text) <= LENGTH)
    said = (sentence for text in wished for sentence in _sentences(text))
    return [sentence for sentence in said if _OF_ONESELF.search(sentence) and not sentence.endswith(("?", "？"))]


def _recalled(question: Message) -> list[str]:
    """Return the search results for this question from earlier conversations and notes."""
    said = (sentence for row in shown_memories(question.context or "") for sentence in _sentences(row))
    return [sentence for sentence in said if not sentence.endswith(("?", "？"))]


def _sentences(text: str) -> list[str]:
    return [sentence.strip() for sentence in _SENTENCE_END.split(text) if sentence.strip()]


def _most_relevant(known: Sequence[str], question: str) -> str | None:
    """The fact that shares most words with the question, the last of equals, put as plainly as can be."""
    asked = _stems(question)
    scored = [(len(asked & _stems(fact)), place) for place, fact in enumerate(known)]
    score, place = max(scored, default=(0, 0))
    return _plain(known[place]) if score else None


def _stems(text: str) -> set[str]:
    """Words by their beginnings ("lives" is "live"), Chinese by pairs of characters."""
    words = [word for word in _WORD.findall(text.lower()) if word not in _COMMON]
    latin = {word.removesuffix("'s")[:4] for word in words if word.isascii()}
    return latin | {word[i : i + 2] for word in words if not word.isascii() for i in range(len(word) - 1)}


def _plain(fact: str) -> str:
    """ "My dog is called Pixel." is "Dog: Pixel", which small models do not mistake for their own words."""
    fact = fact.strip().rstrip(".。!！")
    match = _OF_USER.fullmatch(fact)
    return f"{match[1][0].upper()}{match[1][1:]}: {match[2]}" if match else fact


def _shortened(earlier: Sequence[Message]) -> list[Message]:
    last = [Message(role=message.role, content=(message.content or "")[:LENGTH]) for message in earlier[-EARLIER:]]
    first = next((i for i, message in enumerate(last) if message.role == "user"), len(last))
    return last[first:]

"""True if a text is what somebody said: in their words, and not turned around."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from nanobot.nlp.clauses import TURNS, WAYS, Clause, Mark, Sentence, compared, sentences
from nanobot.nlp.words import content_words

_WHO = re.compile(r"\b(?:the )?(?:user|owner|member|group)(?:'s|s)?\b|用户|群里|主人", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*+•·>#]+\s+|\d{1,2}[.)]\s+|\[[ x]\]\s+)*")
_DAY = re.compile(r"[(（\[]\d{4}-\d{2}-\d{2}[)）\]][.。]?\s*$|^\s*\d{4}-\d{2}-\d{2}[:：,]?\s+")
_TITLE_WORDS = re.compile(
    r"(?:\W|the|of|my|and|user|s|memory|preferences|facts|people|family|friends|work|home|health|food|hobbies|interests"
    r"|plans|projects|notes|remembered|about|me|background|contact|routines|language|style"
    r"|记忆|记住的事|喜好|偏好|事实|家人|朋友|工作|健康|饮食|爱好|计划|项目|关于我|用户)+",
    re.IGNORECASE,
)
_BOT = r"(?:you|(?:the )?(?:bot|assistant)|nanobot)"
_FRAME = re.compile(  # of a line: "The user ", "The user wants the assistant to ", "The user's "
    r"^(?:(?:the )?(?:user|owner|member)(?P<whose>['\u2019]s)?(?![\w'\u2019])(?! of\b) ?)?"
    r"(?:(?:has )?(?:said|says|mentioned|told (?:you|us|me)|noted|stated)(?: that)? "
    rf"|(?:wants?|asked|asks|expects|tells|told|would like) (?:(?P<bot>{_BOT}) )?to (?:be )?"
    r"|(?:wants?|asked|asks) (?:for|that) )?[\s,，:：]*",
    re.IGNORECASE,
)
_CHINESE_FRAME = re.compile(
    r"^(?:用户|主人)(?P<whose>的)?(?:说过?|要求|希望|想要|提到|让)?(?P<bot>你|助手|机器人)?[\s,，:：]*"
)
_DUTY = re.compile(rf"\b{_BOT} (?:should|must|shall|has to|is to)\b", re.IGNORECASE)
_FIRST_WORD = re.compile(r"\w+")
_USER = re.compile(
    r"(?<!\bis )(?<!\bas )(?<!\bare )(?<!\bbe )\bthe user(?P<whose>['\u2019]s)?\b|用户(?P<whose_zh>的)?", re.IGNORECASE
)
_PIECE = re.compile(r"[^\s\"“”「」（）()，。、；：！？\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_NUMBER = re.compile(r"\d+")
_SPECIAL = frozenset("/\\@_$=~|<>{}#^%")
_CODE = re.compile(r"`([^`\n]+)`")
_SIGNS = frozenset({"So", "Cf", "Co", "Cn"})
_OPPOSITES = {"on": "off", "in": "out", "into": "out", "up": "down", "an": "aus", "auf": "zu", "with": "without"}
_ASIDE = frozenset(
    {
        *map(
            compared, ("quite", "just", "still", "often", "always", "usually", "gern", "immer", "siempre", "toujours")
        ),
        *map(compared, ("please", "kindly", "bitte", "now")),
        *"也总都一直经常每天特别最真挺更",
    }
)
"""Words that may stand between the speaker and what they say of themself."""

_CONTRARY = {
    compared(one) or one: compared(other) or other
    for pair in (
        "before after", "more less", "more fewer", "allow forbid", "first last", "left right", "early late",
        "open close", "increase decrease", "start stop", "love hate", "like dislike", "best worst", "hot cold",
        "always never", "前 后", "左 右", "多 少", "早 晚", "开 关",
    )
    for one, other in (pair.split(), pair.split()[::-1])
}  # fmt: skip
_WITHOUT = frozenset({"without", "ohne", "sin", "sans", "senza", "sem"})
_LIMITS: frozenset[Mark] = frozenset({"when", "hedge"})
_TOLD: frozenset[Mark] = frozenset({"report", "question"})
_ENOUGH = 1 / 2
_MOST_RUNS = 50
_SHARED_PAIRS = 2 / 3


def is_said(text: str, said: str) -> bool:
    """True if who said all this said each line of this text, too.

    All its words stand in one sentence of it or in two neighbouring ones, however they are inflected; addresses,
    commands and numbers exactly so; and nothing there denies, limits or merely reports what the text claims. Not
    looked at are bullets, the day a line was written down, and that it calls the speaker "the user".
    """
    talk = _talk(unicodedata.normalize("NFKC", said))
    return all(talk.says(line) for line in unicodedata.normalize("NFKC", text).split("\n"))


def speaks_for(said: str, text: str, names: Collection[str] = ()) -> bool:
    """True if what was said speaks for each line of a text: for half of the words of a sentence, in the same sense.

    Addresses and commands must stand there exactly so; `names` are those of the speaker, and need not.
    """
    talk = _talk(unicodedata.normalize("NFKC", said))
    mine = frozenset(map(str.lower, names))
    return all(talk.speaks_for(line, mine) for line in unicodedata.normalize("NFKC", text).split("\n"))


def is_plain_title(text: str) -> bool:
    """True if a heading only names a kind of facts, in one of the usual words."""
    return _TITLE_WORDS.fullmatch(text) is not None


def support(text: str, said: str) -> float:
    """The share of the words of a text that were said."""
    words = content_words(without_who(text))
    return len(words & content_words(said)) / len(words) if words else 1.0


def without_who(text: str) -> str:
    """A text without whom it is about: nobody calls themselves "the user"."""
    return _WHO.sub(" ", text)


@dataclass(frozen=True)
class _Claim:
    """A line that may have been said; `is_of_speaker`: it says something of the user."""

    sentence: Sentence
    literals: frozenset[str]
    codes: Sequence[str]
    signs: frozenset[str]
    is_of_speaker: bool


class _Talk:
    """All that somebody said, ready to be looked up."""

    def __init__(self, said: str) -> None:
        self._sentences = sentences(said)
        self._places: dict[str, list[int]] = {}
        for number, one in enumerate(self._sentences):
            for word in one.words:
                self._places.setdefault(word, []).append(number)

    def says(self, line: str) -> bool:
        return all(map(self._says, _claims(line)))

    def speaks_for(self, line: str, names: frozenset[str]) -> bool:
        free = frozenset(map(compared, names))
        return all(self._speaks_for(claim, free) for claim in _claims(line, names))

    def _says(self, claim: _Claim) -> bool:
        if not claim.sentence.words:
            return self._holds(claim)
        rarest = min((self._places.get(word, []) for word in claim.sentence.words), key=len)
        return any(_says(self._sentences[start:stop], claim) for start, stop in _windows(rarest))

    def _speaks_for(self, claim: _Claim, free: frozenset[str]) -> bool:
        words = claim.sentence.words - free
        if not words:
            return self._holds(claim)
        known = {word: self._places[word] for word in words if word in self._places}
        if len(known) < _ENOUGH * len(words):
            return False
        places = sorted({place for found in known.values() for place in found})
        return any(_speaks_for(self._sentences[start:stop], claim, words) for start, stop in _windows(places))

    def _holds(self, claim: _Claim) -> bool:
        return any(claim.sentence.raw in one.raw for one in self._sentences)


def _windows(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Each of these sentences alone, and each with a neighbour."""
    yield from ((place, place + 1) for place in places)
    for start in sorted({one for place in places for one in (place - 1, place) if one >= 0}):
        yield start, start + 2


@lru_cache(maxsize=16)
def _talk(said: str) -> _Talk:
    return _Talk(said)


def _claims(line: str, names: frozenset[str] = frozenset()) -> list[_Claim]:
    """The sentences of a line as they are looked up; none if it claims nothing. Who has such a name is the user."""
    text = _DAY.sub("", _BULLET.sub("", line)).strip().strip("*_ ")
    if (first := _FIRST_WORD.match(text)) and first[0].lower() in names:
        text = f"The user{text[first.end() :]}"
    is_empty = not any(char.isalnum() or unicodedata.category(char) in _SIGNS for char in text)
    if is_empty or (line.lstrip().startswith("#") and is_plain_title(text)):
        return []
    frame = _CHINESE_FRAME.match(text) or _FRAME.match(text)
    is_whose = bool(frame and frame["whose"])
    is_of_speaker = bool(frame and frame[0]) and not is_whose and not (frame and frame["bot"])
    text = _DUTY.sub(" ", text[frame.end() :] if frame else text)
    body = f"{'my ' if is_whose else ''}{text.strip()}"
    body = _USER.sub(lambda match: " my " if match["whose"] or match["whose_zh"] else " me ", body)
    return [_claim(one, is_of_speaker=is_of_speaker and not place) for place, one in enumerate(sentences(body))]


def _claim(one: Sentence, *, is_of_speaker: bool) -> _Claim:
    signs = frozenset(char for char in one.raw if unicodedata.category(char) in _SIGNS)
    return _Claim(one, frozenset(_literals(one.raw)), _CODE.findall(one.raw), signs, is_of_speaker)


def _says(window: Sequence[Sentence], claim: _Claim) -> bool:
    """True if these sentences say it."""
    words = claim.sentence.words
    if not all(any(word in one.words for one in window) for word in words):
        return False
    raw = "\n".join(one.raw for one in window)
    is_exact = claim.literals <= set(_literals(raw)) and claim.signs <= set(raw)
    if not is_exact or not all(_holds(raw, code) for code in claim.codes):
        return False
    clauses = [clause for one in window for clause in one.clauses]
    claims = [clause for clause in claim.sentence.clauses if clause.words]
    turned = {turn for clause in clauses for turn in _turns_within(words, clause)}
    if not turned <= {turn for one in claims for turn in one.near} or not _is_written_alike(claims, clauses):
        return False
    return all(_is_borne(one, clauses, of_speaker=claim.is_of_speaker and one is claims[0]) for one in claims)


def _speaks_for(window: Sequence[Sentence], claim: _Claim, words: frozenset[str]) -> bool:
    """True if these sentences have half of its words, and turn none of its clauses around."""
    there = frozenset().union(*(one.words for one in window))
    if len(words & there) < _ENOUGH * len(words):
        return False
    raw = "\n".join(one.raw for one in window)
    literals = set(_literals(raw))
    exact = {one for one in claim.literals if not one.isdigit()}
    if not exact <= literals or not claim.signs <= set(raw) or not all(_holds(raw, code) for code in claim.codes):
        return False
    clauses = [clause for one in window for clause in one.clauses]
    return not any(_is_turned(one, clauses, there) for one in claim.sentence.clauses)


def _is_turned(claim: Clause, clauses: Sequence[Clause], there: frozenset[str]) -> bool:
    """True if the clauses that have most of the words of this one say it otherwise."""
    words = frozenset(claim.words)
    if any(one in words and other in there and one not in there for one, other in _CONTRARY.items()):
        return True
    most = max((len(words.intersection(clause.words)) for clause in clauses), default=0)
    alike = [clause for clause in clauses if most and len(words.intersection(clause.words)) == most]
    told: frozenset[Mark] = (
        _TOLD if "report" in claim.marks else frozenset()
    )  # it says itself that it was asked or told
    return bool(alike) and all(_gist(claim, words) - told != _gist(clause, words) - told for clause in alike)


def _gist(clause: Clause, words: frozenset[str]) -> frozenset[Mark]:
    """Return the marks that turn these words around, not those that merely limit them; tea without sugar is tea."""
    places = [place for place, word in enumerate(clause.words) if word in words]
    behind = any(place >= turn for name, turn in clause.turns if name in _WITHOUT for place in places)
    return clause.sense - _LIMITS - (frozenset() if behind else frozenset[Mark]({"without"}))


def _is_written_alike(claims: Sequence[Clause], clauses: Sequence[Clause]) -> bool:
    """True if most characters stand beside the same ones, where there are no blanks between words."""
    wanted = [pair for claim in claims for pair in claim.pairs]
    found = sum(any(pair in clause.pairs for clause in clauses) for pair in wanted)
    return found >= _SHARED_PAIRS * len(wanted)


def _is_borne(claim: Clause, clauses: Sequence[Clause], *, of_speaker: bool) -> bool:
    """True if a run of clauses holds all words of this one, each in the same sense."""
    words = frozenset(claim.words)
    return any(
        all(clause.sense == claim.sense for clause in run if not words.isdisjoint(clause.words))
        and _is_same_way(claim, run)
        and (not of_speaker or _is_of_speaker(words, run))
        for run in islice(_runs(words, clauses), _MOST_RUNS)
    )


def _runs(words: frozenset[str], clauses: Sequence[Clause]) -> Iterator[Sequence[Clause]]:
    """The shortest runs of clauses that hold all these words."""
    start = 0
    held: Counter[str] = Counter()
    for stop, clause in enumerate(clauses, 1):
        held.update(words.intersection(clause.words))
        while len(held) == len(words):
            for word in words.intersection(clauses[start].words):
                held[word] -= 1
                if not held[word]:
                    del held[word]
            if len(held) < len(words):
                yield clauses[start:stop]
            start += 1


def _turns_within(words: frozenset[str], clause: Clause) -> set[str]:
    """The words like "before" that stand between these words."""
    places = [place for place, word in enumerate(clause.words) if word in words]
    return {turn for turn, place in clause.turns if places and places[0] < place <= places[-1]}


def _is_same_way(claim: Clause, run: Sequence[Clause]) -> bool:
    """True if who does what to whom is the same, as far as names and little words tell."""
    names = [name for clause in run for name in clause.names]
    wanted = (name for place, name in enumerate(claim.names) if place or name in names)  # the first may be any word
    following = iter(names)
    if not all(name in following for name in wanted):
        return False
    if not all(any(pair in clause.owned for clause in run) for pair in claim.owned):
        return False
    tokens = {token for clause in run for token in clause.tokens}
    if any(one in claim.tokens and other in tokens and one not in tokens for one, other in _OPPOSITES.items()):
        return False
    return all(_is_followed_alike(turn, places, run) for turn, places in claim.near.items())


def _is_followed_alike(turn: str, places: Sequence[Sequence[str]], run: Sequence[Clause]) -> bool:
    there = [near for clause in run for near in clause.near.get(turn, ())]
    if not there:
        return turn in WAYS - TURNS
    return all(any(place[0] in near for near in there) for place in places if place)


def _is_of_speaker(words: frozenset[str], run: Sequence[Clause]) -> bool:
    """True if the speaker speaks of themself: nobody else stands before what is claimed."""
    clause = next(one for one in run if not words.isdisjoint(one.words))
    for word in clause.words[clause.speaker :]:
        if word in words:
            return True
        if word not in _ASIDE and not word.endswith("li"):
            return False
    return True


def _literals(text: str) -> Iterator[str]:
    """Return the literals that must occur exactly: addresses, paths, names of files, numbers."""
    for match in _PIECE.finditer(text):
        piece = match[0].strip(".,;:!?'`*-\u2019").casefold()
        if not _SPECIAL.isdisjoint(piece) or "." in piece:
            yield piece
        else:
            yield from _NUMBER.findall(piece)


def _holds(raw: str, code: str) -> bool:
    """True if a command stands there, and not only the beginning of another."""
    return re.search(rf"(?<![\w/.-]){re.escape(code.strip())}(?![\w/-]|\.\w)", raw) is not None

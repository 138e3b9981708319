"""Comparison of statements: whether somebody said what a text says, in their words and not turned around.

A text is taken apart into sentences and clauses, with the words that turn a clause around or limit it. The words of
each language stand in languages/<code>/clauses.toml.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import islice
from typing import Literal, get_args

from nanobot.languages import alternatives, tables
from nanobot.nlp.words import is_stop, stem

Mark = Literal[
    "not",
    "stop",
    "without",
    "forbid",
    "only",
    "if",
    "when",
    "unless",
    "dislike",
    "less",
    "hedge",
    "past",
    "report",
    "question",
]

_WIDE: frozenset[Mark] = frozenset({"if", "when", "unless", "report", "question"})
"""Marks of one clause that count for the whole sentence."""

_LIMITS: frozenset[Mark] = frozenset({"when", "hedge"})
_TOLD: frozenset[Mark] = frozenset({"report", "question"})

_NEAR = 3
"""Words behind "before" and the like that may be what it is about."""

_ENOUGH = 1 / 2
_MOST_RUNS = 50
_SHARED_PAIRS = 2 / 3

_TOKEN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_TO = re.compile(r"\s+to\b")
_BULLET = re.compile(r"^\s*(?:[-*+•·>#]+\s+|\d{1,2}[.)]\s+|\[[ x]\]\s+)*")
_DAY = re.compile(r"[(（\[]\d{4}-\d{2}-\d{2}[)）\]][.。]?\s*$|^\s*\d{4}-\d{2}-\d{2}[:：,]?\s+")
_FIRST_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"[^\s\"“”「」（）()，。、；：！？\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_NUMBER = re.compile(r"\d+")
_SPECIAL = frozenset("/\\@_$=~|<>{}#^%")
_CODE = re.compile(r"`([^`\n]+)`")
_SIGNS = frozenset({"So", "Cf", "Co", "Cn"})


def is_said(text: str, said: str) -> bool:
    """True if who said all this said each line of this text, too.

    Each sentence of the text is one whole sentence of it, however the words are inflected: none of its words is
    missing, and none is left over but what merely opens a sentence ("please remember that"). Addresses, commands and
    numbers stand there exactly so, and nothing denies, limits or merely reports them. Not looked at are bullets, the
    day a line was written down, and that it calls the speaker "the user".

    A part of a sentence is not enough: a comment on somebody's words ("it would be crazy to …") has them in it, too.
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


def is_own(text: str, said: str, others: str, names: Collection[str] = ()) -> bool:
    """True if each line of a text rests on what somebody said, though others' words stood beside theirs.

    A line that the others' words speak for, too, must be one whole sentence of theirs: else naming somebody's demand,
    to warn of it, would be enough to make it one's own.
    """
    return all(
        is_said(line, said) if others and speaks_for(others, line) else speaks_for(said, line, names)
        for line in text.split("\n")
    )


def is_plain_title(text: str) -> bool:
    """True if a heading only names a kind of facts, in one of the usual words."""
    return _vocabulary().title.fullmatch(text) is not None


def without_who(text: str) -> str:
    """A text without whom it is about: nobody calls themselves "the user"."""
    return _vocabulary().who.sub(" ", text)


# Sentences and clauses.


@dataclass
class Clause:
    """Clause as far as it is compared.

    words    its words that say something, stemmed, in their order; a character each where there are no blanks
    pairs    neighbouring characters of such scripts
    tokens   all of its words, in small letters
    names    those that may be names, numbers, and "me" for the speaker, in their order
    owned    who has what: "me" or a name, and the next word
    near     of each word like "before" and "to" what words follow it
    turns    each word like "before", and how many of the words stand before it
    speaker  how many of the words stand before the last by which the speaker means themself
    """

    words: list[str] = field(default_factory=list)
    marks: set[Mark] = field(default_factory=set)
    pairs: set[str] = field(default_factory=set)
    tokens: set[str] = field(default_factory=set)
    names: list[str] = field(default_factory=list)
    owned: set[tuple[str, str]] = field(default_factory=set)
    near: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    turns: list[tuple[str, int]] = field(default_factory=list)
    speaker: int = 0

    @property
    def sense(self) -> frozenset[Mark]:
        """Marks that turn the clause around or limit it; to stop not doing something is to do it."""
        denied: set[Mark] = {"not"} if ("not" in self.marks) != ("stop" in self.marks) else set()
        return frozenset(self.marks - {"not", "stop"} | denied)


@dataclass(frozen=True)
class Sentence:
    """Sentence with its text as it stands there, its clauses and all their words."""

    raw: str
    clauses: Sequence[Clause]
    words: frozenset[str]


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text; a line end ends one."""
    return [sentence(part) for part in _vocabulary().sentence_end.split(text) if part.strip()]


def sentence(text: str) -> Sentence:
    """A text as one sentence."""
    clauses = [_Reader(part).clause for part in _vocabulary().clause_end.split(text) if part.strip()] or [Clause()]
    wide = {mark for clause in clauses for mark in clause.marks & _WIDE}
    if _vocabulary().reported.search(text):
        wide.add("report")
    if _vocabulary().asks.search(text) and not _vocabulary().request.match(text):
        wide.add("question")
    for clause in clauses:
        clause.marks |= wide
    return Sentence(text, clauses, frozenset(word for clause in clauses for word in clause.words))


def compared(token: str) -> str:
    """A word in small letters as it is compared; "" for one that says nothing."""
    letters = unicodedata.normalize("NFKD", token.partition("'")[0])
    plain = "".join(char for char in letters if not unicodedata.combining(char))
    word = stem(plain)
    return "" if is_stop(word) and not plain.isdigit() else word


class _Reader:
    """Reads one clause from left to right."""

    def __init__(self, text: str) -> None:
        self.clause = Clause()
        self._known = _vocabulary()
        self._waiting: list[list[str]] = []
        self._owner = self._last = ""
        for match in _TOKEN.finditer(text):
            if _UNSPACED.search(match[0]):
                self._take_unspaced(match[0])
            else:
                self._take(match[0], is_past=bool(_TO.match(text, match.end())))

    def _take(self, token: str, *, is_past: bool) -> None:
        low = token.lower().replace("\u2019", "'")
        clause, mark = self.clause, _mark_of(low)
        clause.tokens.add(low)
        clause.marks |= {mark} if mark else set()
        if low in self._known.reports and self._last not in self._known.speaker:
            clause.marks.add("report")
        if low == "used" and is_past:
            clause.marks.add("past")
        if low in self._known.speaker:
            clause.speaker = len(clause.words)
            clause.names.append("me")
        word = "" if mark or low in self._known.speaker or low in self._known.owned else compared(low)
        if word:
            self._take_word(word, is_name=token[0].isupper() or token[0].isdigit())
        if word or low in self._known.owned:
            self._owner = "me" if low in self._known.owned else word if low.endswith("'s") else ""
        if low in self._known.turns or low in self._known.ways:
            self._take_turn(low)
        self._last = low

    def _take_word(self, word: str, *, is_name: bool) -> None:
        self.clause.words.append(word)
        for near in self._waiting:
            near.append(word)
        self._waiting = [near for near in self._waiting if len(near) < _NEAR]
        if self._owner:
            self.clause.owned.add((self._owner, word))
        if is_name:
            self.clause.names.append(word)

    def _take_turn(self, low: str) -> None:
        near: list[str] = []
        self._waiting.append(near)
        self.clause.near.setdefault(low, []).append(near)
        if low in self._known.turns:
            self.clause.turns.append((low, len(self.clause.words)))

    def _take_unspaced(self, token: str) -> None:
        rest, marks = _without_marks(token)
        clause = self.clause
        clause.marks |= marks
        for char in rest:
            if char in self._known.speaker_unspaced:
                clause.speaker = len(clause.words)
            elif not char.isspace() and char not in self._known.empty:
                clause.words.append(char)
        for run in self._known.joints.findall(rest):
            clause.pairs.update(run[place : place + 2] for place in range(len(run) - 1))


def _mark_of(word: str) -> Mark | None:
    """Return the mark of a lower-case word, in a script with blanks."""
    return "not" if word.endswith(_vocabulary().negative_endings) else _vocabulary().marks.get(word)


def _without_marks(run: str) -> tuple[str, set[Mark]]:
    """A run of characters that are written without blanks, with a blank for each of its marks, and the marks."""
    marks: set[Mark] = set()

    def found(match: re.Match[str]) -> str:
        name = match.lastgroup or ""
        if not name.startswith("m_"):
            return match[0]
        marks.update(mark for mark in _MARKS_IN_ORDER if name == f"m_{mark}")
        return " "

    return _vocabulary().unspaced.sub(found, run), marks


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
        return any(not self._is_introduced(place) and _says(self._sentences[place], claim) for place in rarest)

    def _is_introduced(self, place: int) -> bool:
        """True if the sentence before ends in a colon: what follows may be anybody's words."""
        return place > 0 and self._sentences[place - 1].raw.rstrip().endswith((":", "："))

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
    frame = next((found for form in _vocabulary().frames if (found := form.match(text)) and found[0]), None)
    is_whose = bool(frame and frame["whose"])
    is_of_speaker = bool(frame) and not is_whose and not (frame and frame["bot"])
    text = _vocabulary().duty.sub(" ", text[frame.end() :] if frame else text)
    body = f"{'my ' if is_whose else ''}{text.strip()}"
    for user in _vocabulary().users:
        body = user.sub(lambda match: " my " if match["whose"] else " me ", body)
    return [_claim(one, is_of_speaker=is_of_speaker and not place) for place, one in enumerate(sentences(body))]


def _claim(one: Sentence, *, is_of_speaker: bool) -> _Claim:
    signs = frozenset(char for char in one.raw if unicodedata.category(char) in _SIGNS)
    return _Claim(one, frozenset(_literals(one.raw)), _CODE.findall(one.raw), signs, is_of_speaker)


def _says(sentence: Sentence, claim: _Claim) -> bool:
    """True if this sentence says it, and nothing else."""
    words, raw = claim.sentence.words, sentence.raw
    neutral = _vocabulary().openers.union(*_vocabulary().stress.findall(raw))
    if not words <= sentence.words <= words | neutral:
        return False
    is_exact = claim.literals <= set(_literals(raw)) and claim.signs <= set(raw)
    if not is_exact or not all(_holds(raw, code) for code in claim.codes):
        return False
    sense, claimed = ({mark for part in one.clauses for mark in part.sense} for one in (sentence, claim.sentence))
    if sense != claimed:  # "please stop:" has no words of its own
        return False
    claims = [clause for clause in claim.sentence.clauses if clause.words]
    turned = {turn for clause in sentence.clauses for turn in _turns_within(words, clause)}
    if not turned <= {turn for one in claims for turn in one.near} or not _is_written_alike(claims, sentence.clauses):
        return False
    return all(_is_borne(one, sentence.clauses, of_speaker=claim.is_of_speaker and one is claims[0]) for one in claims)


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
    if any(one in words and other in there and one not in there for one, other in _vocabulary().contraries.items()):
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
    behind = any(
        place >= turn for name, turn in clause.turns if _vocabulary().marks.get(name) == "without" for place in places
    )
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
    if any(
        one in claim.tokens and other in tokens and one not in tokens for one, other in _vocabulary().opposites.items()
    ):
        return False
    return all(_is_followed_alike(turn, places, run) for turn, places in claim.near.items())


def _is_followed_alike(turn: str, places: Sequence[Sequence[str]], run: Sequence[Clause]) -> bool:
    there = [near for clause in run for near in clause.near.get(turn, ())]
    if not there:
        return turn in _vocabulary().ways - _vocabulary().turns
    return all(any(place[0] in near for near in there) for place in places if place)


def _is_of_speaker(words: frozenset[str], run: Sequence[Clause]) -> bool:
    """True if the speaker speaks of themself: nobody else stands before what is claimed."""
    clause = next(one for one in run if not words.isdisjoint(one.words))
    for word in clause.words[clause.speaker :]:
        if word in words:
            return True
        if word not in _vocabulary().aside and not word.endswith("li"):
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


# The words of the languages.


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The words of all languages together, as en/clauses.toml describes them."""

    sentence_end: re.Pattern[str]
    clause_end: re.Pattern[str]
    marks: Mapping[str, Mark]
    negative_endings: tuple[str, ...]
    unspaced: re.Pattern[str]
    request: re.Pattern[str]
    asks: re.Pattern[str]
    reported: re.Pattern[str]
    speaker: frozenset[str]
    speaker_unspaced: str
    owned: frozenset[str]
    reports: frozenset[str]
    turns: frozenset[str]
    ways: frozenset[str]
    empty: str
    joints: re.Pattern[str]
    opposites: Mapping[str, str]
    contraries: Mapping[str, str]
    aside: frozenset[str]
    openers: frozenset[str]
    stress: re.Pattern[str]
    frames: Sequence[re.Pattern[str]]
    duty: re.Pattern[str]
    users: Sequence[re.Pattern[str]]
    who: re.Pattern[str]
    title: re.Pattern[str]


@cache
def _vocabulary() -> _Vocabulary:
    """Read and compile the words of all languages, when the first texts are compared."""
    no_end = "".join(rf"(?<!\b{re.escape(word)})" for word in _words("abbreviations"))
    looks = [
        each["unspaced"]["none"].replace("\n", "") for each in tables("clauses") if "none" in each.get("unspaced", {})
    ]
    aside = {compared(word) for word in _words("aside")} | set(_characters("aside_unspaced"))
    pairs = [pair.split() for each in tables("clauses") for pair in each.get("contraries", ())]
    return _Vocabulary(
        sentence_end=re.compile(rf"(?<=[.!?…]){no_end}\s+|(?<=[。！？；])|\n+"),
        clause_end=re.compile(
            r"[;；:：()（）\u2014\u2013\"“”「」]"
            rf"|[,，、](?!\s*(?:{alternatives('clauses', 'continues')})\b)"
            rf"|\b(?:{'|'.join(_words('breaks'))})\b|(?:{alternatives('clauses', 'breaks_unspaced')})"
            rf"|\b(?:{'|'.join(_words('conjunctions'))})\s+(?=(?:{alternatives('clauses', 'subjects')})\b)",
            re.IGNORECASE,
        ),
        marks={word: mark for mark in get_args(Mark) for word in _marked(mark)},
        negative_endings=tuple(end for each in tables("clauses") for end in each.get("negative_endings", ())),
        unspaced=re.compile("|".join([*looks, *(f"(?P<m_{mark}>{form})" for mark, form in _unspaced_marks())])),
        request=re.compile(rf"\W*(?:{alternatives('clauses', 'request')})", re.IGNORECASE),
        asks=re.compile(rf"(?:[?？]|[{_characters('particles')}])[\s\"'”)）]*$"),
        reported=re.compile(alternatives("clauses", "reported")),
        speaker=_words("speaker"),
        speaker_unspaced=_characters("speaker_unspaced"),
        owned=_words("owned"),
        reports=_words("reports"),
        turns=_words("turns"),
        ways=_words("ways"),
        empty=_characters("empty"),
        joints=re.compile(rf"[^\s{_characters('joints')}]+"),
        opposites=dict(pair.split() for each in tables("clauses") for pair in each.get("opposites", ())),
        contraries={
            compared(one) or one: compared(other) or other for pair in pairs for one, other in (pair, pair[::-1])
        },
        aside=frozenset(aside),
        openers=frozenset(map(compared, _words("openers"))) | frozenset(_characters("openers_unspaced")),
        stress=re.compile(alternatives("clauses", "stress")),
        frames=[
            re.compile(each["frame"].replace("\n", ""), re.IGNORECASE) for each in tables("clauses") if "frame" in each
        ],
        duty=re.compile(alternatives("clauses", "duty"), re.IGNORECASE),
        users=[re.compile(each["user"], re.IGNORECASE) for each in tables("clauses") if "user" in each],
        who=re.compile(alternatives("clauses", "who"), re.IGNORECASE),
        title=re.compile(rf"(?:\W|{alternatives('clauses', 'title')})+", re.IGNORECASE),
    )


def _words(key: str) -> frozenset[str]:
    return frozenset(word for each in tables("clauses") for word in each.get(key, "").split())


def _characters(key: str) -> str:
    return "".join(each.get(key, "") for each in tables("clauses"))


def _marked(mark: Mark) -> Iterable[str]:
    return [word for each in tables("clauses") for word in each.get("marks", {}).get(mark, "").split()]


def _unspaced_marks() -> Iterator[tuple[Mark, str]]:
    """Yield the expressions of each mark; the first that matches counts."""
    for mark in _MARKS_IN_ORDER:
        forms = [each["unspaced"][mark] for each in tables("clauses") if mark in each.get("unspaced", {})]
        if forms:
            yield mark, "|".join(forms)


_MARKS_IN_ORDER: Sequence[Mark] = (
    "forbid", "dislike", "unless", "without", "less", "hedge", "past", "stop", "if", "when", "only", "not"
)  # fmt: skip

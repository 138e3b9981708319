"""A text as sentences and clauses: the words that can be compared, and what turns or limits them."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

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

_WORDS: Mapping[Mark, str] = {
    "not": """not no never none nor neither nothing nobody nowhere cannot don dont doesnt didnt isnt arent wasnt werent
        wont wouldnt shouldnt cant couldnt mustnt havent hasnt hadnt nope noone aint
        nicht kein keine keinen keiner keinem keines nie niemals nichts niemand nirgends weder
        nunca jamás jamas nada nadie ningún ninguna ninguno tampoco
        ne pas jamais rien aucun aucune não nao ninguém nenhum nenhuma non nessuno niente nulla
        niet geen nooit niets niemand inte ikke aldrig ingen nie nigdy nem soha
        не нет никогда ничего никто нельзя ні değil yok asla hiç δεν μην ποτέ לא אל نهीं नहीं मत لا ليس لم لن
        tidak jangan bukan không đừng""",
    "stop": """stop stops stopped stopping quit quits quitting cease ceased avoid avoids avoided avoiding refuse refuses
        refused aufhören vermeiden vermeide evitar evita arrêter arrête éviter évite""",
    "without": "without ohne sin sans senza sem zonder utan uden bez без χωρίς בלי بدون tanpa fără",
    "forbid": """forbid forbids forbidden forbade prohibit prohibits prohibited ban bans banned disallow disallowed
        verboten verbiete verbietet prohibido prohibida prohíbe interdit interdite défendu запрещено""",
    "only": "only solely exclusively nur bloß lediglich solo sólo solamente seulement uniquement soltanto только",
    "if": "if falls si se если suppose imagine provided assuming",
    "when": "when whenever once wenn sobald cuando quand lorsque quando когда als",
    "unless": "unless except excluding außer ausgenommen salvo excepto sauf excepté tranne кроме",
    "dislike": """hate hates hated hating dislike dislikes disliked loathe loathes detest detests hasse hasst odio odia
        déteste deteste detesta ненавижу ненавидит""",
    "less": "less fewer least weniger wenigsten menos moins minder meno меньше",
    "hedge": """hardly rarely seldom barely scarcely almost nearly sometimes occasionally maybe perhaps possibly
        probably might kaum selten fast manchmal vielleicht casi apenas quizás quizá presque rarement parfois
        peut-être forse talvez иногда может""",
    "past": "formerly previously früher ehemals antiguamente autrefois раньше",
}
_MARK_OF: Mapping[str, Mark] = {word: mark for mark, words in _WORDS.items() for word in words.split()}

_MARKS_UNSPACED: Mapping[Mark, str] = {
    "forbid": "禁止|不准|不许|不許|不得|严禁",
    "dislike": "不喜欢|不喜歡|不爱|讨厌|討厭|痛恨|嫌い",
    "unless": "除非|除了|以外",
    "without": "不经|未经|不問|不问就",
    "less": "少[喝吃用做说看写花放来点些一]|更少|减少|較少",
    "hedge": "很少|几乎|有时|偶尔|可能|也许|或许|大概|たまに|時々",
    "past": "曾经|过去|从前",
    "stop": "停止|戒[了掉]?|避免|拒绝|やめ",
    "if": "如果|要是|假如|若是|倘若|只要|たら",
    "when": "每当|一旦|の時",
    "only": "只有?|仅仅?|唯一|だけ|しか",
    "not": "从来?不|不要|不用|不必|不会|不能|没有|别|不|没|沒|無|无|勿|莫|非|未|ない|なく|ません|않|못|없|지 마",
}
_NO_MARK = (
    "特别|特別|别人|別人|区别|别的|别墅|告别|性别|级别|分别|个别|非常|非洲|^不过(?!敏)|差不多|不错|未来|莫名|无论|無論|不仅|不但|不管"
    "|不同|不少|不断|没问题|没关系|要不|(?P<same>[\u4e00-\u9fff])不(?P=same)|可能性|至少|多少|过去了|只是"
)
_CHINESE = re.compile("|".join([_NO_MARK, *(f"(?P<m_{mark}>{words})" for mark, words in _MARKS_UNSPACED.items())]))


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SENTENCE = re.compile(
    r"(?<=[.!?…])(?<!\bM[rs]\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\bMrs\.)(?<!\be\.g\.)(?<!\bz\.B\.)\s+|(?<=[。！？；])|\n+"
)
_CLAUSE = re.compile(
    r"[;；:：()（）\u2014\u2013\"“”「」]|[,，、](?!\s*(?:dass|daß|ob|que|che|что|чтобы|that|to)\b)"
    r"|\b(?:but|however|because|although|though|while|whereas|aber|sondern|denn|weil|pero|sino|porque|mais|car|parce"
    r"|но|ma|però|mas)\b|(?:但是?|而是|因为|所以|可是|然而)"
    r"|\b(?:and|or|und|oder|y|et|e)\s+(?=(?:i|we|you|ich|du|wir|yo|tú|je|tu|do|don['\u2019]?t|never|always|not|only|no"
    r"|nie|immer|nicht|kein\w*|nunca|siempre|jamais|toujours)\b)",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_RUN = re.compile(r"[^\s用户的了我你您]+")
_TO = re.compile(r"\s+to\b")
_ASKS = re.compile(r"(?:[?？]|[吗嗎呢])[\s\"'”)）]*$")
_REQUEST = re.compile(
    r"\W*(?:please|(?:can|could|would|will) you|kannst du|k(?:ö|oe)nntest|w(?:ü|ue)rdest|bitte|puedes|podr[íi]as"
    r"|por favor|peux-tu|pourrais|pouvez|puoi|potresti|能不能|可以|能|请|麻烦)",
    re.IGNORECASE,
)
_SPEAKER = _set("i we me us i'm i've i'd i'll ich wir mich mir uns yo nosotros je moi nous io я мы мне")
_SPEAKERS = _set("my our mein meine meinen meiner meinem unser unsere mi mis mon ma mes notre nos mio mia мой моя")
_REPORTS = _set("""
    says said thinks thought claims claimed believes believed wrote writes told tells asked asks wants wanted suggests
    suggested argues argued insists insisted demands demanded pretends according allegedly supposedly reportedly
    sagt sagte meint meinte behauptet schreibt schrieb dice dijo quiere cree escribió dit disait prétend veut écrit
    сказал сказала говорит пишет""")
_REPORTED = re.compile(r"(?<![我们])(?:说|說|认为|声称|写道|要求|告诉|觉得|以为)")
_EMPTY = frozenset("的了吗呢吧啊呀么是我你您他她它们很请就还过")

TURNS = _set(
    """before after until till than instead without ohne sin sans senza sem vor bevor nach nachdem als statt antes
    después avant après"""
)
"""Words around which it matters what stands on which side."""

WAYS = _set("to from by for von zu an para por pour vers")
"""Words that tell a way or a purpose: what stands behind one matters if both texts have it."""

_NEAR = 3
"""Words behind one of these that may be what it is about."""

_WIDE: frozenset[Mark] = frozenset({"if", "when", "unless", "report", "question"})


@dataclass
class Clause:
    """Clause as far as it is compared.

    words    its words that say something, stemmed, in their order; a character each where there are no blanks
    pairs    neighbouring characters of such scripts
    tokens   all of its words, in small letters
    names    those that may be names, numbers, and "me" for the speaker, in their order
    owned    who has what: "me" or a name, and the next word
    near     of each of TURNS and WAYS what words follow it
    turns    each of TURNS, and how many of the words stand before it
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
    """Its text as it stands there, and its clauses."""

    raw: str
    clauses: Sequence[Clause]
    words: frozenset[str]


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text; a line end ends one."""
    return [sentence(part) for part in _SENTENCE.split(text) if part.strip()]


def sentence(text: str) -> Sentence:
    """A text as one sentence."""
    clauses = [_Reader(part).clause for part in _CLAUSE.split(text) if part.strip()] or [Clause()]
    wide = {mark for clause in clauses for mark in clause.marks & _WIDE}
    if _REPORTED.search(text):
        wide.add("report")
    if _ASKS.search(text) and not _REQUEST.match(text):
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
        if low in _REPORTS and self._last not in _SPEAKER:
            clause.marks.add("report")
        if low == "used" and is_past:
            clause.marks.add("past")
        if low in _SPEAKER:
            clause.speaker = len(clause.words)
            clause.names.append("me")
        word = "" if mark or low in _SPEAKER or low in _SPEAKERS else compared(low)
        if word:
            self._take_word(word, is_name=token[0].isupper() or token[0].isdigit())
        if word or low in _SPEAKERS:
            self._owner = "me" if low in _SPEAKERS else word if low.endswith("'s") else ""
        if low in TURNS or low in WAYS:
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
        if low in TURNS:
            self.clause.turns.append((low, len(self.clause.words)))

    def _take_unspaced(self, token: str) -> None:
        rest, marks = _without_marks(token)
        clause = self.clause
        clause.marks |= marks
        for char in rest:
            if char == "我":
                clause.speaker = len(clause.words)
            elif not char.isspace() and char not in _EMPTY:
                clause.words.append(char)
        for run in _RUN.findall(rest):
            clause.pairs.update(run[place : place + 2] for place in range(len(run) - 1))


def _mark_of(word: str) -> Mark | None:
    """Return the mark of a lower-case word, in a script with blanks."""
    return "not" if word.endswith(("n't", "n\u2019t")) else _MARK_OF.get(word)


def _without_marks(run: str) -> tuple[str, set[Mark]]:
    """A run of characters that are written without blanks, with a blank for each of its marks, and the marks."""
    marks: set[Mark] = set()

    def found(match: re.Match[str]) -> str:
        name = match.lastgroup or ""
        if not name.startswith("m_"):
            return match[0]
        marks.update(mark for mark in _MARKS_UNSPACED if name == f"m_{mark}")
        return " "

    return _CHINESE.sub(found, run), marks

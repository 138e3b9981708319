"""Secrets in texts: found by the forms that their issuers give them and by the words around them, and taken out.

The forms of issuers stand in secrets.toml, what people say around a secret in languages/<code>/secrets.toml, each with
examples.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from nanobot.languages import tables
from nanobot.text import cleaned, narrow

SecretKind = Literal["private_key", "key", "token", "password"]

REDACTED = "[redacted]"

_PASSES = 5  # what stood behind a secret may look like one itself


@dataclass(frozen=True, slots=True)
class Secret:
    """A stretch of a text, from `start` up to `end`, that seems to be a secret."""

    kind: SecretKind
    start: int
    end: int


def refusal(text: str) -> SecretKind | None:
    """Return the kind of secret that a text holds, or None. Ids, hashes and talk about passwords are no secrets.

    Invisible characters and wide letters hide nothing. Takes about 1 ms for 2,000 characters.
    """
    return next((secret.kind for secret in secrets_in(narrow(cleaned(text)))), None)


def redact(text: str) -> str:
    """Take each secret out of a text, so that the sentence around it survives; clean it, too.

    For what the bot makes of a conversation by itself: nobody is there to whom a refusal could be explained.
    """
    return _without_secrets(cleaned(text))


def secrets_in(text: str) -> Iterator[Secret]:
    """Find the secrets of a text, form by form; several may lie over each other."""
    rules, folded = _rules(), _lower(text)
    if "-----begin" in folded:
        yield from _private_keys(text)
    for run in _LONG_WORD.finditer(text):
        begin = max(0, run.start() - _BEFORE_TOKEN)
        for kind, form in rules.issued:
            for match in form.finditer(text, begin, run.end()):
                yield Secret(kind, match.start(), match.end())
    for rule in rules.prose:
        yield from rule.secrets(text, folded)


def _private_keys(text: str) -> Iterator[Secret]:
    """Find private keys, or what is there of them. An end that is missing is looked for once, not at each beginning."""
    for stretch in _OF_PRIVATE_KEY.finditer(text):
        at, has_end = stretch.start(), True
        while begin := _KEY_BEGINS.search(text, at, stretch.end()):
            end = _KEY_ENDS.search(text, begin.end(), stretch.end()) if has_end else None
            has_end = end is not None
            last = end or _KEY_WITHOUT_END.match(text, begin.end(), stretch.end()) or begin
            at = last.end()
            yield Secret("private_key", begin.start(), at)


def _lower(text: str) -> str:
    """Lower each character by itself: the places stay the same, also behind an İ."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(char.lower()[0] for char in text)


def _without_secrets(text: str) -> str:
    for _ in range(_PASSES):
        spans = sorted((secret.start, secret.end) for secret in secrets_in(narrow(text)))
        if not spans:
            break
        text = _cut_out(text, spans)
    return text


def _cut_out(text: str, spans: Sequence[tuple[int, int]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        if start >= at:
            pieces += [text[at:start], REDACTED]
        at = max(at, end)
    return "".join([*pieces, text[at:]])


_LONG_WORD = re.compile("[!-~]{16,}")
"""Words that are long enough to be a token of an issuer."""

_BEFORE_TOKEN = 50
"""Characters before such a word that may say what it is: "Authorization: Bearer"."""

_BEFORE_HINT, _AFTER_HINT = 60, 260
"""Characters around a hint that a name with its secret may take."""

_OF_PRIVATE_KEY = re.compile(r"[\w\s+/=:,.-]+")  # its beginning and its end, too
_KEY_BEGINS = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]+-----")
_KEY_WITHOUT_END = re.compile(r"(?:\s*[A-Za-z0-9+/]{16,}={0,2})*")
_WORD = r"(?:[^\s:：=>.,;!?\"'。，；！？]|[.'](?=\w)){1,30}"
_FOR = (
    "of|for|to|on|at|from|von|vom|für|fürs|zum|zur|meiner|meines|unserer?s?|del?|della|dell[o']|d[oaeiu]s?|des|per|para"
    "|pour|van|voor|от|для|к"
)
_OF = rf"(?:\s+(?:{_FOR})(?:\s+{_WORD}){{1,4}}?|\s+(?:wi-?fi|wlan|nas|pdf|zip|admin|root))"  # what it opens
_LOCK = (
    "safe|vault|door|front door|alarm|gate|lock|padlock|garage|locker|key ?box|card|phone|house|flat|entrance|building"
    "|bike|suitcase|shed|keypad|cabin|locker room|burglar alarm|sim|wi-?fi|wlan|router|hotspot|guest network"
)
_LETTERS = r"A-Za-z\u00c0-\u024f\u0400-\u04ff"
_BEGIN = rf"(?:(?<![{_LETTERS}])|(?![{_LETTERS}]))"  # of a word; scripts without blanks have none
_OPEN, _CLOSE = "\"'`“「『", "\"'`”」』"
_SIGN = r"\s*(?:[:：=]|=>|->)\s*"
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class _Value:
    """The text where a secret would stand, and up to 20 characters behind it.

    `is_told`: it stands in quotes, or behind a colon or an equals sign: not as a part of a sentence.
    """

    text: str
    is_quoted: bool
    is_told: bool
    behind: str

    @classmethod
    def of(cls, match: re.Match[str]) -> "_Value":
        value = match["value"].rstrip(".,;:!?)*_")
        end = match.start("value") + len(value)
        named = match.groupdict()
        return cls(value, bool(named.get("quote")), bool(named.get("sign")), match.string[end : end + 20])

    @property
    def is_measure(self) -> bool:
        return bool(_MEASURE.match(self.text + self.behind))

    @property
    def ends_the_clause(self) -> bool:
        behind = self.behind.lstrip("*_`\"'")
        return not behind.strip() or behind.lstrip()[0] in ".,;!?()。，；！？\n" or "\n" in behind[:2]

    @property
    def is_for_something(self) -> bool:
        return bool(re.match(rf"\s+(?:{_FOR})\s", self.behind, re.IGNORECASE))

    @property
    def is_mixed(self) -> bool:
        """Return whether it has what words lack: digits, symbols, capitals inside."""
        return not re.fullmatch(r"[^\W\d_]?[^\W\dA-Z_]*(?:-[^\W\dA-Z_]+){0,2}|[A-Z]+", self.text)


Test = Callable[[_Value], bool]

_NOTHING = re.compile(r"(?!)")


def _is_password(value: _Value, said: re.Pattern[str], *, alone: bool) -> bool:
    """`said` is what people say about a password; `alone`: a plain word behind "is" is one, too."""
    text = value.text
    if len(text) < 3 or _NO_SECRET.fullmatch(text) or value.is_measure:
        return False
    if value.is_quoted:
        return True
    if _UNSPACED.search(text) and not re.search(r"[A-Za-z0-9]", text):
        return alone and len(text) <= 8 and value.ends_the_clause and not _NO_PASSWORD_ZH.search(text)
    if value.is_mixed:
        return not _NO_PASSWORD_ZH.match(text)
    return (alone or value.is_told) and value.ends_the_clause and "-" not in text and not said.fullmatch(text)


def _is_random(value: _Value) -> bool:
    """Return whether it is long and mixed, as keys are."""
    text = value.text
    has_both = any(map(str.isdigit, text)) and any(map(str.isalpha, text))
    return len(text) >= 8 and text.isascii() and has_both and not _NO_SECRET.fullmatch(text)


def _has_digit_beside_letters(value: _Value) -> bool:
    """Return whether it is a word with a digit in it, as people make passwords, and no measure or address."""
    text = value.text
    has_both = any(map(str.isdigit, text)) and any(map(str.isalpha, text))
    return has_both and "@" not in text and "://" not in text and _is_password(value, _NOTHING, alone=False)


def _is_scrambled(value: _Value) -> bool:
    """Return whether it mixes capitals, small letters and digits, as only what a machine made up does."""
    text = value.text
    return len(text) >= 10 and all(re.search(part, text, re.ASCII) for part in ("[a-z]", "[A-Z]", r"\d"))


def _is_phrase(value: _Value) -> bool:
    """Return whether words are a phrase of words that mean nothing together."""
    words = re.split(r"[ ,-]+", value.text)
    return len(words) >= 3 and not value.is_measure and not any(map(_SMALL_WORD.fullmatch, words))


def _is_in_address(value: _Value) -> bool:
    return not _NO_SECRET.fullmatch(value.text) and value.text.casefold() not in ("pass", "password", "pwd", "secret")


_TESTS: Mapping[str, Test] = {
    "any": lambda _: True,
    "code": lambda value: not value.is_measure,
    "closing": lambda value: not value.is_measure and (value.ends_the_clause or value.is_for_something),
    "random": _is_random,
    "scrambled": _is_scrambled,
    "phrase": _is_phrase,
    "in_address": _is_in_address,
    "mixed": _has_digit_beside_letters,
    "password": lambda value: _is_password(value, _NOTHING, alone=False),
}
_SMALL_WORD = re.compile(
    "the|an?|and|or|is|are|was|has|have|had|it|its|of|in|on|at|to|for|from|with|by|as|but|not|so|that|this|my|your|his"
    "|her|our|their|me|you|we|they|he|she|must|should|can|will|be|been|twelve|eine?|der|die|das|ist|und|es|el|la|le|les",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(
    r"[*•x.…_-]+|<.*|\$.*|\{.*|\[.*|%.*|\(.*|.*\(\)?"  # placeholders, calls
    r"|1password|keepass\w*|bitwarden|sha-?\d+\w*|md5|argon2\w*|pbkdf2\w*|bcrypt\w*|scrypt\w*",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    r"\d+\s*-?(?:characters?|chars?|lines|letters|digits|words|bits?|bytes?|tokens?|days?|months?|years?|times"
    r"|zeichen|stellen|caracteres|caractères|位|个|字|天|年|月|文字|桁|자리)",
    re.IGNORECASE,
)
_NO_PASSWORD_ZH = re.compile(
    "什么|多少|哪|谁|怎|几|不|没|未|在|存|放|保|记|忘|写|用|由|很|太|弱|强|旧|新|错|对的|我|你|他|她|它|同|一样|必|需"
    "|安全|空|过期|随机|加密|重要|的|了|です|でした|何"
)


@dataclass(frozen=True, slots=True)
class _Rule:
    """An expression with a group `value`, and the test that the value must pass.

    What it finds stands near one of the `hints`, which are in small letters.
    """

    kind: SecretKind
    hints: Sequence[str]
    form: str
    test: Test

    def secrets(self, text: str, folded: str) -> Iterator[Secret]:
        """Look around the hints alone: to look everywhere takes ten times as long."""
        for start, end in self._near_hints(folded):
            for match in _compiled(self.form).finditer(text, start, end):
                value = _Value.of(match)
                if self.test(value):
                    yield Secret(self.kind, match.start("value"), match.start("value") + len(value.text))

    def _near_hints(self, folded: str) -> Iterator[tuple[int, int]]:
        """Yield the stretches around the hints, in order, those that meet as one."""
        found = sorted(at for hint in self.hints if hint in folded for at in _places(folded, hint))
        start, end = 0, 0
        for at in found:
            if at - _BEFORE_HINT > end:
                if end:
                    yield start, end
                start = max(0, at - _BEFORE_HINT)
            end = at + _AFTER_HINT
        if end:
            yield start, end


@cache
def _compiled(form: str) -> re.Pattern[str]:
    """Compile an expression when its hint is met for the first time: all of them take a quarter of a second."""
    return re.compile(form, re.IGNORECASE)


def _places(text: str, words: str) -> Iterator[int]:
    """Yield where words stand in a text."""
    at = text.find(words)
    while at >= 0:
        yield at
        at = text.find(words, at + len(words))


@dataclass(frozen=True, slots=True)
class _Rules:
    """All expressions: those of issuers by kind, compiled, and those of prose."""

    issued: Sequence[tuple[SecretKind, re.Pattern[str]]]
    prose: Sequence[_Rule]


@cache
def _rules() -> _Rules:
    """Read the expressions at their first use: most commands need none."""
    told = tomllib.loads((Path(__file__).parent / "secrets.toml").read_text(encoding="utf-8"))
    issued = [
        (kind, re.compile("|".join(rf"(?<![\w-])(?:{form})" for form in forms), re.VERBOSE | re.ASCII))
        for kind, forms in _by_kind(told["issued"]).items()
    ]
    any_is = "|".join(language["is"] for language in tables("secrets"))
    prose = [_Rule(each["kind"], each["hints"], _filled(each["form"]), _TESTS[each["test"]]) for each in told["direct"]]
    for each in told["named"]:
        form = _called(each["names"], any_is, f"(?P<value>{each['value']})")
        prose.append(_Rule(each["kind"], each["hints"], form, _TESTS[each["test"]]))
    for language in tables("secrets"):
        prose += _of_language(language)
    return _Rules(issued, prose)


def _of_language(words: Mapping[str, Any]) -> Iterator[_Rule]:
    said, plain = re.compile(words.get("not", "(?!)").replace("\n", ""), re.IGNORECASE), "plain" in words
    word = rf"(?P<value>(?<=[{_OPEN}])[^{_CLOSE}\n]{{3,60}}(?=[{_CLOSE}])|[^\s{_CLOSE}，。；！？]{{3,}})"
    forms: Sequence[tuple[str, str, Test]] = (
        ("passwords", word, lambda value: _is_password(value, said, alone=plain)),
        ("pins", r"(?P<value>\d{4,8})(?![0-9A-Za-z_])", _TESTS["code"]),
        ("codes", r"(?P<value>[A-Za-z0-9-]*\d[\w-]{2,}(?: \d{3})?)", _TESTS["code"]),
    )
    for names, value, test in forms:
        yield _Rule("password", words["hints"], _called(words[names], words["is"], value), test)


def _called(names: Sequence[str], being: str, value: str) -> str:
    """Write the expression: one of the names, perhaps what it opens, a sign or a word for "is", the value."""
    named = "|".join(map(_filled, names))
    unspaced = "|".join(part for part in _parts(being) if _UNSPACED.search(part))
    spaced = "|".join(part for part in _parts(being) if not _UNSPACED.search(part))
    ways = [rf"(?P<sign>\s+(?:{spaced}){_SIGN}|{_SIGN})" if spaced else rf"(?P<sign>{_SIGN})"]
    ways += [rf"\s+(?:{spaced})\s+"] if spaced else []
    ways += [rf"\s*(?:{unspaced})\s*"] if unspaced else []
    between = rf"[{_CLOSE}*_]{{0,3}}{_OF}?[*_]{{0,3}}(?:{'|'.join(ways)})[*_]{{0,3}}[ \t]*(?P<quote>[{_OPEN}]?)"
    return rf"{_BEGIN}(?:{named}){between}{value}"


def _parts(being: str) -> list[str]:
    """Split an expression at the bars that stand in no brackets."""
    parts, depth = [""], 0
    for char in being:
        depth += (char in "([") - (char in ")]")
        if char == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def _filled(name: str) -> str:
    return name.replace("{word}", _WORD).replace("{lock}", _LOCK)


def _by_kind(issued: Sequence[Mapping[str, str]]) -> Mapping[SecretKind, Sequence[str]]:
    kinds: dict[SecretKind, list[str]] = {}
    for each in issued:
        kinds.setdefault(each["kind"], []).append(each["form"])  # type: ignore[arg-type]  # the tests read the file
    return kinds

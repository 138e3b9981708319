"""What somebody asks to have forgotten."""

import re
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from typing import Literal, get_args

from nanobot.forgotten import terms_in
from nanobot.memory.wishes import without_whose

Kind = Literal["words", "note", "episode", "session", "person", "since"]
Wrong = Literal["nothing", "too_little", "not_an_episode", "not_a_person", "not_a_day"]

_KINDS: tuple[Kind, ...] = get_args(Kind)
_TYPED = re.compile(r"([a-z]+)\s*[:：]\s*(\S.*)", re.DOTALL | re.IGNORECASE)
_UNFINISHED = re.compile(r"(note|episode|session|person|since)\s*[:：]", re.IGNORECASE)
_MISSING: dict[str, Wrong] = {"episode": "not_an_episode", "person": "not_a_person", "since": "not_a_day"}
_TELLING = re.compile(r"[^\W_]")
_LEAST_LETTERS = 2
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


class WishError(Exception):
    """It cannot be understood; `kind` chooses the sentence."""

    def __init__(self, kind: Wrong) -> None:
        super().__init__(kind)
        self.kind: Wrong = kind


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be forgotten.

    words    all messages and memories with a line in which all these words stand, and what was made of them
    note     a note, by its name, and what it rests on
    episode  an episode, by its number, and the messages of which it was made
    session  a conversation, by its key
    person   everything of a person, `channel:id`
    since    everything from the beginning of a day on, as 2026-11-02
    """

    kind: Kind
    value: str

    @property
    def terms(self) -> tuple[str, ...]:
        return terms_in(without_whose(self.value)) if self.kind == "words" else ()

    def moment(self, zone: tzinfo | None) -> str:
        """When that day begins in this zone, RFC 3339; "" for other wishes."""
        if self.kind != "since":
            return ""
        return datetime.combine(date.fromisoformat(self.value), datetime.min.time(), zone).isoformat()


def kind_of(name: str) -> Kind:
    """The kind with this name, as it stands on disk."""
    return next(kind for kind in _KINDS if kind == name)


def read_wish(typed: str) -> Wish:
    """The wish in what was typed behind the command. Raises WishError."""
    if match := _TYPED.fullmatch(typed.strip()):
        kind = next((kind for kind in _KINDS if kind == match[1].lower()), None)
        if kind is not None and kind != "words":
            return Wish(kind, _checked(kind, match[2].strip()))
    if match := _UNFINISHED.fullmatch(typed.strip()):
        raise WishError(_MISSING.get(match[1].lower(), "nothing"))
    terms = terms_in(typed)
    if not terms:
        raise WishError("nothing")
    for term in terms:
        if len(_TELLING.findall(term)) < _LEAST_LETTERS and len(terms) == 1 and not _UNSPACED.search(term):
            raise WishError("too_little")
    return Wish("words", " ".join(typed.split()))


def _checked(kind: Kind, value: str) -> str:
    if kind == "episode":
        number = value.lstrip("#")
        if not re.fullmatch(r"\d{1,18}", number, re.ASCII):
            raise WishError("not_an_episode")
        return str(int(number))
    if kind == "person" and not all(value.partition(":")):
        raise WishError("not_a_person")
    if kind == "since":
        try:
            return date.fromisoformat(value).isoformat()
        except ValueError:
            raise WishError("not_a_day") from None
    return value

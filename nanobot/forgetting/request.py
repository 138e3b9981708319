"""A request to forget: what somebody asks for, and who may ask it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from typing import Literal, get_args

from nanobot.authority import Authority, Scope, may_touch
from nanobot.nlp.matcher import terms_in
from nanobot.nlp.wishes import without_whose

# Request.


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
    """Error: a request cannot be understood; `kind` chooses the sentence."""

    def __init__(self, kind: Wrong) -> None:
        super().__init__(kind)
        self.kind: Wrong = kind


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """Request to forget something.

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
        """Start of the requested day in this zone, RFC 3339; "" for other requests."""
        if self.kind != "since":
            return ""
        return datetime.combine(date.fromisoformat(self.value), datetime.min.time(), zone).isoformat()


def kind_of(name: str) -> Kind:
    """The kind with this name, as it stands on disk."""
    return next(kind for kind in _KINDS if kind == name)


def read_wish(typed: str) -> ForgetRequest:
    """The wish in what was typed behind the command. Raises WishError."""
    if match := _TYPED.fullmatch(typed.strip()):
        kind = next((kind for kind in _KINDS if kind == match[1].lower()), None)
        if kind is not None and kind != "words":
            return ForgetRequest(kind, _checked(kind, match[2].strip()))
    if match := _UNFINISHED.fullmatch(typed.strip()):
        raise WishError(_MISSING.get(match[1].lower(), "nothing"))
    terms = terms_in(typed)
    if not terms:
        raise WishError("nothing")
    for term in terms:
        if len(_TELLING.findall(term)) < _LEAST_LETTERS and len(terms) == 1 and not _UNSPACED.search(term):
            raise WishError("too_little")
    return ForgetRequest("words", " ".join(typed.split()))


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


# Access.


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody, wherever they talk: each channel with their id there, and the memories that are theirs, by name."""

    ids: Sequence[tuple[str, str]]
    scopes: frozenset[str]

    @property
    def is_owner(self) -> bool:
        """True if their memory is the one that all owners share."""
        return Scope.OWNER_NAME in self.scopes


WhoIs = Callable[[str, str], Person]
"""Who somebody is, by channel and id: one who is linked is one person with all of their ids."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The scopes that are reached, by name; None: everybody's, which only the shell of the machine may."""

    scopes: frozenset[str] | None = None

    def __call__(self, scope: str) -> bool:
        return self.scopes is None or scope in self.scopes


EVERYBODY = Reach()


def reach_of(authority: Authority, who: Person) -> Reach:
    """Return the reach of somebody who talks to the bot: the scope they speak in, and no other.

    Whoever speaks in a memory of their own reaches what was kept for them before they were linked, too.
    """
    own = authority.scope
    if not may_touch(authority, own):
        return Reach(frozenset())
    return Reach(who.scopes if own.name in who.scopes else frozenset({own.name}))


def reach_for(wish: ForgetRequest, reach: Reach, who_is: WhoIs) -> Reach:
    """Of a person all goes that is theirs; what they said in groups goes only for somebody who reaches those."""
    if wish.kind != "person" or reach.scopes is None:
        return reach
    channel, _, user = wish.value.partition(":")
    return Reach(reach.scopes & who_is(channel, user).scopes)

"""Codes: a stranger is given one to be let in, a person one to be known on another channel."""

import hmac
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from nanobot.errors import PairingError
from nanobot.messages import Sender
from nanobot.ports.people import Linking, PairingRequest, PeopleBook, PersonLink, WrongLink

# Rows of the book.


class Known(Protocol):
    @property
    def channel(self) -> str: ...

    @property
    def id(self) -> str: ...


K = TypeVar("K", bound=Known)


def row_of(rows: Sequence[K], channel: str, id_: str) -> K | None:
    """The row of a person or a group."""
    return next((row for row in rows if (row.channel, row.id) == (channel, id_)), None)


def without(rows: Sequence[K], gone: Known) -> tuple[K, ...]:
    """All but those of the same person or group."""
    return tuple(row for row in rows if (row.channel, row.id) != (gone.channel, gone.id))


def without_names(book: PeopleBook, is_meant: Callable[[str, str], bool]) -> PeopleBook:
    """The book without the names that are meant, given `channel:id` and the name."""
    people = tuple(
        replace(row, name="") if row.name and is_meant(f"{row.channel}:{row.id}", row.name) else row
        for row in book.people
    )
    groups = tuple(
        replace(row, title="") if row.title and is_meant(f"{row.channel}:{row.id}", row.title) else row
        for row in book.groups
    )
    asking = tuple(
        replace(row, name="") if row.name and is_meant(f"{row.channel}:{row.id}", row.name) else row
        for row in book.asking
    )
    return replace(book, people=people, groups=groups, asking=asking)


# Pairing codes.


ALPHABET = "ACDEFGHJKMNPQRTUVWXY3479"
"""No two of them look alike, whatever the font: left out are 0 O, 1 I L, 2 Z, 5 S, 6 and 8 B."""

LENGTH = 8

VALID = timedelta(hours=1)
"""How long a code can be approved; for as long again it is known to be over."""

MOST_ASKING = 500
"""Valid codes in a channel at once. Beyond it the oldest makes room: many strangers keep none from getting one, and
all their codes together make guessing no easier, since few guesses are looked at."""

MOST_WRONG = 5
LOCKED = timedelta(hours=1)
"""So many wrong codes within this time, and none can be approved over chat until it has passed."""


def new_code() -> str:
    """A code that nobody can guess."""
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


def plain(typed: str) -> bytes:
    """A code as it was given, however it was typed."""
    return "".join(typed.upper().replace("-", "").split()).encode(errors="replace")


def waiting(book: PeopleBook, now: datetime) -> Sequence[PairingRequest]:
    """The strangers whose codes are valid, the oldest first."""
    return [asking for asking in book.asking if asking.until > now]


def given(book: PeopleBook, channel: str, sender: Sender, chat: str, now: datetime) -> PairingRequest | None:
    """The code that somebody has, or a new one, not written down yet; None if they were denied."""
    known = row_of(waiting(book, now), channel, sender.id)
    if known:
        return known
    if any((each.channel, each.id) == (channel, sender.id) and each.until > now for each in book.denied):
        return None
    return PairingRequest(
        channel=channel, id=sender.id, chat=chat, code=new_code(), until=now + VALID, name=sender.name
    )


def with_asking(book: PeopleBook, asking: PairingRequest, now: datetime) -> PeopleBook:
    """The book with a new code, without the channel's oldest ones if there were too many."""
    others = [each for each in waiting(book, now) if each.channel == asking.channel]
    gone = others[: max(0, len(others) + 1 - MOST_ASKING)]
    return replace(book, asking=(*(each for each in book.asking if each not in gone), asking))


def find(book: PeopleBook, typed: str) -> PairingRequest | None:
    """Return the holder of a code, valid or over; None if there is none. Takes as long whatever is typed."""
    code = plain(typed)
    same = [each for each in book.asking if hmac.compare_digest(each.code.encode(), code)]
    return same[0] if same else None


def locked_until(book: PeopleBook, now: datetime) -> datetime | None:
    """Until when codes cannot be approved over chat; None if they can."""
    recent = [at for at in book.wrong if at + LOCKED > now]
    return recent[-MOST_WRONG] + LOCKED if len(recent) >= MOST_WRONG else None


def check_pairing_code(asking: PairingRequest | None, now: datetime) -> PairingRequest:
    """A code that can be approved. Raises PairingError."""
    if asking is None:
        raise PairingError("wrong_code")
    if asking.until <= now:
        raise PairingError("expired_code")
    return asking


def without_old_codes(book: PeopleBook, now: datetime) -> PeopleBook:
    """The book without what does not matter any more: what was kept of strangers goes."""
    return replace(
        book,
        asking=tuple(each for each in book.asking if each.until + VALID > now),
        denied=tuple(each for each in book.denied if each.until > now),
        wrong=tuple(at for at in book.wrong if at + LOCKED > now),
    )


# Link codes.


LINK_VALID = timedelta(minutes=10)


Who = tuple[str, str]
"""A channel, and the id of somebody there."""


def first(book: PeopleBook, who: Who) -> Who:
    """Return the person whose memory this one shares: the first of those linked."""
    return next(((link.first_channel, link.first_id) for link in book.links if (link.channel, link.id) == who), who)


def linked(book: PeopleBook, who: Who) -> Sequence[Who]:
    """Everywhere that this person is, the first place first."""
    home = first(book, who)
    others = [(link.channel, link.id) for link in book.links if (link.first_channel, link.first_id) == home]
    return [home, *others]


def with_code(book: PeopleBook, who: Who, now: datetime) -> tuple[PeopleBook, Linking]:
    """Give somebody a code; an older one of theirs is void."""
    linking = Linking(channel=who[0], id=who[1], code=new_code(), until=now + LINK_VALID)
    others = (each for each in book.linking if (each.channel, each.id) != who)
    return replace(book, linking=(*others, linking)), linking


def check_link_code(book: PeopleBook, who: Who, typed: str, now: datetime) -> Linking | None:
    """The code that was typed; None if there is none like it. Takes as long whatever is typed. Raises PairingError."""
    wrong = [each.at for each in book.wrong_links if (each.channel, each.id) == who and each.at + LOCKED > now]
    if len(wrong) >= MOST_WRONG:
        raise PairingError("link_locked")
    code = plain(typed)
    return next((e for e in book.linking if hmac.compare_digest(e.code.encode(), code) and e.until > now), None)


def with_wrong(book: PeopleBook, who: Who, now: datetime) -> PeopleBook:
    """Count a wrong code."""
    return replace(book, wrong_links=(*book.wrong_links, WrongLink(channel=who[0], id=who[1], at=now)))


def joined(book: PeopleBook, who: Who, linking: Linking) -> PeopleBook:
    """This person is the one who was given the code, and so is everybody who was this person. Raises PairingError.

    Codes that either was given before are void: whoever types one would be in a memory that is not only its giver's.
    """
    home = first(book, (linking.channel, linking.id))
    if first(book, who) == home:
        raise PairingError("linked_already")
    moved = linked(book, who)
    kept = tuple(link for link in book.links if (link.channel, link.id) not in moved)
    new = (PersonLink(channel=each[0], id=each[1], first_channel=home[0], first_id=home[1]) for each in moved)
    of_both = (*moved, *linked(book, home))
    linking_still = tuple(each for each in book.linking if (each.channel, each.id) not in of_both)
    return replace(book, links=(*kept, *new), linking=linking_still)


def parted(book: PeopleBook, who: Who) -> PeopleBook:
    """This person is only who they are here: where they were first, everybody else is parted. Raises PairingError."""
    kept = tuple(
        link for link in book.links if who not in ((link.channel, link.id), (link.first_channel, link.first_id))
    )
    if len(kept) == len(book.links):
        raise PairingError("not_linked")
    return replace(book, links=kept)


def without_old_links(book: PeopleBook, now: datetime) -> PeopleBook:
    """The book without codes that are over and tries that do not count any more."""
    return replace(
        book,
        linking=tuple(each for each in book.linking if each.until > now),
        wrong_links=tuple(each for each in book.wrong_links if each.at + LOCKED > now),
    )

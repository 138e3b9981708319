"""One person on several channels: a code that is given on one of them is typed on the other."""

import hmac
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from nanobot.errors import PairingError
from nanobot.people.codes import new_code, plain
from nanobot.ports.people import Book, Link, Linking, WrongLink

VALID = timedelta(minutes=10)

MOST_WRONG = 5
LOCKED = timedelta(hours=1)
"""Who types so many wrong codes within this time is not listened to until it has passed."""

Who = tuple[str, str]
"""A channel, and the id of somebody there."""


def first(book: Book, who: Who) -> Who:
    """Whose memory this person's is: that of where they first were."""
    return next(((link.first_channel, link.first_id) for link in book.links if (link.channel, link.id) == who), who)


def linked(book: Book, who: Who) -> Sequence[Who]:
    """Everywhere that this person is, the first place first."""
    home = first(book, who)
    others = [(link.channel, link.id) for link in book.links if (link.first_channel, link.first_id) == home]
    return [home, *others]


def with_code(book: Book, who: Who, now: datetime) -> tuple[Book, Linking]:
    """Give somebody a code; an older one of theirs is void."""
    linking = Linking(channel=who[0], id=who[1], code=new_code(), until=now + VALID)
    others = (each for each in book.linking if (each.channel, each.id) != who)
    return replace(book, linking=(*others, linking)), linking


def check(book: Book, who: Who, typed: str, now: datetime) -> Linking | None:
    """The code that was typed; None if there is none like it. Takes as long whatever is typed. Raises PairingError."""
    wrong = [each.at for each in book.wrong_links if (each.channel, each.id) == who and each.at + LOCKED > now]
    if len(wrong) >= MOST_WRONG:
        raise PairingError("link_locked")
    code = plain(typed)
    return next((e for e in book.linking if hmac.compare_digest(e.code.encode(), code) and e.until > now), None)


def with_wrong(book: Book, who: Who, now: datetime) -> Book:
    """Count a wrong code."""
    return replace(book, wrong_links=(*book.wrong_links, WrongLink(channel=who[0], id=who[1], at=now)))


def joined(book: Book, who: Who, linking: Linking) -> Book:
    """This person is the one who was given the code, and so is everybody who was this person. Raises PairingError.

    Codes that either was given before are void: whoever types one would be in a memory that is not only its giver's.
    """
    home = first(book, (linking.channel, linking.id))
    if first(book, who) == home:
        raise PairingError("linked_already")
    moved = linked(book, who)
    kept = tuple(link for link in book.links if (link.channel, link.id) not in moved)
    new = (Link(channel=each[0], id=each[1], first_channel=home[0], first_id=home[1]) for each in moved)
    of_both = (*moved, *linked(book, home))
    linking_still = tuple(each for each in book.linking if (each.channel, each.id) not in of_both)
    return replace(book, links=(*kept, *new), linking=linking_still)


def parted(book: Book, who: Who) -> Book:
    """This person is only who they are here: where they were first, everybody else is parted. Raises PairingError."""
    kept = tuple(
        link for link in book.links if who not in ((link.channel, link.id), (link.first_channel, link.first_id))
    )
    if len(kept) == len(book.links):
        raise PairingError("not_linked")
    return replace(book, links=kept)


def without_old(book: Book, now: datetime) -> Book:
    """The book without codes that are over and tries that do not count any more."""
    return replace(
        book,
        linking=tuple(each for each in book.linking if each.until > now),
        wrong_links=tuple(each for each in book.wrong_links if each.at + LOCKED > now),
    )

"""Pairing codes: a stranger is given one, an owner approves it."""

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from nanobot.errors import PairingError
from nanobot.messages import Sender
from nanobot.people.rows import row_of
from nanobot.ports.people import Asking, Book

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


def waiting(book: Book, now: datetime) -> Sequence[Asking]:
    """The strangers whose codes are valid, the oldest first."""
    return [asking for asking in book.asking if asking.until > now]


def given(book: Book, channel: str, sender: Sender, chat: str, now: datetime) -> Asking | None:
    """The code that somebody has, or a new one, not written down yet; None if they were denied."""
    known = row_of(waiting(book, now), channel, sender.id)
    if known:
        return known
    if any((each.channel, each.id) == (channel, sender.id) and each.until > now for each in book.denied):
        return None
    return Asking(channel=channel, id=sender.id, chat=chat, code=new_code(), until=now + VALID, name=sender.name)


def with_asking(book: Book, asking: Asking, now: datetime) -> Book:
    """The book with a new code, without the channel's oldest ones if there were too many."""
    others = [each for each in waiting(book, now) if each.channel == asking.channel]
    gone = others[: max(0, len(others) + 1 - MOST_ASKING)]
    return replace(book, asking=(*(each for each in book.asking if each not in gone), asking))


def find(book: Book, typed: str) -> Asking | None:
    """Whose code that is, valid or over; None if there is none like it. Takes as long whatever is typed."""
    code = plain(typed)
    same = [each for each in book.asking if hmac.compare_digest(each.code.encode(), code)]
    return same[0] if same else None


def locked_until(book: Book, now: datetime) -> datetime | None:
    """Until when codes cannot be approved over chat; None if they can."""
    recent = [at for at in book.wrong if at + LOCKED > now]
    return recent[-MOST_WRONG] + LOCKED if len(recent) >= MOST_WRONG else None


def check(asking: Asking | None, now: datetime) -> Asking:
    """A code that can be approved. Raises PairingError."""
    if asking is None:
        raise PairingError("wrong_code")
    if asking.until <= now:
        raise PairingError("expired_code")
    return asking


def without_old(book: Book, now: datetime) -> Book:
    """The book without what does not matter any more: what was kept of strangers goes."""
    return replace(
        book,
        asking=tuple(each for each in book.asking if each.until + VALID > now),
        denied=tuple(each for each in book.denied if each.until > now),
        wrong=tuple(at for at in book.wrong if at + LOCKED > now),
    )

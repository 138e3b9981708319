"""Ids that sort by the time they were made, and short tokens that people type."""

import secrets
import time

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32, as in the ULID specification
_last = 0


_LETTERS, _DIGITS = "ABCDEFGHJKMNPQRSTVWXYZ", "23456789"  # without 0, 1, I, L, O, U

TOKEN = f"[{_LETTERS}][{_LETTERS}{_DIGITS}]{{3}}"
"""Regular expression of a token."""


def new_token() -> str:
    """Return a new token: four characters, short enough to be typed, and no number."""
    return secrets.choice(_LETTERS) + "".join(secrets.choice(_LETTERS + _DIGITS) for _ in range(3))


def new_id() -> str:
    """A ULID: 26 characters from 48 bits of milliseconds and 80 random bits.

    Within a process each is larger than the one before.
    """
    global _last  # one counter per process keeps ids of the same millisecond in order
    value = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    _last = max(value, _last + 1)
    return "".join(_ALPHABET[_last >> shift & 31] for shift in range(125, -1, -5))

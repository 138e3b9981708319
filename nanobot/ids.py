"""Ids that sort by the time they were made."""

import secrets
import time

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32, as in the ULID specification
_last = 0


def new_id() -> str:
    """A ULID: 26 characters from 48 bits of milliseconds and 80 random bits.

    Within a process each is larger than the one before.
    """
    global _last  # one counter per process keeps ids of the same millisecond in order
    value = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    _last = max(value, _last + 1)
    return "".join(_ALPHABET[_last >> shift & 31] for shift in range(125, -1, -5))

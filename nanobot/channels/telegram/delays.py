"""How long to wait before trying again."""

LONGEST = 30.0


def back_off(failed: int) -> float:
    """Seconds after so many failures in a row: 1, 2, 4, and so on to half a minute."""
    return min(LONGEST, 2.0 ** min(failed - 1, 10))

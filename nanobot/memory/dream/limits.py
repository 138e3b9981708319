"""How much one dream may do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the configuration says, and what keeps single steps in bounds.

    `steps` and `tokens` are model calls and tokens of one run, `seconds` how long it may ask; `runs_per_day` counts
    those that ask a model. `max_removed` is the share of a file that one run may remove. `batch` is in episodes,
    `fact` and `note` are in characters, `file` in bytes. A note is stale after so many days without a confirmation.
    """

    steps: int = 12
    tokens: int = 60_000
    seconds: float = 900.0
    runs_per_day: int = 24
    max_notes: int = 200
    max_removed: float = 0.25
    batch: int = 20
    fact: int = 500
    note: int = 16_000
    file: int = 128 * 1024
    stale_days: int = 90

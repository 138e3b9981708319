"""How a file looked from outside when it was last met."""

import os
from pathlib import Path
from typing import NamedTuple

_TICK_NS = 20_000_000  # file times move in ticks, of 10 ms at worst on Linux and macOS


class Stamp(NamedTuple):
    """What tells one state of a file from another without reading it."""

    mtime_ns: int
    size: int
    inode: int

    @classmethod
    def of(cls, info: os.stat_result) -> "Stamp":
        return cls(info.st_mtime_ns, info.st_size, info.st_ino)

    @classmethod
    def at(cls, path: Path) -> "Stamp | None":
        """None if there is no such file."""
        try:
            return cls.of(path.stat())
        except FileNotFoundError:
            return None

    def is_settled(self, at_ns: int) -> bool:
        """Whether a change made after `at_ns` is bound to show: a file just written may keep its time once more."""
        return at_ns - self.mtime_ns > _TICK_NS

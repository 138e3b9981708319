"""Where the figures come from."""

import os
import platform
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from bench.disk import bare_append


def machine() -> str:
    """Machine, system, Python and disk, and how busy it is with other things."""
    with tempfile.TemporaryDirectory(prefix="nanobot-bench-") as folder:
        fsync = median(bare_append(Path(folder) / "probe", 200))
    rows = [
        f"date     {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        f"machine  {_processor()}, {os.cpu_count()} cores, {_memory()}",
        f"system   {platform.platform()}, Python {platform.python_version()}",
        f"disk     {tempfile.gettempdir()}: an append with fsync takes {fsync:.2f} ms (TMPDIR chooses another place)",
        f"load     {' '.join(f'{load:.1f}' for load in os.getloadavg())} before the start",
    ]
    return "\n".join(rows)


def _processor() -> str:
    try:
        found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB"

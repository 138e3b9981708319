"""What a command costs as a whole process."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

# The kernel counts what a process was before exec as its memory, too: so it is started by a small one, not by us.
_STARTER = """
import json, os, sys, time
null = os.open(os.devnull, os.O_RDWR)
quiet = [(os.POSIX_SPAWN_DUP2, null, descriptor) for descriptor in (0, 1)]
began = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
print(json.dumps([time.perf_counter() - began, usage.ru_maxrss, os.waitstatus_to_exitcode(status)]))
"""
_TO_MB = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kB elsewhere

PYTHON = sys.executable
NANOBOT = [str(Path(sys.executable).with_name("nanobot"))]


class Spent(NamedTuple):
    """Seconds, and the most memory it had at a time, in MB."""

    seconds: float
    memory: float


def spend(command: Sequence[str], env: Mapping[str, str] | None = None) -> Spent:
    """Run a command to its end, its output thrown away. Raises RuntimeError if it fails."""
    starter = [PYTHON, "-I", "-S", "-c", _STARTER, *command]
    done = subprocess.run(starter, env={**os.environ, **(env or {})}, capture_output=True, text=True, check=True)
    seconds, memory, code = json.loads(done.stdout)
    if code:
        raise RuntimeError(f"{' '.join(command)} ended with {code}: {done.stderr}")
    return Spent(seconds, memory / _TO_MB)

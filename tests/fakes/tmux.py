"""A real terminal, driven as a person would: keys go in, what the screen shows comes out."""

import os
import re
import shlex
import shutil
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import pytest

PATIENCE = 120.0
"""Seconds before a test gives up; a guard against hanging, not a measure."""

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

_AFTERWARDS = 'echo "[exit $?]"; stty -a | grep -o -E -e "-?(icanon|echo) "'


class Tmux:
    """One pane on a server of its own; a context manager.

    When the command ends, its exit code is shown, and whether the terminal echoes and reads lines again.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, env: Mapping[str, str], *, size: tuple[int, int] = (80, 30)
    ) -> None:
        """Run a command in `folder` with additional environment variables, in a pane of columns and lines."""
        self._socket = f"nanobot-test-{uuid.uuid4().hex[:12]}"
        settings = [f"{name}={value}" for name, value in env.items()]
        line = f"{shlex.join(['env', *settings, *command])}; {_AFTERWARDS}; exec sleep {PATIENCE * 2:.0f}"
        self._start = ["-x", str(size[0]), "-y", str(size[1]), "-c", str(folder), "sh", "-c", line]

    def __enter__(self) -> Self:
        self._tmux("new-session", "-d", *self._start)
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server")

    def type(self, text: str) -> None:
        """Type letters."""
        self._tmux("send-keys", "-l", "--", text)

    def press(self, *keys: str) -> None:
        """Press keys by their tmux names: Enter, C-c, M-Enter, Up …"""
        self._tmux("send-keys", *keys)

    def say(self, text: str) -> None:
        self.type(text)
        self.press("Enter")

    def paste(self, text: str) -> None:
        """Paste as terminals do, in brackets if the program asked for that."""
        self._tmux("load-buffer", "-", text=text)
        self._tmux("paste-buffer", "-p")

    def resize(self, columns: int, lines: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def signal(self, name: str) -> None:
        """Send a signal ("TERM") to the program in the pane."""
        shell = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        subprocess.run(["pkill", f"-{name}", "-P", shell], check=True)

    def screen(self) -> str:
        """What is to be seen, what has scrolled away included."""
        lines = self._tmux("capture-pane", "-p", "-S", "-").splitlines()
        return "\n".join(line.rstrip() for line in lines).rstrip()

    def wait_for(self, pattern: str) -> str:
        """The screen once the regular expression is found in it."""
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, screen := self.screen(), re.MULTILINE):
            if time.monotonic() > deadline:
                pytest.fail(f"{pattern!r} did not appear on the screen:\n{screen}")
            time.sleep(0.03)
        return screen

    def _tmux(self, *arguments: str, text: str | None = None) -> str:
        command = ["tmux", "-u", "-L", self._socket, "-f", os.devnull, *arguments]
        return subprocess.run(command, input=text, text=True, check=True, capture_output=True, encoding="utf-8").stdout

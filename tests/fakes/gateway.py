"""`nanobot gateway` in a process of its own, and what people run beside it."""

import asyncio
import json
import re
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest

from tests.fakes.processes import Running

NANOBOT = [sys.executable, "-m", "nanobot"]
ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
"""Seconds before a test gives up; a guard against hanging, not a measure."""

NOBODY = {"token": "1:AAnobody", "api_base": "http://127.0.0.1:9"}
"""A Telegram at which nobody answers: enough for a gateway to start."""


@dataclass(frozen=True)
class Done:
    """A command that ended."""

    code: int
    out: str
    err: str


def configure(home: Path, model_url: str, **config: Any) -> None:
    """Write a configuration with one model."""
    home.mkdir(mode=0o700, exist_ok=True)
    model = {"base_url": model_url, "api_key": "key-of-the-model", "model": "fake", "attempts": 1}
    usual = {"models": {"fake": model}, "language": "en", "gateway": {"health": "127.0.0.1:0", "drain": "20s"}}
    (home / "config.yaml").write_text(json.dumps({**usual, **config}), encoding="utf-8")


async def nanobot(home: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Done:
    """Run a command to its end."""
    process = await Running.start(*arguments, env={"NANOBOT_HOME": str(home), **(env or {})})
    try:
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Done(process.returncode or 0, out.decode(), err.decode())


class GatewayProcess:
    """A context manager: inside, the gateway runs; what it prints is in `said`."""

    def __init__(self, home: Path, *, env: Mapping[str, str] | None = None) -> None:
        self.said = ""
        self._home = home
        self._env = {"NANOBOT_HOME": str(home), **(env or {})}
        self._process: Running

    async def __aenter__(self) -> Self:
        self._process = await Running.start("gateway", env=self._env, together=True)
        await self.says(r"^health: ")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.communicate()

    @property
    def pid(self) -> int:
        return self._process.pid

    async def says(self, pattern: str) -> re.Match[str]:
        """Wait until the regular expression is found in what it printed."""
        async with asyncio.timeout(PATIENCE):
            while not (match := re.search(pattern, self.said, re.MULTILINE)):
                line = await self._process.stdout.readline()
                if not line:
                    pytest.fail(f"the gateway ended before it said {pattern!r}:\n{self.said}")
                self.said += line.decode()
        return match

    @property
    def health(self) -> str:
        """Where GET /health answers."""
        match = re.search(r"^health: (\S+)", self.said, re.MULTILINE)
        assert match
        return match[1]

    def signal(self, number: int = signal.SIGTERM) -> None:
        self._process.send_signal(number)

    async def ended(self) -> int:
        """Wait until it has ended; its exit code."""
        async with asyncio.timeout(PATIENCE):
            self.said += (await self._process.stdout.read()).decode()
            return await self._process.wait()

    async def stop(self) -> int:
        """Tell it to end, and wait; its exit code."""
        self.signal()
        return await self.ended()

    def log(self) -> str:
        return (self._home / "nanobot.log").read_text(encoding="utf-8")

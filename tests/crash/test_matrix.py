"""The gateway is killed at every step between "received" and "answer confirmed", on both platforms.

The steps are the lines of its own debug log. One process after the other: each first finishes what the one before
left, then gets a message and dies at the next step of it.
"""

import asyncio
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from nanobot.i18n import say as sentence
from tests.crash.scenes import Scene, answer_to, scene
from tests.fakes.gateway import PATIENCE, ROOT

ENOUGH = 400
"""Steps that no message takes."""

SETTLED = 0.3
"""Seconds in which what comes twice would come."""

IN_DOUBT = re.compile(r"(?:attempting|sending|arrived) part|(?:previewing|showing|previewed)")
"""Where Telegram cannot be asked whether a message has arrived."""


class Life:
    """One process of the gateway, which dies at the step of this number; 0 is none."""

    def __init__(self, home: Path, dies_at: int) -> None:
        self._home, self._dies_at = home, dies_at
        self.died_at = ""
        self._process: asyncio.subprocess.Process

    async def __aenter__(self) -> "Life":
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.crash.dying_gateway", str(self._dies_at)),
            cwd=ROOT,
            env={**os.environ, "NANOBOT_HOME": str(self._home)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process.returncode is None and not self.died_at:
            self._process.kill()
        await self._process.wait()

    async def says(self, pattern: str) -> re.Match[str]:
        assert self._process.stdout
        said = ""
        while not (match := re.search(pattern, said, re.MULTILINE)):
            line = await self._process.stdout.readline()
            if not line:
                pytest.fail(f"the gateway ended before it said {pattern!r}:\n{said}")
            said += line.decode()
        return match

    async def arm(self) -> None:
        """From now on steps are counted."""
        self._process.send_signal(signal.SIGUSR1)
        await self.says("^armed")

    async def dies(self) -> None:
        self.died_at = (await self.says("^dies at: (.*)"))[1]

    async def stop(self) -> None:
        self._process.terminate()
        await self._process.wait()


async def until_answered(place: Scene, number: int) -> None:
    while not any(answer_to(number) in text for text in place.shown()):  # noqa: ASYNC110  the fakes have no common event
        await asyncio.sleep(0.02)


async def kill_at_every_step(platform: str, home: Path, place: Scene) -> Mapping[int, str]:
    """The steps at which it died, by the number of the question that it was at work on."""
    died: dict[int, str] = {}
    for number in range(ENOUGH):
        async with asyncio.timeout(PATIENCE), Life(home, number) as life:
            await life.says(rf"^{platform}: up as")
            if number:
                await until_answered(place, number - 1)
                await asyncio.sleep(SETTLED)
                await life.arm()
            place.ask(f"question {number}")
            dies = asyncio.create_task(life.dies())
            done = asyncio.create_task(until_answered(place, number))
            await asyncio.wait([dies, done], return_when=asyncio.FIRST_COMPLETED)
            if number:
                await asyncio.wait([dies], timeout=2)
            for task in (dies, done):
                task.cancel()
            if not life.died_at:
                await life.stop()
                if number:
                    return died
            else:
                died[number] = life.died_at
    pytest.fail("a message takes more steps than there can be")


def seen(number: int, shown: Sequence[str]) -> str:
    """What the person sees of an answer."""
    about = [text for text in shown if re.search(rf"question {number}\b", text)]
    whole = [text for text in about if answer_to(number) in text]
    marked = [text for text in whole if sentence("telegram.repeat", "en") in text]
    if len(about) > len(whole):
        return "the answer, and an unfinished preview of it"
    if len(whole) == 1:
        return "the answer once, marked as a possible repeat" if marked else "the answer once"
    return f"the answer {len(whole)} times, {len(marked)} marked as a possible repeat"


ALLOWED_IN_DOUBT = (
    "the answer once",
    "the answer once, marked as a possible repeat",
    "the answer, and an unfinished preview of it",
    "the answer 2 times, 1 marked as a possible repeat",
)


def table(title: str, steps: Mapping[int, str], shown: Sequence[str]) -> str:
    rows = [f"\n\n{title}: killed at {len(steps)} steps\n", "| killed at | the person sees |", "|---|---|"]
    for number, step in steps.items():
        plain = re.sub(r"\b[0-9A-Z]{26}\b|\b\d{5,}(?::\d+)*\b", "…", step)
        rows.append(f"| {plain} | {seen(number, shown)} |")
    sums = Counter(seen(number, shown) for number in steps)
    return "\n".join([*rows, "", "; ".join(f"{count} × {what}" for what, count in sums.items())])


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["telegram", "discord"])
@pytest.mark.parametrize("how", ["at once", "growing"])
async def test_a_gateway_killed_at_any_step_answers_each_message_once(
    platform: str, how: str, private_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with scene(platform, private_home, growing=how == "growing") as place:
        steps = await kill_at_every_step(platform, private_home, place)
        shown = place.shown()

    with capsys.disabled():
        print(table(f"{platform}, the answer shown {how}", steps, shown))
    assert len(steps) > 15
    for number, step in steps.items():
        if platform == "telegram" and IN_DOUBT.match(step):
            assert seen(number, shown) in ALLOWED_IN_DOUBT, step
        else:
            assert seen(number, shown) == "the answer once", step

"""The gateway as a process, between a Telegram and an endpoint on loopback that answer at once."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import quantiles

import msgspec
from aiohttp import web

from bench.bot import ANSWER, house
from bench.figures import Figure, Scale
from tests.fakes.openai_answers import Answer, Json, say
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.telegram_server import FakeTelegram
from tests.fakes.telegram_world import Person

_PEOPLE = 25  # who take turns: Telegram allows a bot one message a second in a chat, and thirty in all
_PACE = 0.05  # seconds from an answer to the next question
_ROUNDS = 9  # the first is not counted: there each conversation begins
_CROWD = 200
_QUIET = 10.0  # seconds


def measure(scale: Scale) -> Sequence[Figure]:
    with house() as home:
        return asyncio.run(_measure(home.root, small=scale.runs == 1))


async def _measure(home: Path, *, small: bool) -> Sequence[Figure]:
    people, rounds, crowd, quiet = (2, 2, 3, 0.2) if small else (_PEOPLE, _ROUNDS, _CROWD, _QUIET)
    async with FakeTelegram() as telegram, FakeOpenAI() as model:
        world = telegram.world
        persons = [world.person(number, f"Person {number}") for number in range(1, max(people, crowd) + 1)]
        _configure(home, model, telegram, [str(person.id) for person in persons])
        answered = _Answered()
        model.otherwise = answered.say
        async with _gateway(home) as process:
            resting = await _Idle.after(process.pid, quiet)
            await _take_turns(persons[:people], rounds, telegram, model, answered)
            seconds = await _all_at_once(persons[:crowd], telegram)
            busy = await _Idle.after(process.pid, quiet)
    return [
        *_percentiles("from an update to the request to the model", answered.asked[people:]),
        *_percentiles("from the end of the answer to its message", answered.sent[people:]),
        Figure(
            f"{crowd} chats at once, until the last has its answer", seconds, "s", note="Telegram's limit: 30 a second"
        ),
        Figure("idle, just started: memory", resting.memory, "MB"),
        Figure("idle, afterwards: memory", busy.memory, "MB"),
        Figure("idle: processor time", max(busy.processor, 0.001), "%", note=f"of one, in {quiet:g} s"),
    ]


def _configure(home: Path, model: FakeOpenAI, telegram: FakeTelegram, owners: Sequence[str]) -> None:
    config = {
        "models": {"loopback": {"base_url": model.base_url, "api_key": "none", "model": "loopback-1"}},
        "telegram": {"token": telegram.token, "api_base": telegram.api_base, "owners": owners},
        "gateway": {"health": "127.0.0.1:0"},
    }
    (home / "config.yaml").write_bytes(msgspec.json.encode(config))


@asynccontextmanager
async def _gateway(home: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "nanobot", "gateway"),
        env={**os.environ, "NANOBOT_HOME": str(home)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout
        async for line in process.stdout:
            if line.startswith(b"telegram: up"):
                break
        else:
            raise RuntimeError("the gateway ended before Telegram was up")
        yield process
        process.terminate()
        await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@dataclass
class _Answered:
    """Milliseconds of each turn, before and after the model; `ended` is when it last said its last word."""

    asked: list[float] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    ended: float = 0.0

    def say(self, _: Json) -> Answer:
        answer = say(ANSWER, size=40)
        return replace(answer, parts=(*answer.parts, self))

    async def play(self, *_: web.Request | web.StreamResponse) -> None:
        self.ended = time.monotonic()


async def _take_turns(
    people: Sequence[Person], rounds: int, telegram: FakeTelegram, model: FakeOpenAI, answered: _Answered
) -> None:
    for turn in range(rounds * len(people)):
        await asyncio.sleep(_PACE)
        began = time.monotonic()
        people[turn % len(people)].says("What would you do first?")
        call = await telegram.called("sendMessage", turn + 1)
        answered.asked.append((model.requests[turn].at - began) * 1000)
        answered.sent.append((call.at - answered.ended) * 1000)


async def _all_at_once(people: Sequence[Person], telegram: FakeTelegram) -> float:
    """Seconds until everybody has an answer."""
    so_far = len(telegram.made("sendMessage"))
    began = time.monotonic()
    for person in people:
        person.says("And then?")
    call = await telegram.called("sendMessage", so_far + len(people))
    return call.at - began


@dataclass
class _Idle:
    """What a process that does nothing takes: MB, and percent of a processor."""

    memory: float
    processor: float

    @classmethod
    async def after(cls, pid: int, seconds: float) -> "_Idle":
        await asyncio.sleep(seconds / 5)
        before = _ticks(pid)
        await asyncio.sleep(seconds)
        used = (_ticks(pid) - before) / os.sysconf("SC_CLK_TCK")
        return cls(_resident(pid), 100 * used / seconds)


def _ticks(pid: int) -> int:
    """Of user and system time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _resident(pid: int) -> float:
    """MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _percentiles(what: str, values: Sequence[float]) -> list[Figure]:
    cut = quantiles(values, n=100)
    return [
        Figure(f"{what}: p50", cut[49], "ms", least=min(values), note=f"{len(values)} turns"),
        Figure(f"{what}: p99", cut[98], "ms"),
    ]

"""When Dream runs by itself: on its schedule, at the end and at the start of terminals; never when it is off."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest

from nanobot.memory.dream.dream import JOB, QUIET, DreamTriggers
from nanobot.ports import Every, When
from nanobot.schedule.scheduler import Scheduler
from nanobot.store.state import JobTimesFile
from tests.fakes.dreamers import lazy
from tests.fakes.llm import ScriptedLLM
from tests.memory.dream.bedroom import Bedroom

EVERY = Every(7200)


class Occasions:
    """Triggers of a bedroom, with the background's work and rests written down."""

    def __init__(self, bedroom: Bedroom, when: When | None, folder: Path) -> None:
        self.started: list[tuple[str, Callable[[], Awaitable[None]]]] = []
        self.rests: list[float] = []
        schedule = Scheduler(JobTimesFile(folder / "job_times.json"), bedroom.clock, UTC)
        self.triggers = DreamTriggers(bedroom.dream, when, schedule, self._start, self._rested)

    def _start(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        self.started.append((name, work))

    async def _rested(self, seconds: float) -> None:
        self.rests.append(seconds)


async def said(bedroom: Bedroom, *, one_by_one: bool) -> None:
    """Something is new, and the model would leave memory as it is."""
    await bedroom.happened("hello")
    bedroom.llm = ScriptedLLM(lazy, lazy, info=replace(bedroom.llm.info, one_by_one=one_by_one))


@pytest.mark.parametrize("one_by_one", [False, True])
async def test_off_turns_off_the_ends_and_the_starts_of_terminals_too(
    bedroom: Bedroom, tmp_path: Path, *, one_by_one: bool
) -> None:
    await said(bedroom, one_by_one=one_by_one)
    off = Occasions(bedroom, None, tmp_path)

    await off.triggers.on_terminal_end()
    await off.triggers.on_terminal_start()

    assert (bedroom.llm.requests, off.started, off.triggers.next_at()) == ([], [], None)
    assert (await bedroom.dream.run("asked")).outcome == "unchanged"


async def test_a_model_behind_an_endpoint_dreams_at_the_end_of_a_terminal(bedroom: Bedroom, tmp_path: Path) -> None:
    await said(bedroom, one_by_one=False)
    occasions = Occasions(bedroom, EVERY, tmp_path)

    await occasions.triggers.on_terminal_end()
    await occasions.triggers.on_terminal_start()

    assert (len(bedroom.llm.requests), occasions.started) == (1, [])


async def test_a_model_on_this_machine_dreams_after_the_start_of_the_next_when_it_is_quiet(
    bedroom: Bedroom, tmp_path: Path
) -> None:
    await said(bedroom, one_by_one=True)
    occasions = Occasions(bedroom, EVERY, tmp_path)

    await occasions.triggers.on_terminal_end()
    assert bedroom.llm.requests == []
    await occasions.triggers.on_terminal_start()

    ((name, work),) = occasions.started
    assert (name, occasions.rests) == (JOB, [QUIET])
    await work()
    assert len(bedroom.llm.requests) == 1


async def test_the_schedule_starts_it_in_the_background(bedroom: Bedroom, tmp_path: Path) -> None:
    await said(bedroom, one_by_one=False)
    occasions = Occasions(bedroom, EVERY, tmp_path)

    await occasions.triggers.on_schedule()

    assert ([name for name, _ in occasions.started], occasions.rests) == ([JOB], [])

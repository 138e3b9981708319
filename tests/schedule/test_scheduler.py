import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nanobot.ids import new_id
from nanobot.ports import Cron, Every
from nanobot.schedule import scheduler as scheduling
from nanobot.schedule.scheduler import Scheduler, SystemClock
from nanobot.store import state
from nanobot.store.state import JobTimesFile, write_state

GUARD = 30


def scheduler(folder: Path) -> Scheduler:
    return Scheduler(JobTimesFile(folder / "job_times.json"), SystemClock(), UTC)


def counting(done: asyncio.Semaphore) -> Callable[[], Awaitable[None]]:
    async def work() -> None:
        done.release()

    return work


async def test_jobs_run_side_by_side_and_a_failing_one_runs_again(tmp_path: Path) -> None:
    jobs, ran, hung = scheduler(tmp_path), asyncio.Semaphore(0), asyncio.Event()

    async def hang() -> None:
        hung.set()
        await asyncio.Event().wait()

    async def fail() -> None:
        ran.release()
        raise ZeroDivisionError

    jobs.add("hang", Every(0.01), hang)
    jobs.add("fail", Every(0.01), fail)
    jobs.add("dream", Every(7200), counting(asyncio.Semaphore(0)))
    assert jobs.next("dream") is None  # nothing begins by itself yet
    running = asyncio.create_task(jobs.run())
    async with asyncio.timeout(GUARD):
        await hung.wait()
        for _ in range(2):
            await ran.acquire()
    due = jobs.next("dream")
    assert due is not None
    assert due - datetime.now(UTC) <= timedelta(hours=2)
    assert jobs.next("dream", due + timedelta(hours=3)) == due + timedelta(hours=4)
    assert jobs.next("other") is None
    running.cancel()
    await asyncio.wait([running])

    assert running.cancelled()


@asynccontextmanager
async def at_work(jobs: Scheduler) -> AsyncIterator[None]:
    """Inside, the jobs run, and one that does nothing has begun: overdue ones begin before it."""
    began = asyncio.Semaphore(0)
    jobs.add(new_id(), Every(3600), counting(began))
    running = asyncio.create_task(jobs.run())
    try:
        async with asyncio.timeout(GUARD):
            await began.acquire()
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is overdue at the start begins without a pause."""
    monkeypatch.setattr(scheduling, "_SOON", timedelta(0))


@pytest.mark.usefixtures("at_once")
async def test_what_ran_in_the_last_process_is_not_due_in_the_next(tmp_path: Path) -> None:
    done = asyncio.Semaphore(0)
    for _ in range(2):  # two processes
        jobs = scheduler(tmp_path)
        jobs.add("dream", Every(7200), counting(done))
        async with at_work(jobs):
            due = jobs.next("dream")
            assert due is not None
            assert due > datetime.now(UTC) + timedelta(hours=1)

    await done.acquire()
    assert done.locked()


@pytest.mark.usefixtures("at_once")
async def test_a_disk_that_is_full_does_not_make_a_job_run_all_the_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    times = JobTimesFile(tmp_path / "state" / "job_times.json")
    assert times.last("dream") is None
    (tmp_path / "state").touch()  # no folder can be made here any more
    jobs, done = Scheduler(times, SystemClock(), UTC), asyncio.Semaphore(0)
    jobs.add("dream", Every(7200), counting(done))

    async with at_work(jobs):
        due = jobs.next("dream")

    assert due is not None
    assert due > datetime.now(UTC) + timedelta(hours=1)
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]  # for each of the two jobs
    await done.acquire()
    assert done.locked()


def test_a_time_that_cannot_be_read_counts_as_never(tmp_path: Path) -> None:
    (tmp_path / "job_times.json").write_text('{"a": "yesterday", "b": "2026-11-30T09:00:00+00:00"}')
    times = JobTimesFile(tmp_path / "job_times.json")

    assert times.last("a") is None
    assert times.last("b") == datetime(2026, 11, 30, 9, tzinfo=UTC)


@pytest.mark.usefixtures("at_once")
async def test_a_rule_that_was_missed_is_overdue_also_if_it_never_came_true_while_a_process_ran(tmp_path: Path) -> None:
    times, done = JobTimesFile(tmp_path / "job_times.json"), asyncio.Semaphore(0)
    for _ in range(2):  # two processes
        jobs = scheduler(tmp_path)
        jobs.add("dream", Cron("0 3 1 1 *"), counting(done))
        async with at_work(jobs):
            known = JobTimesFile(tmp_path / "job_times.json").last("dream")
        assert known is not None
        await times.note("dream", known - timedelta(days=366))  # so long nothing runs

    await done.acquire()
    assert done.locked()


async def test_of_two_jobs_that_begin_at_once_both_times_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, began = tmp_path / "job_times.json", datetime(2026, 11, 30, 9, tzinfo=UTC)
    times, second_is_noted = JobTimesFile(path), threading.Event()

    def slow_at_first(path: Path, content: Mapping[str, str]) -> None:
        if "b" not in content:
            second_is_noted.wait(0.05)  # enough for another thread to write before this one, if it may
        write_state(path, content)
        second_is_noted.set()

    monkeypatch.setattr(state, "write_state", slow_at_first)
    await asyncio.gather(times.note("a", began), times.note("b", began))

    assert JobTimesFile(path).last("b") == began
    assert JobTimesFile(path).last("a") == began


async def test_a_time_zone_without_a_name_is_gone_on_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Nonsense")
    done = asyncio.Event()

    async def work() -> None:
        done.set()

    jobs = Scheduler(JobTimesFile(tmp_path / "job_times.json"), SystemClock(), None)
    jobs.add("one", Every(60.0), work)
    running = asyncio.create_task(jobs.run())
    await done.wait()
    running.cancel()
    await asyncio.wait([running])

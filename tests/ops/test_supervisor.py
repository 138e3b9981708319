"""What keeps a channel alive."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from nanobot.errors import NanobotError
from nanobot.ops.supervisor import FIRST_PAUSE, LONGEST_PAUSE, STEADY, Supervisor
from tests.fakes.clock import FakeClock


class HopelessError(NanobotError):
    pass


class Work:
    """Fails each time it is told to."""

    def __init__(self) -> None:
        self.begun: list[float] = []
        self.clock = FakeClock()
        self._errors: asyncio.Queue[Exception] = asyncio.Queue()
        self.news = asyncio.Event()

    async def __call__(self) -> None:
        self.begun.append(self.clock.monotonic())
        self.news.set()
        raise await self._errors.get()

    def fail(self, error: Exception) -> None:
        self._errors.put_nowait(error)

    async def until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(120):
            while not happened():
                self.news.clear()
                await self.news.wait()


@asynccontextmanager
async def supervised(work: Work) -> AsyncIterator[Supervisor]:
    supervisor = Supervisor("work", work, work.clock, hopeless=HopelessError, changed=work.news.set)
    task = asyncio.create_task(supervisor.run())
    try:
        await work.until(lambda: len(work.begun) == 1)
        yield supervisor
    finally:
        task.cancel()
        await asyncio.wait([task])


async def failed(work: Work, supervisor: Supervisor, error: Exception) -> float:
    """Let the work fail; the pause that follows."""
    work.fail(error)
    async with asyncio.timeout(120):
        await work.clock.sleeping()
    assert supervisor.is_pausing
    return work.clock.slept[-1]


async def again(work: Work) -> None:
    """Let the pause pass."""
    count = len(work.begun)
    work.clock.advance(LONGEST_PAUSE)
    await work.until(lambda: len(work.begun) > count)


async def test_work_that_keeps_failing_is_started_again_after_ever_longer_pauses_up_to_a_limit() -> None:
    work = Work()
    async with supervised(work) as supervisor:
        pauses = []
        for count in range(10):
            pauses.append(await failed(work, supervisor, NanobotError(f"failure {count}")))
            assert supervisor.trouble == f"failure {count}"
            await again(work)
            assert not supervisor.is_pausing
    longest = [min(FIRST_PAUSE * 2**count, LONGEST_PAUSE) for count in range(10)]
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, longest, strict=True))
    assert len(set(pauses)) == len(pauses)  # never quite the same


async def test_after_a_good_while_of_running_the_pauses_begin_anew() -> None:
    work = Work()
    async with supervised(work) as supervisor:
        for _ in range(8):
            await failed(work, supervisor, NanobotError("no"))
            await again(work)
        work.clock.advance(STEADY)
        assert await failed(work, supervisor, NanobotError("no")) <= FIRST_PAUSE


async def test_work_that_is_hopeless_is_not_started_again() -> None:
    work = Work()
    async with supervised(work) as supervisor:
        work.fail(ExceptionGroup("of a task group", [HopelessError("the token is refused")]))
        await work.until(lambda: supervisor.is_hopeless)
        work.clock.advance(10 * LONGEST_PAUSE)
        assert (len(work.begun), supervisor.trouble) == (1, "the token is refused")


async def test_a_bug_is_told_without_its_text_which_may_hold_anything() -> None:
    work = Work()
    async with supervised(work) as supervisor:
        work.fail(KeyError("a secret"))
        await work.until(lambda: supervisor.is_pausing)
        assert "a secret" not in supervisor.trouble
        assert "KeyError" in supervisor.trouble

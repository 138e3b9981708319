"""Files of many messages: places for all, and a limit that people can wait for."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from nanobot.channels.fetching import LONGEST, PLACES, SIDE_BY_SIDE, Fetcher
from nanobot.channels.platform import UnreachableError
from nanobot.errors import StoreError
from tests.fakes.clock import FakeClock


class Files:
    """Files that come when the test says so."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._come = asyncio.Event()

    def __call__(self, *names: str) -> list[Callable[[], Awaitable[str]]]:
        return [partial(self._get, name) for name in names]

    def come(self) -> None:
        self._come.set()

    async def _get(self, name: str) -> str:
        self.asked.append(name)
        await self._come.wait()
        return name


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


async def test_an_album_takes_one_place_and_some_of_it_are_fetched_side_by_side(clock: FakeClock) -> None:
    files, fetcher = Files(), Fetcher(clock)
    album = asyncio.create_task(fetcher.fetch(0, files(*"abcdefghij")))
    others = [asyncio.create_task(fetcher.fetch(0, files(f"chat {number}"))) for number in range(PLACES)]
    await settled()

    assert files.asked[:SIDE_BY_SIDE] == ["a", "b", "c"]
    assert files.asked[SIDE_BY_SIDE:] == [f"chat {number}" for number in range(PLACES - 1)]
    files.come()
    assert await album == list("abcdefghij")
    assert await others[-1] == [f"chat {PLACES - 1}"]


@pytest.mark.parametrize(("size", "seconds"), [(0, 60), (20_000_000, 260), (2_000_000_000, LONGEST)])
async def test_the_time_goes_by_the_size_and_has_an_end(clock: FakeClock, size: int, seconds: float) -> None:
    fetch = asyncio.create_task(Fetcher(clock).fetch(size, Files()("a", "b")))
    await settled()
    clock.advance(seconds - 1)
    await settled()
    assert not fetch.done()
    clock.advance(1)

    assert [type(came) for came in await fetch] == [UnreachableError, UnreachableError]


async def test_waiting_for_a_place_has_an_end_and_counts(clock: FakeClock) -> None:
    files, fetcher = Files(), Fetcher(clock)
    slow = [asyncio.create_task(fetcher.fetch(2_000_000_000, files(f"slow {number}"))) for number in range(PLACES)]
    await settled()
    clock.advance(LONGEST - 30)
    waits, later = (asyncio.create_task(fetcher.fetch(2_000_000_000, files(name))) for name in ("first", "second"))
    await settled()
    assert len(files.asked) == PLACES
    clock.advance(30)
    await settled()
    assert files.asked[PLACES:] == ["first", "second"]
    clock.advance(LONGEST - 30)

    assert [type(came) for fetch in (*slow, waits, later) for came in await fetch] == [UnreachableError] * (PLACES + 2)


async def test_what_fails_costs_the_others_nothing(clock: FakeClock) -> None:
    async def fails() -> str:
        raise StoreError("no room")

    files = Files()
    files.come()
    came = await Fetcher(clock).fetch(0, [fails, *files("a")])

    assert isinstance(came[0], StoreError)
    assert came[1] == "a"

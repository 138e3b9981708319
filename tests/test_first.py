"""Waiting for the first of several things."""

import asyncio

import pytest

from nanobot.aio import first_of


async def test_what_is_not_the_first_is_cancelled_and_has_ended_by_then() -> None:
    log: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            log.append("slow has ended")

    await first_of(asyncio.sleep(0), slow())
    assert log == ["slow has ended"]


async def test_what_goes_wrong_is_raised() -> None:
    async def wrong() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await first_of(asyncio.Event().wait(), wrong())

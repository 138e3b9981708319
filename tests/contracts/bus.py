"""What every Bus does. A subclass gives a `bus`, and says what comes out on the other side."""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import replace

import pytest

from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.messages import Address, InboundMessage, OutboundMessage, Progress, Sender
from nanobot.ports import Bus

ADDRESS = Address("telegram", "12345")
PATIENCE = 120.0
"""Seconds after which a test does not wait any longer for what should have come."""


def said(text: str, address: Address = ADDRESS) -> InboundMessage:
    """A message of a person, with an id of its own."""
    return InboundMessage(
        id=f"{address.session_key}:{text}",
        address=address,
        sender=Sender("12345", "Ada"),
        authority=OWNER_IN_TERMINAL,
        text=text,
    )


def answer(text: str, address: Address = ADDRESS, turn: str | None = None) -> OutboundMessage:
    """A message of the bot, with an id of its own."""
    return OutboundMessage(id=f"out of {text}", address=address, text=text, turn=turn)


def progress(text: str, address: Address = ADDRESS) -> Progress:
    return Progress(address=address, turn="t", kind="text", text=text)


class BusContract(ABC):
    @pytest.fixture
    @abstractmethod
    def bus(self) -> Bus: ...

    @abstractmethod
    async def outgoing(self, bus: Bus) -> OutboundMessage | Progress:
        """The next thing for the channel of ADDRESS, which then counts as delivered."""

    async def next(self, bus: Bus) -> str:
        async with asyncio.timeout(PATIENCE):
            return (await self.outgoing(bus)).text

    async def heard(self, bus: Bus) -> str:
        async with asyncio.timeout(PATIENCE):
            return (await bus.receive()).text

    async def test_what_was_said_comes_in_the_order_in_which_it_came(self, bus: Bus) -> None:
        for text in "abc":
            await bus.publish(said(text))
        assert [await self.heard(bus) for _ in "abc"] == ["a", "b", "c"]

    async def test_who_waits_is_woken_by_the_next_message(self, bus: Bus) -> None:
        waiting = asyncio.create_task(self.heard(bus))
        await asyncio.sleep(0)
        await bus.publish(said("at last"))
        assert await waiting == "at last"

    async def test_two_who_receive_get_a_message_each(self, bus: Bus) -> None:
        both = [asyncio.create_task(self.heard(bus)) for _ in range(2)]
        for text in "ab":
            await bus.publish(said(text))
        assert sorted(await asyncio.gather(*both)) == ["a", "b"]

    async def test_whoever_stops_waiting_takes_no_message_with_them(self, bus: Bus) -> None:
        waiting = asyncio.create_task(bus.receive())
        await asyncio.sleep(0)
        waiting.cancel()
        await bus.publish(said("a"))
        assert await self.heard(bus) == "a"

    async def test_a_message_that_comes_again_is_left_out_whatever_became_of_it(self, bus: Bus) -> None:
        await bus.publish(said("a"))
        await bus.publish(replace(said("a"), text="the same id"))
        assert await self.heard(bus) == "a"
        await bus.publish(said("a"))
        await bus.finish([said("a")], None)
        await bus.publish(said("a"))
        await bus.publish(said("b"))
        assert await self.heard(bus) == "b"

    async def test_a_turn_that_begins_for_the_first_time_had_never_begun(self, bus: Bus) -> None:
        await bus.publish(said("a"))
        message = await bus.receive()
        assert await bus.begin(message) == 0
        assert await bus.begin(message) == 0

    async def test_an_answer_goes_out_once_however_often_it_is_given(self, bus: Bus) -> None:
        await bus.publish(said("a"))
        message = await bus.receive()
        await bus.finish([message], answer("one"))
        await bus.finish([message], answer("one"))
        await bus.send(answer("one"))
        await bus.send(answer("two"))
        assert [await self.next(bus), await self.next(bus)] == ["one", "two"]

    async def test_progress_and_messages_come_in_the_order_in_which_they_were_given(self, bus: Bus) -> None:
        bus.show(progress("1"))
        await bus.send(answer("2"))
        bus.show(progress("3"))
        await bus.finish([said("x")], answer("4"))
        bus.show(progress("5"))
        assert [await self.next(bus) for _ in range(5)] == ["1", "2", "3", "4", "5"]

    async def test_what_is_shown_wakes_whoever_delivers(self, bus: Bus) -> None:
        waiting = asyncio.create_task(self.next(bus))
        await asyncio.sleep(0)
        bus.show(progress("typing"))
        assert await waiting == "typing"

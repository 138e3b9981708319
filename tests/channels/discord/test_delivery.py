"""Delivery and Discord together: whatever goes wrong in between, an answer is seen once, whole, in its place."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from nanobot.channels.delivery.deliverer import Deliverer
from nanobot.channels.discord.channel import DiscordChannel
from nanobot.channels.discord.settings import PACE
from nanobot.messages import Progress
from tests.channels.discord.scene import Scene, answer, at, inbound_id
from tests.fakes.clock import FakeClock
from tests.fakes.discord_rest import Fault
from tests.fakes.outbox import FakeOutbox

TEXT = "The first part. " * 100 + "\n\n" + "The second part. " * 100
FAULTS = {
    "none": [],
    "failed before": [Fault("POST", "/messages$", times=3)],
    "failed after": [Fault("POST", "/messages$", accepted=True)],
    "broke before": [Fault("POST", "/messages$", status=0)],
    "broke after": [Fault("POST", "/messages$", status=0, accepted=True)],
    "unreadable": [Fault("POST", "/messages$", status=200, body="<html>", accepted=True)],
}


@asynccontextmanager
async def delivering(outbox: FakeOutbox, channel: DiscordChannel, clock: FakeClock) -> AsyncIterator[None]:
    """While this is open, a second passes every few milliseconds."""
    deliverer = Deliverer(outbox, channel, clock, pace=PACE, streaming=True, language=lambda _: "en")

    async def pass_time() -> None:
        while True:
            await asyncio.sleep(0.005)
            clock.advance(1.0)

    tasks = [asyncio.create_task(deliverer.run()), asyncio.create_task(pass_time())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        outbox.end()


class Outbox(FakeOutbox):
    """Lets those who wait at the fake Discord look again when a message is dealt with."""

    def __init__(self, scene: Scene, clock: FakeClock) -> None:
        super().__init__(clock)
        self._scene = scene

    async def delivered(self, message_id: str) -> None:
        await super().delivered(message_id)
        self._scene.discord.changed()

    async def failed(self, message_id: str, reason: str) -> None:
        await super().failed(message_id, reason)
        self._scene.discord.changed()

    async def settled(self) -> None:
        await self._scene.discord.until(lambda: not self.waiting)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime.now(UTC))


@pytest.mark.parametrize("gives_nonces_back", [True, False])
@pytest.mark.parametrize("name", FAULTS)
async def test_an_answer_is_seen_once(scene: Scene, clock: FakeClock, name: str, gives_nonces_back: bool) -> None:
    outbox = Outbox(scene, clock)
    scene.discord.rest.remembers_nonce = gives_nonces_back
    asked = scene.discord.says(scene.ada, scene.general, "go", quiet=True)
    for fault in FAULTS[name]:
        scene.discord.fail(Fault(**vars(fault)))

    async with scene.open() as channel, delivering(outbox, channel, clock):
        outbox.put(answer(scene.general, TEXT, to=asked, id="A"), answer(scene.general, "And that is all.", id="B"))
        await outbox.settled()
        expected = [part.body.text for part in channel.parts(answer(scene.general, TEXT))]  # type: ignore[attr-defined]

    seen = [message["content"] for message in scene.discord.sent(scene.general)]
    assert seen == [*expected, "And that is all."]
    assert outbox.delivered_ids == ["A", "B"]


@pytest.mark.parametrize("arrived", [True, False])
async def test_after_a_crash_in_the_middle_of_a_request_it_is_looked_for(
    scene: Scene, clock: FakeClock, arrived: bool
) -> None:
    outbox = Outbox(scene, clock)
    asked = scene.discord.says(scene.ada, scene.general, "go", quiet=True)
    scene.discord.fail(Fault("POST", "/messages$", status=None, accepted=arrived))

    async with scene.open() as channel:
        async with delivering(outbox, channel, clock):
            outbox.put(answer(scene.general, "Here.", to=asked))
            await scene.discord.until(lambda: scene.discord.sent(scene.general) if arrived else scene.discord.calls)
        async with delivering(outbox, channel, clock):
            await outbox.settled()

    assert scene.discord.shown(scene.general) == ["Ada: go", "Nano: ↪ Here."]


async def test_a_growing_answer_ends_as_one_message(scene: Scene, clock: FakeClock) -> None:
    outbox, where = Outbox(scene, clock), at(scene.general)
    scene.discord.fail(Fault("PATCH", "/messages/", times=2))

    async with scene.open() as channel, delivering(outbox, channel, clock):
        outbox.put(Progress(address=where, turn="T", kind="started"))
        for word in ("Well", ", hello", " **there**"):
            outbox.put(Progress(address=where, turn="T", kind="text", text=word))
            await asyncio.sleep(0.03)
        await scene.discord.until(lambda: scene.discord.sent(scene.general))
        outbox.put(answer(scene.general, "Well, hello **there**!", turn="T"))
        outbox.put(Progress(address=where, turn="T", kind="ended"))
        await outbox.settled()

    assert scene.discord.shown(scene.general) == ["Nano: Well, hello **there**!"]
    assert any(call.path.endswith("/typing") for call in scene.discord.calls)


async def test_a_turn_that_goes_on_after_a_restart_is_shown_below_what_was_written_since(
    scene: Scene, clock: FakeClock
) -> None:
    outbox, where = Outbox(scene, clock), at(scene.general)
    asked = scene.discord.says(scene.ada, scene.general, "go", quiet=True)
    begins = [
        Progress(address=where, turn="T", kind="started", text=inbound_id(asked)),
        Progress(address=where, turn="T", kind="text", text="Half a sentence, and this is"),
    ]

    async with scene.open() as channel:
        async with delivering(outbox, channel, clock):
            outbox.put(*begins)
            await scene.discord.until(lambda: scene.discord.sent(scene.general))
        scene.discord.says(scene.ben, scene.general, "hm", quiet=True)
        async with delivering(outbox, channel, clock):
            outbox.put(*begins)
            await scene.discord.until(lambda: len(scene.discord.sent(scene.general)) == 2)
            outbox.put(answer(scene.general, "Half a sentence, and this is all.", to=asked, turn="T"))
            await outbox.settled()

    assert scene.discord.shown(scene.general) == ["Ada: go", "Ben: hm", "Nano: ↪ Half a sentence, and this is all."]


async def test_a_channel_that_is_deleted_meanwhile_is_asked_once(scene: Scene, clock: FakeClock) -> None:
    outbox = Outbox(scene, clock)
    scene.general.gone = True

    async with scene.open() as channel, delivering(outbox, channel, clock):
        outbox.put(answer(scene.general, "Hello?"))
        await outbox.settled()

    assert "Unknown Channel" in outbox.reasons["01JDXANSWER"]
    assert len(scene.discord.calls) == 1

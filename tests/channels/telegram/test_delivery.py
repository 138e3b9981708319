"""Delivery, the spool and Telegram together: what a person sees of an answer that grows."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from nanobot.channels.delivery.deliverer import Deliverer
from nanobot.channels.telegram.settings import PACE
from nanobot.messages import Address, OutboundMessage, Progress, ProgressKind
from tests.channels.telegram.scene import MEMBER, OWNER, Scene, private
from tests.fakes.telegram_faults import flood, html, refuses
from tests.fakes.telegram_server import FakeTelegram

PIECES = ("Analysis", "\n", " done", " and more")
WHOLE = "".join(PIECES)
SHOWN = "Analysis\ndone and more"


@pytest.fixture
async def delivering(scene: Scene) -> AsyncIterator[None]:
    scene.owner()
    scene.member()
    deliverer = Deliverer(scene.spool, scene.bot, scene.clock, pace=PACE, streaming=True, language=lambda _: "en")
    running = asyncio.create_task(deliverer.run())
    yield
    running.cancel()
    await asyncio.wait([running])


def tell(scene: Scene, kind: ProgressKind, text: str = "", where: Address | None = None) -> None:
    scene.spool.show(Progress(address=where or private(), turn="t", kind=kind, text=text))


async def stream(scene: Scene) -> None:
    """An answer grows piece by piece, is complete, and is sent."""
    tell(scene, "started")
    for piece in PIECES:
        tell(scene, "text", piece)
        at = scene.clock.monotonic()
        await scene.until(lambda at=at: scene.clock.monotonic() > at + 1.5)  # type: ignore[misc]
    await scene.spool.send(OutboundMessage(id="a", address=private(), text=WHOLE, turn="t"))
    tell(scene, "ended")


async def delivered(scene: Scene) -> None:
    """Let time pass until nothing is on its way out."""
    for _ in range(4000):
        if not (await scene.spool.backlog()).waiting_out:
            return
        scene.clock.advance(0.1)
        await asyncio.sleep(0.004)
    raise AssertionError("something was never delivered")


@pytest.mark.usefixtures("delivering")
async def test_an_answer_grows_and_ends_as_one_message(scene: Scene, telegram: FakeTelegram) -> None:
    await stream(scene)
    await delivered(scene)

    [answer] = scene.world.chat(OWNER).by_bot
    assert answer.text == SHOWN
    assert answer.earlier[0].startswith("Analysis")
    assert "typing" in [kind for kind, _ in scene.world.chat(OWNER).actions]


@pytest.mark.usefixtures("delivering")
async def test_an_answer_that_grew_replies_like_one_that_came_at_once(scene: Scene) -> None:
    asked = scene.owner().says("go")
    tell(scene, "started", f"telegram:{OWNER}:{asked.id}")
    tell(scene, "text", WHOLE)
    await scene.until(lambda: bool(scene.world.chat(OWNER).by_bot))
    await scene.spool.send(
        OutboundMessage(id="a", address=private(), text=WHOLE, turn="t", reply_to=f"telegram:{OWNER}:{asked.id}")
    )
    await delivered(scene)

    [answer] = scene.world.chat(OWNER).by_bot
    assert (answer.text, answer.data["reply_to_message"]["message_id"]) == (SHOWN, asked.id)


@pytest.mark.usefixtures("delivering")
async def test_a_flood_is_waited_for_in_full_and_other_chats_are_not_held_up(
    scene: Scene, telegram: FakeTelegram
) -> None:
    tell(scene, "started")
    tell(scene, "text", "Analysis")
    await scene.until(lambda: bool(scene.world.chat(OWNER).by_bot))
    telegram.will("editMessageText", flood(17))
    tell(scene, "text", "\n done")
    await scene.passing(telegram.called("editMessageText"))
    calls, began = len(telegram.made()), scene.clock.monotonic()
    await scene.spool.send(OutboundMessage(id="b", address=private(MEMBER), text="quick"))
    await scene.spool.send(OutboundMessage(id="a", address=private(), text=WHOLE, turn="t"))
    tell(scene, "ended")
    await scene.until(lambda: bool(scene.world.chat(MEMBER).by_bot))
    assert scene.clock.monotonic() - began < 17
    assert [call.chat for call in telegram.made()[calls:]] == [MEMBER]
    await delivered(scene)

    assert scene.clock.monotonic() - began >= 16.5
    assert [shown.text for shown in scene.world.chat(OWNER).by_bot] == [SHOWN]


@pytest.mark.usefixtures("delivering")
@pytest.mark.parametrize(
    "description",
    ["Bad Request: Message Is Not Modified: same content", "Bad Request: message to edit not found"],
)
async def test_edits_that_fail_make_no_second_answer(scene: Scene, telegram: FakeTelegram, description: str) -> None:
    telegram.will("editMessageText", refuses(400, description))
    await stream(scene)
    await delivered(scene)

    assert [shown.text for shown in scene.world.chat(OWNER).by_bot][-1] == SHOWN
    assert sum(shown.text == SHOWN for shown in scene.world.chat(OWNER).by_bot) == 1


@pytest.mark.usefixtures("delivering")
async def test_an_answer_whose_fate_is_unknown_is_repeated_with_a_mark(scene: Scene, telegram: FakeTelegram) -> None:
    telegram.will("sendMessage", html(502, does=True))
    await scene.spool.send(OutboundMessage(id="a", address=private(), text="the answer"))
    await delivered(scene)

    assert scene.world.chat(OWNER).shown == ["the answer", "(perhaps a repetition) the answer"]


@pytest.mark.usefixtures("delivering")
async def test_whoever_blocked_the_bot_is_not_tried_again(scene: Scene, telegram: FakeTelegram) -> None:
    telegram.will("sendMessage", refuses(403, "Forbidden: bot was blocked by the user"))
    await scene.spool.send(OutboundMessage(id="a", address=private(), text="hello?"))
    await delivered(scene)

    assert len(telegram.made("sendMessage")) == 1
    [trouble] = (await scene.spool.backlog()).troubles
    assert (trouble.kind, trouble.id) == ("undeliverable", "a")
    assert "blocked" in trouble.reason

"""An update that ends the process while it is read is not read for ever, and no other one pays for it."""

import pytest

from nanobot.channels.telegram.updates import MOST_DEATHS
from tests.channels.telegram.scene import GARDEN, Scene
from tests.fakes.telegram_faults import hang
from tests.fakes.telegram_server import FakeTelegram


@pytest.mark.parametrize("stored", [True, False], ids=["written down", "only with Telegram"])
async def test_after_three_deaths_the_words_go_on_alone(scene: Scene, telegram: FakeTelegram, stored: bool) -> None:
    telegram.will("file", *[hang()] * 9)
    said = scene.member().sends(document=scene.world.document(b"x", "deadly.bin"), caption="look at this")
    for deaths in range(1, MOST_DEATHS + 1):
        await scene.dies(
            lambda deaths=deaths: len(telegram.made("file")) == deaths and (not stored or bool(scene.world.confirmed))  # type: ignore[misc]
        )
    scene.member().says("and then?")

    async with scene.listening():
        told, words, later = await scene.says(), await scene.hears(), await scene.hears()
        await scene.nothing_more()

    assert "broke down" in told.text
    assert told.reply_to == words.id == f"telegram:{scene.member().id}:{said.id}"
    assert words.text.startswith("look at this\n[")
    assert (words.files, later.text) == ((), "and then?")
    assert len(telegram.made("file")) == MOST_DEATHS
    assert dict(await scene.spool.marks("telegram:held:")) == {}


async def test_what_was_read_beside_it_is_not_set_aside(scene: Scene, telegram: FakeTelegram) -> None:
    telegram.will("file", *[hang()] * 5)  # two at each of the first two starts, and then it alone
    scene.member().sends(document=scene.world.document(b"x", "deadly.bin"))
    scene.owner().sends(document=scene.world.document(b"fine", "fine.txt"), caption="read this")
    for asked in (2, 4, 5):
        await scene.dies(lambda asked=asked: len(telegram.made("file")) == asked)  # type: ignore[misc]
        scene.owner().says(f"after {asked}")

    async with scene.listening():
        told = await scene.says()
        heard = [await scene.hears() for _ in range(4)]
        await scene.nothing_more()

    assert "set it aside" in told.text
    assert [message.text for message in heard] == ["read this", "after 2", "after 4", "after 5"]
    assert scene.content(heard[0].files[0]) == b"fine"


async def test_an_end_in_order_is_no_death(scene: Scene, telegram: FakeTelegram) -> None:
    telegram.will("file", *[hang()] * (MOST_DEATHS + 1))
    scene.member().sends(document=scene.world.document(b"x", "slow.txt"))
    for asked in range(1, MOST_DEATHS + 2):
        async with scene.listening():
            await scene.until(lambda asked=asked: len(telegram.made("file")) == asked)  # type: ignore[misc]
        await scene.reborn()

    async with scene.listening():
        assert (await scene.hears()).files[0].name == "slow.txt"
        await scene.nothing_more()


async def test_an_album_is_set_aside_as_one(scene: Scene, telegram: FakeTelegram) -> None:
    telegram.will("file", *[hang()] * 9)
    scene.member().sends_album(["@TestBot look", "", "at these"], scene.garden())
    for asked in (3, 6, 9):
        await scene.dies(lambda asked=asked: len(telegram.made("file")) == asked and len(scene.world.confirmed) == 3)  # type: ignore[misc]

    async with scene.listening():
        told, words = await scene.says(), await scene.hears()
        await scene.nothing_more()

    assert told.address.chat == str(GARDEN)
    assert words.text.startswith("look\nat these\n[")
    assert words.files == ()


async def test_a_note_of_what_was_at_work_that_cannot_be_read_hinders_nobody(scene: Scene) -> None:
    await scene.spool.mark("telegram:at_work", "{")
    scene.member().says("hello")

    async with scene.listening():
        assert (await scene.hears()).text == "hello"

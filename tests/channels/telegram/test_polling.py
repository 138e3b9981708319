"""Listening goes on whatever breaks, and what was received is on disk before Telegram forgets it."""

import asyncio
import logging
from pathlib import Path

import pytest

from nanobot.channels.platform import RefusedTokenError
from nanobot.channels.telegram.channel import GRACE, MEANWHILE, POLL
from nanobot.messages import OutboundMessage
from tests.channels.telegram.scene import MENU, OWNER, Ears, Scene, private
from tests.fakes.telegram_faults import CONFLICT, UNAUTHORIZED, Fault, cut, flood, hang, html, refuses, trickle
from tests.fakes.telegram_server import FakeTelegram


async def test_another_listener_is_named_once_and_waited_for(
    scene: Scene, telegram: FakeTelegram, caplog: pytest.LogCaptureFixture
) -> None:
    telegram.will("getUpdates", *[CONFLICT] * 4)
    scene.owner().says("hello")

    async with scene.listening():
        assert (await scene.hears()).text == "hello"
        assert scene.bot.status().trouble == ""

    assert [record.levelname for record in caplog.records if "conflict" in record.message] == ["WARNING"]
    pauses = [pause for pause in scene.clock.slept if pause not in (POLL + GRACE, GRACE, 30.0, MEANWHILE)]
    assert pauses == [5.0, 5.0, 5.0, 8.0]


@pytest.mark.parametrize(
    "fault", [hang(), html(502), cut(does=False), cut(does=True), flood(3), refuses(500, "Internal")], ids=repr
)
async def test_after_each_bad_day_listening_works_again_within_a_minute(
    scene: Scene, telegram: FakeTelegram, fault: Fault
) -> None:
    telegram.will("getUpdates", *[fault] * 2)
    async with scene.listening():
        await telegram.called("getUpdates")
        scene.owner().says("hello")
        began = scene.clock.monotonic()
        await scene.until(lambda: len(telegram.made("getUpdates")) > 2, tick=1.0)
        assert scene.clock.monotonic() - began <= 2 * 60
        assert (await scene.hears()).text == "hello"
        await scene.nothing_more()


async def test_the_server_may_be_away_for_long(scene: Scene, telegram: FakeTelegram) -> None:
    scene.owner().says("hello")
    await telegram.stop()
    async with scene.listening():
        await scene.until(lambda: len(scene.clock.slept) > 12, tick=1.0)
        assert scene.bot.status().since is None
        assert scene.bot.status().trouble == "refused"
        assert max(scene.clock.slept) <= 30
        await telegram.start()
        assert (await scene.hears()).text == "hello"
        assert scene.bot.status().since is not None
        assert scene.bot.status().bot == "@TestBot"


@pytest.mark.parametrize("fault", [UNAUTHORIZED, refuses(404, "Not Found")], ids=["401", "404"])
async def test_a_refused_token_is_told_and_never_shown(
    scene: Scene, telegram: FakeTelegram, caplog: pytest.LogCaptureFixture, fault: Fault
) -> None:
    caplog.set_level(logging.DEBUG, "nanobot")
    telegram.will("getMe", fault)

    with pytest.raises(RefusedTokenError, match="BotFather") as caught:
        await scene.bot.listen(scene.publish)

    assert telegram.token not in str(caught.value) + caplog.text
    assert scene.bot.status().trouble == "token"
    assert not scene.states  # that it is tried again would be wrong


async def test_how_it_goes_is_told_whenever_it_changes(scene: Scene, telegram: FakeTelegram) -> None:
    telegram.will("getUpdates", CONFLICT)
    scene.owner().says("hello")
    async with scene.listening():
        await scene.hears()
    assert scene.bot.status().since is None
    await scene.bot.aclose()
    scene.owner().says("and again")
    async with scene.listening():
        await scene.hears()

    assert [bool(state.since) for state in scene.states] == [False, True, True]
    assert scene.states[0].trouble == "conflict"


async def test_a_page_that_says_404_is_not_a_refused_token(scene: Scene, telegram: FakeTelegram) -> None:
    telegram.will("getMe", html(404))
    scene.owner().says("hello")

    async with scene.listening():
        assert (await scene.hears()).text == "hello"


async def test_the_token_is_in_no_log(scene: Scene, telegram: FakeTelegram, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    telegram.will("getUpdates", cut(does=False), html(502))
    scene.owner().sends(document=scene.world.document(b"x", "a.txt"))

    async with scene.listening():
        await scene.hears()

    assert telegram.token not in caplog.text
    assert "<html>" not in caplog.text


async def test_what_is_not_on_disk_is_not_confirmed_and_comes_in_order(scene: Scene, telegram: FakeTelegram) -> None:
    scene.full = True
    for text in ("one", "two", "three"):
        scene.owner().says(text)

    async with scene.listening():
        await scene.until(lambda: len(telegram.made("getUpdates")) > 4)
        assert scene.world.confirmed == []
        scene.full = False
        assert [(await scene.hears()).text for _ in range(3)] == ["one", "two", "three"]
        await scene.nothing_more()


async def test_what_a_crash_left_unconfirmed_is_heard_once(scene: Scene, telegram: FakeTelegram) -> None:
    for text in ("one", "two"):
        scene.owner().says(text)
    told = list(scene.world.updates)
    async with scene.listening():
        assert [(await scene.hears()).text for _ in range(2)] == ["one", "two"]
    scene.world.updates = told
    scene.owner().says("three")
    await scene.reborn()

    async with scene.listening():
        assert (await scene.hears()).text == "three"
        await scene.nothing_more()


async def test_updates_that_come_twice_or_out_of_order_are_heard_once(scene: Scene, telegram: FakeTelegram) -> None:
    scene.owner().says("one")
    scene.owner().says("two")
    first, second = scene.world.updates
    scene.world.updates = [second, first, second, first]

    async with scene.listening():
        assert {(await scene.hears()).text for _ in range(2)} == {"one", "two"}
        await scene.nothing_more()
        scene.world.repeat(first, second)
        await scene.nothing_more()


async def test_hundreds_of_messages_stay_in_order_within_each_chat(scene: Scene) -> None:
    for number in range(150):
        scene.owner().says(f"a{number}")
        scene.member().says(f"b{number}")

    async with scene.listening():
        heard = [(await scene.hears()).text for _ in range(300)]
        await scene.nothing_more()

    for letter in "ab":
        assert [text for text in heard if text.startswith(letter)] == [f"{letter}{number}" for number in range(150)]


async def test_a_chat_does_not_wait_for_the_file_of_another(scene: Scene, telegram: FakeTelegram) -> None:
    telegram.will("file", hang())
    scene.owner().sends(document=scene.world.document(b"x", "slow.txt"))
    scene.owner().says("after the file")
    async with scene.listening():
        await telegram.called("file")
        scene.member().says("quick")
        assert (await scene.hears()).text == "quick"
        file, text = await scene.hears(), await scene.hears()
        await scene.nothing_more()

    assert (file.files[0].name, text.text) == ("slow.txt", "after the file")


async def test_a_file_that_trickles_costs_nobody_else_anything(scene: Scene, telegram: FakeTelegram) -> None:
    telegram.will("file", trickle(), trickle(), trickle(), trickle())
    scene.member().sends(document=scene.world.document(b"x" * 1000, "slow.bin"), caption="look at this")
    async with scene.listening():
        await telegram.called("file")
        scene.member().says("behind it")
        for number in range(100):
            scene.owner().says(f"a{number}")
        assert [(await scene.hears()).text for _ in range(100)] == [f"a{number}" for number in range(100)]
        await scene.until(lambda: len(scene.world.confirmed) == 102)
        assert scene.bot.status().waiting == 2
        asked = len(telegram.made("getUpdates"))
        scene.owner().says("and now?")
        assert (await scene.hears()).text == "and now?"
        assert len(telegram.made("getUpdates")) < asked + 10  # it is waited for news, not asked all the time

        told, late, behind = await scene.says(), await scene.hears(), await scene.hears()
        await scene.nothing_more()
        assert scene.bot.status().waiting == 0

    assert "slow.bin" in told.text
    assert late.text.startswith("look at this")
    assert behind.text == "behind it"


async def test_what_waits_for_a_file_outlives_the_process(scene: Scene, telegram: FakeTelegram) -> None:
    telegram.will("file", hang())
    scene.member().sends(document=scene.world.document(b"x", "slow.txt"), caption="look at this")
    async with scene.listening():
        await telegram.called("file")
        scene.member().says("behind it")
        await scene.until(lambda: len(scene.world.confirmed) == 2)
    await scene.reborn()

    async with scene.listening():
        file, text = await scene.hears(), await scene.hears()
        await scene.nothing_more()

    assert (file.text, file.files[0].name, text.text) == ("look at this", "slow.txt", "behind it")
    assert dict(await scene.spool.marks("telegram:held:")) == {}


async def test_what_nobody_is_to_hear_is_not_written_down_while_it_waits(scene: Scene, telegram: FakeTelegram) -> None:
    telegram.will("file", hang())
    scene.member().sends(scene.garden(), document=scene.world.document(b"x", "slow.txt"), caption="@TestBot look")
    async with scene.listening():
        await telegram.called("file")
        scene.member().says("among ourselves", scene.garden())
        await scene.until(lambda: len(scene.world.confirmed) == 2)
        kept = await scene.spool.marks("telegram:held:")
        assert (await scene.hears()).text == "look"
        await scene.nothing_more()

    assert len(kept) == 1
    assert "among ourselves" not in str(kept)


async def test_speech_that_nobody_transcribes_holds_up_its_own_chat_only(scene: Scene) -> None:
    class Deaf(Ears):
        async def transcribe(self, path: Path, mime: str) -> str:
            await asyncio.Event().wait()
            return ""

    scene.ears = Deaf()
    await scene.reborn()
    scene.member().sends(voice=scene.world.voice())
    async with scene.listening():
        scene.owner().says("quick")
        assert (await scene.hears()).text == "quick"
        told = await scene.says()
        await scene.nothing_more()

    assert told.failed


async def test_sending_works_while_listening_does_not(scene: Scene, telegram: FakeTelegram) -> None:
    scene.owner().says("hello")
    telegram.will("getUpdates", *[CONFLICT] * 50)
    async with scene.listening():
        await telegram.called("getUpdates")
        message = OutboundMessage(id="m", address=private(), text="still here")
        await scene.bot.send(message, scene.bot.parts(message)[0], 0)
        await scene.until(lambda: bool(scene.bot.status().trouble), tick=0)

    assert scene.bot.status().trouble == "conflict"
    assert scene.world.chat(OWNER).shown == ["hello", "still here"]


async def test_after_a_quiet_time_ids_may_begin_anew(scene: Scene, telegram: FakeTelegram) -> None:
    telegram.longest_poll = 0.02
    scene.owner().says("one")
    async with scene.listening():
        await scene.hears()
        await scene.until(lambda: not scene.world.updates and len(telegram.made("getUpdates")) > 1)
        await scene.until(lambda: "offset" not in telegram.made("getUpdates")[-1].told)
        said = scene.owner().says("two")
        scene.world.updates = [{"update_id": 7, "message": said.data}]
        assert (await scene.hears()).text == "two"


async def test_the_menu_is_set_in_both_languages_and_only_when_it_changes(scene: Scene, telegram: FakeTelegram) -> None:
    for commands in (MENU, MENU, MENU[:1]):
        scene.commands = commands
        await scene.reborn()
        async with scene.listening():
            await telegram.called("getUpdates", len(telegram.made("getUpdates")) + 1)

    assert len(telegram.made("setMyCommands")) == 4
    assert scene.world.commands[""] == [{"command": "new", "description": "start afresh"}]
    assert scene.world.commands["zh"] == [{"command": "new", "description": "重新开始"}]
    assert [row["command"] for row in telegram.made("setMyCommands")[0].told["commands"]] == ["new", "dream_log"]


async def test_a_menu_that_is_refused_does_not_keep_it_from_listening(scene: Scene, telegram: FakeTelegram) -> None:
    scene.commands = MENU
    await scene.reborn()
    telegram.will("setMyCommands", refuses(400, "Bad Request: BOT_COMMAND_INVALID"))
    scene.owner().says("hello")

    async with scene.listening():
        assert (await scene.hears()).text == "hello"


async def test_a_proxy_carries_everything(scene: Scene, telegram: FakeTelegram) -> None:
    scene.api_base, scene.proxy = "http://telegram.invalid", telegram.api_base
    await scene.reborn()
    scene.owner().sends(document=scene.world.document(b"x", "a.txt"))
    async with scene.listening():
        assert scene.content((await scene.hears()).files[0]) == b"x"
    message = OutboundMessage(id="m", address=private(), text="hello")
    await scene.bot.send(message, scene.bot.parts(message)[0], 0)

    assert scene.world.chat(OWNER).shown[-1] == "hello"


@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "https"])
async def test_other_kinds_of_proxies_are_known(scene: Scene, scheme: str, caplog: pytest.LogCaptureFixture) -> None:
    scene.proxy = f"{scheme}://user:secret@127.0.0.1:9"
    await scene.reborn()
    async with scene.listening():
        await scene.until(lambda: bool(scene.states))

    assert scene.bot.status().trouble == "refused"
    assert "secret" not in caplog.text

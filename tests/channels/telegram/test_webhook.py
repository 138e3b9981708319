"""Through the webhook comes only Telegram, and it is told "received" only of what is on disk."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest

from nanobot.channels.telegram.settings import Webhook
from nanobot.channels.telegram.updates import PendingUpdates
from nanobot.errors import NanobotError
from nanobot.http import ServerLimits
from tests.channels.telegram.scene import OWNER, Scene
from tests.fakes.telegram_faults import hang
from tests.fakes.telegram_server import FakeTelegram

SECRET = "a-secret-for-tests"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
async def scene(scene: Scene, telegram: FakeTelegram) -> Scene:
    port = free_port()
    scene.webhook = Webhook(url="https://bot.example.org/hook", port=port, secret=SECRET)
    telegram.webhook.address = f"http://127.0.0.1:{port}"
    await scene.reborn()
    return scene


@pytest.fixture
async def caller() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def test_what_people_say_comes_through_the_webhook(scene: Scene, telegram: FakeTelegram) -> None:
    scene.owner().says("before it was set")
    async with scene.listening():
        assert (await scene.hears()).text == "before it was set"
        scene.owner().says("and after")
        assert (await scene.hears()).text == "and after"
        await scene.passing(telegram.webhook.quiet())
        assert scene.bot.status().since is not None

    assert telegram.webhook.info["url"] == "https://bot.example.org/hook"
    assert telegram.webhook.answers == [200, 200]
    assert SECRET not in telegram.webhook.info["url"]


async def test_what_cannot_be_stored_is_brought_again(scene: Scene, telegram: FakeTelegram) -> None:
    scene.full = True
    async with scene.listening():
        scene.owner().says("one")
        scene.owner().says("two")
        await scene.until(lambda: 503 in telegram.webhook.answers)
        scene.full = False
        assert [(await scene.hears()).text for _ in range(2)] == ["one", "two"]


@pytest.mark.parametrize(
    ("secret", "body", "status"),
    [
        (None, b'{"update_id": 1}', 403),
        ("wrong", b'{"update_id": 1}', 403),
        ("ünïcode", b'{"update_id": 1}', 403),
        (SECRET, b"no json", 400),
        (SECRET, b"[1]", 400),
        (SECRET, b'{"message": {}}', 400),
        (SECRET, b'{"update_id": 1, "message": 5}', 400),
        (SECRET, b'{"update_id": 1e999, "message": {}}', 400),
        (SECRET, b'{"update_id": %s}' % (b"[" * 100_000), 400),
        (SECRET, b"\xff\xfe{", 400),
    ],
)
async def test_others_are_sent_away(
    scene: Scene, telegram: FakeTelegram, caller: aiohttp.ClientSession, secret: str | None, body: bytes, status: int
) -> None:
    headers = {"X-Telegram-Bot-Api-Secret-Token": secret} if secret else {}
    async with scene.listening():
        await telegram.called("setWebhook")
        async with caller.post(f"{telegram.webhook.address}/hook", data=body, headers=headers) as answer:
            assert answer.status == status
        async with caller.post(f"{telegram.webhook.address}/", data=body) as answer:
            assert answer.status == 404
        await scene.nothing_more()


@pytest.mark.parametrize(
    ("secret", "status"),
    [
        *((secret, 403) for secret in (b"\xff\xfe\x80", SECRET.encode() + b"\xff", b"", b" ", "密".encode())),
        (SECRET[:-1].encode(), 403),
        (SECRET.encode(), 413),
    ],
)
async def test_a_wrong_secret_is_refused_whatever_its_bytes_and_a_right_one_with_too_much(
    scene: Scene, telegram: FakeTelegram, secret: bytes, status: int
) -> None:
    assert scene.webhook is not None
    async with scene.listening():
        await telegram.called("setWebhook")
        reader, writer = await asyncio.open_connection("127.0.0.1", scene.webhook.port)
        writer.write(b"POST /hook HTTP/1.1\r\nHost: x\r\nX-Telegram-Bot-Api-Secret-Token: " + secret)
        writer.write(b"\r\nContent-Length: 9999999999\r\n\r\n")  # of which not a byte is waited for
        assert f" {status} ".encode() in await reader.readline()
        writer.close()
        await scene.nothing_more()


async def test_who_holds_the_line_and_says_nothing_keeps_telegram_from_nothing(
    scene: Scene, telegram: FakeTelegram
) -> None:
    assert scene.webhook is not None
    scene.limits = ServerLimits(seconds=60.0, connections=5)
    await scene.reborn()
    async with scene.listening():
        await telegram.called("setWebhook")
        silent = [await asyncio.open_connection("127.0.0.1", scene.webhook.port) for _ in range(50)]
        scene.owner().says("hello")
        assert (await scene.hears()).text == "hello"
        await scene.passing(telegram.webhook.quiet())
        for _, writer in silent:
            writer.close()


async def test_a_secret_is_made_up_if_none_is_given(scene: Scene, telegram: FakeTelegram) -> None:
    assert scene.webhook is not None
    scene.webhook = Webhook(url=scene.webhook.url, port=scene.webhook.port)
    await scene.reborn()
    scene.owner().says("hello")
    async with scene.listening():
        await scene.hears()

    assert len(telegram.webhook.secret) >= 32


async def test_a_port_that_is_taken_is_told(scene: Scene) -> None:
    assert scene.webhook is not None
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", scene.webhook.port))
        taken.listen()
        with pytest.raises(NanobotError, match=r"telegram\.webhook"):
            await scene.bot.listen(scene.publish)


async def test_pictures_of_an_album_come_one_by_one_and_are_one_message(scene: Scene) -> None:
    async with scene.listening():
        scene.owner().sends_album(["a", "", "c"], order=[1, 0, 2])
        heard = await scene.hears()

    assert (len(heard.files), heard.text) == (3, "[1/3] a\n[3/3] c")
    assert dict(await scene.spool.marks("telegram:held:")) == {}


async def test_a_crash_while_an_album_comes_through_the_webhook_loses_none_of_it(
    scene: Scene, telegram: FakeTelegram
) -> None:
    async with scene.listening():
        await telegram.called("setWebhook")
        scene.owner().sends_album(["a", "b"])
        await telegram.webhook.quiet()
    assert telegram.webhook.answers == [200, 200]
    await scene.reborn()

    async with scene.listening():
        heard = await scene.hears()
        await scene.nothing_more()

    assert len(heard.files) == 2
    assert dict(await scene.spool.marks("telegram:held:")) == {}


async def test_pictures_that_may_not_be_meant_for_the_bot_are_not_written_down(
    scene: Scene, telegram: FakeTelegram
) -> None:
    async with scene.listening():
        await telegram.called("setWebhook")
        scene.member().sends_album(["a", "b"], scene.garden())
        await telegram.webhook.quiet()
        assert dict(await scene.spool.marks("telegram:held:")) == {}
        scene.member().sends_album(["a", "b @TestBot"], scene.garden())
        heard = await scene.hears()

    assert len(heard.files) == 2


async def test_an_update_that_is_brought_again_meanwhile_is_dealt_with_once(
    scene: Scene, telegram: FakeTelegram, caller: aiohttp.ClientSession
) -> None:
    telegram.will("file", hang())
    async with scene.listening():
        await telegram.called("setWebhook")
        scene.owner().sends(document=scene.world.document(b"x", "a.txt"))
        await telegram.called("file")
        again = asyncio.create_task(
            caller.post(
                f"{telegram.webhook.address}/hook",
                json=scene.world.updates[0],
                headers={"X-Telegram-Bot-Api-Secret-Token": SECRET},
            ).__aenter__()
        )
        assert (await scene.hears()).id == f"telegram:{OWNER}:1"
        assert (await again).status == 200
        await scene.passing(telegram.webhook.quiet())
        await scene.nothing_more()

    assert len(list(scene.workspace.media.iterdir())) == 1


async def test_going_back_to_polling_takes_the_webhook_down(scene: Scene, telegram: FakeTelegram) -> None:
    async with scene.listening():
        await telegram.called("setWebhook")
    scene.owner().says("while nobody listened")
    scene.webhook = None
    await scene.reborn()

    async with scene.listening():
        assert (await scene.hears()).text == "while nobody listened"
        await scene.nothing_more()

    assert telegram.webhook.info["url"] == ""


async def test_after_it_ended_nobody_listens_at_the_port(scene: Scene, telegram: FakeTelegram) -> None:
    assert scene.webhook is not None
    async with scene.listening():
        await telegram.called("setWebhook")
    with pytest.raises(ConnectionRefusedError), contextlib.closing(socket.socket()) as probe:
        probe.connect(("127.0.0.1", scene.webhook.port))


async def test_a_slow_file_is_confirmed_when_it_is_written_down_and_heard_later(
    scene: Scene, telegram: FakeTelegram
) -> None:
    telegram.will("file", hang())
    async with scene.listening():
        await telegram.called("setWebhook")
        scene.owner().sends(document=scene.world.document(b"x", "a.txt"), caption="look")
        await telegram.called("file")
        await scene.until(lambda: 200 in telegram.webhook.answers, tick=0.0)
        assert len(await scene.spool.marks("telegram:held:")) == 1
        heard = await scene.hears()
        await scene.nothing_more()

    assert (heard.text, len(heard.files)) == ("look", 1)
    assert dict(await scene.spool.marks("telegram:held:")) == {}


async def test_what_fails_while_it_is_written_down_is_brought_again(scene: Scene) -> None:
    class Failing:
        """An inbox that has no room for what it takes, while that is being written down."""

        def __init__(self) -> None:
            self.looked = asyncio.Event()

        async def take(self, raw: object, *, is_patient: object) -> bool:
            await self.looked.wait()
            return False

        async def to_keep(self, raw: object) -> object:
            self.looked.set()
            await asyncio.sleep(0.01)
            return raw

    async with PendingUpdates(Failing(), scene.spool, scene.clock) as pending:  # type: ignore[arg-type]
        pending.begin({"update_id": 7}, patient=False)
        assert await pending.store({"update_id": 7}) is False

    assert dict(await scene.spool.marks("telegram:held:")) == {}

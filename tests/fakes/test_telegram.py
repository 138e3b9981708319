"""The fake Telegram is as strict as the real one, as far as its rules are known."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.fakes.telegram_checks import FILE_BYTES, RefusalError
from tests.fakes.telegram_faults import cut, flood, html
from tests.fakes.telegram_server import FakeTelegram

Call = dict[str, Any]


class Client:
    """Speaks to the fake without any library of Telegram's."""

    def __init__(self, session: aiohttp.ClientSession, telegram: FakeTelegram) -> None:
        self._session = session
        self._base = f"{telegram.api_base}/bot{telegram.token}"

    async def ask(self, method: str, **told: Any) -> Call:
        form = {name: value if isinstance(value, str) else json.dumps(value) for name, value in told.items()}
        async with self._session.post(f"{self._base}/{method}", data=form) as answer:
            told_back: Call = await answer.json()
            assert told_back["ok"] == (answer.status == 200)
            return told_back


@pytest.fixture
async def telegram() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as server:
        server.world.person(1, "Ada")
        yield server


@pytest.fixture
async def client(telegram: FakeTelegram) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession() as session:
        yield Client(session, telegram)


def bold(offset: int, length: int, kind: str = "bold") -> dict[str, object]:
    return {"type": kind, "offset": offset, "length": length}


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"text": " \n"}, "message text is empty"),
        ({"text": "a" * 4097}, "message is too long"),
        ({"text": "😀" * 2049}, "message is too long"),
        ({"text": "abc", "entities": [bold(1, 3)]}, "ENTITY_BOUNDS_INVALID"),
        ({"text": "😀b", "entities": [bold(1, 1)]}, "surrogate"),
        ({"text": "abcdef", "entities": [bold(0, 3), bold(2, 3, "italic")]}, "overlap"),
        ({"text": "abcdef", "entities": [bold(0, 6), bold(2, 3, "code")]}, "code with"),
        ({"text": "abcdef", "entities": [bold(0, 6, "blink")]}, "unsupported entity"),
        ({"text": "a", "entities": [bold(0, 1, "text_link")]}, "ENTITY_URL_INVALID"),
        ({"text": "a", "message_thread_id": 7}, "message thread not found"),
        ({"text": "a", "reply_parameters": {"message_id": 99}}, "message to be replied not found"),
        ({"text": "a", "chat_id": 5}, "chat not found"),
        ({"text": "a", "reply_markup": {"inline_keyboard": [[{"text": "x", "callback_data": "y" * 65}]]}}, "BUTTON"),
    ],
)
async def test_it_refuses_what_telegram_refuses(client: Client, told: Call, why: str) -> None:
    refused = await client.ask("sendMessage", **{"chat_id": 1, **told})

    assert refused["error_code"] == 400
    assert why in refused["description"]


@pytest.mark.parametrize(
    "told",
    [
        {"text": "a" * 4096 + " \n"},
        {"text": "😀" * 2048, "entities": [bold(0, 4096)]},
        {"text": "abcdef", "entities": [bold(0, 6, "blockquote"), bold(0, 3, "code"), bold(3, 3, "italic")]},
        {"text": "a", "reply_parameters": {"message_id": 99, "allow_sending_without_reply": True}},
    ],
)
async def test_it_takes_what_telegram_takes(client: Client, told: Call) -> None:
    assert (await client.ask("sendMessage", chat_id=1, **told))["ok"]


async def test_edits_are_told_from_repetitions_and_from_what_is_gone(client: Client, telegram: FakeTelegram) -> None:
    number = (await client.ask("sendMessage", chat_id=1, text="a"))["result"]["message_id"]
    same = await client.ask("editMessageText", chat_id=1, message_id=number, text="a")
    await client.ask("editMessageText", chat_id=1, message_id=number, text="b")
    await client.ask("deleteMessage", chat_id=1, message_id=number)
    gone = await client.ask("editMessageText", chat_id=1, message_id=number, text="c")

    assert "message is not modified" in same["description"]
    assert gone["description"] == "Bad Request: message to edit not found"
    assert telegram.world.chat(1).messages[number].earlier == ["a"]


async def test_an_update_is_given_until_a_later_one_is_asked_for(client: Client, telegram: FakeTelegram) -> None:
    ada = telegram.world.person(1, "Ada")
    ada.says("one")
    ada.says("two")
    first = await client.ask("getUpdates")
    again = await client.ask("getUpdates")
    second = await client.ask("getUpdates", offset=first["result"][1]["update_id"])

    assert [update["message"]["text"] for update in first["result"]] == ["one", "two"]
    assert again == first
    assert [update["message"]["text"] for update in second["result"]] == ["two"]
    assert len(telegram.world.confirmed) == 1


async def test_a_long_poll_ends_when_somebody_writes(client: Client, telegram: FakeTelegram) -> None:
    polling = asyncio.create_task(client.ask("getUpdates", timeout=50))
    await asyncio.sleep(0.05)
    telegram.world.person(1, "Ada").says("/start")

    [update] = (await polling)["result"]
    assert update["message"]["entities"] == [{"type": "bot_command", "offset": 0, "length": 6}]


async def test_of_two_who_poll_the_first_is_sent_away(client: Client) -> None:
    first = asyncio.create_task(client.ask("getUpdates", timeout=50))
    await asyncio.sleep(0.05)
    second = asyncio.create_task(client.ask("getUpdates", timeout=0))

    assert (await first)["error_code"] == 409
    assert (await second)["ok"]


async def test_a_wrong_token_is_refused(telegram: FakeTelegram) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{telegram.api_base}/bot1:x/getMe") as answer:
        assert answer.status == 401


async def test_it_misbehaves_on_order(client: Client, telegram: FakeTelegram) -> None:
    telegram.will("sendMessage", flood(17), cut(does=True), html(502))
    flooded = await client.ask("sendMessage", chat_id=1, text="a")
    with pytest.raises(aiohttp.ClientError):
        await client.ask("sendMessage", chat_id=1, text="b")
    with pytest.raises(aiohttp.ContentTypeError):
        await client.ask("sendMessage", chat_id=1, text="c")

    assert flooded["parameters"] == {"retry_after": 17}
    assert telegram.world.chat(1).shown == ["b"]
    assert [call.status for call in telegram.made("sendMessage")] == [429, None, 502]


async def test_a_chat_can_refuse_everything(client: Client, telegram: FakeTelegram) -> None:
    telegram.world.chat(1).refuses = RefusalError(403, "Forbidden: bot was blocked by the user")

    assert (await client.ask("sendChatAction", chat_id=1, action="typing"))["error_code"] == 403


async def test_files_have_their_limits(client: Client, telegram: FakeTelegram) -> None:
    sent = telegram.world.document(b"x", "big.bin", size=21 << 20)
    assert "too big" in (await client.ask("getFile", file_id=sent["file_id"]))["description"]
    assert (await client.ask("sendDocument", chat_id=1))["error_code"] == 400
    form = aiohttp.FormData({"chat_id": "1"})
    form.add_field("document", io.BytesIO(b"x" * (FILE_BYTES + 1)), filename="a.bin")
    url = f"{telegram.api_base}/bot{telegram.token}/sendDocument"
    async with aiohttp.ClientSession() as session, session.post(url, data=form) as answer:
        assert answer.status == 413


async def test_commands_have_their_grammar(client: Client) -> None:
    refused = await client.ask("setMyCommands", commands=[{"command": "dream-log", "description": "x"}])

    assert refused["description"] == "Bad Request: BOT_COMMAND_INVALID"

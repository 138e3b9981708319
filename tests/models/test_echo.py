"""An endpoint that repeats what it was asked: neither a person's words nor a key come to the log, or to others."""

import json
import logging
from pathlib import Path

import pytest

from nanobot.errors import LLMError
from nanobot.models.failures import ECHO, without_echo
from nanobot.ops.logs import log_to
from nanobot.ports import Request
from nanobot.transcript import Message, ToolCall
from tests.fakes.logs import logging_as_before
from tests.fakes.openai_answers import fail, plain
from tests.fakes.openai_server import FakeOpenAI
from tests.models.conftest import MakeModel
from tests.models.watching import Watcher

WORDS = "my sister Lena is pregnant, but nobody may know of it before Easter"
CHINESE = "我妹妹怀孕了，但是复活节之前谁也不许知道"
KEY = "local-key-0815-for-nobody-else"


def asked(*words: str) -> Request:
    return Request([Message(role="user", content=text) for text in words])


@pytest.mark.parametrize("words", [WORDS, CHINESE, f'{WORDS}\n"{CHINESE}"'])
@pytest.mark.parametrize("as_text", [True, False])
async def test_neither_words_nor_key_are_logged_or_told(
    server: FakeOpenAI, make_model: MakeModel, watcher: Watcher, tmp_path: Path, words: str, as_text: bool
) -> None:
    inside = words if as_text else json.dumps(words)
    server.will(fail(400, f"Invalid prompt: '{inside}' of Bearer {KEY} is against the rules", type="invalid_prompt"))
    model = make_model(server.base_url, api_key=KEY, attempts=1)

    with logging_as_before():
        log_to(tmp_path / "log", "debug", "text", str)
        with pytest.raises(LLMError) as caught:
            await model.complete(asked("Hello.", words), watcher)
        logging.getLogger("nanobot.x").warning("a turn failed", exc_info=caught.value)

    written = (tmp_path / "log").read_text(encoding="utf-8")
    for told in (written, caught.value.said, caught.value.detail, str(caught.value)):
        assert "Invalid prompt: '" in told
        assert ECHO in told
        assert "against the rules" in told
        assert [word for word in ("Lena", "Easter", "妹妹", "0815", "复活", "\\u") if word in told] == []


async def test_what_came_instead_of_an_answer_is_logged_without_what_the_model_said(
    server: FakeOpenAI, make_model: MakeModel, watcher: Watcher
) -> None:
    server.will(plain({"error": {"message": f"{WORDS} " + "and more of it " * 900, "code": 400}}))
    model = make_model(server.base_url, attempts=1)

    with pytest.raises(LLMError) as caught:
        await model.complete(asked(WORDS), watcher)

    assert ECHO in caught.value.detail
    assert "Lena" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_complaint_keeps_its_own_words_and_those_that_anybody_uses() -> None:
    complaint = "This model's maximum context length is 8192 tokens, however you asked for 9000"
    sent = [Message(role="user", content="which model has 8192 tokens?")]

    assert without_echo(complaint, [{"content": message.content} for message in sent]) == complaint


def test_tool_calls_and_parts_of_messages_count_and_pictures_do_not() -> None:
    call = ToolCall("c1", "search", json.dumps({"words": WORDS}))
    sent = [
        {"role": "assistant", "tool_calls": [{"function": {"arguments": call.arguments}}]},
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAABBBBCCCC"}}],
        },
    ]

    assert without_echo(f"no: {WORDS}", sent) == f"no: {ECHO}"
    assert without_echo("no: data:image/png;base64,AAAABBBBCCCC", sent).endswith("AAAABBBBCCCC")


def test_what_repeats_itself_without_end_is_looked_through_once() -> None:
    sent = [{"content": "ab" * 500_000}]

    assert without_echo("no: " + "ab" * 1_900, sent) == f"no: {ECHO}"

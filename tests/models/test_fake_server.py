"""The fake server is as strict as it says, and runs at a terminal."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from nanobot.errors import LLMError
from nanobot.models.endpoint import Endpoint
from nanobot.models.openai import OpenAIModel
from nanobot.ports import ModelInfo
from nanobot.schedule.scheduler import SystemClock
from tests.fakes.legality import what_is_illegal
from tests.models.watching import Watcher, question

USER = {"role": "user", "content": "hi"}
SYSTEM = {"role": "system", "content": "be kind"}


def calls(*ids: str, arguments: str = "{}") -> dict[str, Any]:
    function = {"name": "read", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": i, "type": "function", "function": function} for i in ids],
    }


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "text"}


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [SYSTEM, USER],
        [SYSTEM, USER, calls("a", "b"), result("b"), result("a"), USER],
        [USER, calls("a"), result("a"), calls("a"), result("a")],
    ],
)
def test_legal_histories_pass(messages: list[dict[str, Any]]) -> None:
    assert what_is_illegal({"messages": messages}) is None


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([USER, SYSTEM], "only be the first"),
        ([SYSTEM, SYSTEM, USER], "only be the first"),
        ([], "must be a user message"),
        ([SYSTEM, calls("a"), result("a")], "must be a user message"),
        ([USER, {"role": "assistant", "content": ""}], "neither text nor tool calls"),
        ([USER, result("a")], "answers no call"),
        ([USER, calls("a"), result("a"), result("a")], "answers no call"),
        ([USER, calls("a"), USER, result("a")], "not answered: a"),
        ([USER, calls("a", "b"), result("a")], "not answered: b"),
        ([USER, calls("a", "a"), result("a")], "same id"),
        ([USER, calls("a", arguments='{"x'), result("a")], "not a JSON object"),
        ([USER, calls("a", arguments="[]"), result("a")], "not a JSON object"),
        ([{"role": "user", "content": ""}], "empty user message"),
    ],
)
def test_illegal_histories_are_refused(messages: list[dict[str, Any]], words: str) -> None:
    assert words in (what_is_illegal({"messages": messages}) or "")


async def test_at_a_terminal_it_plays_a_script_and_then_echoes(tmp_path: Path) -> None:
    script = tmp_path / "script"
    entries: list[dict[str, Any]] = [
        {"say": "Hello"},
        {"call": {"name": "read_file", "arguments": {"path": "a"}}},
        {"fail": 401, "message": "no"},
    ]
    script.write_text("\n".join(json.dumps(entry) for entry in entries))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.fakes.openai_server", "--script", str(script), "--echo"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        base_url = (await process.stdout.readline()).decode().strip()
        model = OpenAIModel(ModelInfo("m", "m", 1, 1), Endpoint(base_url=base_url), SystemClock(), tmp_path)
        assert (await model.complete(question(), Watcher())).text == "Hello"
        assert (await model.complete(question(), Watcher())).tool_calls[0].arguments == '{"path": "a"}'
        with pytest.raises(LLMError):
            await model.complete(question(), Watcher())
        assert (await model.complete(question("say it again"), Watcher())).text == "say it again"
        await model.aclose()
    finally:
        process.terminate()
        await process.wait()

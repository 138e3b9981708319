"""Steps of tools and further turns, at every kind of endpoint, through the real client."""

import json

import pytest

from nanobot.core.loop import Loop
from nanobot.transcript import Message
from tests.core.test_loop import Recording
from tests.fakes.openai_answers import Answer, Send, call, say
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.personalities import ANTHROPIC, GEMINI, OLLAMA, OLLAMA_WINDOW, VLLM, Personality, served
from tests.fakes.tools import Echo
from tests.models.conftest import MakeModel
from tests.models.watching import Watcher, question


@pytest.mark.parametrize("personality", [OLLAMA, VLLM, GEMINI, ANTHROPIC], ids=lambda one: one.name)
async def test_two_steps_of_tools_and_a_further_turn_are_taken(make_model: MakeModel, personality: Personality) -> None:
    one, two = ("echo", {"text": "one"}), ("echo", {"text": "two"})
    async with served(personality) as server:
        server.will(call(one, two, text="Let me see."), call(one), say("Done."), say("You are welcome."))
        echo, turn = Echo(), Recording()
        loop = Loop(make_model(server.base_url), [echo], max_steps=5)
        assert (await loop.run(turn)).text == "Done."
        turn.recorded.append(Message(role="user", content="thanks"))
        assert (await loop.run(turn)).text == "You are welcome."
        assert server.refused == []
    assert sorted(str(arguments["text"]) for arguments in echo.calls) == ["one", "one", "two"]
    ids = [c.id for message in turn.recorded for c in message.tool_calls]
    assert len(set(ids)) == len(ids) == 3


async def test_a_server_that_cuts_reports_no_more_than_its_window(make_model: MakeModel, watcher: Watcher) -> None:
    async with served(OLLAMA) as server:
        reply = await make_model(server.base_url).complete(question("word " * 20_000), watcher)
    assert reply.usage is not None
    assert reply.usage.input == OLLAMA_WINDOW


async def test_characters_cut_between_two_reads_arrive_unharmed(
    make_model: MakeModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    text = "Żółw 😀 東京 — ok"
    chunk = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
    body = f"data: {json.dumps(chunk, ensure_ascii=False)}\n\ndata: [DONE]\n\n".encode()
    server.will(Answer(tuple(Send(body[at : at + 3]) for at in range(0, len(body), 3))))
    assert (await make_model(server.base_url).complete(question(), watcher)).text == text

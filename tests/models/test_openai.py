"""Asking a model when all goes well, and what stands in the request."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from nanobot.messages import Attachment
from nanobot.models.openai import OpenAIModel
from nanobot.ports import Request, ToolSpec
from nanobot.transcript import Message, ToolCall, Usage
from tests.fakes.openai_answers import call, chunks, fail, plain, say
from tests.fakes.openai_server import FakeOpenAI
from tests.models.conftest import MakeModel
from tests.models.watching import Watcher, question

READ = ToolSpec("read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


async def test_an_answer_is_streamed_and_returned(model: OpenAIModel, server: FakeOpenAI, watcher: Watcher) -> None:
    server.will(say("Hello, world. 你好 🎉", size=3))
    reply = await model.complete(question(), watcher)
    assert (reply.text, reply.finish, reply.model) == ("Hello, world. 你好 🎉", "stop", "main")
    assert reply.usage == Usage(11, 7)
    assert watcher.screen == reply.text
    assert len(watcher.screens) > 3
    assert server.requests[0].headers["Authorization"] == "Bearer key-for-tests"


async def test_tool_calls_come_back_with_their_arguments_as_text(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    server.will(call(("read_file", {"path": "a.md"}), ("read_file", {"path": "b.md"}), text="Let me look."))
    reply = await model.complete(Request(question().messages, [READ]), watcher)
    assert reply.text == "Let me look."
    assert [(c.name, json.loads(c.arguments)) for c in reply.tool_calls] == [
        ("read_file", {"path": "a.md"}),
        ("read_file", {"path": "b.md"}),
    ]
    assert server.requests[0].body["tools"][0]["function"]["name"] == "read_file"
    assert "tool_choice" not in server.requests[0].body


async def test_a_model_that_may_not_call_is_told_so(model: OpenAIModel, server: FakeOpenAI, watcher: Watcher) -> None:
    server.will(say("Summary."))
    await model.complete(Request(question().messages, [READ], may_call=False), watcher)
    assert server.requests[0].body["tool_choice"] == "none"
    assert len(server.requests[0].body["tools"]) == 1, "the tools stay, so that the prefix stays the same"


async def test_settings_of_the_endpoint_reach_it(make_model: MakeModel, server: FakeOpenAI, watcher: Watcher) -> None:
    model = make_model(
        server.base_url,
        temperature=0.3,
        max_output=500,
        extra_headers={"X-Title": "nanobot"},
        extra_body={"top_k": 5},
    )
    server.will(say("ok"))
    await model.complete(question(), watcher)
    received = server.requests[0]
    assert {name: received.body[name] for name in ("temperature", "max_tokens", "top_k", "model", "stream")} == {
        "temperature": 0.3,
        "max_tokens": 500,
        "top_k": 5,
        "model": "fake-model",
        "stream": True,
    }
    assert received.headers["X-Title"] == "nanobot"
    assert "Authorization" not in received.headers, "without a key no header claims to hold one"


async def test_what_an_endpoint_refuses_and_nobody_needs_is_left_out_from_then_on(
    make_model: MakeModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    model = make_model(server.base_url, max_output=500)
    server.will(
        fail(400, "Unknown parameter: 'stream_options'."),
        fail(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        say("first", usage=None),
        say("second", usage=None),
    )
    assert (await model.complete(question(), watcher)).text == "first"
    assert (await model.complete(question(), watcher)).text == "second"
    assert len(server.requests) == 4
    assert watcher.waits == []
    last = server.requests[-1].body
    assert "stream_options" not in last
    assert "max_tokens" not in last
    assert last["max_completion_tokens"] == 500


async def test_a_whole_answer_to_a_request_for_a_stream_is_taken(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    answer = say("All at once.").whole
    assert answer is not None
    server.will(plain(answer))
    reply = await model.complete(question(), watcher)
    assert (reply.text, reply.usage) == ("All at once.", Usage(11, 7))
    assert watcher.screen == "All at once."


async def test_half_characters_in_a_message_reach_the_endpoint_as_replacement_characters(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    server.will(say("ok"))
    await model.complete(question("a lone \ud83d and a pair \ud83d\ude00"), watcher)
    assert server.requests[0].body["messages"][0]["content"] == "a lone \ufffd and a pair 😀"


async def test_an_emoji_whose_halves_come_in_two_chunks_is_one(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    server.will(chunks({"content": "so \ud83d"}, {"content": "\ude00 nice"}))
    assert (await model.complete(question(), watcher)).text == "so 😀 nice"
    assert all("\ud83d" not in screen for screen in watcher.screens)


async def test_cached_tokens_are_counted_in_whatever_shape_they_come(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    base = {"prompt_tokens": 100, "completion_tokens": 5}
    server.will(
        say("a", usage={**base, "prompt_tokens_details": {"cached_tokens": 80}}),
        say("b", usage={**base, "prompt_cache_hit_tokens": 70}),
        say("c", usage={"prompt_tokens": None, "completion_tokens": "many"}),
    )
    usages = [(await model.complete(question(), watcher)).usage for _ in range(3)]
    assert usages == [Usage(100, 5, 80), Usage(100, 5, 70), None]


async def test_an_unchanged_conversation_is_a_byte_for_byte_prefix_of_the_next_request(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    conversation = [
        Message(role="system", content="You are a bot."),
        Message(role="user", content="read it", context="[10:15]"),
        Message(role="assistant", tool_calls=[ToolCall("c1", "read_file", '{"path": "ü.md"}')]),
        Message(role="tool", content="", tool_call_id="c1"),
    ]
    longer = [*conversation, Message(role="assistant", content="Done."), Message(role="user", content="thanks")]
    server.will(say("a"), say("b"))
    for messages in (conversation, longer):
        await model.complete(Request(messages, [READ]), watcher)
    first, second = (request.raw for request in server.requests)
    end = first.index(b'],"stream_options"')
    assert second.startswith(first[:end])
    assert first[end:] == second[second.index(b'],"stream_options"') :], "and so is what follows"


async def test_connections_are_used_again(model: OpenAIModel, server: FakeOpenAI, watcher: Watcher) -> None:
    server.will(*(say("ok") for _ in range(3)))
    for _ in range(3):
        await model.complete(question(), watcher)
    assert len({request.port for request in server.requests}) == 1


async def test_pictures_of_the_running_turn_are_sent_and_later_named(
    make_model: MakeModel, server: FakeOpenAI, watcher: Watcher, tmp_path: Path
) -> None:
    (tmp_path / "cat.png").write_bytes(b"\x89PNG")
    picture = Attachment("cat.png", "image/png")
    asked = Message(role="user", content="what is this?", turn="t1", files=(picture,))
    server.will(say("A cat."), say("Yes."))
    model = make_model(server.base_url, vision=True)
    await model.complete(Request([asked], turn="t1"), watcher)
    await model.complete(Request([replace(asked, turn="t0")], turn="t1"), watcher)
    shown, named = (request.body["messages"][0]["content"] for request in server.requests)
    assert shown[0] == {"type": "text", "text": "what is this?\n[picture: cat.png]"}
    assert shown[1]["image_url"]["url"] == "data:image/png;base64,iVBORw=="
    assert named == "what is this?\n[picture: cat.png]"


def test_importing_the_module_does_not_import_the_client() -> None:
    code = "import sys, nanobot.models.openai, nanobot.models.fallback; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

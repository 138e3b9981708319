"""The dialect of an endpoint: what a refusal teaches, and that a request in the dialect is taken."""

import asyncio
import time
import tomllib
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nanobot.commands.session import as_markdown
from nanobot.errors import LLMError, StoreError
from nanobot.i18n import say as say_in
from nanobot.messages import Attachment
from nanobot.models import dialect as traits
from nanobot.models.dialect import ModelDialect, ModelDialects
from nanobot.models.endpoint import Endpoint
from nanobot.models.openai import OpenAIModel
from nanobot.models.wire import MAX_EXTRA, NO_TOOLS, READ_ON, UNANSWERED, ExtraFields, ExtraRoom, messages_to_wire
from nanobot.ports import ModelInfo, Reply, Request, ToolSpec
from nanobot.store.state import locked_state, read_state, write_state
from nanobot.transcript import Message, ToolCall
from tests.fakes.bot import ADDRESS, Bot
from tests.fakes.clock import FakeClock
from tests.fakes.openai_answers import Answer, call, chunks, fail, say
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.personalities import (
    ALTERNATE,
    MISTRAL,
    NO_SYSTEM,
    PICKY_400,
    THINKING,
    THOUGHTS,
    Personality,
    call_with,
    known_fields,
    no_pictures,
    no_tools,
    reasoning_back,
    served,
)
from tests.fakes.tools import Echo
from tests.models.conftest import MakeModel
from tests.models.watching import Watcher, question

LOOK = ToolSpec("look", "Look at a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
SYSTEM = Message(role="system", content="You are a bot.")
ASKED = Message(role="user", content="read a", turn="t1")


def said(text: str, turn: str = "", **more: Any) -> Message:
    return Message(role="user", content=text, turn=turn, **more)


def after(asked: list[Message], reply: Reply) -> list[Message]:
    """The conversation with the calls of an answer and their results."""
    step = Message(
        role="assistant",
        content=reply.text or None,
        tool_calls=reply.tool_calls,
        extra=reply.extra,
        endpoint=reply.endpoint,
    )
    results = [Message(role="tool", content="one line", tool_call_id=one.id) for one in reply.tool_calls]
    return [*asked, step, *results]


def foreign(call_id: str = "call_abcdef123456") -> list[Message]:
    """A step that another model made."""
    return [
        SYSTEM,
        ASKED,
        Message(role="assistant", tool_calls=[ToolCall(call_id, "look", '{"path": "a"}')]),
        Message(role="tool", content="one line", tool_call_id=call_id),
        Message(role="assistant", content="It has one line."),
    ]


class TestFieldsThatGoBack:
    async def test_thoughts_beside_a_call_go_back_as_they_came(self, make_model: MakeModel, watcher: Watcher) -> None:
        async with served(THINKING) as server:
            model = make_model(server.base_url)
            server.will(call(("look", {"path": "a"})), say("Done."))
            asked = [SYSTEM, ASKED]
            reply = await model.complete(Request(asked, [LOOK]), watcher)
            reply = await model.complete(Request(after(asked, reply), [LOOK]), watcher)
        assert reply.text == "Done."
        assert server.refused == []
        assert server.taken[1].body["messages"][2]["reasoning_content"] == "The user wants this."
        assert "wants this" not in watcher.screen

    async def test_signatures_inside_a_call_go_back_to_their_place(
        self, make_model: MakeModel, server: FakeOpenAI, watcher: Watcher
    ) -> None:
        beside, inside = {"extra_content": {"google": {"thought_signature": "c2ln"}}}, {"thought_signature": "aW4="}
        server.will(call_with("look", {"path": "a"}, beside=beside, inside=inside), say("Done."))
        model = make_model(server.base_url)
        reply = await model.complete(Request([ASKED], [LOOK]), watcher)
        await model.complete(Request(after([ASKED], reply), [LOOK]), watcher)
        [sent] = server.requests[1].body["messages"][1]["tool_calls"]
        assert sent["extra_content"] == beside["extra_content"]
        assert sent["function"] == {"name": "look", "arguments": '{"path": "a"}', **inside}

    async def test_they_go_to_no_endpoint_that_did_not_send_them(self, make_model: MakeModel, watcher: Watcher) -> None:
        async with served(THINKING) as one, served(Personality("strict", (known_fields(),))) as other:
            one.will(call(("look", {"path": "a"})))
            reply = await make_model(one.base_url).complete(Request([ASKED], [LOOK]), watcher)
            await make_model(other.base_url).complete(Request(after([ASKED], reply), [LOOK]), watcher)
        assert other.refused == []
        assert "reasoning_content" not in other.taken[0].body["messages"][1]

    async def test_an_endpoint_that_refuses_its_own_fields_does_not_get_them_again(
        self, make_model: MakeModel, watcher: Watcher
    ) -> None:
        async with served(Personality("forgetful", (known_fields(),), THINKING.manner)) as server:
            model = make_model(server.base_url)
            server.will(call(("look", {"path": "a"})), say("Done."), say("Hi."))
            reply = await model.complete(Request([ASKED], [LOOK]), watcher)
            history = after([ASKED], reply)
            assert (await model.complete(Request(history, [LOOK]), watcher)).text == "Done."
            assert (await model.complete(Request(history, [LOOK]), watcher)).text == "Hi."
        assert len(server.refused) == 1

    async def test_steps_of_other_models_get_what_a_thinking_endpoint_cannot_do_without(
        self, make_model: MakeModel, watcher: Watcher
    ) -> None:
        async with served(THINKING) as server:
            model = make_model(server.base_url)
            await model.complete(Request([*foreign(), said("hi")], [LOOK]), watcher)
            await model.complete(Request([*foreign(), said("hi")], [LOOK]), watcher)
        assert len(server.refused) == 1

    async def test_thoughts_before_an_answer_take_no_room_in_later_requests(
        self, make_model: MakeModel, server: FakeOpenAI, watcher: Watcher
    ) -> None:
        server.will(chunks({"reasoning_content": "hm"}, {"content": "Yes."}, {"audit": "x7"}), say("ok"))
        model = make_model(server.base_url)
        reply = await model.complete(question(), watcher)
        assert reply.extra == {"reasoning_content": "hm", "audit": "x7"}
        answer = Message(role="assistant", content=reply.text, extra=reply.extra, endpoint=reply.endpoint)
        await model.complete(Request([said("hi"), answer, said("why?")]), watcher)
        assert server.requests[1].body["messages"][1] == {"role": "assistant", "content": "Yes.", "audit": "x7"}

    def test_pieces_of_a_field_become_one(self) -> None:
        kept = ExtraFields(ExtraRoom())
        pieces: list[dict[str, object]] = [
            {"role": "assistant", "reasoning": "ha", "name": None, "annotations": []},
            {"reasoning": "ha", "reasoning_details": [{"index": 0, "type": "t", "text": "a"}]},
            {"reasoning_details": [{"index": 0, "type": "t", "text": "a"}, {"index": 1, "type": "e", "data": "q"}]},
            {"reasoning_details": [{"index": 0, "type": "t", "signature": "s"}], "extra": {"id": "1", "n": 2}},
            {"extra": {"id": "1", "n": 3}},
        ]
        for piece in pieces:
            kept.add(piece, ("role",))
        assert kept.whole() == {
            "reasoning": "haha",
            "reasoning_details": [
                {"index": 0, "type": "t", "text": "aa", "signature": "s"},
                {"index": 1, "type": "e", "data": "q"},
            ],
            "extra": {"id": "1", "n": 3},
        }

    def test_more_than_is_kept_is_let_go_while_it_comes(self) -> None:
        room = ExtraRoom()
        beside, of_a_call = ExtraFields(room), ExtraFields(room)
        of_a_call.add({"signature": "s"}, ())
        for _ in range(2):
            beside.add({"reasoning": "x" * (MAX_EXTRA // 2 - 100)}, ())
        assert (len(str(beside.whole()["reasoning"])), of_a_call.whole()) == (MAX_EXTRA - 200, {"signature": "s"})
        beside.add({"reasoning_details": [{"index": 0, "type": "t", "text": "y" * 300}]}, ())
        assert room.is_exceeded
        beside.add({"reasoning": "z"}, ())
        assert beside._fields == {}  # not held until the end either
        assert (beside.whole(), of_a_call.whole()) == ({}, {})

    def test_what_comes_again_as_it_was_takes_no_room(self) -> None:
        room = ExtraRoom()
        fields = ExtraFields(room)
        for _ in range(3):
            fields.add({"signature": "s" * (MAX_EXTRA // 2), "more": {"n": 1, "id": "x" * 1_000}}, ())
        assert fields.whole() == {"signature": "s" * (MAX_EXTRA // 2), "more": {"n": 1, "id": "x" * 1_000}}


class TestRoles:
    def wire(self, *messages: Message, known: tuple[str, ...] = (traits.ALTERNATING,)) -> list[tuple[str, str]]:
        rows = messages_to_wire(Request(messages), {}, ModelDialect("e", frozenset(known)))
        return [(str(row["role"]), str(row["content"])) for row in rows]

    def test_a_message_that_nobody_answered_stays_as_it_was_sent(self) -> None:
        first = self.wire(said("one", "t1"))
        assert self.wire(said("one", "t1"), said("two", "t2")) == [*first, ("assistant", UNANSWERED), ("user", "two")]

    def test_what_one_turn_or_a_group_says_is_one_message(self) -> None:
        assert self.wire(said("one", "t1"), said("two", "t1")) == [("user", "one\n\ntwo")]
        group = [said("psst", "g1", to_bot=False), said("haha", "g2", to_bot=False), said("bot?", "t3")]
        assert self.wire(*group) == [("user", "psst\n\nhaha\n\nbot?")]

    def test_a_message_that_joined_between_steps_follows_a_line_of_the_assistant(self) -> None:
        for known in (traits.ALTERNATING, traits.LINE_AFTER_TOOL):
            rows = self.wire(*foreign()[1:4], said("and b", "t1"), known=(known,))
            assert rows[-2:] == [("assistant", READ_ON), ("user", "and b")]

    def test_without_a_system_role_its_text_goes_in_front(self) -> None:
        assert self.wire(SYSTEM, said("hi"), known=(traits.NO_SYSTEM,)) == [("user", "You are a bot.\n\nhi")]

    async def test_a_failed_turn_does_not_block_the_conversation(self, make_model: MakeModel, watcher: Watcher) -> None:
        async with served(ALTERNATE) as server:
            model = make_model(server.base_url)
            server.will(fail(400, "boom"), say("Two."), say("Three."))
            with pytest.raises(LLMError):
                await model.complete(Request([said("one", "t1")]), watcher)
            talk = [said("one", "t1"), said("two", "t2")]
            assert (await model.complete(Request(talk), watcher)).text == "Two."
            talk += [Message(role="assistant", content="Two."), said("three", "t3")]
            assert (await model.complete(Request(talk), watcher)).text == "Three."
        assert len(server.refused) == 1
        bodies = [request.body["messages"] for request in server.taken]
        assert [later[: len(earlier)] for earlier, later in pairwise(bodies)] == bodies[:-1]


class TestIds:
    def ids(self, messages: list[Message], *known: str) -> list[str]:
        rows: list[dict[str, Any]] = messages_to_wire(Request(messages), {}, ModelDialect("e", frozenset(known)))
        return [
            one
            for row in rows
            for one in (*[c["id"] for c in row.get("tool_calls", [])], row.get("tool_call_id"))
            if one
        ]

    def test_the_same_id_gives_the_same_short_one_and_one_that_fits_stays(self) -> None:
        history = [*foreign(), said("hi"), *foreign("Ab3dEf6hI")[2:4]]
        call_id, result_id, fits, result_of_fits = self.ids(history, traits.SHORT_IDS)
        assert call_id == result_id
        assert call_id.isascii()
        assert call_id.isalnum()
        assert len(call_id) == 9
        assert (fits, result_of_fits) == ("Ab3dEf6hI", "Ab3dEf6hI")
        assert self.ids(foreign(), traits.SHORT_IDS) == [call_id, result_id]

    @pytest.mark.parametrize("known", [(), (traits.SHORT_IDS,)])
    def test_an_id_that_was_used_again_stands_once(self, known: tuple[str, ...]) -> None:
        first, its_result, second, result_of_second = self.ids(
            [*foreign("c1"), said("again"), *foreign("c1")[2:4]], *known
        )
        assert first == its_result != second == result_of_second

    async def test_a_conversation_that_another_model_began_goes_on(
        self, make_model: MakeModel, watcher: Watcher
    ) -> None:
        async with served(MISTRAL) as server:
            model = make_model(server.base_url)
            joined = [*foreign()[:4], said("and b", "t1")]
            await model.complete(Request(joined, [LOOK]), watcher)
            await model.complete(Request(joined, [LOOK]), watcher)
        assert len(server.taken) == 2
        assert len(server.refused) == 2


class TestLacking:
    @pytest.mark.parametrize(
        ("status", "words"),
        [
            (400, "registry.ollama.ai/library/gemma3:4b does not support tools"),
            (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
            (404, 'No endpoints found that support tool use. Try disabling "look".'),
            (500, "tools param requires --jinja flag"),
            (400, "Function calling is not supported by this model"),
            (422, "This deployment does not support function calling"),
            (400, "`tools` is not supported with this model"),
            (400, "该模型不支持工具调用"),
        ],
    )
    async def test_a_model_without_tools_talks_and_the_person_hears_of_it_once(
        self, make_model: MakeModel, watcher: Watcher, status: int, words: str
    ) -> None:
        async with served(Personality("toolless", (no_tools(words, status),))) as server:
            model = make_model(server.base_url, attempts=1)
            server.will(say("Hello."), say("Again."))
            assert (await model.complete(Request([*foreign(), said("hi")], [LOOK], turn="t"), watcher)).text == "Hello."
            assert (await model.complete(Request([SYSTEM, said("hi")], [LOOK], turn="t"), watcher)).text == "Again."
        assert watcher.lacking == ["tools"]
        assert not model.info.tools
        assert len(server.refused) == 1
        assert NO_TOOLS in server.taken[0].body["messages"][0]["content"]
        assert "[Called look with" in server.taken[0].body["messages"][2]["content"]

    @pytest.mark.parametrize(
        ("status", "words"),
        [
            (500, "Jinja Exception: System role not supported"),
            (400, "Developer instruction is not enabled for models/gemma-3-27b-it"),
            (400, "This model does not support system messages."),
            (422, "messages[0].role: Input should be 'user' or 'assistant'"),
            (500, "While executing CallExpression at line 1, column 69: {{ raise_exception('no system prompt') }}"),
        ],
    )
    async def test_a_system_role_that_is_refused_is_not_sent_again(
        self, make_model: MakeModel, server: FakeOpenAI, watcher: Watcher, status: int, words: str
    ) -> None:
        server.will(fail(status, words), say("Hello."), say("Again."))
        model = make_model(server.base_url, attempts=1)
        for text in ("Hello.", "Again."):
            assert (await model.complete(Request([SYSTEM, said("hi")]), watcher)).text == text
        assert [r.body["messages"][0]["role"] for r in server.requests] == ["system", "user", "user"]
        assert watcher.waits == []

    async def test_a_template_that_fails_for_ever_is_not_asked_for_ever(
        self, make_model: MakeModel, server: FakeOpenAI, watcher: Watcher
    ) -> None:
        server.otherwise = lambda _: fail(500, "Jinja Exception: undefined value")
        with pytest.raises(LLMError) as caught:
            await make_model(server.base_url).complete(Request([SYSTEM, said("hi")], [LOOK]), watcher)
        assert caught.value.kind == "request"
        assert len(server.requests) == 3, "without the system role, then without tools"
        assert watcher.waits == []

    async def test_parameters_cost_none_of_the_attempts(self, make_model: MakeModel, watcher: Watcher) -> None:
        async with served(PICKY_400) as server:
            model = make_model(server.base_url, temperature=0.3, max_output=500, attempts=1)
            await model.complete(replace(Request([*foreign(), said("hi")], [LOOK]), patient=False), watcher)
            await model.complete(question(), watcher)
        assert server.taken[-1].body.keys() == {"model", "stream", "messages", "max_completion_tokens"}
        assert len(server.taken) == 2
        assert watcher.lacking == []

    async def test_pictures_that_are_refused_are_named_and_the_person_hears_of_it(
        self, make_model: MakeModel, watcher: Watcher, tmp_path: Path
    ) -> None:
        (tmp_path / "cat.png").write_bytes(b"\x89PNG")
        picture = said("what is this?", "t1", files=(Attachment("cat.png", "image/png"),))
        async with served(Personality("blind", (no_pictures,))) as server:
            model = make_model(server.base_url, vision=True)
            await model.complete(Request([picture], turn="t1"), watcher)
        assert watcher.lacking == ["pictures"]
        assert not model.info.vision
        assert server.taken[0].body["messages"][0]["content"] == "what is this?\n[picture: cat.png]"


def several_calls(*ids: str) -> list[Message]:
    """A step of several calls, and their results."""
    calls = [ToolCall(one, "look", "{}") for one in ids]
    results = [Message(role="tool", content=f"result of {one}", tool_call_id=one) for one in ids]
    return [SYSTEM, ASKED, Message(role="assistant", content="I look.", tool_calls=calls, turn="t1"), *results]


def single_calls(words: str) -> Callable[[dict[str, Any]], Answer | None]:
    def rule(body: dict[str, Any]) -> Answer | None:
        return fail(400, words) if any(len(m.get("tool_calls") or ()) > 1 for m in body["messages"]) else None

    return rule


class TestSingleCalls:
    @pytest.mark.parametrize(
        "words",
        [
            "This model only supports single tool-calls at once!",
            "jinja: This model only supports single tool-calls at once! at row 1, column 2 (chat template)",
            "This model does not support parallel tool calls.",
            "Parallel tool calls are not supported by this model",
            "multiple function calls are not allowed in one message",
            "该模型不支持并行工具调用",
        ],
    )
    async def test_a_model_that_takes_one_call_in_a_step_keeps_its_tools(
        self, make_model: MakeModel, watcher: Watcher, words: str
    ) -> None:
        async with served(Personality("one by one", (single_calls(words),))) as server:
            model = make_model(server.base_url, attempts=1)
            for _ in range(2):
                await model.complete(Request(several_calls("a1", "b2"), [LOOK]), watcher)
        assert len(server.refused) == 1
        assert watcher.lacking == []
        assert server.taken[1].body["tools"]
        rows = server.taken[1].body["messages"][2:]
        assert [row["role"] for row in rows] == ["assistant", "tool", "assistant", "tool"]
        assert [row["content"] for row in rows] == ["I look.", "result of a1", None, "result of b2"]
        assert [row["tool_calls"][0]["id"] for row in rows[::2]] == [row["tool_call_id"] for row in rows[1::2]]

    @pytest.mark.parametrize(
        "words",
        [
            "This model does not support parallel tool calls.",
            "Tool results are not supported in JSON mode",
            "Tool call arguments: unsupported function name 'memory.read'",
            "messages[3].content: image tool results are not supported",
            "不支持并行工具调用",
        ],
    )
    def test_a_complaint_about_a_part_of_a_call_costs_nobody_the_tools(self, words: str) -> None:
        body = {"tools": [{}], "messages": [{"role": "user", "content": "hi"}, {"role": "tool", "content": "one"}]}
        assert traits.learnt(LLMError("request", said=words), body, (), ModelDialect()) is None

    @pytest.mark.parametrize(
        "words",
        [
            "Unrecognized request argument supplied: 'tools'",
            "The tools argument is not supported by this model",
            "This model supports neither parallel tool calls nor vision. It does not support tools.",
        ],
    )
    def test_a_complaint_about_tools_is_still_heard(self, words: str) -> None:
        learnt = traits.learnt(LLMError("request", said=words), {"tools": [{}]}, (), ModelDialect())
        assert learnt is not None
        assert learnt.has(traits.NO_TOOLS)

    def test_every_step_of_one_call_has_what_the_endpoint_demands(self) -> None:
        known = frozenset((traits.SINGLE_CALLS, traits.SIGNATURE_BACK, traits.REASONING_BACK))
        rows = messages_to_wire(Request([*several_calls("a", "b"), said("hi", "t2")]), {}, ModelDialect("e", known))
        steps = [row for row in rows if row["role"] == "assistant"]
        assert len(steps) == 2
        for step in steps:
            calls = step["tool_calls"]
            assert isinstance(calls, list)
            assert ["extra_content" in call for call in calls] == [True]
            assert step["reasoning_content"]


def over(limit: int, refusal: Answer) -> Callable[[dict[str, Any]], Answer | None]:
    return lambda body: refusal if (body.get("max_tokens") or body.get("max_completion_tokens") or 0) > limit else None


class TestRoomForAnAnswer:
    @pytest.mark.parametrize(
        ("words", "limit", "sent"),
        [
            (
                "maximum context length is 8192 tokens. However, you requested 9500 tokens "
                "(1500 in the messages, 8000 in the completion)",
                6000,
                2048,
            ),
            ("max_tokens is too large: 8000. This model supports at most 4096 completion tokens", 4096, 4096),
            ("'max_tokens' is too large: 8000 (8000 > 8192 - 1500). Maximum context length is 8192 tokens", 6692, 2048),
            ("max_tokens: 8000 > 4,096, which is the maximum allowed number of output tokens", 4096, 4096),
            ("Invalid max_tokens value, the valid range is [1, 8]", 8, None),
        ],
    )
    async def test_a_smaller_answer_is_asked_for_and_the_conversation_left_alone(
        self, make_model: MakeModel, watcher: Watcher, words: str, limit: int, sent: int | None
    ) -> None:
        async with served(Personality("narrow", (over(limit, fail(400, words)),))) as server:
            model = make_model(server.base_url, max_output=8000, attempts=1)
            await model.complete(question(), watcher)
            await model.complete(question(), watcher)
        assert [request.body.get("max_tokens") for request in server.taken] == [sent, sent]
        assert len(server.refused) == 1

    async def test_a_conversation_that_fills_the_window_is_too_long_itself(
        self, make_model: MakeModel, server: FakeOpenAI, watcher: Watcher
    ) -> None:
        words = "maximum context length is 8192 tokens. However, 7900 in the messages, 8000 in the completion"
        server.otherwise = lambda _: fail(400, words)
        with pytest.raises(LLMError) as caught:
            await make_model(server.base_url, max_output=8000).complete(question(), watcher)
        assert caught.value.kind == "context"
        assert len(server.requests) == 1


class TestMemory:
    def make(
        self, server: FakeOpenAI, clock: FakeClock, tmp_path: Path, kept: dict[str, dict[str, str]]
    ) -> OpenAIModel:
        dialects = ModelDialects(clock, lambda: dict(kept), kept.update)
        info = ModelInfo("main", "fake-model", 8_000, 1_000)
        return OpenAIModel(info, Endpoint(base_url=server.base_url), clock, tmp_path, dialects)

    async def test_what_was_learnt_survives_a_restart_and_is_tried_again_in_time(
        self, clock: FakeClock, tmp_path: Path, watcher: Watcher
    ) -> None:
        kept: dict[str, dict[str, str]] = {}
        async with served(Personality("both", (*NO_SYSTEM.rules, no_tools()))) as server:
            for refused in (2, 2, 3):
                model = self.make(server, clock, tmp_path, kept)
                await model.complete(Request([SYSTEM, said("hi")], [LOOK], turn="t"), watcher)
                await model.aclose()
                assert len(server.refused) == refused
                if len(server.taken) == 2:
                    clock.set(clock.now() + timedelta(hours=2))  # tools are tried again, the form is not
        assert watcher.lacking == ["tools"], "said once, not each time it is learnt again"

    async def test_a_person_hears_it_also_if_a_dream_or_a_summary_met_it_first(
        self, clock: FakeClock, tmp_path: Path, watcher: Watcher
    ) -> None:
        kept: dict[str, dict[str, str]] = {}
        async with served(Personality("toolless", (no_tools(),))) as server:
            for turn, tools, lacking in (("", [LOOK], []), ("t1", [], []), ("t2", [LOOK], ["tools"])):
                for _ in range(2):
                    model = self.make(server, clock, tmp_path, kept)
                    await model.complete(Request([said("hi")], tools, turn=turn), watcher if turn else Watcher())
                    await model.aclose()
                assert watcher.lacking == lacking
            assert len(server.refused) == 1

    async def test_what_did_not_help_is_not_remembered(
        self, clock: FakeClock, tmp_path: Path, watcher: Watcher, server: FakeOpenAI
    ) -> None:
        kept: dict[str, dict[str, str]] = {}
        server.otherwise = lambda _: fail(400, "this model does not support tools")
        model = self.make(server, clock, tmp_path, kept)
        with pytest.raises(LLMError):
            await model.complete(Request([said("hi")], [LOOK]), watcher)
        await model.aclose()
        assert kept == {}

    async def test_two_processes_keep_what_each_of_them_learnt(self, clock: FakeClock, tmp_path: Path) -> None:
        path = tmp_path / "endpoints.json"

        def load() -> dict[str, dict[str, str]]:
            return read_state(path, dict[str, dict[str, str]], {})

        def save(kept: dict[str, dict[str, str]]) -> None:
            write_state(path, kept)

        one, other = ModelDialects(clock, load, save), ModelDialects(clock, load, save)
        for process, model, trait in ((one, "a", traits.NO_SYSTEM), (other, "b", traits.SHORT_IDS)):
            before = process.of("http://h/v1", model)
            await process.keep(before.knowing(trait), before)
        assert other.of("http://h/v1", "a").has(traits.NO_SYSTEM)
        for model, trait in (("a", traits.NO_SYSTEM), ("b", traits.SHORT_IDS)):
            assert ModelDialects(clock, load, save).of("http://h/v1", model).has(trait)

    async def test_processes_that_learn_at_the_same_moment_lose_nothing(self, clock: FakeClock, tmp_path: Path) -> None:
        path, pause = tmp_path / "state" / "endpoints.json", [0.0]

        def load() -> dict[str, dict[str, str]]:
            kept = read_state(path, dict[str, dict[str, str]], {})
            if pause[0]:
                time.sleep(pause[0])  # meanwhile the others would read the same
            return kept

        processes = [
            ModelDialects(clock, load, partial(write_state, path), partial(locked_state, path)) for _ in range(5)
        ]

        async def learn(process: ModelDialects, model: str) -> None:
            before = process.of("http://h/v1", model)
            await process.keep(before.knowing(traits.NO_SYSTEM), before)

        pause[0] = 0.02
        async with asyncio.TaskGroup() as tasks:
            for number, process in enumerate(processes):
                tasks.create_task(learn(process, str(number)))
        pause[0] = 0.0
        after = ModelDialects(clock, load)
        assert all(after.of("http://h/v1", str(number)).has(traits.NO_SYSTEM) for number in range(5))

    def test_what_is_known_is_read_once_and_before_the_first_question(self, clock: FakeClock) -> None:
        reads: list[str] = []

        def load() -> dict[str, dict[str, str]]:
            reads.append("read")
            raise StoreError("the disk is gone")

        dialects = ModelDialects(clock, load)
        assert reads == ["read"]
        assert not dialects.of("http://h/v1", "m").traits
        assert reads == ["read"]

    def test_mistral_is_known(self, clock: FakeClock) -> None:
        dialect = ModelDialects(clock).of("https://api.mistral.ai/v1", "mistral-large")
        assert dialect.has(traits.SHORT_IDS)
        assert not ModelDialects(clock).of("https://notmistral.ai/v1", "m").has(traits.SHORT_IDS)


class TestSessions:
    async def test_a_model_without_tools_is_told_so_in_each_turn(self, make_model: MakeModel, tmp_path: Path) -> None:
        async with served(Personality("toolless", (no_tools(),))) as server:
            async with Bot(tmp_path, make_model(server.base_url), tools=[Echo()]).running() as bot:
                for text in ("hi", "and now?"):
                    assert not (await bot.ask(text)).failed
            first, second = (request.body["messages"] for request in server.taken)
        assert NO_TOOLS in first[0]["content"]
        assert second[: len(first)] == first
        told = [one.text for one in bot.progress if one.kind == "notice"]
        assert told == [say_in("waiting.no_tools", "en", model="main")]

    async def test_thoughts_survive_a_restart_and_show_in_no_export(
        self, make_model: MakeModel, tmp_path: Path
    ) -> None:
        async with served(THINKING) as server:
            server.will(call(("echo", {"text": "a"})), say("Done."), say("Hi."))
            for text, answer in (("read a", "Done."), ("hi", "Hi.")):
                async with Bot(tmp_path, make_model(server.base_url), tools=[Echo()]).running() as bot:
                    assert (await bot.ask(text)).text.startswith(answer)
                    messages = await bot.store.messages(ADDRESS.session_key)
        assert server.refused == []
        assert [m.get("reasoning_content") for m in server.taken[2].body["messages"] if m.get("tool_calls")] == [
            THOUGHTS
        ]
        assert THOUGHTS not in "".join(as_markdown(ADDRESS.session_key, messages, "en"))

    @pytest.mark.parametrize("signed", [False, True])
    async def test_what_came_beside_calls_goes_back_after_the_window_moved_and_a_restart(
        self, make_model: MakeModel, tmp_path: Path, signed: bool
    ) -> None:
        strict = Personality("strict", (known_fields("reasoning_content", "extra_content"), reasoning_back))
        sent: list[str] = []

        def answer(body: dict[str, Any]) -> Answer:
            if body["messages"][-1]["role"] == "tool":
                return say(f"Done, {len(sent)}.", usage=None)
            sent.append(f"thought {len(sent)}")
            beside = {"extra_content": {"google": {"thought_signature": sent[-1]}}} if signed else {}
            thought = chunks({"reasoning_content": sent[-1]}, finish=None, done=False)
            one = call_with("echo", {"text": "word " * 100}, beside=beside, inside={}, call_id=f"call_{len(sent)}")
            return Answer((*thought.parts, *one.parts[1:]))

        async with served(strict) as server:
            server.otherwise = answer
            async with Bot(tmp_path, make_model(server.base_url), tools=[Echo()]).running() as bot:
                for number in range(1, 31):
                    assert (await bot.ask(f"{number} " + "word " * 100)).text == f"Done, {number}."
            async with Bot(tmp_path, make_model(server.base_url), tools=[Echo()]).running() as bot:
                assert (await bot.ask("and now?")).text == "Done, 31."
            assert server.refused == []
        calls = [m for m in server.taken[-1].body["messages"] if m.get("tool_calls")]
        thoughts = [m["reasoning_content"] for m in calls]
        assert 1 < len(calls) < 30
        assert thoughts == sent[-len(calls) :]
        signatures = [m["tool_calls"][0].get("extra_content") for m in calls]
        assert signatures == [{"google": {"thought_signature": one}} if signed else None for one in thoughts]


class TestRefusals:
    def test_each_has_sentences_that_teach_it_and_what_it_is_not_about_teaches_nothing(self) -> None:
        table = tomllib.loads((resources.files("nanobot.models") / "refusals.toml").read_text(encoding="utf-8"))
        for row, refusal in zip(table["refusal"], traits._refusals(), strict=True):
            assert row["fits"]
            for words in row["fits"]:
                assert refusal.is_said(words), (refusal.trait, words)
            for words in row.get("misses", ()):
                assert not refusal.is_said(words), (refusal.trait, words)

"""A model's bad days: the real client against a real server that misbehaves."""

import asyncio
from datetime import UTC, datetime

import pytest

from nanobot.errors import LLMError, LLMErrorKind
from nanobot.models.answer import GrowingAnswer
from nanobot.models.openai import GRACE, OpenAIModel
from nanobot.models.reasoning import ShownStream, VisibleText
from tests.fakes.clock import FakeClock
from tests.fakes.openai_answers import (
    Answer,
    Hang,
    Ping,
    Reset,
    Send,
    Wait,
    beginning,
    call,
    chunks,
    event,
    fail,
    html,
    plain,
    say,
)
from tests.fakes.openai_server import FakeOpenAI
from tests.models.conftest import MakeModel
from tests.models.watching import Watcher, question

ATTEMPTS = 4


async def failing(model: OpenAIModel, watcher: Watcher) -> LLMError:
    with pytest.raises(LLMError) as caught:
        await model.complete(question(), watcher)
    assert caught.value.model == "main"
    return caught.value


class TestBusy:
    @pytest.mark.parametrize(
        ("answer", "least", "most"),
        [
            (fail(429, retry_after="7"), 7, 10),
            (fail(429, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), 10, 12),
            (fail(429, retry_after="soon"), 0.4, 1),
            (fail(429, retry_after="-3"), 0.4, 1),
            (fail(429, retry_after="0"), 0.4, 1),
            (fail(429, retry_after="Wed, 21 Oct 2020 07:28:00 GMT"), 0.4, 1),
            (fail(429, "Please try again in 1m5.5s. Visit the billing page for more."), None, None),
            (fail(429, "Please retry in 34.5s."), 34.5, 36),
            (fail(429), 0.4, 1),
            (fail(503), 0.4, 1),
            (fail(503, retry_after="5"), 5, 6),
        ],
    )
    async def test_the_next_attempt_comes_when_the_endpoint_asks_for_it(
        self,
        server: FakeOpenAI,
        make_model: MakeModel,
        clock: FakeClock,
        answer: Answer,
        least: float | None,
        most: float | None,
    ) -> None:
        clock.set(datetime(2026, 10, 21, 7, 27, 50, tzinfo=UTC))
        watcher = Watcher(clock)
        server.will(answer, say("here"))
        model = make_model(server.base_url)
        if least is None or most is None:
            assert (await failing(model, watcher)).retry_after == 65.5
            return
        assert (await model.complete(question(), watcher)).text == "here"
        [(waited, _)] = watcher.waits
        assert least <= waited <= most

    async def test_a_long_wait_is_not_sat_out_within_a_turn(
        self, model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
    ) -> None:
        server.will(fail(429, retry_after="3600"))
        error = await failing(model, watcher)
        assert (error.kind, error.retry_after) == ("rate_limit", 3600)
        assert watcher.waits == []
        assert len(server.requests) == 1

    async def test_waits_grow_and_requests_end_with_the_allowed_attempts(
        self, model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
    ) -> None:
        server.otherwise = lambda _: fail(503)
        assert (await failing(model, watcher)).kind == "server"
        assert len(server.requests) == ATTEMPTS
        first, second, third = (seconds for seconds, _ in watcher.waits)
        assert first <= 1 <= second <= 2 <= third <= 4

    async def test_one_attempt_means_one_request(
        self, make_model: MakeModel, server: FakeOpenAI, watcher: Watcher
    ) -> None:
        server.otherwise = lambda _: fail(503)
        await failing(make_model(server.base_url, attempts=1), watcher)
        assert len(server.requests) == 1


class TestRefusals:
    @pytest.mark.parametrize(
        ("answer", "kind"),
        [
            (fail(400, "bad thing in the request"), "request"),
            (fail(401, "Incorrect API key provided"), "auth"),
            (fail(403), "auth"),
            (fail(404, "The model `x` does not exist"), "model"),
            (html(404), "model"),
            (fail(429, "You exceeded your current quota", code="insufficient_quota"), "quota"),
            (fail(402, "Insufficient Balance"), "quota"),
            (
                fail(400, "This model's maximum context length is 8192 tokens.", code="context_length_exceeded"),
                "context",
            ),
            (fail(400, "filtered", code="content_filter"), "filtered"),
            (plain({"error": {"message": "no route found for model"}}), "model"),
        ],
    )
    async def test_what_another_attempt_cannot_mend_is_asked_once(
        self, model: OpenAIModel, server: FakeOpenAI, watcher: Watcher, answer: Answer, kind: LLMErrorKind
    ) -> None:
        server.otherwise = lambda _: answer
        assert (await failing(model, watcher)).kind == kind
        assert len(server.requests) == 1

    @pytest.mark.parametrize(
        "answer",
        [
            chunks({"content": "I will "}, finish="content_filter"),
            chunks({"refusal": "I can't help with that."}),
            plain({"choices": [{"finish_reason": "content_filter", "message": {"content": None}}]}),
        ],
    )
    async def test_a_provider_that_declines_is_not_asked_again(
        self, model: OpenAIModel, server: FakeOpenAI, watcher: Watcher, answer: Answer
    ) -> None:
        server.otherwise = lambda _: answer
        assert (await failing(model, watcher)).kind == "filtered"
        assert len(server.requests) == 1

    async def test_a_key_that_no_header_can_hold_is_a_wrong_key(
        self, make_model: MakeModel, server: FakeOpenAI, watcher: Watcher
    ) -> None:
        assert (await failing(make_model(server.base_url, api_key="“sk-…”"), watcher)).kind == "auth"
        assert server.requests == []


class TestNoAnswer:
    @pytest.mark.parametrize(
        ("answer", "kind"),
        [
            (plain({"choices": []}), "empty"),
            (plain({}), "empty"),
            (say(""), "empty"),
            (say(" \n"), "empty"),
            (chunks({"reasoning_content": "hmm"}), "empty"),
            (chunks({"reasoning": "hmm"}, finish="length"), "empty"),
            (say("<think>hmm"), "empty"),
            (chunks({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "", "arguments": "{}"}}]}), "empty"),
            (Answer((Send(b""),)), "empty"),
            (html(), "protocol"),
            (Answer((Send(b"\n\n <html>"),)), "protocol"),
            (Answer((Send(b"Service unavailable"),), content_type="text/plain"), "protocol"),
            (Answer((Send(b'{"choices": [{"mess'),), content_type="application/json"), "protocol"),
            (Answer((event("{broken"), event({"choices": []}))), "protocol"),
            (plain(["not", "an", "object"]), "protocol"),
            (plain({"error": "something odd"}), "protocol"),
        ],
    )
    async def test_it_is_asked_once_more_and_no_more(
        self, model: OpenAIModel, server: FakeOpenAI, watcher: Watcher, answer: Answer, kind: LLMErrorKind
    ) -> None:
        server.otherwise = lambda _: answer
        error = await failing(model, watcher)
        assert error.kind == kind
        assert error.partial == ""
        assert "".join(watcher.screens).strip() == ""
        assert len(server.requests) == 2

    @pytest.mark.parametrize(
        ("error", "kind", "requests"),
        [
            ({"error": {"message": "Overloaded", "type": "overloaded_error"}}, "server", ATTEMPTS),
            ({"error": {"message": "slow down", "code": 429}}, "rate_limit", ATTEMPTS),
            ({"error": {"message": "upstream", "code": "502"}, "choices": []}, "server", ATTEMPTS),
            ({"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}, "context", 1),
            ({"object": "error", "message": "model not found", "code": 404}, "model", 1),
            ({"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}, "server", ATTEMPTS),
        ],
    )
    async def test_an_error_in_the_middle_of_a_stream_counts_like_one_in_front_of_it(
        self,
        model: OpenAIModel,
        server: FakeOpenAI,
        watcher: Watcher,
        error: dict[str, object],
        kind: LLMErrorKind,
        requests: int,
    ) -> None:
        server.otherwise = lambda _: beginning("Half an ans", event(error))
        assert (await failing(model, watcher)).kind == kind
        assert len(server.requests) == requests


class TestBrokenOff:
    @pytest.mark.parametrize(
        "broken",
        [
            beginning("The answer is 4"),
            beginning("The answer is 4", Reset()),
            beginning("The answer is 4", Send(b'data: {"choices":[{"index":0,"del')),
            beginning("The answer is 4", Send(b'data: {"choices":[{"index":0,"del'), Reset()),
            chunks({"content": "The answer is 4"}, finish=None),
            beginning("The answer is 4", *call(("read_file", {"path": "a"})).parts[:3], Reset()),
        ],
    )
    async def test_it_is_asked_again_and_the_half_is_taken_back(
        self, model: OpenAIModel, server: FakeOpenAI, watcher: Watcher, broken: Answer
    ) -> None:
        server.will(broken, say("The answer is 42."))
        reply = await model.complete(question(), watcher)
        assert (reply.text, reply.tool_calls) == ("The answer is 42.", ())
        assert (watcher.screen, watcher.restarts) == ("The answer is 42.", 1)

    async def test_if_every_attempt_breaks_off_the_longest_piece_is_handed_over(
        self, model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
    ) -> None:
        server.will(beginning("The answer is 4", Reset()), *(beginning("The", Reset()) for _ in range(3)))
        error = await failing(model, watcher)
        assert (error.kind, error.partial) == ("cut", "The answer is 4")
        assert len(server.requests) == ATTEMPTS

    async def test_an_answer_at_the_output_limit_says_so(
        self, model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
    ) -> None:
        server.will(say("The answer is ", finish="length"))
        reply = await model.complete(question(), watcher)
        assert (reply.text, reply.finish) == ("The answer is ", "length")

    @pytest.mark.parametrize(
        "then", [Reset(), Hang(), Ping(), Send(b"data: {nonsense\n\n<html>\n"), event({"error": "x"})]
    )
    async def test_nothing_behind_the_end_of_an_answer_can_harm_it(
        self, model: OpenAIModel, server: FakeOpenAI, clock: FakeClock, watcher: Watcher, then: Send
    ) -> None:
        complete = chunks({"content": "Whole."}, done=False)
        server.will(Answer((*complete.parts, then)))
        task = asyncio.create_task(model.complete(question(), watcher))
        if isinstance(then, Hang | Ping):
            await watcher.until(lambda: watcher.screen == "Whole.")
            await clock.sleeping(2)
            clock.advance(GRACE)
        assert (await task).text == "Whole."
        assert len(server.requests) == 1


def ended(delta: dict[str, object], finish: str = "stop") -> dict[str, object]:
    """A chunk that says that it is the last one."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


class TestEndsThatAreNone:
    @pytest.mark.parametrize("finish", ["stop", "null", "tool_calls"])
    async def test_text_behind_an_end_belongs_to_the_answer_however_slowly_it_comes(
        self, model: OpenAIModel, server: FakeOpenAI, clock: FakeClock, watcher: Watcher, finish: str
    ) -> None:
        pieces = ["The answer", " is forty-", "two, and ", "so on."]
        gates = [asyncio.Event() for _ in pieces]
        parts = [
            (event(ended({"content": piece}, finish)), Wait(gate)) for piece, gate in zip(pieces, gates, strict=True)
        ]
        server.will(Answer((*(part for pair in parts for part in pair), event(ended({})), event("[DONE]"))))
        task = asyncio.create_task(model.complete(question(), watcher))
        for number, gate in enumerate(gates, 1):
            await watcher.until(lambda number=number: watcher.screen == "".join(pieces[:number]))  # type: ignore[misc]
            clock.advance(GRACE * 0.9 if number == 1 else GRACE * 5)
            gate.set()
        assert (await task).text == "".join(pieces)
        assert len(server.requests) == 1

    async def test_an_answer_that_stops_growing_behind_an_end_that_was_none_is_asked_for_again(
        self, model: OpenAIModel, server: FakeOpenAI, clock: FakeClock, watcher: Watcher
    ) -> None:
        halves = [event(ended({"content": "Half "})), event(ended({"content": "an ans"}))]
        server.will(Answer((*halves, Hang())), say("Whole."))
        task = asyncio.create_task(model.complete(question(), watcher))
        await watcher.until(lambda: watcher.screen == "Half an ans")
        clock.advance(60)
        assert (await task).text == "Whole."

    @pytest.mark.parametrize(
        "thought",
        [
            {"reasoning_content": "hm"},
            {"reasoning": "hm"},
            {"content": "<think>hm"},
            {"content": ""},
            {"role": "assistant"},
        ],
    )
    async def test_thoughts_are_no_answer_that_could_have_ended(
        self, model: OpenAIModel, server: FakeOpenAI, watcher: Watcher, thought: dict[str, object]
    ) -> None:
        growing = GrowingAnswer(VisibleText(ShownStream(watcher)))
        growing.add(ended(thought))
        assert not growing.finished
        close = "</think>" if "<think>" in str(thought) else ""
        server.will(Answer((event(ended(thought)), event(ended({"content": f"{close}Hello"})), event("[DONE]"))))
        assert (await model.complete(question(), watcher)).text == "Hello"

    async def test_thoughts_between_a_remark_and_a_call_end_nothing(self, watcher: Watcher) -> None:
        growing = GrowingAnswer(VisibleText(ShownStream(watcher)))
        growing.add(ended({"content": "Let me see."}, ""))
        growing.add(ended({"reasoning_content": "the file first"}))
        assert not growing.finished
        growing.add(ended({"tool_calls": [{"id": "a", "function": {"name": "ls", "arguments": "{}"}}]}, "tool_calls"))
        assert [c.name for c in growing.reply("main", ()).tool_calls] == ["ls"]

    async def test_an_end_behind_the_thoughts_of_an_answer_at_the_limit_is_one(self, watcher: Watcher) -> None:
        growing = GrowingAnswer(VisibleText(ShownStream(watcher)))
        growing.add(ended({"reasoning_content": "hm"}, ""))
        growing.add(ended({}, "length"))
        assert growing.finished


class TestProxy:
    async def test_a_server_on_this_machine_is_asked_without_the_proxy_of_the_environment(
        self, make_model: MakeModel, server: FakeOpenAI, watcher: Watcher, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        server.will(say("here"))
        assert (await make_model(server.base_url).complete(question(), watcher)).text == "here"

    @pytest.mark.parametrize(
        ("variable", "bypass", "kind"),
        [("http_proxy", "", "proxy"), ("ALL_PROXY", "", "proxy"), ("http_proxy", "model.invalid", "network")],
    )
    async def test_a_way_through_a_proxy_is_named_when_it_is_broken(
        self,
        make_model: MakeModel,
        watcher: Watcher,
        monkeypatch: pytest.MonkeyPatch,
        variable: str,
        bypass: str,
        kind: LLMErrorKind,
    ) -> None:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
        monkeypatch.setenv("no_proxy", bypass)
        error = await failing(make_model("http://model.invalid/v1", attempts=1), watcher)
        assert (error.kind, error.said) == (kind, variable if kind == "proxy" else "")


class TestUnreachable:
    async def test_a_refused_connection_is_tried_again_and_then_named(
        self, make_model: MakeModel, unused_tcp_port: int, watcher: Watcher
    ) -> None:
        error = await failing(make_model(f"http://127.0.0.1:{unused_tcp_port}/v1"), watcher)
        assert error.kind == "network"
        assert len(watcher.waits) == ATTEMPTS - 1

    async def test_a_server_without_tls_behind_an_https_address_is_a_network_problem(
        self, make_model: MakeModel, server: FakeOpenAI, watcher: Watcher
    ) -> None:
        model = make_model(server.base_url.replace("http:", "https:"), attempts=1)
        assert (await failing(model, watcher)).kind == "network"

    @pytest.mark.parametrize("address", ["127.0.0.1:8000/v1", "http://[::1/v1", "ftp://127.0.0.1/v1"])
    async def test_an_address_that_is_none_is_a_network_problem(
        self, make_model: MakeModel, watcher: Watcher, address: str
    ) -> None:
        assert (await failing(make_model(address, attempts=1), watcher)).kind == "network"

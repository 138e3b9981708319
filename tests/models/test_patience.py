"""How long a model is waited for, and what happens to a question that is withdrawn."""

import asyncio

import pytest

from nanobot.errors import LLMError
from nanobot.models.endpoint import is_near
from nanobot.models.openai import OpenAIModel
from tests.fakes.clock import FakeClock
from tests.fakes.openai_answers import Answer, Hang, Ping, Send, Wait, beginning, chunks, fail, say
from tests.fakes.openai_server import FakeOpenAI
from tests.models.conftest import MakeModel
from tests.models.watching import Watcher, question


class TestTime:
    @pytest.mark.parametrize("silence", [Hang(), Ping()])
    async def test_an_attempt_ends_when_its_whole_time_is_over_although_bytes_arrive(
        self, make_model: MakeModel, server: FakeOpenAI, clock: FakeClock, watcher: Watcher, silence: Hang | Ping
    ) -> None:
        server.will(Answer((silence,)))
        model = make_model(server.base_url, timeout=10, idle_timeout=60)
        task = asyncio.create_task(model.complete(question(), watcher))
        received = await server.received()
        clock.advance(10)
        with pytest.raises(LLMError) as caught:
            await task
        assert (caught.value.kind, caught.value.limit) == ("timeout", "timeout")
        assert len(server.requests) == 1, "another attempt would only take as long again"
        await received.gone.wait()

    async def test_without_progress_it_is_asked_once_more_however_many_comments_come(
        self, make_model: MakeModel, server: FakeOpenAI, clock: FakeClock, watcher: Watcher
    ) -> None:
        server.otherwise = lambda _: Answer((Ping(),))
        task = asyncio.create_task(make_model(server.base_url, idle_timeout=5).complete(question(), watcher))
        for number in (1, 2):
            received = await server.received(number)
            clock.advance(5)
            await received.gone.wait()
        with pytest.raises(LLMError) as caught:
            await task
        assert (caught.value.kind, caught.value.limit) == ("timeout", "idle_timeout")

    @pytest.mark.parametrize("first", [{"content": "slow"}, {"reasoning_content": "hm"}])
    async def test_a_server_that_is_slow_to_begin_is_waited_for_and_less_so_once_it_began(
        self,
        make_model: MakeModel,
        server: FakeOpenAI,
        clock: FakeClock,
        watcher: Watcher,
        first: dict[str, str],
    ) -> None:
        gate = asyncio.Event()
        begun = chunks(first, {"content": "!"}, finish=None, done=False)
        server.will(Answer((*chunks(finish=None, done=False).parts, Wait(gate), *begun.parts, Hang())), say("fast"))
        model = make_model(server.base_url, idle_timeout=5, first_timeout=50)
        task = asyncio.create_task(model.complete(question(), watcher))
        await server.received()
        for _ in range(9):  # the time passes in steps, as the watch sleeps in steps
            clock.advance(5)
            await asyncio.sleep(0)
        assert len(server.requests) == 1
        gate.set()
        await watcher.until(lambda: watcher.screen.endswith("!"))
        clock.advance(5)
        assert (await task).text == "fast"
        assert watcher.waits[0][1] == "cut"

    async def test_progress_is_given_more_time(
        self, make_model: MakeModel, server: FakeOpenAI, clock: FakeClock, watcher: Watcher
    ) -> None:
        server.will(beginning("slow", Hang()), say("fast"))
        task = asyncio.create_task(make_model(server.base_url, idle_timeout=5).complete(question(), watcher))
        await server.received()
        clock.advance(4)
        await watcher.until(lambda: watcher.screen == "slow")
        clock.advance(4)
        await asyncio.sleep(0)
        assert len(server.requests) == 1, "8 seconds in all, but only 4 since the last word"
        clock.advance(1)
        assert (await task).text == "fast"
        assert watcher.waits[0][1] == "cut", "it broke off in the middle"

    async def test_a_hanging_error_page_is_not_waited_for_without_end(
        self, make_model: MakeModel, server: FakeOpenAI, clock: FakeClock, watcher: Watcher
    ) -> None:
        server.will(Answer((Send(b"oops"), Hang()), status=500), say("here"))
        task = asyncio.create_task(make_model(server.base_url, idle_timeout=5).complete(question(), watcher))
        await server.received()
        clock.advance(5)
        assert (await task).text == "here"


class TestCancelling:
    @pytest.mark.parametrize("answer", [Answer((Hang(),)), Answer((Ping(),)), beginning("Half", Hang())])
    async def test_it_closes_the_connection_at_once(
        self, model: OpenAIModel, server: FakeOpenAI, watcher: Watcher, answer: Answer
    ) -> None:
        server.will(answer)
        task = asyncio.create_task(model.complete(question(), watcher))
        received = await server.received()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(120):
            await received.gone.wait()

    @pytest.mark.parametrize("moment", range(0, 40, 2))
    async def test_at_any_moment_it_leaves_a_model_that_can_be_asked_again(
        self, model: OpenAIModel, server: FakeOpenAI, watcher: Watcher, moment: int
    ) -> None:
        server.otherwise = lambda body: say("ok") if body["messages"][0]["content"] == "again" else Answer((Hang(),))
        task = asyncio.create_task(model.complete(question(), watcher))
        for _ in range(moment):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await model.complete(question("again"), watcher)).text == "ok"
        async with asyncio.timeout(120):
            for received in server.requests[:-1]:
                await received.gone.wait()

    async def test_while_waiting_for_the_next_attempt_it_ends_at_once(
        self, model: OpenAIModel, server: FakeOpenAI
    ) -> None:
        server.will(fail(429, retry_after="30"))
        patient = Watcher()
        task = asyncio.create_task(model.complete(question(), patient))
        await patient.until(lambda: bool(patient.waits))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("address", "near"),
    [
        ("http://localhost:11434/v1", True),
        ("http://127.0.0.1:8080/v1", True),
        ("http://[::1]:8080/v1", True),
        ("http://192.168.1.20:1234/v1", True),
        ("http://10.0.0.7/v1", True),
        ("http://ollama:11434/v1", True),
        ("http://host.docker.internal:1234/v1", True),
        ("http://studio.local:1234/v1", True),
        ("https://api.openai.com/v1", False),
        ("https://8.8.8.8/v1", False),
        ("https://localhost.example.com/v1", False),
    ],
)
def test_an_address_at_home_is_known_as_one(address: str, near: bool) -> None:
    assert is_near(address) is near

"""What happens between a message and its answer."""

import asyncio
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from nanobot.errors import LLMError
from nanobot.i18n import say
from nanobot.messages import Address
from nanobot.ports import Caller, ModelInfo, Reply, ToolResult
from nanobot.transcript import Message, Usage
from tests.fakes.bot import ADDRESS, Bot
from tests.fakes.llm import HANG, ScriptedLLM, calls, says
from tests.fakes.tools import Echo, Hang
from tests.test_history import problems


def wire(llm: ScriptedLLM) -> list[list[tuple[object, ...]]]:
    """What each request held, as far as an endpoint sees it."""
    return [
        [(m.role, m.context, m.content, tuple(m.tool_calls), m.tool_call_id) for m in request.messages]
        for request in llm.requests
    ]


async def test_a_turn_is_answered_and_every_message_is_kept(tmp_path: Path) -> None:
    llm = ScriptedLLM(calls("echo", '{"text": "hi"}'), says("done", usage=Usage(100, 5)))
    async with Bot(tmp_path, llm, tools=[Echo()]).running() as bot:
        answer = await bot.ask("go")
        kept = await bot.store.messages(ADDRESS.session_key)

    assert (answer.text, answer.kind) == ("done", "answer")
    assert answer.stats is not None
    assert answer.stats.input_tokens == 100
    assert [m.role for m in kept] == ["user", "assistant", "tool", "assistant"]
    assert len({m.turn for m in kept}) == 1
    assert [str(m.origin) for m in kept] == ["owner", "owner", "tool", "tool"]
    assert kept[0].content == "go"
    assert kept[0].sender is not None


async def test_each_request_is_a_prefix_of_the_next_whatever_the_time(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("one"), calls("echo"), says("two"), says("three"))
    async with Bot(tmp_path, llm, tools=[Echo()]).running() as bot:
        for text in ("a", "b", "c"):
            await bot.ask(text)
            bot.clock.advance(90_000)
    requests = wire(llm)

    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(requests))
    assert "time:" not in str(requests[0][0])
    assert "time:" in str(requests[-1][1][1])


async def test_the_conversation_goes_on_in_a_new_process_with_the_same_prefix(tmp_path: Path) -> None:
    first, second = ScriptedLLM(says("one")), ScriptedLLM(says("two"))
    async with Bot(tmp_path, first).running() as bot:
        await bot.ask("I am Ada")
    async with Bot(tmp_path, second).running() as bot:
        await bot.ask("who am I?")

    assert wire(second)[0][:2] == wire(first)[0]
    assert second.requests[0].messages[2].content == "one"


async def test_an_edited_soul_is_in_the_next_request(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("ok"))
    bot = Bot(tmp_path, llm)
    async with bot.running():
        await bot.ask("hi")
        bot.workspace.soul.write_text("You are a pirate.", encoding="utf-8")
        await bot.ask("hi")

    assert "pirate" not in str(llm.requests[0].messages[0].content)
    assert "pirate" in str(llm.requests[1].messages[0].content)


@pytest.mark.parametrize("kind", ["auth", "model", "quota", "context", "network", "empty", "filtered", "protocol"])
async def test_a_failure_is_a_sentence_and_never_part_of_the_conversation(tmp_path: Path, kind: str) -> None:
    error = LLMError(kind, "raw detail 7f3a")  # type: ignore[arg-type]  # parametrize gives strings
    llm = ScriptedLLM(error, says("fine"))
    async with Bot(tmp_path, llm).running() as bot:
        notice = await bot.ask("one")
        answer = await bot.ask("two")
        kept = await bot.store.messages(ADDRESS.session_key)

    assert notice.kind == "notice"
    assert "7f3a" not in notice.text
    assert answer.text == "fine"
    assert [m.content for m in kept] == ["one", "two", "fine"]
    assert problems(llm.requests[-1].messages[1:]) == []


async def test_what_came_of_a_broken_answer_is_shown_and_kept_as_cut(tmp_path: Path) -> None:
    llm = ScriptedLLM(LLMError("cut", partial="The answer is 4"), says("again"))
    async with Bot(tmp_path, llm).running() as bot:
        answer = await bot.ask("what?")
        kept = await bot.store.messages(ADDRESS.session_key)

    assert answer.text == f"The answer is 4\n\n{say('turn.cut', 'en')}"
    assert kept[-1].incomplete == "cut"


async def test_stop_ends_a_hanging_tool_and_leaves_a_legal_conversation(tmp_path: Path) -> None:
    hang, llm = Hang(), ScriptedLLM(calls("hang"), says("here again"))
    async with Bot(tmp_path, llm, tools=[hang]).running() as bot:
        await bot.say("go")
        await hang.started.wait()
        assert (await bot.ask("/stop")).text == say("command.stopped", "en")
        assert (await bot.ask("next")).text == "here again"

    assert len(llm.requests) == 2
    assert problems(llm.requests[-1].messages[1:]) == []
    assert "Interrupted" in str(llm.requests[-1].messages)


async def test_stop_ends_a_hanging_request_and_keeps_the_half_answer_as_interrupted(tmp_path: Path) -> None:
    llm = ScriptedLLM(HANG, says("back"))
    async with Bot(tmp_path, llm).running() as bot:
        await bot.say("go")
        await llm.asked.wait()
        await bot.ask("/stop")
        await bot.ask("next")
        kept = await bot.store.messages(ADDRESS.session_key)

    assert [(m.content, m.incomplete) for m in kept][1] == ("half a thou", "interrupted")


async def test_a_message_during_a_turn_joins_it_and_another_persons_waits(tmp_path: Path) -> None:
    started, release = asyncio.Event(), asyncio.Event()
    llm = ScriptedLLM(calls("slow"), says("first"), says("second"))

    class Slow(Echo):
        async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
            started.set()
            await release.wait()
            return await super().run(arguments, caller)

    async with Bot(tmp_path, llm, tools=[Slow("slow")]).running() as bot:
        await bot.say("go")
        await started.wait()
        await bot.say("from Bob", sender="bob")
        await bot.say("and also this")
        await asyncio.sleep(0.05)
        release.set()
        assert (await bot.hear()).text == "first"
        assert llm.requests[1].messages[-1].content == "and also this"
        assert (await bot.hear()).text == "second"
        assert llm.requests[2].messages[-1].content == "from Bob"


async def test_a_busy_session_does_not_hold_up_another(tmp_path: Path) -> None:
    hang = Hang()

    def script(request: object) -> Reply:
        return calls("hang") if "hang" in str(request) and "quick" not in str(request) else says("quick answer")

    async with Bot(tmp_path, ScriptedLLM(script), tools=[hang]).running() as bot:
        await bot.say("please hang")
        await hang.started.wait()
        assert (await bot.ask("quick one", at=Address("cli", "other"))).text == "quick answer"


async def test_after_a_crash_the_open_call_is_closed_told_and_not_run_again(tmp_path: Path) -> None:
    echo, llm = Echo("write", reads_only=False), ScriptedLLM(says("hello again"))
    bot = Bot(tmp_path, llm, tools=[echo])
    session = await bot.store.load(ADDRESS.session_key)
    await bot.store.append(
        session,
        Message(role="user", content="save it", id="1", at="2026-01-01T00:00:00+00:00", turn="t"),
        Message(
            role="assistant", tool_calls=calls("write").tool_calls, id="2", at="2026-01-01T00:00:00+00:00", turn="t"
        ),
    )
    fresh = Bot(tmp_path, llm, tools=[echo])
    interruption = await fresh.agent.recover(ADDRESS)
    again = await Bot(tmp_path, llm).agent.recover(ADDRESS)
    async with fresh.running():
        await fresh.ask("and now?")

    assert interruption is not None
    assert (interruption.asked, list(interruption.tools)) == ("save it", ["write"])
    assert again is None
    assert echo.calls == []
    assert problems(llm.requests[0].messages[1:]) == []
    assert "Interrupted" in str(llm.requests[0].messages)


async def test_new_starts_afresh_and_keeps_what_was_said(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("ok"))
    async with Bot(tmp_path, llm).running() as bot:
        await bot.ask("old words")
        await bot.ask("/new")
        await bot.ask("new words")
        kept = await bot.store.messages(ADDRESS.session_key)

    assert "old words" not in str(llm.requests[-1].messages)
    assert [m.content for m in kept if m.role == "user"] == ["old words", "new words"]


async def test_the_window_moves_by_a_good_piece_and_then_rests(tmp_path: Path) -> None:
    info = ModelInfo("small", "small", 8000, 1000)
    llm = ScriptedLLM(says("word " * 100), info=info)
    async with Bot(tmp_path, llm).running() as bot:
        for n in range(60):
            await bot.ask(f"question {n} " + "text " * 60)
    firsts = [request.messages[1].id for request in llm.requests]
    moves = sum(a != b for a, b in pairwise(firsts))

    assert 2 <= moves <= 12
    assert all(problems(request.messages[1:]) == [] for request in llm.requests)

    other = ScriptedLLM(says("ok"), info=info)
    async with Bot(tmp_path, other).running() as bot:
        await bot.ask("after a restart")
    assert other.requests[0].messages[1].id == firsts[-1]


async def test_a_long_tool_stretch_ends_well_in_a_small_window(tmp_path: Path) -> None:
    info = ModelInfo("small", "small", 8000, 1000)
    step = iter(range(100))
    script = ScriptedLLM(
        lambda _: (
            calls("echo", f'{{"text": "{"word " * 200}"}}', call_id=f"c{n}") if (n := next(step)) < 30 else says("done")
        ),
        info=info,
    )
    async with Bot(tmp_path, script, tools=[Echo()]).running() as bot:
        assert (await bot.ask("the task")).text == "done"

    last = script.requests[-1].messages
    assert last[1].content == "the task"
    assert len(last) < 40
    assert problems(last[1:]) == []


async def test_files_that_fill_the_window_are_named_and_cost_no_request(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("ok"), info=ModelInfo("tiny", "tiny", 4000, 500))
    bot = Bot(tmp_path, llm)
    bot.workspace.user.write_text("fact. " * 2600, encoding="utf-8")
    async with bot.running():
        notice = await bot.ask("hi")

    assert "USER.md" in notice.text
    assert llm.requests == []


async def test_a_file_that_is_cut_is_told_once(tmp_path: Path) -> None:
    bot = Bot(tmp_path, ScriptedLLM(says("ok")))
    bot.workspace.soul.write_text("line\n" * 5000, encoding="utf-8")
    async with bot.running():
        for _ in range(3):
            await bot.ask("hi")

    assert ["SOUL.md" in item.text for item in bot.progress if item.kind == "notice"] == [True]


async def test_a_small_model_reads_character_facts_and_the_last_words_only(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("ok"), info=ModelInfo("small", "small", 8000, 500, compact=True))
    bot = Bot(tmp_path, llm, tools=[Echo()])
    bot.workspace.soul.write_text("You are a pirate.", encoding="utf-8")
    bot.workspace.memory_file.write_text("# Memory\n\n## People\n- Her dog is called Pixel\n", encoding="utf-8")
    async with bot.running():
        for n in range(9):
            await bot.ask(f"question {n}")
    request = llm.requests[-1]

    assert request.tools == []
    assert str(request.messages[0].content).startswith("You are a pirate.")
    assert "Her dog is called Pixel" in str(request.messages[0].content)
    assert len(request.messages) <= 7
    assert request.messages[1].role == "user"
    assert all(message.context is None for message in request.messages)


async def test_another_model_can_be_chosen_for_one_session(tmp_path: Path) -> None:
    one = ScriptedLLM(says("from one"), info=ModelInfo("one", "m1", 8000, 500))
    two = ScriptedLLM(says("from two"), info=ModelInfo("two", "m2", 8000, 500))
    async with Bot(tmp_path, one, two).running() as bot:
        shown = await bot.ask("/model")
        await bot.say(shown.buttons[0].value, answers=shown.id)
        await bot.hear()
        assert (await bot.ask("hi")).text == "from two"
        assert (await bot.ask("hi", at=Address("cli", "other"))).text == "from one"
        assert "Did you mean" in (await bot.ask("/model twoo")).text


async def test_an_unknown_command_gets_a_suggestion_and_never_reaches_the_model(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("ok"))
    async with Bot(tmp_path, llm).running() as bot:
        assert "/sessions" in (await bot.ask("/sesions")).text
        assert (await bot.ask("/etc/hosts is what?")).text == "ok"

    assert len(llm.requests) == 1

"""What happens between a message and its answer."""

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from nanobot.aio import shielded
from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.errors import LLMError, StoreError
from nanobot.i18n import say
from nanobot.messages import Address, InboundMessage, Sender
from nanobot.ports import Caller, ModelInfo, Reply, Request, Stream, ToolResult
from nanobot.sessions.store import SessionManager
from nanobot.transcript import Line, Message, Session, Usage
from nanobot.workspace import Workspace
from tests.core.test_legal import problems
from tests.fakes.bot import ADDRESS, Bot
from tests.fakes.llm import HANG, ScriptedLLM, calls, says
from tests.fakes.tools import Echo, Hang


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


async def test_a_command_that_waits_is_told_so_runs_once_and_is_no_message_to_stop(tmp_path: Path) -> None:
    hang, llm = Hang(), ScriptedLLM(calls("hang"), says("Hello."))
    async with Bot(tmp_path, llm, tools=[hang]).running() as bot:
        await bot.say("go")
        await hang.started.wait()
        for _ in range(2):
            await bot.say("/new")
            assert (await bot.hear()).text == say("command.waits", "en", command="new")
        stopped = await bot.ask("/stop")
        assert stopped.text == "Stopped. /new still waits, and comes before your next message."
        await bot.say("hello")
        assert [(await bot.hear()).text for _ in range(2)] == [say("command.new", "en"), "Hello."]


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
        await bot.until_waiting(2)
        release.set()
        assert (await bot.hear()).text == "first"
        assert llm.requests[1].messages[-1].content == "and also this"
        assert (await bot.hear()).text == "second"
        assert llm.requests[2].messages[-1].content == "from Bob"


async def test_an_edit_while_the_answer_is_written_has_it_written_anew(tmp_path: Path) -> None:
    writing, edited = asyncio.Event(), asyncio.Event()

    class Slow(ScriptedLLM):
        async def complete(self, request: Request, stream: Stream) -> Reply:
            if not self.requests:
                stream.text("By car, ")
                writing.set()
                await edited.wait()
            return await super().complete(request, stream)

    llm = Slow(says("By car, of course."), says("By train, then."), says("Bob, too."))
    async with Bot(tmp_path, llm).running() as bot:
        first = InboundMessage(
            id="m1", address=ADDRESS, sender=Sender("local", "Ada"), authority=OWNER_IN_TERMINAL, text="How, by car?"
        )
        await bot.bus.publish(first)
        await writing.wait()
        await bot.say("from Bob", sender="bob")
        await bot.say("thanks in advance")
        await bot.bus.publish(replace(first, id="m1:edit", text="How, by train?", corrects="m1"))
        await bot.ask("/help")  # is sorted behind them
        edited.set()
        answers = [(await bot.hear()).text for _ in range(2)]
        kept = await bot.store.messages(ADDRESS.session_key)

    assert answers == ["By train, then.", "Bob, too."]
    assert [line.content for line in kept] == [
        "How, by car?", "How, by train?", "thanks in advance", "By train, then.", "from Bob", "Bob, too.",
    ]  # fmt: skip
    assert "new wording" in (llm.requests[1].messages[-2].context or "")


async def test_a_busy_session_does_not_hold_up_another(tmp_path: Path) -> None:
    hang = Hang()

    def script(request: Request, _: Stream) -> Reply:
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
    assert (interruption.asked, list(interruption.tools)) == (["save it"], ["write"])
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
    steps = [calls("echo", f'{{"text": "{n} {"word " * 200}"}}', call_id=f"c{n}") for n in range(30)]
    script = ScriptedLLM(*steps, says("done"), info=info)
    async with Bot(tmp_path, script, tools=[Echo()]).running() as bot:
        assert (await bot.ask("the task")).text == "done"

    last = script.requests[-1].messages
    assert last[1].content == "the task"
    assert len(last) < 40
    assert problems(last[1:]) == []


@pytest.mark.parametrize("limit", ["timeout", "idle_timeout"])
async def test_the_advice_after_a_long_wait_names_the_setting_that_ended_it(tmp_path: Path, limit: str) -> None:
    async with Bot(tmp_path, ScriptedLLM(LLMError("timeout", limit=limit))).running() as bot:
        assert f"raise {limit} under models.scripted" in (await bot.ask("hi")).text


async def test_a_server_that_cuts_in_silence_is_told_of_once_and_hides_no_need_to_make_room(tmp_path: Path) -> None:
    sizes: list[int] = []

    def cut(request: Request, stream: Stream) -> Reply:
        sizes.append(sum(len(message.content or "") for message in request.messages))
        return says("ok", usage=Usage(min(4096, sizes[-1] // 4), 5))

    async with Bot(tmp_path, ScriptedLLM(cut, info=ModelInfo("home", "home", 16_000, 2000))).running() as bot:
        answers = [(await bot.ask(f"{n} " + "some words " * 363)).text for n in range(20)]

    told = [text for text in answers if "4096" in text]
    assert len(told) == 1
    assert "OLLAMA_CONTEXT_LENGTH" in told[0]
    assert "context_window: 4096 under models.home" in told[0]
    assert max(sizes) < 60_000


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


async def test_a_small_model_reads_its_character_and_the_one_fact_that_matters(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("ok"), info=ModelInfo("small", "small", 8000, 500, compact=True))
    bot = Bot(tmp_path, llm, tools=[Echo()])
    bot.workspace.soul.write_text("You are a pirate.", encoding="utf-8")
    bot.workspace.memory_file.write_text(
        "# Memory\n\n## Pets\n- My dog is called Pixel (2026-01-01)\n", encoding="utf-8"
    )
    async with bot.running():
        for text in ("Hello! My name is Ada.", "Tell me a joke", "What is my dog called?", "what's my name?", "why?"):
            await bot.ask(text)
    seen = [[(m.role, m.content) for m in request.messages] for request in llm.requests]

    assert all(request.tools == [] for request in llm.requests)
    assert all(message.context is None for request in llm.requests for message in request.messages)
    assert seen[1] == [("system", "You are a pirate."), ("user", "Tell me a joke")]
    assert seen[2][0][1] == "You are a pirate.\n\nWhat you know about the user:\nDog: Pixel"
    assert seen[2][-2:] == [("assistant", "Dog: Pixel."), ("user", "What is my dog called?")]
    assert "Name: Ada" in str(seen[3][0])
    assert [content for _, content in seen[4]] == ["You are a pirate.", "what's my name?", "ok", "why?"]


async def test_with_a_small_model_a_wish_to_remember_is_granted_without_it(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("ok"), info=ModelInfo("small", "small", 8000, 500, compact=True))
    async with Bot(tmp_path, llm).running() as bot:
        answer = await bot.ask("记住我的猫叫年糕")
        refused = await bot.ask("remember that my password is hunter2-FAKE")

    assert llm.requests == []
    assert not answer.failed
    assert refused.failed
    assert "我的猫叫年糕" in bot.workspace.memory_file.read_text(encoding="utf-8")
    assert "hunter2" not in bot.workspace.memory_file.read_text(encoding="utf-8")


class SlowStore(SessionManager):
    """Says when an append has begun, and lets it end when it may."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, fsync=False)
        self.slow_for: type[object] | str = ""
        self.begun, self.may_end = asyncio.Event(), asyncio.Event()

    async def append(self, session: Session, *lines: Line) -> None:
        if any(isinstance(line, Message) and line.role == self.slow_for for line in lines):
            self.begun.set()
            await shielded(self._later(session, *lines))
        else:
            await super().append(session, *lines)

    async def _later(self, session: Session, *lines: Line) -> None:
        await self.may_end.wait()
        await super().append(session, *lines)


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
async def test_stopped_while_a_message_is_written_it_is_kept_once(tmp_path: Path, role: str) -> None:
    store = SlowStore(Workspace(tmp_path))
    store.slow_for = role
    llm = ScriptedLLM(calls("echo", '{"text": "hi"}'), says("next answer"))
    async with Bot(tmp_path, llm, tools=[Echo()], store=store).running() as bot:
        await bot.say("go")
        await store.begun.wait()
        await bot.say("/stop")
        await asyncio.sleep(0)
        store.may_end.set()
        await bot.hear()
        store.slow_for = ""
        await bot.ask("next")
        kept = await store.messages(ADDRESS.session_key)
    fresh = ScriptedLLM(says("fresh"))
    async with Bot(tmp_path, fresh).running() as bot:
        await bot.ask("later")
        interruption = await bot.agent.recover(ADDRESS)

    assert [m.content for m in kept if m.role == "user"] == ["go", "next"]
    assert len([m for m in kept if m.role == "tool"]) == len({m.tool_call_id for m in kept if m.role == "tool"})
    assert wire(fresh)[0][1 : len(llm.requests[-1].messages)] == wire(llm)[-1][1:]
    assert interruption is None


async def test_messages_that_join_a_stopped_turn_are_not_lost(tmp_path: Path) -> None:
    store, hang = SlowStore(Workspace(tmp_path)), Hang()
    llm = ScriptedLLM(calls("slow"), says("never"), says("last"))
    release = asyncio.Event()

    class Slow(Echo):
        async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
            hang.started.set()
            await release.wait()
            return await super().run(arguments, caller)

    async with Bot(tmp_path, llm, tools=[Slow("slow")], store=store).running() as bot:
        await bot.say("go")
        await hang.started.wait()
        await bot.say("second")
        await bot.say("third")
        await bot.until_waiting(2)
        store.slow_for = "user"
        release.set()
        await store.begun.wait()
        await bot.say("/stop")
        await bot.until(lambda: bot.lanes.cut(ADDRESS.session_key) == "stopped")
        store.may_end.set()
        stopped = await bot.hear()
        store.slow_for = ""
        await bot.ask("fourth")
        kept = await store.messages(ADDRESS.session_key)

    assert "1" in stopped.text
    assert [m.content for m in kept if m.role == "user"] == ["go", "second", "third", "fourth"]


async def test_a_message_behind_a_command_does_not_overtake_it(tmp_path: Path) -> None:
    started, release = asyncio.Event(), asyncio.Event()

    class Slow(Echo):
        async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
            started.set()
            await release.wait()
            return await super().run(arguments, caller)

    llm = ScriptedLLM(calls("slow"), says("one"), says("two"))
    async with Bot(tmp_path, llm, tools=[Slow("slow")]).running() as bot:
        await bot.say("first")
        await started.wait()
        await bot.say("/new")
        await bot.say("second")
        await bot.until_waiting(2)
        release.set()
        texts = [(await bot.hear()).text for _ in range(4)]

    assert texts == [say("command.waits", "en", command="new"), "one", say("command.new", "en"), "two"]
    assert "first" not in str(llm.requests[-1].messages)


async def test_a_turn_that_cannot_be_written_ends_with_a_sentence_and_leaves_no_trace_in_the_next(
    tmp_path: Path,
) -> None:
    class Full(SlowStore):
        async def append(self, session: Session, *lines: Line) -> None:
            if self.slow_for and any(isinstance(line, Message) and line.role == "tool" for line in lines):
                raise StoreError("no space left on the disk")
            await super().append(session, *lines)

    store = Full(Workspace(tmp_path))
    store.slow_for = "full"
    llm = ScriptedLLM(calls("echo"), says("fine"))
    async with Bot(tmp_path, llm, tools=[Echo()], store=store).running() as bot:
        notice = await bot.ask("go")
        store.slow_for = ""
        answer = await bot.ask("next")
        kept = await store.messages(ADDRESS.session_key)

    assert "no space left" in notice.text
    assert answer.text == "fine"
    assert str(kept[-1].origin) == "owner"
    assert problems(llm.requests[-1].messages[1:]) == []


async def test_an_answer_cut_by_the_output_limit_is_not_taken_for_an_interruption(tmp_path: Path) -> None:
    async with Bot(tmp_path, ScriptedLLM(says("more ", finish="length"))).running() as bot:
        answer = await bot.ask("go")

    assert answer.failed
    assert await Bot(tmp_path, ScriptedLLM(says("ok"))).agent.recover(ADDRESS) is None


async def test_a_message_too_long_for_the_model_is_refused_and_the_next_is_answered(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("ok"), info=ModelInfo("small", "small", 8000, 1000))
    async with Bot(tmp_path, llm).running() as bot:
        refused = await bot.ask("word " * 20_000)
        answer = await bot.ask("and now?")

    assert refused.failed
    assert "/new" in refused.text
    assert answer.text == "ok"
    assert len(llm.requests) == 1


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


async def test_a_session_that_cannot_be_read_is_told_in_a_sentence(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("ok"))
    bot = Bot(tmp_path, llm)
    (bot.workspace.sessions / "cli" / "test.jsonl").mkdir(parents=True)
    async with bot.running():
        notice = await bot.ask("hi")

    assert notice.failed
    assert "could not be" in notice.text
    assert llm.requests == []


async def test_what_was_typed_and_not_answered_any_more_is_kept_and_told_at_the_next_start(tmp_path: Path) -> None:
    llm = ScriptedLLM(HANG)
    async with Bot(tmp_path, llm, steer=False).running() as bot:
        await bot.say("first")
        await llm.asked.wait()
        for text in ("second", "/new", "third"):
            await bot.say(text)
    fresh = Bot(tmp_path, ScriptedLLM(says("hello")))
    interruption = await fresh.agent.recover(ADDRESS)
    kept = await fresh.store.messages(ADDRESS.session_key)

    assert [m.content for m in kept if m.role == "user"] == ["first", "second", "third"]
    assert interruption is not None
    assert interruption.asked == ["second", "third"]
    assert await fresh.agent.recover(ADDRESS) is None


async def test_a_file_that_cannot_be_read_is_named_once_and_in_the_status(tmp_path: Path) -> None:
    bot = Bot(tmp_path, ScriptedLLM(says("ok")))
    bot.workspace.soul.mkdir()
    async with bot.running():
        for _ in range(2):
            assert (await bot.ask("hi")).text == "ok"
        status = await bot.ask("/status")

    assert ["SOUL.md cannot be read" in item.text for item in bot.progress if item.kind == "notice"] == [True]
    assert "SOUL.md cannot be read" in status.text


async def test_commands_that_come_quickly_are_carried_out_in_their_order(tmp_path: Path) -> None:
    async with Bot(tmp_path, ScriptedLLM()).running() as bot:
        for text in ("/sessions", "/help", "/nothing", "/model"):
            await bot.say(text)
        answers = [await bot.hear() for _ in range(4)]

    assert ["/new" in answer.text for answer in answers] == [False, True, False, False]
    assert "/nothing" in answers[2].text


async def test_a_skill_whose_description_is_lost_is_told_once(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("one"), says("two"), says("three"))
    bot = Bot(tmp_path, llm)
    skill = bot.workspace.skills / "brew" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndescription: tea: hot\n---\nBoil.\n", encoding="utf-8")
    async with bot.running():
        await bot.ask("a")
        await bot.ask("b")
        skill.write_text('---\ndescription: "tea: hot"\n---\nBoil.\n', encoding="utf-8")
        await bot.ask("c")

    told = [item.text for item in bot.progress if item.kind == "notice"]
    assert ["skills/brew/SKILL.md" in text for text in told] == [True]
    assert "line 2: a value that holds a colon must stand in quotes" in told[0]
    assert "- brew (`skills/brew/SKILL.md`)" in str(llm.requests[1].messages[0].content)
    assert "- brew: tea: hot" in str(llm.requests[2].messages[0].content)


@pytest.mark.parametrize("how", ["edited", "edited in place", "with CRLF", "deleted", "emptied"])
async def test_a_session_file_that_is_changed_from_outside_counts_as_it_is(tmp_path: Path, how: str) -> None:
    llm = ScriptedLLM(says("fine"))
    async with Bot(tmp_path, llm).running() as bot:
        await bot.ask("my boat is blue")
        (path,) = bot.workspace.sessions.rglob("*.jsonl")
        edited = path.read_bytes().replace(b"blue", b"teal")
        if how == "edited":
            path.with_suffix(".tmp").write_bytes(edited)
            path.with_suffix(".tmp").replace(path)
        elif how == "edited in place":
            path.write_bytes(edited)
        elif how == "with CRLF":
            path.write_bytes(edited.replace(b"\n", b"\r\n"))
        elif how == "deleted":
            path.unlink()
        else:
            path.write_bytes(b"")
        await bot.ask("two")
        await bot.ask("three")

    assert "blue" not in str(wire(llm)[1:])
    assert ("teal" in str(wire(llm)[1:])) == (how not in ("deleted", "emptied"))
    kept = path.read_text(encoding="utf-8")
    assert [text in kept for text in ('"two"', '"three"', "blue")] == [True, True, False]


async def left_waiting(tmp_path: Path, *texts: str) -> None:
    """A process that is killed while a turn runs and these messages wait: what it had written by then is all."""
    llm = ScriptedLLM(HANG)
    copy = tmp_path / "then"
    async with Bot(tmp_path / "now", llm, steer=False).running() as bot:
        await bot.say("first")
        await llm.asked.wait()
        for text in texts:
            await bot.say(text)
        await bot.say("/help")
        await bot.hear()
        shutil.copytree(tmp_path / "now" / "sessions", copy / "sessions")


async def test_what_waited_when_the_process_was_killed_is_told_once_and_stands_in_the_session(tmp_path: Path) -> None:
    await left_waiting(tmp_path, "second", "third")
    llm = ScriptedLLM(says("ok"))
    fresh = Bot(tmp_path / "then", llm)
    interruption = await fresh.agent.recover(ADDRESS)
    kept = await fresh.store.messages(ADDRESS.session_key)
    again = await Bot(tmp_path / "then", ScriptedLLM()).agent.recover(ADDRESS)
    async with fresh.running():
        await fresh.ask("and now?")

    assert interruption is not None
    assert interruption.asked == ["first", "second", "third"]
    assert [m.content for m in kept if m.role == "user"] == ["first", "second", "third"]
    assert again is None
    assert [m.content for m in llm.requests[0].messages if m.role == "user" and "second" in (m.content or "")]


async def test_what_waited_and_is_said_again_is_told_by_nobody(tmp_path: Path) -> None:
    await left_waiting(tmp_path, "second")
    fresh = Bot(tmp_path / "then", ScriptedLLM())
    waiting = (await fresh.store.load(ADDRESS.session_key)).waiting
    interruption = await fresh.agent.recover(ADDRESS, list(waiting))

    assert [message.content for message in waiting.values()] == ["second"]
    assert interruption is not None
    assert interruption.asked == ["first"]


class Held(ScriptedLLM):
    """Answers once it may."""

    def __init__(self, *answers: Reply) -> None:
        super().__init__(*answers)
        self.go_on = asyncio.Event()

    async def complete(self, request: Request, stream: Stream) -> Reply:
        self.asked.set()
        await self.go_on.wait()
        return await super().complete(request, stream)


async def test_what_waited_and_was_answered_waits_no_more(tmp_path: Path) -> None:
    llm = Held(says("one"), says("two"))
    async with Bot(tmp_path, llm, steer=False).running() as bot:
        await bot.say("first")
        await llm.asked.wait()
        await bot.say("second")
        await bot.say("/help")
        await bot.hear()
        before = dict((await bot.store.load(ADDRESS.session_key)).waiting)
        llm.go_on.set()
        answers = [(await bot.hear()).text for _ in range(2)]

    assert [message.content for message in before.values()] == ["second"]
    assert answers == ["one", "two"]
    fresh = Bot(tmp_path, ScriptedLLM())
    assert (await fresh.store.load(ADDRESS.session_key)).waiting == {}
    assert await fresh.agent.recover(ADDRESS) is None


async def test_a_message_without_another_before_it_is_written_once(tmp_path: Path) -> None:
    async with Bot(tmp_path, ScriptedLLM(says("ok"))).running() as bot:
        await bot.ask("alone")

    assert b'"waiting"' not in b"".join(path.read_bytes() for path in (tmp_path / "sessions").rglob("*.jsonl"))


async def test_what_waits_is_not_left_behind_by_a_fresh_start(tmp_path: Path) -> None:
    await left_waiting(tmp_path, "second")
    fresh = Bot(tmp_path / "then", ScriptedLLM())
    await fresh.agent.reset(ADDRESS)
    interruption = await Bot(tmp_path / "then", ScriptedLLM()).agent.recover(ADDRESS)

    assert interruption is not None
    assert interruption.asked == ["second"]

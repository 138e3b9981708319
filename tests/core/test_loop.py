"""Ask, run tools, ask again, until it answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import pytest

from nanobot.authority import OWNER_IN_TERMINAL, Origin
from nanobot.core.legal import legal
from nanobot.core.loop import CALL, CONTINUE, MAX_REFUSED, MAX_STALE, REPEATED, Loop, Outcome
from nanobot.errors import LLMError, LLMErrorKind
from nanobot.ids import new_id
from nanobot.messages import Address
from nanobot.ports import Caller, Lacking, Reply, Request, Stream, Tool, ToolResult, ToolSpec
from nanobot.transcript import Message, ToolCall
from tests.fakes.llm import ScriptedLLM, calls, says
from tests.fakes.tools import Echo


class Silent:
    """A Stream that nobody watches."""

    def text(self, delta: str) -> None: ...
    def restart(self) -> None: ...
    def waiting(self, seconds: float, kind: LLMErrorKind) -> None: ...
    def fallback(self, preset: str, kind: LLMErrorKind) -> None: ...
    def lacks(self, preset: str, what: Lacking) -> None: ...


class Watching(Silent):
    """Keeps what a person sees."""

    def __init__(self) -> None:
        self.shown = ""

    def text(self, delta: str) -> None:
        self.shown += delta

    def restart(self) -> None:
        self.shown = ""


class Recording:
    """A Run in memory."""

    def __init__(self, *joining: str) -> None:
        self.recorded: list[Message] = [Message(role="user", content="go")]
        self.shown: list[str] = []
        self.outputs: list[str] = []
        self.shrunk = 0
        self.caller = Caller(Address("cli", "test"), OWNER_IN_TERMINAL, "turn", "en")
        self.stream: Stream = Silent()
        self.edits: list[str] = []
        self._joining = list(joining)

    async def messages(self) -> Sequence[Message]:
        return legal(self.recorded)

    async def record(self, message: Message) -> None:
        self.recorded.append(message)

    def spent(self, request: Request, reply: Reply) -> None: ...

    async def join_edits(self) -> bool:
        if self.edits:
            self.recorded.append(Message(role="user", content=self.edits.pop(0)))
            return True
        return False

    async def join_waiting(self) -> None:
        if self._joining and len(self.recorded) > 1:
            self.recorded.append(Message(role="user", content=self._joining.pop(0)))

    def show_output(self, text: str) -> None:
        self.outputs.append(text)

    def show_tool(self, text: str) -> None:
        self.shown.append(text)

    async def shrink(self) -> bool:
        self.shrunk += 1
        return self.shrunk == 1

    @property
    def results(self) -> list[str | None]:
        return [message.content for message in self.recorded if message.role == "tool"]


def needy() -> Echo:
    tool = Echo("needy")
    tool.spec = ToolSpec("needy", "Say it back.", {"type": "object", "required": ["text"]}, reads_only=True)
    return tool


async def run(llm: ScriptedLLM, *tools: Tool, turn: Recording | None = None, max_steps: int = 40) -> Outcome:
    return await Loop(llm, tools, max_steps=max_steps).run(turn or Recording())


async def test_tools_run_until_the_model_answers() -> None:
    echo, turn = Echo(), Recording()
    llm = ScriptedLLM(calls("echo", '{"text": "hi"}', text="Let me see."), says("done"))

    assert await run(llm, echo, turn=turn) == Outcome("done", model="scripted")
    assert echo.calls == [{"text": "hi"}]
    assert [(m.role, m.content) for m in turn.recorded] == [
        ("user", "go"),
        ("assistant", "Let me see."),
        ("tool", "hi"),
        ("assistant", "done"),
    ]
    assert turn.recorded[2].origin is Origin.TOOL
    assert turn.shown == ["echo hi"]


async def test_calls_that_only_read_run_side_by_side_and_others_one_by_one() -> None:
    def three(name: str) -> Reply:
        return Reply("", tuple(ToolCall(f"c{n}", name, f'{{"text": "{n}"}}') for n in range(3)))

    reading, writing, turn = Echo("look"), Echo("write", reads_only=False), Recording()
    await run(ScriptedLLM(three("look"), three("write"), says("done")), reading, writing, turn=turn)

    assert reading.most_running == 3
    assert writing.most_running == 1
    assert turn.results == ["0", "1", "2"] * 2


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (calls("nope"), "there is no tool 'nope'"),
        (calls("echo", '{"fail": "tool"}'), "do it otherwise"),
        (calls("echo", '{"fail": "bug"}'), "the log has the details"),
        (calls("echo", '{"text": "li'), "not valid JSON"),
        (calls("echo", "[1]"), "must be a JSON object"),
        (calls("needy", "null"), "must be a JSON object"),
        (calls("echo", '"\\"text\\""'), "must be a JSON object"),
        (calls("echo", '"{\\"text"'), "not valid JSON"),
        (calls("echo", '{"text": "half"}', finish="length"), "cut this call"),
    ],
)
async def test_what_goes_wrong_with_a_call_is_told_to_the_model(call: Reply, told: str) -> None:
    turn = Recording()

    assert await run(ScriptedLLM(call, says("I see")), Echo(), needy(), turn=turn) == Outcome("I see", model="scripted")
    assert told in (turn.results[0] or "")
    assert "secret detail" not in (turn.results[0] or "")


@pytest.mark.parametrize("arguments", ['{"path": "notes.md", "content": "line', "[]", "1"])
async def test_a_broken_call_is_neither_run_nor_stored_broken(arguments: str) -> None:
    echo, turn = Echo(), Recording()
    await run(ScriptedLLM(calls("echo", arguments), says("ok")), echo, turn=turn)

    assert echo.calls == []
    assert turn.recorded[1].tool_calls[0].arguments == "{}"


@pytest.mark.parametrize("arguments", ["", "null", '""', '"{}"', "{ }"])
async def test_a_tool_without_arguments_runs_with_none(arguments: str) -> None:
    echo, turn = Echo(), Recording()
    await run(ScriptedLLM(calls("echo", arguments), says("ok")), echo, turn=turn)

    assert echo.calls == [{}]
    assert turn.recorded[1].tool_calls[0].arguments == "{}"


@pytest.mark.parametrize("arguments", ['{"text": "hi"}', '"{\\"text\\": \\"hi\\"}"', ' {"text":"hi"}'])
async def test_arguments_in_arguments_are_unwrapped_once_and_stored_as_an_object(arguments: str) -> None:
    echo, turn = Echo(), Recording()
    await run(ScriptedLLM(calls("echo", arguments), says("ok")), echo, turn=turn)

    assert echo.calls == [{"text": "hi"}]
    assert json.loads(turn.recorded[1].tool_calls[0].arguments) == {"text": "hi"}
    await run(ScriptedLLM(calls("echo", json.dumps(json.dumps(arguments))), says("ok")), echo)
    assert len(echo.calls) == 1


@pytest.mark.parametrize(
    "name",
    ["functions.echo", "default_api.echo", "default_api:echo", "functions.echo:0", "echo<|channel|>commentary",
     " echo\n", "tools/echo", "echo()", "functions::echo", "`echo`", "repo.tools.echo<|constrain|>json"],
)  # fmt: skip
async def test_a_name_with_something_around_it_is_understood_and_stored_as_it_should_be(name: str) -> None:
    echo, turn = Echo(), Recording()
    await run(ScriptedLLM(calls(name, '{"text": "hi"}'), says("ok")), echo, turn=turn)

    assert echo.calls == [{"text": "hi"}]
    assert turn.recorded[1].tool_calls[0].name == "echo"


async def test_a_tool_whose_name_has_a_dot_goes_before_one_that_ends_alike() -> None:
    plain, dotted = Echo(), Echo("home.echo")
    await run(ScriptedLLM(calls("home.echo"), calls("echoes"), calls("my_echo"), says("ok")), plain, dotted)

    assert (len(plain.calls), len(dotted.calls)) == (0, 1)


class Counting(Echo):
    """Has another result each time, from a certain call on."""

    def __init__(self, start: int = 0) -> None:
        super().__init__("count", reads_only=False)
        self._start = start

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        await super().run(arguments, caller)
        return ToolResult(f"{max(0, len(self.calls) - self._start)} in notes/{new_id()}.txt")


async def test_a_call_that_brings_nothing_new_is_soon_made_no_more_and_ends_the_turn() -> None:
    echo, turn, llm = Echo(), Recording(), ScriptedLLM(calls("echo", '{"text": "x"}'))

    assert (await run(llm, echo, turn=turn)).trouble == "repeating"
    assert len(echo.calls) == MAX_STALE + 1
    assert [REPEATED in (result or "") for result in turn.results] == [False] * (MAX_STALE + 1) + [True] * MAX_REFUSED
    assert len(llm.requests) == MAX_STALE + 1 + MAX_REFUSED + 1
    assert not llm.requests[-1].may_call


async def test_a_model_that_heeds_the_hint_goes_on() -> None:
    same, other = calls("echo", '{"text": "x"}'), calls("echo", '{"text": "y"}')
    echo, llm = Echo(), ScriptedLLM(*[same] * (MAX_STALE + 2), other, *[same] * MAX_STALE, says("done"))

    assert (await run(llm, echo)).text == "done"
    assert len(echo.calls) == 2 * MAX_STALE + 2


async def test_a_new_call_beside_an_unusable_one_counts_as_new_after_a_refusal() -> None:
    same, other, broken = calls("echo", '{"text": "x"}'), calls("echo", '{"text": "y"}'), calls("echo", '{"text')
    mixed = replace(other, tool_calls=(*other.tool_calls, replace(broken.tool_calls[0], id="broken")))
    echo, llm = Echo(), ScriptedLLM(*[same] * (MAX_STALE + 2), mixed, *[same] * MAX_STALE, says("done"))

    assert (await run(llm, echo)).text == "done"
    assert len(echo.calls) == 2 * MAX_STALE + 2


async def test_a_circle_of_calls_is_seen_as_one_whatever_the_order_of_arguments() -> None:
    one, two = calls("echo", '{"text": "x", "more": 1}'), calls("echo", '{"text": "y"}')
    turned = calls("echo", '{"more":1,"text":"x"}')
    echo, llm = Echo(), ScriptedLLM(*[one, two, turned, two] * 4)

    assert (await run(llm, echo)).trouble == "repeating"
    assert len(echo.calls) == 2 + MAX_STALE


async def test_a_poll_goes_on_as_long_as_something_changes() -> None:
    poll = calls("count")
    assert (await run(ScriptedLLM(*[poll] * 20, says("ready")), Counting())).text == "ready"
    assert (await run(ScriptedLLM(*[poll] * 20, says("ready")), Counting(start=100))).trouble == "repeating"


async def test_the_same_check_after_each_change_is_no_repetition() -> None:
    steps = [step for n in range(8) for step in (calls("echo", f'{{"text": "{n}"}}'), calls("count"))]
    counting = Counting(start=100)

    assert (await run(ScriptedLLM(*steps, says("done")), Echo(), counting)).text == "done"
    assert len(counting.calls) == 8


async def test_a_call_that_keeps_failing_the_same_way_is_repetition_too() -> None:
    turn = Recording()

    assert (await run(ScriptedLLM(calls("nope")), Echo(), turn=turn)).trouble == "repeating"
    assert len(turn.results) == MAX_STALE + 1 + MAX_REFUSED


def written(text: str, how: Literal["bare", "fenced"] = "bare") -> Reply:
    return replace(says(text), written_call=how)


async def test_a_model_that_writes_a_call_is_told_once_and_the_text_is_not_kept() -> None:
    turn = Recording()
    turn.stream = watching = Watching()
    llm = ScriptedLLM(written("I will. {}"), calls("echo", '{"text": "hi"}'), says("done"))

    assert (await run(llm, Echo(), turn=turn)).text == "done"
    assert [(m.role, m.content) for m in turn.recorded] == [
        ("user", "go"),
        ("assistant", None),
        ("tool", "hi"),
        ("assistant", "done"),
    ]
    assert [m.content for m in llm.requests[1].messages] == ["go", "I will. {}", CALL.content]
    assert [m.content for m in llm.requests[2].messages] == ["go", None, "hi"]
    assert watching.shown == "done"


async def test_a_model_that_goes_on_writing_calls_ends_the_turn_with_a_sentence() -> None:
    turn = Recording()
    turn.stream = watching = Watching()

    assert await run(ScriptedLLM(written("{}")), Echo(), turn=turn) == Outcome("", trouble="written_call")
    assert (len(turn.recorded), watching.shown) == (1, "")


async def test_an_example_in_a_code_block_is_an_answer_when_it_is_said_again() -> None:
    turn, llm = Recording(), ScriptedLLM(written("For example: …", "fenced"))

    assert (await run(llm, Echo(), turn=turn)).text == "For example: …"
    assert len(llm.requests) == 2
    assert turn.recorded[-1].content == "For example: …"


async def test_a_model_that_repeats_the_same_broken_call_is_stopped() -> None:
    llm = ScriptedLLM(calls("echo", '{"text'))

    assert (await run(llm, Echo())).trouble == "stuck"
    assert len(llm.requests) == 2


async def test_after_the_last_step_it_is_asked_once_more_without_tools() -> None:
    llm = ScriptedLLM(calls("echo"), calls("echo"), says("what I found"))

    assert await run(llm, Echo(), max_steps=2) == Outcome("what I found", model="scripted")
    assert [request.may_call for request in llm.requests] == [True, True, False]


async def test_it_ends_even_if_the_model_wants_nothing_but_tools() -> None:
    assert (await run(ScriptedLLM(calls("echo")), Echo(), max_steps=3)).trouble == "too_many_steps"


async def test_an_answer_cut_by_the_output_limit_is_continued_and_stored_as_one() -> None:
    llm, turn = ScriptedLLM(says("The answer ", finish="length"), says("is 42.")), Recording()

    assert (await run(llm, Echo(), turn=turn)).text == "The answer is 42."
    assert [m.content for m in turn.recorded] == ["go", "The answer is 42."]
    assert [m.content for m in llm.requests[1].messages] == ["go", "The answer ", CONTINUE.content]
    assert not llm.requests[1].may_call


async def test_a_retry_of_the_rest_does_not_take_back_the_beginning() -> None:
    def breaks(request: Request, stream: Stream) -> Reply:
        stream.text("is 4")
        stream.restart()
        return says("is 42.")

    turn = Recording()
    turn.stream = watching = Watching()
    await run(ScriptedLLM(says("The answer ", finish="length"), breaks), turn=turn)

    assert watching.shown == "The answer is 42."


async def test_a_rest_that_holds_nothing_but_calls_leaves_the_answer_cut() -> None:
    llm = ScriptedLLM(says("Half", finish="length"), calls("echo"))

    assert (await run(llm, Echo())).incomplete == "cut"


async def test_what_is_too_long_for_the_endpoint_is_asked_again_with_less_in_view() -> None:
    turn = Recording()
    assert (await run(ScriptedLLM(LLMError("context"), says("ok")), turn=turn)).text == "ok"
    with pytest.raises(LLMError):
        await run(ScriptedLLM(LLMError("context")), turn=turn)

    assert turn.shrunk == 2


async def test_the_same_mistake_later_on_does_not_end_the_turn() -> None:
    bad, good = calls("echo", '{"text'), calls("echo")

    assert (await run(ScriptedLLM(bad, good, bad, says("done")), Echo())).text == "done"


async def test_an_answer_that_stays_cut_says_so() -> None:
    turn = Recording()
    outcome = await run(ScriptedLLM(says("more ", finish="length")), turn=turn)

    assert outcome.incomplete == "cut"
    assert turn.recorded[-1].incomplete == "cut"
    assert outcome.text == "more more more more "


async def test_a_message_that_arrives_meanwhile_joins_at_the_next_step() -> None:
    turn = Recording("also this")
    llm = ScriptedLLM(calls("echo"), says("both"))
    await run(llm, Echo(), turn=turn)

    assert llm.seen[-1] == ("user", "also this")


async def test_an_edit_while_the_answer_is_written_has_it_written_once_more() -> None:
    turn = Recording()
    turn.edits = ["go by train"]
    llm = ScriptedLLM(says("by car"), says("by train"))
    outcome = await run(llm, turn=turn)

    assert outcome.text == "by train"
    assert llm.seen[-1] == ("user", "go by train")
    assert [message.content for message in turn.recorded] == ["go", "go by train", "by train"]


async def test_further_edits_do_not_keep_a_turn_from_ending() -> None:
    class Restless(Recording):
        async def join_edits(self) -> bool:
            self.edits.append("and again")
            return await super().join_edits()

    outcome = await run(ScriptedLLM(says("one"), says("two"), says("three")), turn=Restless())

    assert outcome.text == "two"


async def test_when_the_model_fails_what_was_said_is_kept() -> None:
    turn = Recording()
    with pytest.raises(LLMError):
        await run(ScriptedLLM(calls("echo"), LLMError("server")), Echo(), turn=turn)

    assert [m.role for m in turn.recorded] == ["user", "assistant", "tool"]

"""A model's bad days, as the person at the other end lives through them."""

import asyncio
import json

import pytest

from nanobot.channels.terminal.person import at
from nanobot.cli import main
from nanobot.cli.recall import NOTHING_FOUND
from tests.cases.person import HERE, Desk
from tests.cases.test_sessions_stay_sound import is_prefix
from tests.fakes.openai_answers import (
    Answer,
    Json,
    Ping,
    Reset,
    Send,
    Wait,
    beginning,
    call,
    chunks,
    fail,
    nothing_new,
    say,
)

THE_ANSWER = "The answer is 42, and nothing else."
PIECES = [
    pytest.param(beginning("The answer is 4"), id="the connection closes"),
    pytest.param(chunks({"content": "The answer is 4"}, finish=None), id="done without a reason"),
    pytest.param(beginning("The answer is 4", Send(b'data: {"choices":[{"ind'), Reset()), id="torn within a line"),
    pytest.param(beginning("The answer is 4", Send(b'data: {"error": {"message": "overloaded"}}\n\n')), id="an error"),
]


@pytest.mark.parametrize("piece", PIECES)
async def test_an_answer_that_breaks_off_is_asked_for_again_and_stands_there_once(desk: Desk, piece: Answer) -> None:
    desk.configure({"attempts": 2})
    desk.server.will(piece, say(THE_ANSWER), say("next"))
    async with desk.start() as person:
        assert (await person.ask("what is it?")).text == THE_ANSWER
        assert person.screens()[-1] == THE_ANSWER
        assert len(person.notices()) == 1
        await person.ask("next")
    assert desk.said_by_the_model() == [THE_ANSWER, "next"]
    assert is_prefix(desk.sent(1), desk.sent(2))
    assert desk.server.requests[0].raw == desk.server.requests[1].raw


async def test_an_answer_that_always_breaks_off_is_never_taken_for_a_whole_one(desk: Desk) -> None:
    desk.configure({"attempts": 2})
    desk.server.will(beginning("The answer"), beginning("The answer is 4"), say("next"))
    async with desk.start() as person:
        answer = await person.ask("what is it?")
        assert answer.failed
        assert answer.text.startswith("The answer is 4\n\n[cut off here")
        await person.ask("next")
    kept = [line for line in desk.messages() if line["role"] == "assistant"]
    assert [(line["content"], line.get("incomplete")) for line in kept] == [("The answer is 4", "cut"), ("next", None)]
    assert "cut off here" not in json.dumps(desk.sent(2))


async def test_an_answer_at_the_output_limit_is_one_text_and_stored_once(desk: Desk) -> None:
    desk.server.will(say("One, two,", finish="length"), say(" three.", finish="stop"), say("next"))
    async with desk.start() as person:
        assert (await person.ask("count")).text == "One, two, three."
        await person.ask("next")
    assert desk.said_by_the_model() == ["One, two, three.", "next"]
    assert desk.server.requests[0].raw != desk.server.requests[1].raw


CUT = '{"path":"notes.md","content":"line 1\\nline'
BROKEN_CALLS = [
    pytest.param(call(("write_file", CUT), finish="length"), id="cut, and it says so"),
    pytest.param(call(("write_file", CUT), finish="tool_calls"), id="cut, and it denies it"),
    pytest.param(call(("write_file", CUT), finish="stop"), id="cut, and all is said to be well"),
    pytest.param(call(("write_file", '{"path":"notes.md"}'), finish="length"), id="cut where it still is JSON"),
    pytest.param(call(("write_file", "null")), id="null"),
    pytest.param(call(("write_file", '["notes.md"]')), id="a list"),
    pytest.param(call(("write_file", '{"path":"notes.md","content":NaN}')), id="a number that JSON has not"),
    pytest.param(call(("write_file", '{"path":"notes.md","content":' + "[" * 5000)), id="without bottom"),
    pytest.param(call(("write_file", '{"path":"notes.md","content":1' + "0" * 5000 + "}")), id="an endless number"),
    pytest.param(call(("write_file", '{"path":"notes.md\\ud83d","content":7}')), id="half a character"),
    pytest.param(call(("wrïte file!", '{"path":"notes.md","content":"x"}')), id="a tool that is not there"),
]


@pytest.mark.parametrize("broken", BROKEN_CALLS)
async def test_a_broken_call_runs_nothing_and_does_not_poison_the_conversation(desk: Desk, broken: Answer) -> None:
    desk.server.will(broken, say("I could not."), say("next"))
    async with desk.start() as person:
        assert (await person.ask("write a note")).text == "I could not."
        assert (await person.ask("next")).text == "next"
    assert not list(desk.workspace.root.glob("notes*"))
    told = [message["content"] for message in desk.sent(1) if message["role"] == "tool"]
    assert len(told) == 1
    assert told[0].startswith("Error: ")
    assert is_prefix(desk.sent(1), desk.sent(2))


async def test_arguments_may_be_empty_or_an_object_at_once(desk: Desk) -> None:
    whole = {
        "index": 0,
        "id": "w",
        "type": "function",
        "function": {"name": "list_dir", "arguments": {"path": "memory"}},
    }
    desk.server.will(call(("list_dir", "")), chunks({"tool_calls": [whole]}, finish="tool_calls"), say("ok"))
    async with desk.start() as person:
        assert (await person.ask("list")).text == "ok"
    told = [message["content"] for message in desk.sent(2) if message["role"] == "tool"]
    assert "SOUL.md" in told[0]
    assert "MEMORY.md" in told[1]


async def test_a_model_that_repeats_its_mistake_is_not_asked_for_ever(desk: Desk) -> None:
    desk.server.otherwise = lambda _: call(("write_file", CUT))
    async with desk.start() as person:
        notice = await person.ask("write a note")
    assert (notice.kind, notice.failed) == ("notice", True)
    assert len(desk.server.requests) <= 3


async def test_an_endpoint_that_only_says_it_is_alive_holds_up_nobody(desk: Desk) -> None:
    desk.configure({"timeout": "10s", "idle_timeout": "5s"})
    desk.server.will(Answer((Ping(),)), say("hello"), say("other"))
    async with desk.start() as person:
        asked = await person.say("hello?")
        hanging = await desk.server.received()
        await desk.clock.sleeping()
        assert (await person.ask("hi", at("elsewhere"))).text == "hello"
        desk.clock.advance(11)
        await person.until(lambda: any(message.reply_to == asked for message in person.said))
        assert (await person.ask("still there?")).text == "other"
        async with asyncio.timeout(120):
            await hanging.gone.wait()
    assert [message.kind for message in person.said if message.address == HERE] == ["notice", "answer"]
    assert [line["content"] for line in desk.messages()] == ["hello?", "still there?", "other"]


async def test_a_stop_during_an_answer_keeps_the_half_as_a_half_and_closes_the_connection(desk: Desk) -> None:
    desk.server.will(beginning("Half an ans", Ping()), say("next"))
    async with desk.start() as person:
        await person.say("talk")
        await person.until(lambda: person.screens()[-1:] == ["Half an ans"])
        await person.ask("/stop")
        async with asyncio.timeout(120):
            await desk.server.requests[0].gone.wait()
        assert (await person.ask("go on")).text == "next"
    assert [line.get("incomplete") for line in desk.messages() if line["role"] == "assistant"] == ["interrupted", None]


async def test_a_long_wait_is_told_at_once_and_not_sat_out(desk: Desk) -> None:
    desk.configure({"attempts": 4})
    desk.server.will(fail(429, "slow down", retry_after="3600"), say("ok"))
    async with desk.start() as person:
        notice = await person.ask("hi")
        assert "60 min" in notice.text
        assert (await person.ask("again")).text == "ok"
    assert desk.clock.monotonic() < 5
    assert len(desk.server.requests) == 2


REASONING = [
    (["<thi", "nk>secret plan</th", "ink>Hello", " wor", "ld"], "Hello world"),
    (["Hi ", "<think>secret plan, never closed"], "Hi"),
    (["<thinking>secret plan</thinking>ok"], "ok"),
    (
        ["Use the `<think>` tag:\n```\n<think>demo</think>\n```"],
        "Use the `<think>` tag:\n```\n<think>demo</think>\n```",
    ),
]


@pytest.mark.parametrize(("pieces", "answer"), REASONING)
async def test_reasoning_is_neither_shown_nor_kept_nor_sent_again(desk: Desk, pieces: list[str], answer: str) -> None:
    desk.server.will(chunks(*({"content": piece} for piece in pieces)), say("next"))
    async with desk.start() as person:
        assert (await person.ask("hi")).text == answer
        await person.ask("next")
    assert not any("secret" in screen or screen.endswith("<thi") for screen in person.screens())
    assert desk.said_by_the_model() == [answer, "next"]
    assert "secret" not in desk.server.requests[1].raw.decode()


async def test_reasoning_before_a_call_of_a_tool_is_not_part_of_the_remark(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    found = call(("list_dir", {"path": "."}), text="<think>secret plan</think>I look.")
    desk.server.will(found, chunks({"reasoning_content": "secret plan"}, {"content": "Done."}))
    async with desk.start() as person:
        assert (await person.ask("hi")).text == "Done."
        assert not (await person.ask(f"/export {desk.home}/whole.md")).failed
    assert desk.said_by_the_model() == ["I look.", "Done."]
    assert "secret" not in json.dumps([[line.get("content"), line.get("context")] for line in desk.messages()])
    assert [line["extra"] for line in desk.messages() if "extra" in line] == [{"reasoning_content": "secret plan"}]
    assert "secret" not in json.dumps([person.screens(), [shown.text for shown in person.shown]])
    exported = (desk.home / "whole.md").read_text(encoding="utf-8")
    assert "I look." in exported
    assert "secret" not in exported
    assert await asyncio.to_thread(main, ["recall", "secret"]) == NOTHING_FOUND
    assert await asyncio.to_thread(main, ["recall", "look"]) == 0
    assert "secret" not in capsys.readouterr().out


async def test_what_is_said_during_a_slow_answer_is_neither_lost_nor_answered_twice(desk: Desk) -> None:
    go_on = asyncio.Event()
    desk.server.will(beginning("I am", Wait(go_on), *say(" here.").parts), say("Yes."))
    async with desk.start() as person:
        first = await person.say("are you there?")
        await person.until(lambda: person.screens()[-1:] == ["I am"])
        second = await person.say("hello?")
        go_on.set()
        await person.until(lambda: {first, second} <= {message.reply_to for message in person.said})
    assert [message.text for message in person.said] == ["I am here.", "Yes."]
    assert [line["content"] for line in desk.messages()] == ["are you there?", "I am here.", "hello?", "Yes."]


async def test_a_written_call_is_carried_out_under_the_same_rules_and_leaves_no_text_behind(desk: Desk) -> None:
    desk.server.will(
        say('<tool_call>\n{"name": "read_file", "arguments": {"path": "a.md"}}\n</tool_call>'),
        say('{"name": "read_file", "arguments": {"path": "../config.yaml"}}'),
        say("It is 4711."),
        say("next"),
    )
    async with desk.start() as person:
        (desk.workspace.root / "a.md").write_text("The code is 4711.", encoding="utf-8")
        assert (await person.ask("read the file a.md")).text == "It is 4711."
        assert not any("tool_call" in screen or "read_file" in screen for screen in person.screens())
        await person.ask("next")
    inside, outside = (line for line in desk.messages() if line["role"] == "tool")
    assert "4711" in inside["content"]
    assert inside["origin"] == "tool"
    assert outside["content"].startswith("Error:")
    assert "tool_call>" not in json.dumps(desk.messages())


async def test_a_call_that_is_announced_in_words_is_pointed_out_and_forgotten(desk: Desk) -> None:
    announced = 'Need to read the file. Use the read_file function.\n\n{"path": "a.md"}'
    desk.server.will(say(announced), call(("read_file", {"path": "a.md"})), say("It is 4711."), say(announced))
    desk.server.otherwise = lambda _: say(announced)
    async with desk.start() as person:
        (desk.workspace.root / "a.md").write_text("The code is 4711.", encoding="utf-8")
        assert (await person.ask("read the file a.md")).text == "It is 4711."
        answer = await person.ask("and again?")
        assert answer.failed
        assert "tool calls" in answer.text
    assert len(desk.server.requests) == 5
    assert "Need to read" not in json.dumps(desk.messages())


async def test_marks_of_thoughts_reach_neither_the_person_nor_the_session(desk: Desk) -> None:
    thoughts = [
        "<|channel>thought\nSECRET<channel|>Hello",
        "<|channel|>analysis<|message|>SECRET<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>",
    ]
    desk.server.will(*(say(text, size=15) for text in thoughts))
    async with desk.start() as person:
        for _ in thoughts:
            assert (await person.ask("hi")).text == "Hello"
        assert not any("SECRET" in screen or "<" in screen for screen in person.screens())
    assert desk.said_by_the_model() == ["Hello", "Hello"]


async def test_a_model_that_lists_the_same_folder_for_ever_is_stopped_with_a_sentence(desk: Desk) -> None:
    desk.server.otherwise = lambda _: call(("list_dir", {"path": "."}))
    async with desk.start() as person:
        answer = await person.ask("what is there?")
    assert answer.failed
    assert "brings nothing new" in answer.text
    assert len(desk.server.requests) < 10


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(fail(400, "上下文过长，请压缩上下文"), id="上下文"),
        pytest.param(fail(400, "コンテキスト長が上限を超えています"), id="コンテキスト長"),
        pytest.param(fail(400, "Request rejected", code="context_overflow"), id="a code"),
        pytest.param(fail(413, "Payload Too Large"), id="a status"),
    ],
)
async def test_a_conversation_that_grows_too_long_for_its_endpoint_goes_on(desk: Desk, refusal: Answer) -> None:
    desk.configure({"context_window": 200_000})
    sizes: list[int] = []

    def answer(body: Json) -> Answer:
        sizes.append(sum(len(str(message["content"])) for message in body["messages"][1:]))
        return refusal if sizes[-1] > 24_000 else say(f"Read, {len(sizes)}.")

    desk.server.otherwise = answer
    async with desk.start() as person:
        for number in range(7):
            told = await person.ask(f"{number} " + "text " * 1000)
            assert told.text == f"Read, {len(sizes)}."
    assert max(sizes) > 24_000 > sizes[-1]
    assert "6 text" in json.dumps(desk.sent(-1))


@pytest.mark.parametrize(
    ("said", "summary"),
    [
        ("저는 홍차가 좋아요. 서울에서 살아요.", "- 사용자는 홍차를 좋아하고 서울에 산다."),
        ("ok thx", "- Only small talk."),
        ("Minä pidän teestä", "- Käyttäjä kertoi teen olevan mieluisaa."),
        ("今度の土曜に京都へ行きます", "- 利用者は週末の旅行を予定している。"),
    ],
)
async def test_a_good_summary_is_taken_in_any_language_at_the_first_time(desk: Desk, said: str, summary: str) -> None:
    desk.configure(memory={"dream": {"model": "fake"}})
    desk.server.aside = lambda body: say(summary) if "<record>" in json.dumps(body) else nothing_new(body)
    desk.server.will(say("OK."))
    async with desk.start() as person:
        await person.ask(said)
        assert not (await person.ask("/dream")).failed
    episodes = (desk.workspace.memory / "history.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["content"] for line in episodes] == [summary]
    assert "raw" not in json.loads(episodes[0])


async def test_an_answer_that_has_no_room_is_asked_for_with_less(desk: Desk) -> None:
    """The endpoint complains about the context, but it is the room for the answer that fills it."""
    desk.configure({"max_output": 8000})
    words = "maximum context length is 8192 tokens. However, you requested 9500 tokens (1500 in the messages, 8000 in"
    desk.server.otherwise = lambda body: (
        say(f"Hi, {body['max_tokens']}.")
        if body["max_tokens"] <= 6000
        else fail(400, f"This model's {words} the completion)")
    )
    async with desk.start() as person:
        first, second = [(await person.ask(text)).text for text in ("hi", "and now?")]
    assert first == second
    assert first.startswith("Hi, ")
    assert len(desk.server.requests) == 3

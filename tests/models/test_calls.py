"""Tool calls, in all the ways in which providers take them apart."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.models.calls import Calls, announced_call, may_be_call, written_calls
from nanobot.models.openai import OpenAIModel
from nanobot.models.wire import ExtraRoom
from nanobot.ports import Request, ToolSpec
from nanobot.transcript import Message, ToolCall
from tests.fakes.openai_answers import call, chunks, say
from tests.fakes.openai_server import FakeOpenAI
from tests.models.watching import Watcher, question


def piece(
    index: object = None, call_id: object = None, name: object = None, arguments: object = None
) -> dict[str, Any]:
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}


def collected(*deltas: Sequence[Mapping[str, Any]], taken: Sequence[str] = ()) -> list[tuple[str, str, str]]:
    calls = Calls(ExtraRoom())
    for delta in deltas:
        calls.add(delta)
    return [(c.id, c.name, c.arguments) for c in calls.finished(taken)]


TWO = [("a", "read", '{"x":1}'), ("b", "read", '{"x":2}')]


@pytest.mark.parametrize(
    "deltas",
    [
        pytest.param(
            [[piece(0, "a", "read", "")], [piece(0, None, None, '{"x"')], [piece(0, None, None, ":1}")],
             [piece(1, "b", "read", '{"x"')], [piece(1, None, None, ":2}")]],
            id="one after the other",
        ),
        pytest.param(
            [[piece(0, "a", "read", ""), piece(1, "b", "read", "")], [piece(1, None, None, '{"x":2')],
             [piece(0, None, None, '{"x":1}')], [piece(1, None, None, "}")]],
            id="side by side",
        ),
        pytest.param([[piece(None, "a", "read", '{"x":1}'), piece(None, "b", "read", '{"x":2}')]], id="no indexes"),
        pytest.param(
            [[piece(None, "a", "read", '{"x"')], [piece(None, None, None, ":1}")],
             [piece(None, "b", "read", '{"x":2}')]],
            id="no indexes, in pieces",
        ),
        pytest.param([[piece(0, "a", "read", '{"x":1}')], [piece(0, "b", "read", '{"x":2}')]], id="all with index 0"),
        pytest.param(
            [[piece(0, "a", "read", '{"x"')], [piece(0, "a", "read", ":1}")], [piece(1, "b", "read", '{"x":2}')]],
            id="id and name in each piece",
        ),
        pytest.param([[piece("0", "a", "re", "")], [piece("0", None, "ad", "")], [piece("0", None, None, '{"x":1}')],
                      [piece("1", "b", "read", '{"x":2}')]], id="the name in pieces"),
        pytest.param([[piece(7, "a", "read", '{"x":1}')], [piece(-1, "b", "read", '{"x":2}')]], id="odd indexes"),
        pytest.param([[piece(0, "a", "read", "{}")], [piece(0, None, None, '{"x"')], [piece(0, None, None, ":1}")],
                      [piece(1, "b", "read", "{}")], [piece(1, "b", "read", '{"x":2}')]], id="an empty object first"),
        pytest.param([[piece(0, "a", "read", "{}")], [piece(0, "a", "read", '{"x"')], [piece(0, "a", "read", ":1}")],
                      [piece(0, "b", "read", '{"x":2}')]], id="an empty object first, id and name in each piece"),
        pytest.param([[piece(0, "a", "read", "")], [piece(0, "a2", None, '{"x"')], [piece(0, "a3", None, ":1}")],
                      [piece(0, "b", "read", '{"x":')], [piece(0, "b2", None, "2}")]], id="a new id for each piece"),
        pytest.param([[piece(0, "a", "read", "")], [piece(0, "a2", "read", '{"x"')], [piece(0, "a3", "read", ":1}")],
                      [piece(1, "b", "read", '{"x":2}')]], id="a new id and the name in each piece"),
        pytest.param([[piece(0, "a", "read", "")], [piece(None, None, None, '{"x"')], [piece(None, None, None, ":1}")],
                      [piece(1, "b", "read", '{"x":2}')]], id="the index in the first piece only"),
        pytest.param([[piece(None, "a", "read", "")], [piece(None, "b", "read", "")],
                      [piece(None, "a", None, '{"x":1}')], [piece(None, "b", None, '{"x":2}')]],
                     id="no indexes, side by side, told apart by their ids"),
    ],
)  # fmt: skip
def test_pieces_find_their_call(deltas: list[list[dict[str, Any]]]) -> None:
    assert collected(*deltas) == TWO


def test_calls_without_ids_get_some_that_the_conversation_does_not_hold() -> None:
    deltas = [piece(0, None, "read", "{}"), piece(1, "", "read", "{}")]
    assert [c[0] for c in collected(deltas)] == ["call_1", "call_2"]
    assert [c[0] for c in collected(deltas, taken=["call_1"])] == ["call_2", "call_3"]


def test_calls_with_the_same_id_are_told_apart() -> None:
    deltas = [piece(0, "a", "read", "{}"), piece(1, "a", "write", "{}")]
    assert [c[:2] for c in collected(deltas)] == [("a", "read"), ("a_2", "write")]


def test_two_whole_calls_without_any_mark_are_two() -> None:
    deltas = [[piece(0, None, "read", '{"x":1}')], [piece(0, None, "read", '{"x":2}')], [piece(0, None, "ls", "{}")]]
    assert [c[1:] for c in collected(*deltas)] == [("read", '{"x":1}'), ("read", '{"x":2}'), ("ls", "{}")]


def test_an_empty_object_alone_is_the_arguments_and_two_objects_stay_two() -> None:
    assert collected([piece(0, "a", "now", "{}")]) == [("a", "now", "{}")]
    assert collected([piece(0, "a", "now", "{}")], [piece(0, None, None, "")]) == [("a", "now", "{}")]
    assert collected([piece(0, "a", "read", '{"x":1}')], [piece(0, None, None, '{"x":2}')])[0][2] == '{"x":1}{"x":2}'


def test_calls_of_several_tools_with_one_index_and_no_arguments_yet_are_several() -> None:
    deltas = [piece(0, "a", "read", ""), piece(0, "b", "write", ""), piece(0, "b", None, '{"x":2}')]
    assert collected(deltas) == [("a", "read", "{}"), ("b", "write", '{"x":2}')]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("", "{}"),
        (None, "{}"),
        ("  ", "{}"),
        ({"path": "ü"}, '{"path": "ü"}'),
        ('{"path":"a', '{"path":"a'),
        ("null", "null"),
        ([1], "[1]"),
        ('"x"', '"x"'),
    ],
)
def test_arguments_are_kept_as_the_text_they_came_with(arguments: object, text: str) -> None:
    assert collected([piece(0, "a", "read", arguments)]) == [("a", "read", text)]


@pytest.mark.parametrize(
    "odd", [None, "x", 3, [None], ["x"], [{}], [{"function": None}], {"function": {"name": "read"}}]
)
def test_what_is_no_call_is_passed_over(odd: Any) -> None:
    assert [c[1] for c in collected(odd, [piece(0, "z", "ok", "{}")])][-1:] == ["ok"]


@given(
    arguments=st.lists(st.dictionaries(st.text(max_size=3), st.integers(), min_size=1), min_size=1, max_size=4),
    chance=st.randoms(use_true_random=False),
)
def test_calls_cut_anywhere_and_mixed_anyhow_come_out_whole(arguments: list[dict[str, int]], chance: Random) -> None:
    texts = [json.dumps(value) for value in arguments]
    heads = [[piece(index, f"id{index}", "tool", "")] for index in range(len(texts))]
    rests = [[piece(index, None, None, char) for char in text] for index, text in enumerate(texts)]
    deltas = list(heads)
    while any(rests):
        rest = chance.choice([rest for rest in rests if rest])
        deltas.append([rest.pop(0)])
    assert collected(*deltas) == [(f"id{index}", "tool", text) for index, text in enumerate(texts)]


async def test_ids_that_a_provider_repeats_in_each_step_are_made_unique(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    server.will(call(("read", {})), call(("read", {})), say("done"))
    messages = list(question().messages)
    for _ in range(2):
        reply = await model.complete(Request(messages), watcher)
        messages.append(Message(role="assistant", tool_calls=reply.tool_calls))
        messages += [Message(role="tool", content="text", tool_call_id=c.id) for c in reply.tool_calls]
    await model.complete(Request(messages), watcher)
    ids = [m["tool_call_id"] for m in server.requests[-1].body["messages"] if m["role"] == "tool"]
    assert len(set(ids)) == 2


async def test_half_a_call_at_the_output_limit_is_handed_over_as_it_is(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    server.will(call(("write_file", '{"path":"notes.md","content":"line 1\\nli'), finish="length"))
    reply = await model.complete(question(), watcher)
    assert reply.finish == "length"
    assert reply.tool_calls[0].arguments == '{"path":"notes.md","content":"line 1\\nli'


async def test_a_name_that_a_model_made_up_does_not_spoil_later_requests(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    server.will(chunks({"tool_calls": [piece(0, "a", "read the file!", "{}")]}), say("ok"))
    reply = await model.complete(question(), watcher)
    assert reply.tool_calls == (ToolCall("a", "read the file!", "{}"),)
    history = [
        *question().messages,
        Message(role="assistant", tool_calls=reply.tool_calls),
        Message(role="tool", content="no such tool", tool_call_id="a"),
    ]
    await model.complete(Request(history), watcher)
    assert server.requests[1].body["messages"][1]["tool_calls"][0]["function"]["name"] == "read_the_file_"


TOOLS = (
    ToolSpec(
        "read_file",
        "Read a file.",
        {
            "type": "object",
            "properties": {"path": {"type": "string"}, "start": {"type": "integer"}, "deep": {"type": "boolean"}},
            "required": ["path"],
        },
        reads_only=True,
    ),
    ToolSpec("list_dir", "List a folder.", {"type": "object", "properties": {}}),
)
ARGS = '{"path": "a"}'
NAMED = f'{{"name": "read_file", "arguments": {ARGS}}}'
WRITTEN = {
    "tags around json": f"<tool_call>\n{NAMED}\n</tool_call>",
    "tags that are not closed": f"<tool_call>\n{NAMED}",
    "tags in tags": "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
    "a function's tag with json": f"<function=read_file>{ARGS}</function>",
    "bare json": NAMED,
    "bare json with parameters": f'{{"type": "function", "name": "read_file", "parameters": {ARGS}}}',
    "bare json of the protocol": f'{{"tool_calls": [{{"id": "x", "type": "function", "function": {NAMED}}}]}}',
    "a list in bare json": f"[{NAMED}]",
    "behind a python tag": f'<|python_tag|>{{"name": "read_file", "parameters": {ARGS}}}<|eom_id|>',
    "a list behind a mark": f"[TOOL_CALLS][{NAMED}]</s>",
    "a name and arguments behind a mark": f"[TOOL_CALLS]read_file[ARGS]{ARGS}",
    "a name, an id and arguments behind a mark": f"[TOOL_CALLS]read_file[CALL_ID]abc123def[ARGS]{ARGS}",
    "sections": "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>"
    f"{ARGS}<|tool_call_end|><|tool_calls_section_end|>",
    "wide bars": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n"
    f"{ARGS}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "wide bars, short": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{ARGS}<｜tool▁call▁end｜>",
    "wide bars, invoked": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter name="path" '
    'string="true">a</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    "invoked": '<minimax:tool_call>\n<invoke name="read_file">\n<parameter name="path">a</parameter>\n</invoke>\n'
    "</minimax:tool_call>",
    "keys and values": "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
    "a list between bars": f"<|tool_call|>[{NAMED}]<|/tool_call|>",
    "an action": '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "read_file", '
    f'"parameters": {ARGS}}}]<|END_ACTION|>',
    "a channel": f"<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{ARGS}<|call|>",
    "a channel behind thoughts": "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary "
    f"to=functions.read_file <|constrain|>json<|message|>{ARGS}<|call|>",
    "quotes of its own": '<|tool_call>call:read_file{path:<|"|>a<|"|>}<tool_call|>',
    "as Python": '<|tool_call_start|>[read_file(path="a")]<|tool_call_end|>',
    "as Python without marks": '[read_file(path="a")]',
    "behind thoughts": f"<think>I need the file.</think>\n\n{NAMED}",
    "arguments as text": '{"name": "read_file", "arguments": "{\\"path\\": \\"a\\"}"}',
}


def asking() -> Request:
    return replace(question("read the file a"), tools=TOOLS)


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
async def test_a_call_written_as_text_is_a_call_and_nothing_of_it_is_seen(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher, text: str
) -> None:
    for size in (3, len(text)):
        server.will(say(text, size=size))
        reply = await model.complete(asking(), watcher)
        assert [(c.id, c.name, json.loads(c.arguments)) for c in reply.tool_calls] == [
            ("call_1", "read_file", {"path": "a"})
        ]
        assert (reply.text, reply.written_call, watcher.screen) == ("", None, "")


async def test_several_written_calls_get_ids_of_their_own_and_values_of_the_right_type(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    first = "<tool_call>\n<function=read_file>\n<parameter=path>\n7\n</parameter>\n<parameter=start>\n7\n</parameter>\n"
    second = "<parameter=deep>true</parameter>\n</function>\n</tool_call>\n"
    third = '<tool_call>{"name": "list_dir", "arguments": {}}</tool_call>'
    server.will(say(first + second + third))
    reply = await model.complete(asking(), watcher)
    assert [(c.id, c.name, json.loads(c.arguments)) for c in reply.tool_calls] == [
        ("call_1", "read_file", {"path": "7", "start": 7, "deep": True}),
        ("call_2", "list_dir", {}),
    ]


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (f'Need to read the file. Use the read_file function.\n\n{ARGS}', "bare"),
        (f"I will read it.\n```json\n{NAMED}\n```", "fenced"),
        (f"```json\n{NAMED}\n```", "fenced"),
        ('I will read it.\n```tool_code\nprint(read_file(path="a"))\n```', "fenced"),
        (f"I will read it.\n<tool_call>\n{NAMED}\n</tool_call>", "bare"),
        (f"<tool_call>\n{NAMED}\n</tool_call>\nThe file says hello.", "bare"),
        (f"{NAMED}\n\nThe file says hello.", "bare"),
        (f"I will read it.\n{NAMED}", "bare"),
        ('<tool_call>\n{"name": "send_mail", "arguments": {}}\n</tool_call>', "bare"),
        ("<tool_call>\n{broken", "bare"),
        (f"<|channel|>commentary to=functions.mail<|message|>{ARGS}<|call|>", "bare"),
    ],
)  # fmt: skip
async def test_what_only_resembles_a_call_is_not_carried_out_by_guess(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher, text: str, how: str
) -> None:
    server.will(say(text))
    reply = await model.complete(asking(), watcher)
    assert (reply.tool_calls, reply.written_call, reply.text) == ((), how, text)


@pytest.mark.parametrize(
    "text",
    [
        f"A call looks like this:\n```json\n{NAMED}\n```\nThat is all.",
        f"{'A long explanation of calls. ' * 30}\n```json\n{NAMED}\n```",
        '{"name": "Ada", "born": 1815}',
        '{"name": "Ada", "arguments": {"for": "the engine"}}',
        f'{{"name": "read_file", "description": "Read a file.", "parameters": {ARGS}}}',
        '{"type": "object", "properties": {}}',
        '[{"name": "Ada"}, {"name": "Grace"}]',
        "[1, 2, 3]",
        "[read_file](https://example.org/read_file)",
        ARGS,
        "Its settings are:\n{\"path\": \"a\"}",
        "The <tool_call> tag stands around calls; [TOOL_CALLS] is another mark.",
        "functional programming is fun",
        "{",
        "[x",
    ],
)  # fmt: skip
async def test_a_text_that_is_none_is_left_alone_and_arrives_whole(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher, text: str
) -> None:
    server.will(say(text, size=3))
    reply = await model.complete(asking(), watcher)
    assert (reply.text, reply.tool_calls, reply.written_call, watcher.screen) == (text, (), None, text)


async def test_beside_real_calls_and_without_tools_nothing_written_is_carried_out(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    server.will(call(("list_dir", {}), text=f"<tool_call>{NAMED}</tool_call>"), say(f"<tool_call>{NAMED}</tool_call>"))
    reply = await model.complete(asking(), watcher)
    assert ([c.name for c in reply.tool_calls], reply.text) == (["list_dir"], "")
    reply = await model.complete(question(), watcher)
    assert (reply.tool_calls, reply.text) == ((), f"<tool_call>{NAMED}</tool_call>")


@given(st.text(alphabet='{}[]"`:,<>|/ nameforgutlcis_=\n', max_size=80))
def test_no_text_surprises_whoever_looks_for_calls(text: str) -> None:
    assert not written_calls(text, ())
    assert announced_call(text, TOOLS) in (None, "bare", "fenced")
    assert may_be_call(text) in (None, True, False)


def test_arguments_in_very_many_pieces_that_each_repeat_the_name_are_put_together() -> None:
    text = json.dumps({"content": 'a "quoted" }{ \\\\ line\n' * 15_000})
    calls = Calls(ExtraRoom())
    for start in range(0, len(text), 10):
        calls.add([{"index": 0, "id": "c", "function": {"name": "write", "arguments": text[start : start + 10]}}])
    calls.add([{"index": 0, "id": "d", "function": {"name": "write", "arguments": "{}"}}])
    first, second = calls.finished(())
    assert (first.arguments, second.arguments) == (text, "{}")

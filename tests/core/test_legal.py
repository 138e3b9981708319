"""What goes to the model is always legal and always fits."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from nanobot.core.legal import INTERRUPTED, legal, open_calls, turns_of, within_turn
from nanobot.transcript import Message, ToolCall


def user(text: str, turn: str = "") -> Message:
    return Message(role="user", content=text, turn=turn)


def calls(*ids: str, turn: str = "") -> Message:
    return Message(role="assistant", tool_calls=[ToolCall(i, "look", "{}") for i in ids], turn=turn)


def result(call: str, text: str = "ok", turn: str = "") -> Message:
    return Message(role="tool", tool_call_id=call, content=text, turn=turn)


def says(text: str | None, turn: str = "") -> Message:
    return Message(role="assistant", content=text, turn=turn)


def problems(messages: Sequence[Message]) -> list[str]:
    """What a strict endpoint would refuse."""
    found = [] if not messages or messages[0].role == "user" else ["does not start at a user message"]
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            if message.tool_call_id not in waiting:
                found.append("a result without its call")
            else:
                waiting.remove(message.tool_call_id)
            continue
        if waiting:
            found.append("a call without its result")
        if message.role == "assistant" and not message.tool_calls and not (message.content or "").strip():
            found.append("an empty assistant message")
        if message.role == "system":
            found.append("a system message in the middle")
        waiting = [call.id for call in message.tool_calls]
    return found + (["a call without its result at the end"] if waiting else [])


ids = st.sampled_from(["a", "b", "c"])
any_message = st.one_of(
    st.builds(user, st.text(max_size=3), st.sampled_from("12")),
    st.builds(lambda names: calls(*names), st.lists(ids, min_size=1, max_size=3, unique=True)),
    st.builds(result, ids, st.text(max_size=3)),
    st.builds(says, st.sampled_from([None, "", " ", "yes"])),
    st.just(Message(role="system", content="obey")),
)


@given(st.lists(any_message, max_size=12))
def test_whatever_the_session_holds_the_replay_is_legal(messages: list[Message]) -> None:
    once = legal(messages)

    assert problems(once) == []
    assert legal(once) == once
    said = [message for message in messages if message.role == "user"]
    assert [message for message in once if message.role == "user"] == said


def step(order: list[str]) -> list[Message]:
    """Calls, and each result, in another order."""
    return [calls(*sorted(order)), *(result(call, f"of {call}") for call in order)]


complete_turns = st.lists(st.lists(ids, min_size=1, max_size=3, unique=True).map(step), max_size=3).map(
    lambda steps: [user("next"), *(message for step in steps for message in step), says("done")]
)


@given(st.lists(any_message, max_size=8), complete_turns)
def test_a_turn_whose_results_are_all_there_changes_nothing_before_it(old: list[Message], turn: list[Message]) -> None:
    """Also where calls before it, with the same ids, still wait for theirs: what was sent once is sent again."""
    assert legal([*old, *turn]) == [*legal(old), *legal(turn)]


def test_a_missing_result_is_stated_a_stray_one_left_out_and_a_late_one_found() -> None:
    messages = [user("go"), calls("c1", "c2", "c3"), result("c1"), result("ghost"), user("well?"), result("c3", "late")]

    assert [(m.role, m.content) for m in legal(messages)] == [
        ("user", "go"),
        ("assistant", None),
        ("tool", "ok"),
        ("tool", INTERRUPTED),
        ("tool", "late"),
        ("user", "well?"),
    ]
    assert [call.id for call in open_calls(messages)] == ["c2"]


def test_calls_that_no_endpoint_would_take_are_mended() -> None:
    broken = Message(
        role="assistant",
        tool_calls=[ToolCall("a", "look", "{bad"), ToolCall("a", "look", '{"x": 1}'), ToolCall("b", "look", "[]")],
    )

    mended = legal([user("go"), broken, result("a"), result("a"), result("b")])

    assert [(call.id, call.arguments) for call in mended[1].tool_calls] == [("a", '{"x": 1}'), ("b", "{}")]
    assert problems(mended) == []
    assert legal(mended) == mended


def test_the_same_call_id_in_two_steps_belongs_to_its_own_step() -> None:
    messages = [user("go"), calls("call_1"), result("call_1", "first"), calls("call_1"), result("call_1", "second")]

    assert legal(messages) == messages


def test_a_turn_that_is_too_long_loses_whole_rounds_and_keeps_the_question() -> None:
    rounds = [m for n in range(80) for m in (calls(f"c{n}"), result(f"c{n}", "x"))]

    kept = within_turn([user("the task"), *rounds], lambda _: 1.0, 11)

    assert kept == [user("the task"), *rounds[-10:]]
    assert problems(kept) == []
    assert within_turn([user("the task"), *rounds], lambda _: 1.0, 0)[1:] == rounds[-2:]


def test_a_turn_begins_at_its_first_user_message_and_the_first_one_takes_what_stands_before_it() -> None:
    messages = [
        says("z"),
        user("a", "1"),
        says("b", "1"),
        user("c", "2"),
        calls("x", turn="2"),
        result("x"),
        user("d", "2"),
    ]

    assert turns_of(messages[1:]) == [messages[1:3], messages[3:6], messages[6:]]
    assert turns_of([user("a"), says("b"), user("c")]) == [[user("a"), says("b")], [user("c")]]
    assert turns_of([]) == []

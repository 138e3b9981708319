"""How a conversation is made to fit when it has grown too long."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.core.conversation import apply_view, choose_view
from nanobot.core.legal import legal, turns_of
from nanobot.core.window import LAST, STRATEGIES, WindowView, importance, score
from nanobot.transcript import Message, ToolCall
from tests.core.test_legal import problems


def size(message: Message) -> float:
    return float(len(message.content or ""))


def turn(name: str, asked: str, *steps: str, answer: str = "done") -> list[Message]:
    """A question, tools with what they reported, an answer."""
    rows = [Message(role="user", content=asked, id=f"{name}-0", turn=name)]
    for number, reported in enumerate(steps):
        call = ToolCall(f"{name}-{number}", "look", "{}")
        rows.append(Message(role="assistant", id=f"{name}-a{number}", turn=name, tool_calls=[call]))
        rows.append(Message(role="tool", content=reported, id=f"{name}-t{number}", turn=name, tool_call_id=call.id))
    return [*rows, Message(role="assistant", content=answer, id=f"{name}-z", turn=name)]


TEXTS = st.sampled_from(
    ["hi", "remember: never use 7 nails", "what is in the file?", "x" * 900, "记住我不要香菜", "ok"]
)
TURNS = st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=3)), max_size=30)


@given(st.sampled_from(sorted(STRATEGIES)), TURNS, st.integers(0, 6_000))
def test_whatever_the_strategy_what_is_shown_fits_is_legal_and_in_order(
    name: str, said: Sequence[tuple[str, list[str]]], room: int
) -> None:
    turns = [turn(f"t{n}", asked, *steps) for n, (asked, steps) in enumerate(said)]
    running = turn("running", "now")
    view, trimmed = choose_view(turns, STRATEGIES[name], size, room)
    to = apply_view(turns, running, view, trimmed)
    assert to is not None
    shown = [*to.kept_messages, *to.shown]

    assert sum(map(size, shown)) <= room
    assert problems(shown) == []
    assert legal(shown) == shown
    ids = [message.id for message in shown]
    everything = [message.id for one in turns for message in one]
    assert ids == [name for name in everything if name in ids]
    assert to.start == [*(message.id for message in to.shown), running[0].id][0]
    assert set(to.kept) == {message.turn for message in to.kept_messages}
    by_people = {message.id: message.content for one in turns for message in one if message.role == "user"}
    assert all(by_people[message.id] == message.content for message in shown if message.role == "user")


@pytest.mark.parametrize("name", STRATEGIES)
def test_where_nothing_was_said_nothing_stays(name: str) -> None:
    assert STRATEGIES[name]([], size, 100) == WindowView(0)


def test_tokens_keeps_as_many_of_the_newest_turns_as_fit() -> None:
    turns = [turn(f"t{n}", "x" * 10, answer="y" * 10) for n in range(5)]

    assert [STRATEGIES["tokens"](turns, size, room).start for room in (0, 19, 20, 45, 99, 100)] == [5, 5, 4, 3, 1, 0]


def test_window_keeps_no_more_than_the_last_few() -> None:
    turns = [turn(f"t{n}", "x", answer="y") for n in range(LAST + 5)]

    assert STRATEGIES["window"](turns, size, 1000).start == 5
    assert STRATEGIES["window"](turns, size, 6).start == LAST + 2


IMPORTANT = [
    "remember that the key is under the mat",
    "Always answer in metric units",
    "we decided on blue",
    "never call before noon",
    "记住我不要香菜",
    "绝对不要发给他",
    "the code is 4711 and runs `make deploy`",
]
UNIMPORTANT = ["hi", "Good morning!", "thanks", "你好", "谢谢！", "ok", "what a nice day it is", "tell me a story"]


@pytest.mark.parametrize("text", IMPORTANT)
def test_what_is_marked_as_important_resists(text: str) -> None:
    turns = [turn("old", text), *(turn(f"t{n}", "tell me more of it", answer="z" * 20) for n in range(40))]
    view = importance(turns, size, 500)

    assert view.kept == [0]
    assert view.start > 10


@pytest.mark.parametrize("text", UNIMPORTANT)
def test_what_is_not_does_not(text: str) -> None:
    turns = [turn("old", text), *(turn(f"t{n}", "tell me more of it", answer="z" * 20) for n in range(40))]

    assert importance(turns, size, 500).kept == []


def test_a_person_counts_more_than_the_model_and_tools_do_not_count() -> None:
    said = "remember: the budget is 400"
    by_person, by_model = turn("a", said), turn("a", "ok", answer=said)

    assert score(by_person) > score(by_model) > score(turn("a", "ok", said))


def test_the_layers_begin_with_the_cheapest() -> None:
    turns = [turn(f"t{n}", "look", "the first line\n" + "x" * 5000) for n in range(6)]
    view = STRATEGIES["layered"](turns, size, 16_000)
    to = apply_view(turns, turn("now", "?"), view)

    assert view == WindowView(0, brief=3)
    assert to is not None
    assert [len(message.content or "") > 1000 for message in to.shown if message.role == "tool"] == [False] * 3 + [
        True
    ] * 3
    assert str(to.shown[2].content).startswith("the first line [… 5001 more")
    assert to.brief == "t3-0"


def test_turns_that_cannot_be_named_do_not_go_along() -> None:
    turns = [turn("", "remember 1"), *(turn(f"t{n}", "x" * 100) for n in range(9))]

    assert importance(turns, size, 400).kept == []


def test_a_last_turn_that_is_too_long_loses_its_oldest_rounds() -> None:
    turns = turns_of(turn("big", "the task", *(f"{n} " + "x" * 100 for n in range(80))))
    view, trimmed = choose_view(turns, STRATEGIES["tokens"], size, 1000)
    to = apply_view(turns, turn("now", "?"), view, trimmed)

    assert to is not None
    assert to.start == "big-0"
    assert to.shown[0].content == "the task"
    assert 10 < len(to.shown) < 40
    assert problems(to.shown) == []

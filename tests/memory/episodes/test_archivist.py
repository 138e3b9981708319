"""Where a conversation is cut."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.authority import Scope
from nanobot.memory.episodes.archivist import Stretch, first_piece, scopes_of
from nanobot.transcript import Message, ToolCall
from tests.core.test_legal import problems


def turn(name: str, steps: int) -> list[Message]:
    rows = [Message(role="user", content="q", turn=name)]
    for step in range(steps):
        calls = [ToolCall(f"{name}{step}{i}", "look", "{}") for i in range(1 + step % 3)]
        rows.append(Message(role="assistant", tool_calls=calls, turn=name))
        rows += [Message(role="tool", content="r", tool_call_id=call.id, turn=name) for call in calls]
    return [*rows, Message(role="assistant", content="a", turn=name)]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.data())
def test_pieces_are_legal_all_there_is_and_never_too_large_if_they_can_be_smaller(
    steps: Sequence[int], data: st.DataObject
) -> None:
    messages = [message for n, count in enumerate(steps) for message in turn(f"t{n}", count)]
    sizes = data.draw(st.lists(st.integers(0, 9), min_size=len(messages), max_size=len(messages)))
    room = data.draw(st.integers(0, 60))
    rest, left, cuts = messages, [float(size) for size in sizes], list[list[Message]]()
    while rest:
        count = first_piece(rest, left, room)
        cuts.append(rest[:count])
        assert count > 0
        size = sum(left[:count])
        assert size <= room or len({m.turn for m in rest[:count]}) == 1
        rest, left = rest[count:], left[count:]

    assert [message for cut in cuts for message in cut] == messages
    asked = Message(role="user", content="-")
    assert [found for cut in cuts for found in problems([asked, *cut])] == []


def test_a_piece_ends_with_a_turn_where_that_costs_little() -> None:
    messages = [*turn("a", 0), *turn("b", 0), *turn("c", 3)]

    assert first_piece(messages, [1.0] * len(messages), 5) == 4
    assert first_piece(messages, [1.0] * len(messages), 1) == 1


def test_a_long_stretch_of_tools_is_cut_behind_a_whole_step() -> None:
    messages = turn("a", 80)
    count = first_piece(messages, [1.0] * len(messages), 60)

    assert 30 < count <= 60
    assert messages[count].role == "assistant"


@pytest.mark.parametrize(("session", "scope"), [("cli:default", "owner"), ("telegram:-100:7", "group:telegram--100:7")])
def test_lines_that_do_not_say_whose_they_are_are_the_owners_in_the_terminal_only(session: str, scope: str) -> None:
    assert scopes_of(Stretch(session, turn("a", 1))) == [Scope(scope)] * 4


def test_what_follows_in_a_turn_belongs_to_whoever_began_it_also_behind_a_cut() -> None:
    messages = turn("a", 1)
    messages[0] = Message(role="user", content="q", turn="a", scope="person:telegram-2")
    theirs = Scope.person("telegram", "2")

    assert scopes_of(Stretch("telegram:2", messages)) == [theirs] * 4
    assert scopes_of(Stretch("telegram:2", messages[1:], before=theirs)) == [theirs] * 3


def test_a_piece_holds_one_scope() -> None:
    mine = [
        Message(role="user", content="q", turn="a", scope="owner"),
        Message(role="assistant", content="a", turn="a"),
    ]
    theirs = [Message(role="user", content="q", turn="b", scope="group:telegram--1")]

    assert Stretch("telegram:-1", [*mine, *theirs]).of_one_scope() == (mine, Scope.owner())

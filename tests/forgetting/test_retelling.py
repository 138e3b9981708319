"""An episode of which a part is forgotten: told anew by a model, or cut without one."""

from collections.abc import Sequence

import pytest

from nanobot.errors import LLMError
from nanobot.forgetting.selection import Affected, cut, lost_facts, retold
from nanobot.memory.episodes.archivist import Archivist, Summariser
from nanobot.nlp.matcher import TextMatcher, lines_of
from nanobot.ports import Episode, Fact
from nanobot.tokens import TokenEstimator
from nanobot.transcript import Message
from tests.fakes.clock import FakeClock
from tests.fakes.episodes import episode
from tests.fakes.llm import Answer, ScriptedLLM, says
from tests.forgetting.household import answer, user

ROSES, PUMP = user("m1", "t1", "The roses are red and stand by the wall."), user("m3", "t2", "The pump is on pin 4.")
OLD = episode(
    "- the roses by the wall are red\n- the pump hangs on pin 4\n- a good day",
    messages=("m1", "m4"),
    facts=[
        Fact("roses are red", ("m1",)),
        Fact("the pump is on pin 4", ("m3",)),
        Fact("has a garden", ("m1", "m3")),
    ],
)
STAYS = [PUMP, answer("m4", "t2", "Noted.")]
HALF = Affected(OLD, ["m3", "m4"], was_there=True)
TRACES = TextMatcher(("roses",), lines_of([ROSES.content or ""]))


def holds(name: str) -> bool:
    return name in ("m1", "m2")


def the_cut(affected: Affected = HALF, said: Sequence[Message] = STAYS) -> Episode:
    left = cut(affected, TRACES, holds, said, ROSES.content or "")
    assert left
    return left


def archivist(*answers: Answer) -> tuple[Archivist, ScriptedLLM]:
    llm = ScriptedLLM(*answers)
    return Archivist(Summariser(lambda _: (llm, TokenEstimator())), FakeClock()), llm


def test_without_a_model_the_lines_and_facts_that_tell_of_it_are_cut() -> None:
    left = the_cut()

    assert left.content == "- the pump hangs on pin 4"
    assert [(fact.text, fact.messages) for fact in left.facts] == [
        ("the pump is on pin 4", ("m3",)),
        ("has a garden", ("m3",)),
    ]
    assert left.messages == ("m3", "m4")
    assert [fact.text for fact in lost_facts(OLD, left)] == ["roses are red"]


def test_where_no_line_is_left_the_facts_tell_it() -> None:
    left = cut(Affected(OLD, ["m3", "m4"], was_there=True), TextMatcher(("the",)), holds, STAYS, "")

    assert left
    assert left.content == "- a good day"


def test_an_episode_of_which_nothing_is_left_goes() -> None:
    only = episode("- the roses are red", facts=[Fact("roses are red", ("m1",))])

    assert cut(Affected(only, ["m3"], was_there=True), TRACES, holds, [], ROSES.content or "") is None


def test_an_episode_whose_messages_are_not_there_any_more_loses_what_names_it() -> None:
    left = cut(Affected(OLD), TRACES, lambda _: False, (), "")

    assert left
    assert left.content == "- the pump hangs on pin 4\n- a good day"
    assert left.messages == OLD.messages


async def test_a_model_tells_it_anew_from_what_stays() -> None:
    model, llm = archivist(says("- wired the pump to pin 4\nFACT [1] (garden, 0.9): the pump is on pin 4"))

    left = await retold(HALF, TRACES, STAYS, model)

    assert left
    assert (left.cursor, left.timestamp, left.messages) == (OLD.cursor, OLD.timestamp, ("m3", "m4"))
    assert left.content == "- wired the pump to pin 4"
    assert [fact.text for fact in left.facts] == ["the pump is on pin 4"]
    assert "roses" not in str(llm.requests[0])


async def test_what_the_model_brings_back_does_not_get_in() -> None:
    model, _ = archivist(says("- wired the pump to pin 4, by the roses\n- the pump is on pin 4"))

    left = await retold(HALF, TRACES, STAYS, model)

    assert left
    assert left.content == "- the pump is on pin 4"


@pytest.mark.parametrize("reply", [LLMError("server"), says(""), says("I am sorry, I cannot do that.")])
async def test_a_model_that_fails_leaves_it_to_be_cut(reply: Answer) -> None:
    assert await retold(HALF, TRACES, STAYS, archivist(reply)[0]) is None


async def test_no_model_is_asked_where_nothing_stays() -> None:
    model, llm = archivist(says("x"))

    assert await retold(Affected(OLD, [], was_there=True), TRACES, [], model) is None
    assert llm.requests == []

"""What speaks of the same thing, and what nevertheless differs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.nlp.words import difference, overlap


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("the standup is at 9:30", "the standup is at 10:30", "number"),
        ("two cats live here", "three cats live here", "number"),
        ("the visit is in May", "the visit is in June", "date"),
        ("Ada eats meat", "Ada never eats meat", "negation"),
        ("Ada doesn't like rain", "Ada does like rain", "negation"),
        ("Ada lives in Rome", "Ada lives in Bonn", "name"),
        ("会议在周一", "会议在周三", "date"),
        ("他有三只猫", "他有两只猫", "number"),
        ("他喜欢猫", "他不喜欢猫", "negation"),
        ("小明喜欢猫", "小红喜欢猫", "name"),
        ("the standup is at 9:30", "Standup at 9:30", None),
        ("用户喜欢猫", "用户喜欢猫。", None),
    ],
)
def test_a_number_a_date_a_negation_or_a_name_makes_two_of_them(one: str, other: str, kind: str | None) -> None:
    assert difference(one, other) == kind
    assert overlap(one, other) > 0


@given(st.text(max_size=60), st.text(max_size=60))
def test_it_is_the_same_from_both_sides(one: str, other: str) -> None:
    assert difference(one, other) == difference(other, one)
    assert overlap(one, other) == overlap(other, one)
    assert 0 <= overlap(one, other) <= 1
    assert difference(one, one) is None

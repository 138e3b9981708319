"""Yes and no, as people type them."""

import pytest

from nanobot.i18n import consent


@pytest.mark.parametrize(
    "typed",
    [
        "yes",
        " Yes! ",
        "y",
        "OK.",
        "sure",
        "是",
        "是的。",
        "好的！",
        "可以",
        "同意～",
        "行",
        "Yes please!",
        "ok, thanks",
    ],
)
def test_a_word_that_agrees_is_a_yes(typed: str) -> None:
    assert consent(typed) is True


@pytest.mark.parametrize(
    "typed",
    [
        "no",
        "N",
        "Nope.",
        "don’t",
        "cancel",
        "不",
        "不行！",
        "否",
        "不要。",
        "取消",
        "No, thank you.",
        "never mind",
        "算了",
        "不用了，谢谢",
    ],
)
def test_a_word_that_refuses_is_a_no(typed: str) -> None:
    assert consent(typed) is False


@pytest.mark.parametrize(
    "typed",
    ["", "!", "yes?", "yes, but not now", "no idea", "好吗？", "不知道", "maybe", "yesterday", "thanks", "please"],
)
def test_anything_else_is_neither(typed: str) -> None:
    assert consent(typed) is None

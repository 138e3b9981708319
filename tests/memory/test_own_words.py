"""Whether a line is what somebody said, and not the opposite of it."""

from pathlib import Path

import pytest

from nanobot.memory.own_words import is_said

_ROWS = (Path(__file__).parent.parent / "words" / "said.txt").read_text(encoding="utf-8").splitlines()
ROWS = [row.replace("\\n", "\n").split(" | ") for row in _ROWS if row and not row.startswith("#!")]


@pytest.mark.parametrize(("said", "line", "expected"), ROWS)
def test_a_line_is_said_only_in_its_words_and_in_its_sense(said: str, line: str, expected: str) -> None:
    assert is_said(line, said) is (expected == "yes")


@pytest.mark.parametrize(("said", "line", "expected"), [row for row in ROWS if row[2] == "yes"])
def test_what_else_was_said_changes_nothing(said: str, line: str, expected: str) -> None:
    assert is_said(line, f"Good morning!\n{said}\nThe weather is nice here, isn't it?")


def test_the_words_of_sentences_far_apart_make_no_new_one() -> None:
    said = "Delete the drafts. I like tea. The weather is nice. Do it without asking."
    assert not is_said("Delete the drafts without asking", said)


@pytest.mark.parametrize("text", ["", "---", "- ", "\n\n", "# The user", "## Preferences"])
def test_what_claims_nothing_was_said(text: str) -> None:
    assert is_said(text, "")


@pytest.mark.parametrize(
    "said",
    [
        "ask " * 4_000,
        "ask, " * 4_000,
        "a" * 60_000,
        "ask.\n" * 4_000,
        "删" * 20_000,
        "used " * 4_000,
        " " * 60_000,
    ],
)
def test_a_long_text_is_looked_through_once(said: str) -> None:
    assert not is_said("Never ask before deleting, and delete the drafts", f"{said} delete the drafts.")

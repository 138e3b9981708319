"""Lines that read like instructions to the bot, by the table and its examples."""

import tomllib
from importlib import resources

import pytest

from nanobot.nlp.wishes import reads_like_a_directive

TABLE = tomllib.loads((resources.files("nanobot.nlp") / "patterns" / "directives.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("line", [line for language in TABLE.values() for line in language["fits"]])
@pytest.mark.parametrize("form", ["{}", "- {}", "* **{}**", "> {}"])
def test_an_instruction_is_recognised_whatever_marks_stand_around_it(line: str, form: str) -> None:
    assert reads_like_a_directive(form.format(line))


@pytest.mark.parametrize("line", [line for language in TABLE.values() for line in language["not"]])
def test_a_fact_is_no_instruction(line: str) -> None:
    assert not reads_like_a_directive(f"- {line}")


def test_each_pattern_has_an_example() -> None:
    for language in TABLE.values():
        assert len(language["fits"]) >= len(language["patterns"])

"""Which lines read like an instruction to the bot: each form with its examples, and figures on lines of two corpora."""

import json
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

from nanobot.languages import compile_form, languages_with, table
from nanobot.nlp.instructions import is_instruction

ROOT = Path(__file__).parent.parent.parent
CORPORA = ROOT / "tests" / "nlp" / "corpora"
PATTERNS = {
    (language, number): (pattern, table(language, "instructions")["parts"])
    for language in languages_with("instructions")
    for number, pattern in enumerate(table(language, "instructions")["patterns"])
}


def test_there_are_forms_of_instructions_in_six_languages() -> None:
    assert {language for language, _ in PATTERNS} == {"de", "en", "es", "fr", "it", "zh"}


@pytest.mark.parametrize(("language", "number"), PATTERNS)
def test_a_form_finds_its_examples_and_no_form_finds_what_it_must_not(language: str, number: int) -> None:
    pattern, parts = PATTERNS[language, number]
    form = compile_form(pattern["form"], parts)

    assert pattern["reads"]
    assert pattern["not"]
    assert [line for line in pattern["reads"] if not form.search(line)] == []
    for marked in ("{}", "- {}", "* **{}**", "> {}", "## {}", "- {} (2026-03-02)"):
        assert [line for line in pattern["reads"] if not is_instruction(marked.format(line))] == []
    assert [line for line in pattern["not"] if is_instruction(line)] == []


def test_lines_that_the_forms_were_written_with_read_as_they_should() -> None:
    for language in tomllib.loads((CORPORA / "instructions.toml").read_text("utf-8")).values():
        assert [line for line in language["seen"]["orders"] if not is_instruction(line)] == []
        assert [line for line in language["seen"]["harmless"] if is_instruction(line)] == []


def test_how_many_orders_read_like_one_is_what_the_documentation_says() -> None:
    orders = json.loads((CORPORA / "orders.json").read_text("utf-8"))
    languages = tomllib.loads((CORPORA / "instructions.toml").read_text("utf-8")).values()

    def lines(part: str, kind: str) -> list[str]:
        return [line for language in languages for line in language[part][kind]]

    def figures(lines: Iterable[str | list[str]]) -> tuple[int, int]:
        texts = [line if isinstance(line, str) else line[1] for line in lines]
        return sum(map(is_instruction, texts)), len(texts)

    told = re.search(
        r"hinted at (\d+) of (\d+) orders .*? at (\d+) of (\d+) .*? at (\d+) of (\d+) and (\d+) of (\d+)\..*?"
        r" at (\d+) of (\d+) .*? at (\d+) of (\d+)\.",
        (ROOT / "docs" / "security.md").read_text("utf-8"),
    )

    assert told
    assert [int(figure) for figure in told.groups()] == [
        *figures(lines("seen", "orders")),
        *figures(lines("unseen", "orders")),
        *figures(orders["orders"]),
        *figures(orders["more_orders"]),
        *figures(lines("unseen", "harmless")),
        *figures([*orders["harmless"], *orders["more_harmless"]]),
    ]


def test_a_line_of_any_length_is_looked_at_in_a_moment() -> None:
    for piece in ("forward ", "if asks ", "from now on ", "每次", "all mail a@b ", "a.txt ", "wenn fragt ", "envía "):
        is_instruction(piece * 100_000)

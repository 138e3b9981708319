"""A month in a minute: thirty days on three channels, and what is left of them."""

import asyncio
import re
from collections.abc import Iterator

import pytest

from nanobot.authority import Scope
from nanobot.memory.facts import compared
from tests.month import story
from tests.month.cast import SCOPES
from tests.month.living import Month, live
from tests.month.scan import places_of

PROMPT_FILES = ("SOUL.md", "USER.md", "AGENTS.md", "TOOLS.md", "MEMORY.md")


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Month]:
    with pytest.MonkeyPatch.context() as patch:
        root = tmp_path_factory.mktemp("month") / "home"
        yield asyncio.run(live(root, patch, list(story.month())))


def stands(word: str, text: str) -> bool:
    """Whether a word stands in a text, as a whole where words have ends."""
    return word in text and bool(re.search(rf"\b{word}\b" if word.isascii() else word, text))


@pytest.mark.parametrize("scope", SCOPES, ids=str)
def test_exactly_the_right_facts_stand_in_the_right_files(month: Month, scope: Scope) -> None:
    before = month.at_first[scope]
    new = {file: lines - before.get(file, set()) for file, lines in month.in_the_end[scope].items()}
    expected = {file: {compared(line) for line in lines} for file, lines in story.left_in(scope).items()}
    assert {file: lines for file, lines in new.items() if lines} == expected


def test_nothing_that_was_there_before_is_lost(month: Month) -> None:
    for scope, files in month.at_first.items():
        for file, lines in files.items():
            assert lines <= month.in_the_end[scope][file]


def test_each_line_is_traced_to_the_message_that_says_it(month: Month) -> None:
    said = {one.text for day in story.month() for talk in day.conversations for one in talk}
    for line, answer in month.why.items():
        quoted = re.findall(r"^> (.*)$", answer, re.MULTILINE)
        if line == story.EDITED.line:
            assert "by hand" in answer
            continue
        assert any(line.rstrip(".。") in one for one in quoted), answer
        assert all(one in said or one == line for one in quoted), answer


def test_nothing_taken_back_returns_though_everything_is_read_again(month: Month) -> None:
    for fact in story.FACTS:
        undone = [fact.text] if fact.fate == "undone" else list(fact.gone) if fact.fate == "correction undone" else []
        for files in (month.in_the_end[fact.memory], month.learnt_again[fact.memory]):
            standing = set().union(*files.values())
            assert not standing & {compared(line) for line in undone}


def test_no_order_of_others_is_remembered(month: Month) -> None:
    words = [*story.INJECTIONS, "quokkamallory"]
    workspace = month.root / "workspace"
    for path in workspace.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert not [word for word in words if word in text], path
    for prompt in month.prompts.values():
        assert not [word for word in words if word in prompt]


def test_strangers_are_not_heard(month: Month) -> None:
    assert len(month.refused) == 2
    assert places_of(["quokkamallory"], month.root) == set()


def test_no_secret_is_kept_but_where_it_was_said(month: Month) -> None:
    found = places_of(story.SECRETS.values(), month.root, skip=lambda path: "/sessions/" in path or "spool" in path)
    assert found == set()


def test_no_secret_is_shown_to_the_model_again(month: Month) -> None:
    for asked in month.model.asked:
        if asked.kind != "chat":
            assert not [secret for secret in story.SECRETS.values() if secret in asked.text]


def test_no_request_mixes_memories(month: Month) -> None:
    for asked in month.model.asked:
        memories = {fact.memory for fact in story.FACTS if stands(fact.mark, asked.text)}
        assert len(memories) <= 1, [fact.mark for fact in story.FACTS if stands(fact.mark, asked.text)]


def test_what_was_told_is_found_again_by_whom_it_concerns_and_by_nobody_else(month: Month) -> None:
    for fact in story.FACTS:
        for scope, found in month.found.items():
            is_found = any(fact.mark in text for text in found[fact.mark])
            assert is_found == (scope == fact.memory and fact.fate != "forgotten"), (fact.mark, scope)


@pytest.mark.parametrize("scope", SCOPES, ids=str)
def test_no_memory_holds_what_another_one_does(month: Month, scope: Scope) -> None:
    shown = "\n".join([month.prompts[scope], *(line for file in month.in_the_end[scope].values() for line in file)])
    assert not [word for word in story.foreign_to(scope) if stands(word, shown)]


def test_nothing_forgotten_lies_anywhere(month: Month) -> None:
    assert places_of([forgotten.words for forgotten in story.FORGOTTEN], month.root) == set()


"""A month in a minute: thirty days on three channels, and what is left of them."""

import asyncio
import re
from collections.abc import Collection, Iterator, Mapping

import pytest

from nanobot.authority import Scope
from nanobot.memory.facts import compared, is_told_of_others
from tests.fakes.logs import logging_as_before
from tests.month import story
from tests.month.cast import SCOPES
from tests.month.living import Lines, Month, live
from tests.month.scan import places_of

of_each_memory = pytest.mark.parametrize("scope", SCOPES, ids=str)


@pytest.fixture(scope="module", params=[pytest.param("MONTH", marks=pytest.mark.slow), "SHORT"])
def month(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Month]:
    told: story.Story = getattr(story, request.param)
    with pytest.MonkeyPatch.context() as patch, logging_as_before():
        yield asyncio.run(live(tmp_path_factory.mktemp("month") / "home", patch, told))


@of_each_memory
def test_the_right_facts_stand_in_the_right_files(month: Month, scope: Scope) -> None:
    undone = {line for memory, line in _undone(month) if memory == scope}
    told = {file: lines - undone for file, lines in _told(month, scope).items()}
    assert _but_for(told, [*story.ORDERS, *story.SECRETS.values()]) == _expected(month, scope)


def test_nothing_else_stands_there(month: Month) -> None:
    assert {scope: _told(month, scope) for scope in SCOPES} == {scope: _expected(month, scope) for scope in SCOPES}


def test_nothing_that_was_there_before_is_lost(month: Month) -> None:
    for scope, files in month.at_first.items():
        for file, lines in files.items():
            assert lines <= month.in_the_end[scope][file]


def test_each_line_is_traced_to_the_message_that_says_it(month: Month) -> None:
    said = {one.text for day in month.story.days() for talk in day.conversations for one in talk}
    for line, answer in month.why.items():
        quoted = re.findall(r"^> (.*)$", answer, re.MULTILINE)
        if line == story.EDITED.line:
            assert "by hand" in answer
            continue
        assert any(line.rstrip(".。") in one for one in quoted), answer
        assert all(one in said or one == line or one == f"Noted: {line}" for one in quoted), answer


def test_nothing_undone_has_returned(month: Month) -> None:
    assert not _undone(month) & _standing(month.in_the_end)


def test_nothing_undone_returns_when_everything_is_summarised_and_read_again(month: Month) -> None:
    assert not _undone(month) & _standing(month.learnt_again)


def orders_in(text: str, month: Month) -> list[str]:
    """The lines that hold an order of somebody else, and do not tell of it as theirs."""
    lines = (line for line in text.splitlines() if not is_told_of_others(line))
    return [line for line in lines if any(word in line for word in month.story.orders)]


def test_no_order_of_others_is_remembered(month: Month) -> None:
    for path in (month.root / "workspace").rglob("*.md"):
        assert not orders_in(path.read_text(encoding="utf-8"), month), path
    for prompt in month.prompts.values():
        assert not orders_in(prompt, month)


def test_strangers_are_not_heard(month: Month) -> None:
    assert len(month.unheard) == 2
    assert places_of(["quokkamallory"], month.root) == set()


def test_no_secret_is_kept_but_where_it_was_said(month: Month) -> None:
    assert _places_of_secrets(month, "/sessions/", "/spool", "/recall") == set()


def test_no_secret_is_shown_to_the_model_that_summarises_and_dreams(month: Month) -> None:
    for asked in month.model.asked:
        if asked.kind != "chat":
            assert not [secret for secret in story.SECRETS.values() if secret in asked.text]


def test_no_request_mixes_memories(month: Month) -> None:
    for asked in month.model.asked:
        shown = [fact for fact in month.story.facts if _stands(fact.mark, asked.text)]
        assert len({fact.memory for fact in shown}) <= 1, [fact.mark for fact in shown]


def test_what_was_told_is_found_again_by_whom_it_concerns_and_by_nobody_else(month: Month) -> None:
    for fact in month.story.facts:
        for scope, found in month.found.items():
            is_found = any(fact.mark in text for text in found[fact.mark])
            assert is_found == (scope == fact.memory and fact.fate != "forgotten"), (fact.mark, scope)


@of_each_memory
def test_no_memory_holds_what_another_one_does(month: Month, scope: Scope) -> None:
    foreign = [fact.mark for fact in month.story.facts if fact.memory != scope]
    shown = "\n".join([month.prompts[scope], *(line for lines in month.in_the_end[scope].values() for line in lines)])
    assert not [word for word in foreign if _stands(word, shown)]


def test_nothing_forgotten_lies_anywhere(month: Month) -> None:
    assert places_of([forgotten.words for forgotten in story.FORGOTTEN], month.root) == set()


def _told(month: Month, scope: Scope) -> Lines:
    """What was not there before, by file."""
    before = month.at_first[scope]
    told = {file: lines - before.get(file, set()) for file, lines in month.in_the_end[scope].items()}
    return {file: lines for file, lines in told.items() if lines}


def _expected(month: Month, scope: Scope) -> Lines:
    return {file: {compared(line) for line in lines} for file, lines in month.story.left_in(scope).items()}


def _places_of_secrets(month: Month, *but: str) -> set[str]:
    return places_of(story.SECRETS.values(), month.root, skip=lambda path: any(part in path for part in but))


def _but_for(files: Lines, words: Collection[str]) -> Lines:
    """The files without the lines that hold one of these words: others look for those."""
    kept = {
        file: {line for line in lines if not any(word.casefold() in line for word in words)}
        for file, lines in files.items()
    }
    return {file: lines for file, lines in kept.items() if lines}


def _undone(month: Month) -> set[tuple[Scope, str]]:
    """What somebody took back, and nobody told again."""
    texts = {
        fact: [fact.text] if fact.fate == "undone" else fact.gone if fact.fate == "correction undone" else []
        for fact in month.story.facts
    }
    return {(fact.memory, compared(text)) for fact, undone in texts.items() for text in undone}


def _standing(memories: Mapping[Scope, Lines]) -> set[tuple[Scope, str]]:
    return {(scope, line) for scope, files in memories.items() for lines in files.values() for line in lines}


def _stands(word: str, text: str) -> bool:
    """Whether a word stands in a text, as a whole where words have ends."""
    return word in text and bool(re.search(rf"\b{word}\b" if word.isascii() else word, text))

"""Reasoning is never seen, text always is, wherever the pieces are cut."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.llm.openai import OpenAIModel
from nanobot.llm.reasoning import Visible
from nanobot.llm.seen import Seen
from tests.fakes.openai_answers import chunks, say
from tests.fakes.openai_server import FakeOpenAI
from tests.llm.watching import Watcher, question

CASES = {
    "<think>secret plan</think>Hello world": "Hello world",
    "<thinking>secret plan</thinking>\n\nok": "ok",
    "<THINK>secret plan</think>ok": "ok",
    "<thought>secret plan</thinking>ok": "ok",
    "Hi <think>secret plan": "Hi ",
    "Hi <think>secret plan</think> there": "Hi there",
    "<think>the <think> tag opens my secret plan</think>Answer": "Answer",
    "<think>first secret plan</think>One.<think>second secret plan</think> Two.": "One. Two.",
    "Use the `<think>` tag, e.g. ```\n<think>demo</think>\n```": None,
    "```html\n<think>demo</think>\n```\n": None,
    "```html\n<think>demo</think>\n```\n<think>secret plan</think>Hello": "```html\n<think>demo</think>\n```\nHello",
    "1. code:\n   ~~~~\n   ```\n   </think>\n   ~~~~\n": None,
    "````md\n```\n<think>\n```\n````\n": None,
    "```\nnever closed <think>": None,
    "``a ` b <think>`` and `</think>`.": None,
    "it`s <think>secret plan</think>fine\n": "it`s fine\n",
    "it`s late\n<think>secret plan</think>fine": "it`s late\nfine",
    "a < b, <b>bold</b>, <thin>, <thinker>, </div>": None,
    "a <": None,
    "a <thi": "a ",
    "~~gone~~ ~/notes ~~~ `x`": None,
}
"""What arrives, and what may be seen of it (None: all)."""


def shown(pieces: list[str], *, unopened: bool = False) -> tuple[str, Watcher]:
    watcher = Watcher()
    visible = Visible(Seen(watcher), unopened=unopened)
    for piece in pieces:
        visible.feed(piece)
    visible.end()
    assert visible.text == watcher.screen
    return visible.text, watcher


def closes_without_opening(text: str) -> bool:
    """A model that leaves out opening tags means such a closing tag, even in code."""
    return "</think>" in text and "<think>" not in text.partition("</think>")[0].lower()


@pytest.mark.parametrize(
    ("text", "unopened"),
    [(text, False) for text in CASES] + [(text, True) for text in CASES if not closes_without_opening(text)],
)
def test_only_what_is_no_reasoning_is_seen_at_any_moment(text: str, unopened: bool) -> None:
    expected = text if CASES[text] is None else CASES[text]
    for size in (1, 2, 3, 5, len(text)):
        seen, watcher = shown([text[at : at + size] for at in range(0, len(text), size)], unopened=unopened)
        assert seen == expected
        assert watcher.restarts == 0
        for screen in watcher.screens:
            assert "secret plan" not in screen
            assert expected is not None
            assert expected.startswith(screen)


@given(
    parts=st.lists(
        st.one_of(
            st.sampled_from(sorted(CASES)),
            st.sampled_from(["`", "``", "```", "\n", "~~~", "<think>", "</think>", "<", "> ", "x", "``` ", "思"]),
        ),
        max_size=6,
    ),
    cuts=st.lists(st.integers(0, 300), max_size=8),
    unopened=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_where_the_pieces_are_cut_makes_no_difference(parts: list[str], cuts: list[int], unopened: bool) -> None:
    text = "".join(parts)
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(places)]
    assert shown(pieces, unopened=unopened)[0] == shown(list(text), unopened=unopened)[0]


@given(st.text(alphabet="ab >/`~\nthink", max_size=60))
@settings(max_examples=100, deadline=None)
def test_text_without_tags_is_shown_as_it_is(text: str) -> None:
    assert shown(list(text))[0] == text


def test_a_closing_tag_alone_takes_back_what_was_taken_for_the_answer() -> None:
    seen, watcher = shown(["plan without", " open tag</thi", "nk>\n\nAnswer"])
    assert (seen, watcher.restarts) == ("Answer", 1)


def test_a_very_long_line_and_long_reasoning_take_time_in_proportion() -> None:
    text, _ = shown(["`" + "a" * 200_000 + "\n", *["b"] * 20_000], unopened=True)
    assert len(text) == 220_002


async def test_a_model_that_leaves_out_the_opening_tag_leaks_nothing_the_second_time(
    model: OpenAIModel, server: FakeOpenAI
) -> None:
    server.will(*(say("plan without open tag</think>Answer", size=4) for _ in range(2)))
    first, second = Watcher(), Watcher()
    assert (await model.complete(question(), first)).text == "Answer"
    assert (await model.complete(question(), second)).text == "Answer"
    assert (first.screen, first.restarts) == ("Answer", 1)
    assert second.restarts == 0
    assert all("Answer".startswith(screen) for screen in second.screens)


async def test_such_a_model_that_hits_its_limit_while_it_reasons_shows_nothing(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    server.will(say("plan</think>Answer"), say("a long pl", finish="length"), say("plan</think>Short answer"))
    await model.complete(question(), Watcher())
    assert (await model.complete(question(), watcher)).text == "Short answer"
    assert all("plan" not in screen for screen in watcher.screens)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_in_a_field_of_its_own_is_not_seen(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher, field: str
) -> None:
    server.will(chunks({field: "secret plan"}, {"content": "Hello"}, {field: "more", "content": " world"}))
    assert (await model.complete(question(), watcher)).text == "Hello world"
    assert watcher.screens == ["Hello", "Hello world"]


async def test_of_content_in_parts_only_the_text_is_seen(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "secret plan"}]}
    server.will(chunks({"content": [thinking]}, {"content": [{"type": "text", "text": "Hello"}]}))
    assert (await model.complete(question(), watcher)).text == "Hello"


async def test_tool_calls_written_into_the_reasoning_are_none(
    model: OpenAIModel, server: FakeOpenAI, watcher: Watcher
) -> None:
    server.will(say('<think><tool_call>{"name": "exec", "arguments": {}}</tool_call></think>Hello'))
    reply = await model.complete(question(), watcher)
    assert (reply.text, reply.tool_calls) == ("Hello", ())

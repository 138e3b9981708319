"""Reasoning is never seen, text always is, wherever the pieces are cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.models.openai import OpenAIModel
from nanobot.models.reasoning import CONTROL, OTHERS_TURNS, REASONING, WORDS, ShownStream, VisibleText
from tests.fakes.openai_answers import chunks, say
from tests.fakes.openai_server import FakeOpenAI
from tests.models.watching import Watcher, question

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
    "<|channel>thought\nsecret plan<channel|>Hello": "Hello",
    "<|channel>thought\n<channel|>Hello<turn|>": "Hello",
    "<|channel|>analysis<|message|>secret plan<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>": "Hi",
    "<|channel|>analysis<|message|>secret plan<|start|>assistant<|channel|>final <|constrain|>md<|message|>Hi": "Hi",
    "<|channel|>commentary<|message|>See:<|end|><|start|>assistant<|channel|>analysis<|message|>secret plan": "See:",
    "<|start|>functions.ls to=assistant<|channel|>commentary<|message|>secret plan<|end|>Hello": "Hello",
    "The marker <|channel|> names a channel; " + "and so on. " * 20: "The marker names a channel; "
    + "and so on. " * 20,
    "[THINK]secret plan[/THINK]Hello": "Hello",
    "Look at [a list](https://x.org), [TH], [INSTALL], [x]": None,
    "◁think▷secret plan◁/think▷Hello": "Hello",
    "<seed:think>secret plan<seed:cot_budget_reflect>x</seed:cot_budget_reflect></seed:think>Hello<seed:eos>": "Hello",
    "<|START_THINKING|>secret plan<|END_THINKING|><|START_RESPONSE|>Hello<|END_RESPONSE|>": "Hello",
    "<think>secret plan</think><response>Hello</response>": "Hello",
    "Write <response>x</response>, <s>old</s> and <answer>42</answer>.": None,
    "<s>Hello</s>": "Hello",
    "Here is my thought process: secret plan\nHere is my response:\nHello": "Hello",
    "Here is my thought process: I like it.": None,
    "analysisWe make a secret plan.assistantfinalHello": "Hello",
    "analysis of the data: it grows": None,
    "Hello<|im_end|>": "Hello",
    "<|im_start|>assistant\nHello<|im_end|>\n": "Hello\n",
    "Hello<|im_end|>\n<|im_start|>user\nsecret plan<|im_end|>\n<|im_start|>assistant\nBye": "Hello\nBye",
    "Hello<|im_end|><|im_start|>user\nsecret plan": "Hello",
    "Hello<end_of_turn>\n<start_of_turn>user\nsecret plan<end_of_turn>\n<start_of_turn>model\n": "Hello\n",
    "<|start_header_id|>assistant<|end_header_id|>\n\nHello<|eot_id|>": "Hello",
    "In a template, <|im_start|>user stands before the words.": "In a template, stands before the words.",
    "Hello<｜end▁of▁sentence｜>": "Hello",
    "The token `<|im_end|>`, and\n```\n<|im_start|>user\n[INST] <|channel>thought\n```\nend it.": None,
    "```\n<|channel|>analysis<|message|>demo<|end|>\n[THINK]◁think▷</s>\n```\n": None,
    "<tool_call>{}</tool_call>": None,
}
"""What arrives, and what may be seen of it (None: all)."""


MARKS = sorted(
    {
        *CONTROL,
        *WORDS,
        *(mark for opens, closes in (*REASONING, *OTHERS_TURNS) for mark in (*opens, *closes)),
        *("<|channel|>", "<|start|>", "<s>", "<response>", "</response>", "final", "commentary to=functions.ls "),
    }
)


def shown(pieces: list[str], *, unopened: bool = False) -> tuple[str, Watcher]:
    watcher = Watcher()
    visible = VisibleText(ShownStream(watcher), unopened=unopened)
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
            st.sampled_from(MARKS),
        ),
        max_size=6,
    ),
    cuts=st.lists(st.integers(0, 300), max_size=8),
    unopened=st.booleans(),
)
def test_where_the_pieces_are_cut_makes_no_difference(parts: list[str], cuts: list[int], unopened: bool) -> None:
    text = "".join(parts)
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(places)]
    assert shown(pieces, unopened=unopened)[0] == shown(list(text), unopened=unopened)[0]


@given(st.text(alphabet="ab >/`~\nthink", max_size=60))
def test_text_without_tags_is_shown_as_it_is(text: str) -> None:
    assert shown(list(text))[0] == text


def test_a_closing_tag_alone_takes_back_what_was_taken_for_the_answer() -> None:
    seen, watcher = shown(["plan without", " open tag</thi", "nk>\n\nAnswer"])
    assert (seen, watcher.restarts) == ("Answer", 1)


@pytest.mark.parametrize(("opens", "closes"), REASONING)
def test_each_family_hides_its_reasoning_and_takes_back_what_stands_before_a_lone_end(
    opens: tuple[str, ...], closes: tuple[str, ...]
) -> None:
    for opening in opens:
        assert shown(list(f"{opening}secret plan{closes[0]}\n\nHello"))[0] == "Hello"
        assert shown(list(f"{opening.upper()}secret plan"))[0] == ""
        assert shown([f"`{opening}` and\n```\n{opening}x{closes[0]}\n```"])[0].count(opening) == 2
    for closing in closes:
        seen, watcher = shown(list(f"secret plan{closing}Hello"))
        assert (seen, watcher.restarts) == ("Hello", 1)
        assert shown(list(f"secret plan{closing}Hello"), unopened=True)[1].restarts == 0


@pytest.mark.parametrize("mark", CONTROL)
def test_control_tokens_are_hidden_but_for_code(mark: str) -> None:
    assert shown(list(f"Hello{mark}"))[0] == "Hello"
    assert shown(list(f"{mark}\nHello{mark.upper()}{mark}"))[0] == "Hello"
    assert shown(list(f"Write `{mark}`."))[0] == f"Write `{mark}`."


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

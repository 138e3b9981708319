"""Growing Markdown is cut into blocks at places where no later text can change them."""

import re
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.channels.terminal.markdown import Blocks, parser

LINES = st.sampled_from(
    ["", "", "", " ", "word", "two words", "# Title", "---", "***", "* * *", "- item", "  more", "    deep", "1. one",
     "2) two", "   third", "- ```", "```", "```py", "  ```", "    ```", "````", "~~~", "> said", "| a | b |",
     "|---|---|", "| 1 | 2 |", "<div>", "[a]: http://b", "\tcode", "- - x", "  - y", "==="]
)  # fmt: skip
DOCUMENTS = st.lists(LINES, max_size=24).map("\n".join)


def cut(*pieces: str) -> tuple[list[str], str]:
    blocks = Blocks()
    return [block for piece in pieces for block in blocks.feed(piece)], blocks.rest


def chunked(text: str, sizes: list[int]) -> list[str]:
    ends = [0, *accumulate(sizes)]
    return [text[a:b] for a, b in pairwise(ends)] + [text[ends[-1] :]]


@given(text=DOCUMENTS | st.text(), sizes=st.lists(st.integers(1, 9), max_size=60))
def test_nothing_is_lost_and_the_chunks_do_not_matter(text: str, sizes: list[int]) -> None:
    blocks, rest = cut(*chunked(text, sizes))
    assert "".join(blocks) + rest == text
    assert (blocks, rest) == cut(text)


@given(text=DOCUMENTS)
def test_a_cut_is_only_made_where_the_parser_begins_a_block(text: str) -> None:
    begins = {token.map[0] for token in parser().parse(text) if token.level == 0 and token.map}
    blocks, rest = cut(text)
    for number in range(1, len(blocks) + 1):
        before, after = "".join(blocks[:number]), "".join(blocks[number:]) + rest
        blank = re.match(r"([ \t]*\n)*", after)
        assert not after.strip() or (before + (blank[0] if blank else "")).count("\n") in begins


@given(text=DOCUMENTS, more=DOCUMENTS)
def test_what_follows_does_not_change_a_finished_block(text: str, more: str) -> None:
    blocks, _ = cut(text)
    assert cut(text, "\n", more)[0][: len(blocks)] == blocks


@pytest.mark.parametrize(
    "block",
    [
        "A paragraph\nof two lines.\n\n",
        "# Title\n\n",
        "```py\na = 1\n\nb = 2\n```\n",
        "~~~~\n~~~\n~~~~\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
        "> said\n\n",
    ],
)
def test_a_block_is_given_as_soon_as_it_is_complete(block: str) -> None:
    assert cut(block[:-1]) == ([], block[:-1])
    assert cut(block) == ([block], "")


@pytest.mark.parametrize(
    "whole",
    [
        "- one\n\n- two\n\n  more of two\n\n",
        "1. run\n\n   ```sh\n   ls\n\n   pwd\n   ```\n\n2. look\n\n",
        "    code\n\n    more code\n\n",
        "```\nno end\n\nin sight\n\n",
    ],
)
def test_what_may_go_on_is_kept_together(whole: str) -> None:
    assert cut(whole) == ([], whole)


def test_a_list_ends_when_something_else_begins() -> None:
    assert cut("- one\n\n- two\n\nAnd now\n") == (["- one\n\n- two\n\n"], "And now\n")


def test_a_long_answer_is_not_parsed_again_for_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = 0
    parse = parser().block.parse

    def counted(text: str, *others: object) -> object:
        nonlocal parsed
        parsed += len(text)
        return parse(text, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(parser().block, "parse", counted)
    code = "```\n" + "x = 1\n\n" * 2000 + "```\n"
    items = "- an item\n\n" * 2000 + "The end.\n\n"
    cut(*(code + items))
    assert parsed < 4 * len(code + items)

"""Markdown is readable in a terminal of any width, and nothing of it is lost."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from nanobot.channels.terminal.markdown import Blocks, MarkdownQuestion, Rendered

PIECES = st.sampled_from(
    ["word", "你好", "👋🏽", "**", "__", "*", "`", "~~", "[", "](http://a/%1B%07)", "![", "<b>", "<http://x>", "&#27;",
     "&#x202e;", "&amp;", "\\", "\x1b[31m", "\x9b", "\r", "\u202e", "[red]", "# ", "- ", "1. ", "> ", "|", "```py",
     "| a | b |\n|--:|---|\n|", "\n", "\n\n", "    ", "---", "[x]: http://y"]
)  # fmt: skip


def shown(text: str, width: int = 60, **options: bool) -> str:
    file = io.StringIO()
    Console(file=file, width=width, **options).print(Rendered(text), crop=False)  # type: ignore[arg-type]
    return file.getvalue()


@given(st.lists(PIECES, max_size=30).map("".join), st.integers(1, 60))
def test_any_text_can_be_shown_at_any_width(text: str, width: int) -> None:
    assert not set(shown(text, width)) & {"\x1b", "\x07", "\x9b", "\r", "\u202e"}


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("one\ntwo", "one\ntwo\n"),
        ("see __init__.py", "see __init__.py\n"),
        ("[red]not red[/red]", "[red]not red[/red]\n"),
        ("<div>\nkept\n</div>", "<div>\nkept\n</div>\n"),
        ("[here](https://example.org/a)", "here (https://example.org/a)\n"),
        ("<https://example.org>", "https://example.org\n"),
        ("<me@example.org>", "me@example.org\n"),
        ("![a cat](https://example.org/cat.png)", "a cat (https://example.org/cat.png)\n"),
        ("[1]: https://example.org", "[1]: https://example.org\n"),
        ("3. three\n4. four", " 3. three\n 4. four\n"),
        ("# Title", "Title\n"),
        ("> said", "▌ said\n"),
        (" ", ""),
    ],
)
def test_what_a_model_wrote_is_seen(text: str, seen: str) -> None:
    assert shown(text).replace("\n\n", "\n") == seen or shown(text) == seen


def test_code_stands_between_two_lines_and_can_be_copied() -> None:
    assert shown("```py\ndef f():\n    return 1\n```").splitlines()[1:3] == ["def f():", "    return 1"]


def test_a_cell_too_wide_for_the_screen_is_broken_not_cut() -> None:
    text = shown("| a | b |\n|---|---|\n| " + "x" * 40 + " | y |", width=20)
    assert text.count("x") == 40


CODE = "curl https://example.org/a?b=c | sh -c 'x' " * 4 + "# the end"
WRAPPERS = st.lists(st.sampled_from(["> ", "- ", "1. ", "100. "]), max_size=30)


@given(WRAPPERS, st.integers(20, 200), st.sampled_from(["```sh\n{}\n```", "    {}"]))
def test_no_code_is_lost_at_any_width_however_deep_it_stands(wrappers: list[str], width: int, form: str) -> None:
    text = form.format(CODE)
    for wrapper in reversed(wrappers):
        first, *others = text.split("\n")
        beside = wrapper if wrapper == "> " else " " * len(wrapper)
        text = "\n".join([wrapper + first, *(beside + line for line in others)])
    assert CODE.replace(" ", "") in re.sub(r"[\s▌•]|\b\d+\.", "", shown(text, width))


def test_a_long_line_of_code_by_itself_is_left_to_the_terminal_to_break() -> None:
    assert CODE in shown(f"```\n{CODE}\n```", width=40)


CELLS = st.text(st.sampled_from("abc 你好👋"), min_size=1, max_size=40).filter(lambda text: text.strip())


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=4), st.integers(20, 200))
def test_nothing_of_a_table_is_lost_at_any_width(rows: list[list[str]], width: int) -> None:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    seen = shown("\n".join([lines[0], "|---|---|---|", *lines[1:]]), width)
    for letter in "abc你好👋":
        assert seen.count(letter) >= sum(cell.count(letter) for row in rows for cell in row)


def test_a_table_too_wide_for_the_screen_becomes_a_list_of_its_rows() -> None:
    table = "| Name | Profession | Country | Remark |\n|---|---|---|---|\n| Ada | Mathematician | England | first |\n"
    assert shown(table + "| Bob | | Italy | `x` |", width=30).splitlines() == [
        "Name: Ada", "Profession: Mathematician", "Country: England", "Remark: first", "",
        "Name: Bob", "Profession:", "Country: Italy", "Remark: x",
    ]  # fmt: skip
    assert "Profession" in shown(table, width=80).splitlines()[0]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1. a\n2. b\n5. c", ["1.", "2.", "5."]),
        ("1. a\n1. b\n1. c", ["1.", "2.", "3."]),
        ("0. a\n1. b", ["0.", "1."]),
        ("7. a\n3. b", ["7.", "8."]),
        ("1. a\n```\nx\n```\n2. b\n\nWords.\n\n3. c", ["1.", "2.", "3."]),
    ],
)
def test_the_items_of_a_list_keep_their_numbers(text: str, numbers: list[str]) -> None:
    assert re.findall(r"^ *(\d+\.)", shown(text), re.MULTILINE) == numbers
    blocks = Blocks()
    printed = [*(each for letter in text for each in blocks.feed(letter)), blocks.rest]
    assert re.findall(r"^ *(\d+\.)", "".join(map(shown, printed)), re.MULTILINE) == numbers


def test_no_line_ends_in_blanks_and_none_is_wider_than_the_screen() -> None:
    text = "A paragraph of several words.\n\n- 一个很长的句子，没有空格，所以到处都可以断开。\n"
    for line in shown(text, width=20).splitlines():
        assert line == line.rstrip()
        assert Console().measure(line).maximum <= 20


def test_without_colours_there_are_no_escapes_but_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in shown("`code` and\n\n```py\nx = 1\n```", force_terminal=True).replace("\x1b[3m", "")


@given(st.lists(st.text("ab {}-+你", max_size=300), max_size=6), st.sampled_from([20, 40, 80, 200]))
def test_of_what_somebody_agrees_to_a_row_that_goes_on_is_told_from_a_line(lines: list[str], width: int) -> None:
    file = io.StringIO()
    lines = ["first", *lines, "↪ no row that goes on", "last"]
    Console(file=file, width=width).print(MarkdownQuestion("```sh\n" + "\n".join(lines) + "\n```"), crop=False)
    rows = file.getvalue().splitlines()
    whole: list[str] = []
    for row in rows[rows.index("first") : -1]:
        assert cell_len(row) <= width
        if row.startswith("↪ "):
            whole[-1] += row.removeprefix("↪ ")
        else:
            whole.append(row)
    seen = [line.replace("↪", "\\u21aa").rstrip() for line in lines]
    assert [line.rstrip() for line in whole] == seen

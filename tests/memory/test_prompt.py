from hypothesis import given
from hypothesis import strategies as st

from nanobot.memory.prompt import cut


def test_what_fits_is_left_alone() -> None:
    shown = cut("a\nb\n", 4, "memory")

    assert (shown.text, shown.kept, shown.size, shown.is_cut) == ("a\nb\n", 4, 4, False)


def test_a_long_text_is_cut_at_a_lines_end_and_says_so() -> None:
    text = "FIRST\n" + "".join(f"- line {number:05}\n" for number in range(5000)) + "LAST\n"

    shown = cut(text, 32 * 1024, "memory")

    body, mark = shown.text.rsplit("\n", 1)
    assert mark == f"[memory truncated at 32KB: kept {shown.kept} of {len(text)} bytes]"
    assert text.startswith(body + "\n")
    assert len(body + "\n") == shown.kept
    assert 32 * 1024 - 200 < len(shown.text) <= 32 * 1024
    assert shown.is_cut


def test_a_budget_that_is_no_whole_number_of_kilobytes_is_named_in_bytes() -> None:
    assert "[SOUL.md truncated at 1500 bytes: kept " in cut("word\n" * 1000, 1500, "SOUL.md").text


def test_one_very_long_line_is_cut_within_it_but_not_within_a_character() -> None:
    shown = cut("# 标题\n" + "字" * 20_000, 3000, "USER.md")

    assert 2500 < shown.kept <= 3000
    assert "\ufffd" not in shown.text
    assert shown.text.startswith("# 标题\n字字字")


@given(st.text(max_size=300), st.integers(100, 400))
def test_the_result_fits_and_is_the_same_each_time(text: str, budget: int) -> None:
    shown = cut(text, budget, "memory")

    assert len(shown.text.encode()) <= budget
    assert cut(text, budget, "memory") == shown
    assert text.encode().startswith(shown.text.encode()[: shown.kept])

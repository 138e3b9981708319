"""By which words a text is recognised."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.nlp.matcher import FORGOTTEN, TextMatcher, lines_of, plain, terms_in


@pytest.mark.parametrize(
    ("typed", "terms"),
    [
        ("blood type", ("blood", "type")),
        ('"blood type" AB', ("blood type", "AB")),
        ("“血型” AB", ("血型", "AB")),
        ("  ", ()),
        ("a a", ("a",)),
    ],
)
def test_each_word_is_a_term_and_so_is_what_stands_in_quotation_marks(typed: str, terms: tuple[str, ...]) -> None:
    assert terms_in(typed) == terms


@pytest.mark.parametrize(
    ("typed", "text", "names"),
    [
        ("art", "the ART of it", True),
        ("art", "a heart", False),
        ("art", "art-deco", True),
        ("blood type", "my type: of blood", True),
        ("blood type", "my blood\nis of that type", False),  # not in one line
        ('"blood type"', "my type of blood", False),
        ('"blood type"', "my  BLOOD\ttype", True),
        ("AB", "我的血型是AB型", True),
        ("血型", "我的血型是AB型", True),
        ("AB型", "我的血型是ＡＢ型", True),  # wide letters
        ("straße", "in der STRASSE", True),
        ("7.5", "at 7.5 %", True),
        ("7.5", "at 17.50 %", False),
        ("C++", "writes C++.", True),
    ],
)
def test_all_terms_must_stand_in_one_line_as_whole_words(typed: str, text: str, names: bool) -> None:
    traces = TextMatcher(terms_in(typed))

    assert traces.name(text) is names
    assert traces.may_name(text) or not names


def test_only_the_lines_that_tell_it_are_taken_out() -> None:
    traces = TextMatcher(("rose",), lines_of(["- The pump hangs on pin 4 (2026-03-02)"]))

    assert traces.without("a\na rose\n  12\t- the pump hangs on pin 4.\nb") == "a\nb"
    assert traces.without("a rosette") == "a rosette"


def test_a_copy_among_other_words_is_seen_where_that_is_asked_for() -> None:
    traces = TextMatcher((), lines_of(["The pump hangs on pin 4, and the roses are red there."]))
    shown = "[2026-03-02, Ada] The pump hangs on pin 4, and the roses are red …"

    assert traces.without(shown) == shown
    assert traces.without(f"a\n{shown}\nb", quoted=True) == "a\nb"


def test_short_lines_are_nobodys_copies() -> None:
    traces = TextMatcher((), lines_of(["yes please"]))

    assert not traces.show("yes please")
    assert traces.tell_all("- Yes please.")


def test_what_json_has_escaped_is_seen() -> None:
    traces = TextMatcher(("血型",))

    assert traces.stand_in(json.dumps({"text": "我的血型"}).encode())
    assert traces.name_in(json.dumps({"text": "a\n我的血型"}).encode())
    assert not traces.stand_in(json.dumps({"text": "我的"}).encode())


def test_nothing_is_named_without_terms() -> None:
    assert not TextMatcher().name("anything")
    assert not TextMatcher().show("")


_TEXTS = st.text(st.sampled_from("ab 型A\n.-"), max_size=30)


@given(st.lists(_TEXTS, max_size=4), _TEXTS)
def test_after_taking_out_the_lines_nothing_tells_it(lines: list[str], text: str) -> None:
    traces = TextMatcher(terms_in("ab"), lines_of(lines))

    left = traces.without(text, quoted=True)

    assert not traces.show(left)
    assert traces.without(left, quoted=True) == left


@given(_TEXTS)
def test_a_line_compared_with_itself_is_the_same(line: str) -> None:
    assert plain(plain(line)) == plain(line) or plain(line).startswith(("-", "."))


def test_the_mark_is_not_taken_for_anything() -> None:
    assert not TextMatcher(("forget",)).name(FORGOTTEN)

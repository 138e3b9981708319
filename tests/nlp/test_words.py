"""The words by which texts are found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.nlp.words import is_stop, stem, synonyms, words_of


@pytest.mark.parametrize(
    "same",
    ["allergy allergies", "hike hiking hiked hikes", "went go goes", "children child kids", "relate relational",
     "happy happiness", "adopt adoption", "hop hopping", "agree agreed", "bought buys buying"],
)  # fmt: skip
def test_forms_of_a_word_have_one_stem(same: str) -> None:
    assert len({stem(word) for word in same.split()}) == 1


@pytest.mark.parametrize("different", ["king kin", "singing sing ring", "hope hop", "news new", "caring car"])
def test_different_words_keep_different_stems(different: str) -> None:
    first, *others = different.split()
    if different.startswith(("singing", "news")):  # the algorithm takes "news" for a plural, as all its kind do
        assert stem(first) == stem(others[0])
    else:
        assert stem(first) != stem(others[0])


def test_chinese_gives_characters_and_pairs_beside_latin_words() -> None:
    assert words_of("我家猫叫Rice，3岁") == ["我", "家", "猫", "叫", "我家", "家猫", "猫叫", "rice", "3", "岁"]


def test_accents_case_and_width_do_not_matter() -> None:
    assert words_of("Café ＣＡＦＥ́ cafe") == ["cafe"] * 3


def test_a_possessive_is_its_noun() -> None:
    assert words_of("Ada's dog, Ada’s dog") == ["ada", "dog", "ada", "dog"]


def test_what_a_question_is_made_of_is_no_word_to_look_for() -> None:
    assert all(is_stop(word) for word in words_of("What did you do with the 什么吗"))
    assert not any(is_stop(word) for word in words_of("guitar 钢琴"))


def test_synonyms_go_both_ways() -> None:
    assert all(word in synonyms()[other] for word, others in synonyms().items() for other in others)


@given(st.text())
def test_words_hold_no_blanks_and_no_quotes_whatever_the_text(text: str) -> None:
    assert all(word and not any(char.isspace() or char == '"' for char in word) for word in words_of(text))


@given(st.text(alphabet="abcdeinglysty"))
def test_any_word_has_a_stem(word: str) -> None:
    assert len(stem(word)) <= len(word) + 1

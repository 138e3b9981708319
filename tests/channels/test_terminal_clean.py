"""Text that comes from elsewhere cannot drive the terminal, and what was typed is valid Unicode."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from nanobot.channels.terminal.markdown import typed
from nanobot.text import printable

ANYTHING = st.text(st.characters() | st.sampled_from("\x1b\x07\x9b\r\n\t\u202e\u2066\ud800\udcff"))


@given(ANYTHING)
def test_what_is_printed_has_no_control_characters_and_can_be_encoded(text: str) -> None:
    shown = printable(text)
    shown.encode("utf-8")
    assert not [char for char in shown if unicodedata.category(char) == "Cc" and char not in "\n\t"]
    assert not [char for char in shown if unicodedata.bidirectional(char) in ("RLO", "LRO", "RLE", "LRE", "PDF")]


@given(ANYTHING, ANYTHING)
def test_it_does_not_matter_in_which_pieces_a_text_arrives(one: str, two: str) -> None:
    assert printable(one) + printable(two) == printable(one + two)


@given(st.text())
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert typed(text) == text


@given(ANYTHING)
def test_what_was_typed_can_be_encoded(text: str) -> None:
    typed(text).encode("utf-8")


def test_what_reorders_the_text_is_written_out() -> None:
    assert printable("a\u202eb\u2069") == "a\\u202eb\\u2069"


def test_undecoded_bytes_are_read_as_utf_8() -> None:
    assert typed("caf\udcc3\udca9 \udcff \ud800") in ("café \ufffd ?", "caf?? ? ?")
    assert typed("caf\udcc3\udca9 \udcff") == "café \ufffd"

"""Messages in rows."""

from hypothesis import given
from hypothesis import strategies as st

from nanobot.bus.rows import decode, encode, key
from nanobot.messages import Attachment, Button, InboundMessage, OutboundMessage, Quote

texts = st.text(st.characters(exclude_categories=["Cs"]))
anything = st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF))


def tuples(of: type[object], text: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(st.builds(of, text), max_size=3).map(tuple)


def inbound(text: st.SearchStrategy[str]) -> st.SearchStrategy[InboundMessage]:
    return st.builds(InboundMessage, text=text, files=tuples(Attachment, text), quotes=tuples(Quote, text))


def outbound(text: st.SearchStrategy[str]) -> st.SearchStrategy[OutboundMessage]:
    buttons = st.lists(st.builds(Button, text, text), max_size=3).map(tuple)
    return st.builds(OutboundMessage, text=text, files=tuples(Attachment, text), buttons=buttons)


@given(inbound(texts), outbound(texts))
def test_a_message_comes_out_as_it_went_in(said: InboundMessage, answer: OutboundMessage) -> None:
    assert decode(encode(said), InboundMessage) == said
    assert decode(encode(answer), OutboundMessage) == answer


@given(inbound(anything))
def test_no_text_is_refused_and_what_came_out_once_does_not_change_any_more(said: InboundMessage) -> None:
    once = decode(encode(said), InboundMessage)
    assert decode(encode(once), InboundMessage) == once
    assert key("in", once.id) == key("in", said.id)


def test_keys_of_different_kinds_are_different() -> None:
    assert len({key("in", "a"), key("out", "a"), key("turn", "a"), key("in", "b")}) == 4

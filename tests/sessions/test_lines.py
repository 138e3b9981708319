"""The lines of a session file say what was said."""

import json
from dataclasses import fields
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.authority import Origin
from nanobot.messages import Attachment, Quote, Sender
from nanobot.sessions import lines
from nanobot.transcript import (
    Archived,
    Ended,
    EndedHow,
    Incomplete,
    Message,
    MessageRole,
    Reset,
    ToolCall,
    Usage,
    Window,
)

TEXT = st.text(st.characters(), max_size=20)
MAYBE = st.none() | TEXT.filter(bool)
COUNT = st.integers(0, 2**40)

MESSAGES = st.builds(
    Message,
    role=st.sampled_from(get_args(MessageRole)),
    content=st.none() | TEXT,
    id=TEXT,
    at=TEXT,
    turn=TEXT,
    origin=st.none() | st.sampled_from(Origin),
    context=MAYBE,
    sender=st.none() | st.builds(Sender, TEXT.filter(bool), TEXT),
    inbound=MAYBE,
    files=st.lists(
        st.builds(Attachment, TEXT.filter(bool), st.sampled_from(["image/png", Attachment("").mime]), TEXT)
    ).map(tuple),
    tool_calls=st.lists(st.builds(ToolCall, TEXT, TEXT, TEXT), max_size=3).map(tuple),
    tool_call_id=MAYBE,
    usage=st.none() | st.builds(Usage, COUNT, COUNT, COUNT),
    model=MAYBE,
    incomplete=st.none() | st.sampled_from(get_args(Incomplete)),
    to_bot=st.booleans(),
    extra=st.none() | st.dictionaries(TEXT, TEXT | st.booleans() | st.lists(TEXT, max_size=2), min_size=1, max_size=2),
)
MARKS = st.one_of(
    st.builds(Archived, at=TEXT, through=TEXT, cursor=COUNT),
    st.builds(
        Window,
        at=TEXT,
        start=TEXT,
        kept=st.lists(TEXT, max_size=2).map(tuple),
        brief=MAYBE,
        episodes=st.none() | st.integers(1, 9),
    ),
    st.builds(Reset, at=TEXT, through=MAYBE),
    st.builds(Ended, at=TEXT, turn=TEXT, how=st.sampled_from(get_args(EndedHow))),
)


@given(st.lists(MESSAGES | MARKS, max_size=4))
def test_what_is_written_is_read(said: list[Message]) -> None:
    data, readable = lines.encode(said)
    rows = data.decode().split("\n")
    assert rows.pop() == ""
    assert [lines.decode(row.encode()) for row in rows] == list(readable)
    for before, after in zip(said, readable, strict=True):
        try:
            str(before).encode()
            msgspec.json.encode(before)
        except UnicodeEncodeError:
            continue  # half a surrogate pair
        assert after == before


def test_no_field_of_a_message_is_forgotten() -> None:
    message = Message(
        role="tool",
        content="2 files",
        id="m",
        at="2026-11-30T09:00:00+00:00",
        turn="t",
        origin=Origin.OWNER,
        context="It is Monday.",
        sender=Sender("1", "Ada"),
        scope="owner",
        inbound="i",
        corrects="h",
        retries="s",
        to_bot=False,
        reminded=Origin.WEB,
        recalled=Origin.QUOTED,
        quotes=(Quote("so they say", "Bob", "forward"),),
        files=(Attachment("a.png", "image/png", "A"),),
        tool_calls=(ToolCall("c", "look", "{}", {"signature": "ab=", "function": {"n": 1}}),),
        tool_call_id="c",
        usage=Usage(3, 2, 1),
        model="main",
        incomplete="cut",
        extra={"reasoning_content": "hm", "reasoning_details": [{"index": 0, "data": None}]},
        endpoint="0123456789abcdef",
    )
    raw = lines.encode([message])[0]

    assert json.loads(raw).keys() - {"type"} == {field.name for field in fields(Message)}
    assert lines.decode(raw) == message


@given(MESSAGES)
def test_what_is_empty_is_left_out(message: Message) -> None:
    row = json.loads(lines.encode([message])[0])
    assert {"type", "id", "at", "role", "content"} <= row.keys()
    assert all(value not in (None, "", []) for name, value in row.items() if name not in ("id", "at", "content"))


@given(st.binary(max_size=60) | TEXT.map(lambda text: text.encode("utf-8", "replace")))
def test_any_other_bytes_are_a_bad_line(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        lines.decode(raw)


@given(TEXT.filter(bool))
def test_a_header_gives_back_its_key(key: str) -> None:
    raw = lines.header(key, "2026-11-30T09:00:00.000+01:00")
    assert raw.decode().endswith("}\n")
    assert lines.header_key(raw) == key
    assert lines.decode(raw) is None or "\\ud" in raw.decode()


@pytest.mark.parametrize("raw", [b"", b"[]", b"{bad", b'{"type":"message","key":"x"}', b'{"type":"session","key":7}'])
def test_what_is_no_header_names_no_key(raw: bytes) -> None:
    assert lines.header_key(raw) is None


def test_a_message_that_only_talks_of_tool_calls_and_files_is_read_as_it_is() -> None:
    said = Message(role="user", content='"tool_calls": [], "files": [], {"type":"reset"}', id="1")
    assert lines.decode(lines.encode([said])[0]) == said

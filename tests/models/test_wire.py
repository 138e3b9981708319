"""What a conversation looks like on the wire."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.messages import Attachment
from nanobot.models.wire import Json, messages_to_wire, read_pictures, tools_to_wire
from nanobot.ports import Request, ToolSpec
from nanobot.text import well_formed
from nanobot.transcript import Message, ToolCall
from tests.fakes.legality import what_is_illegal

CALLS = (ToolCall("c1", "look", "{}"), ToolCall("c2", "look", "{}"))
PNG = Attachment("media/a.png", "image/png")
PDF = Attachment("media/b.pdf", "application/pdf")


def wire(*messages: Message, turn: str = "", pictures: dict[str, str] | None = None) -> list[Json]:
    return messages_to_wire(Request(messages, turn=turn), pictures or {})


def test_the_blocks_shown_with_a_message_stand_before_its_words() -> None:
    assert wire(Message(role="user", content="hi", context="[time]")) == [{"role": "user", "content": "[time]\n\nhi"}]


def test_calls_without_words_have_no_content() -> None:
    [message] = wire(Message(role="assistant", content="", tool_calls=CALLS[:1]))
    assert message == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    }


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_an_empty_answer_is_left_out(content: str | None) -> None:
    assert wire(Message(role="user", content="hi"), Message(role="assistant", content=content)) == wire(
        Message(role="user", content="hi")
    )


def test_files_are_named_where_they_are_not_shown() -> None:
    [message] = wire(Message(role="user", content="look", files=(PNG, PDF), turn="t0"), turn="t1")
    assert message["content"] == "look\n[picture: media/a.png]\n[file: media/b.pdf]"


def test_pictures_that_tools_found_follow_behind_all_results_of_the_step() -> None:
    messages = wire(
        Message(role="user", content="look", turn="t1"),
        Message(role="assistant", tool_calls=CALLS, turn="t1"),
        Message(role="tool", content="one", tool_call_id="c1", files=(PNG,), turn="t1"),
        Message(role="tool", content="two", tool_call_id="c2", turn="t1"),
        Message(role="assistant", content="I see.", turn="t1"),
        turn="t1",
        pictures={PNG.path: "data:image/png;base64,AA=="},
    )
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert messages[2]["content"] == "one\n[picture: media/a.png]"
    assert messages[4]["content"] == [
        {"type": "text", "text": "What the tools found:\n[picture: media/a.png]"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]
    assert what_is_illegal({"messages": messages}) is None


def test_only_pictures_inside_the_workspace_that_endpoints_know_are_read(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "secret.png").write_bytes(b"x")
    (workspace / "a.png").write_bytes(b"x")
    (workspace / "b.svg").write_bytes(b"x")
    (workspace / "link.png").symlink_to(tmp_path / "secret.png")
    files = [Attachment(name, "image/png") for name in ("a.png", "../secret.png", "link.png", "none.png", "a\0.png")]
    files += [Attachment(str(tmp_path / "secret.png"), "image/png"), Attachment("b.svg", "image/svg+xml")]
    request = Request([Message(role="user", files=files, turn="t1"), Message(role="user", files=(PNG,))], turn="t1")
    assert list(read_pictures(request, workspace)) == ["a.png"]


def test_tools_keep_their_order() -> None:
    tools = [ToolSpec(name, name, {"type": "object"}) for name in ("write", "read", "list")]
    assert [tool["function"]["name"] for tool in tools_to_wire(tools)] == ["write", "read", "list"]  # type: ignore[index]


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_can_be_sent(text: str) -> None:
    sent = well_formed(text)
    sent.encode()
    assert sent == text or any("\ud800" <= char <= "\udfff" for char in text)

"""What is a command, and what is text that only begins with a slash."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.core.commands import Command, CommandAnswer, CommandCall, Router, parse


async def _do(call: CommandCall) -> CommandAnswer:
    return CommandAnswer(call.argument)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("/status", ("status", "")),
        ("  /Status now \n", ("Status", "now")),
        ("/remember tea\nand milk", ("remember", "tea\nand milk")),
        ("/see a/b/c", ("see", "a/b/c")),
    ],
)
def test_a_command_is_a_slash_and_a_name(text: str, parsed: tuple[str, str]) -> None:
    assert parse(text) == parsed


def test_the_wide_slash_of_chinese_keyboards_is_a_slash() -> None:
    status = Command("status", _do)
    assert Router([status]).find("\uff0fstatus now") == (status, "now")


@pytest.mark.parametrize(
    ("text", "parsed"),
    [("/记住 我喜欢茶", ("记住", "我喜欢茶")), ("/1abc", ("1abc", "")), ("/été", ("été", ""))],
)
def test_a_name_that_no_command_can_have_is_a_command_all_the_same(text: str, parsed: tuple[str, str]) -> None:
    assert parse(text) == parsed
    assert Router([Command("status", _do)]).find(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "\uff0f",
        "//",
        "// a comment",
        "/ status",
        "/etc/hosts",
        "/tmp/",
        "/notes.md",
        "/_",
        "a /status",
        "/new@OtherBot",
    ],
)
def test_paths_comments_lone_slashes_and_the_commands_of_other_bots_are_text(text: str) -> None:
    assert parse(text) is None


@given(st.text())
def test_any_text_is_either_a_command_with_a_name_or_text(text: str) -> None:
    parsed = parse(text)
    assert parsed is None or (parsed[0] and parsed[1] == parsed[1].strip())


@given(st.from_regex(r"\A[^\s/\uff0f]*\Z"), st.sampled_from("/\uff0f"), st.text())
def test_a_name_with_a_second_slash_is_text(name: str, slash: str, rest: str) -> None:
    assert parse(f"/{name}{slash}{rest}") is None

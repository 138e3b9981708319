"""Mentions and other codes, as a person reads them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.channels.discord.interactions import Placed, components
from nanobot.channels.discord.rest import failure
from nanobot.channels.discord.settings import DiscordNames, MessageId, names_me, readable
from nanobot.messages import Button

NAMES = DiscordNames(
    me="1",
    my_name="Nano",
    my_roles=frozenset({"7"}),
    users={"2": "Ben"},
    roles={"8": "cooks"},
    channels={"3": "general"},
)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("<@1> hello", "hello"),
        ("<@!1>, hello", "hello"),
        ("<@&7>：你好", "你好"),
        ("hello <@1>", "hello"),
        ("<@1>\n    indented", "    indented"),
        ("<@1> <@1>", ""),
        ("ask <@2> and <@1> now", "ask @Ben (2) and @Nano (1) now"),
        ("<@9> is unknown", "@(9) is unknown"),
        ("<@&8> in <#3> and <#4>", "@cooks in #general and #4"),
        ("nice <:party:123> <a:dance:124>", "nice :party: :dance:"),
        ("`<@2>` and ```\n<@1>\n```", "`<@2>` and ```\n<@1>\n```"),
        ("a < b > c <@x>", "a < b > c <@x>"),
        ("at <t:1700000000:R>", "at <t:1700000000:R>"),
    ],
)
def test_words_are_read_as_people_see_them(written: str, read: str) -> None:
    assert readable(written, NAMES) == read


@pytest.mark.parametrize(
    ("written", "named"),
    [("hi <@1>", True), ("<@&7> hi", True), ("`<@1>`", False), (r"\<@1>", False), ("<@12>", False), ("@Nano", False)],
)
def test_the_bot_knows_when_it_is_named(written: str, named: bool) -> None:
    assert names_me(written, NAMES) is named


@given(st.text(alphabet="ab <>@&!1`\\\n"))
def test_what_holds_no_code_stays_as_it_is(text: str) -> None:
    if not re.search(r"<@[!&]?\d+>", text):
        assert readable(text, NAMES) == text.strip("\n")


@given(st.text(max_size=120), st.text(max_size=200), st.text(max_size=200))
def test_any_button_has_an_id_and_a_label_that_discord_takes(message: str, label: str, value: str) -> None:
    placed = Placed(message, Button(label, value))
    (row,) = components([placed])
    button = row["components"][0]

    assert 1 <= len(placed.custom_id) <= 100
    assert 1 <= len(button["label"]) <= 80


@pytest.mark.parametrize("text", ["discord:12:34", "discord:12:34:bot", "discord:12:34:1700000000000"])
def test_an_id_is_read_as_it_was_written(text: str) -> None:
    assert str(MessageId.parse(text)) == text


@pytest.mark.parametrize("text", [None, "", "telegram:1:2", "discord:1", "discord:1:x"])
def test_another_id_is_none_of_ours(text: str | None) -> None:
    assert MessageId.parse(text) is None


def test_what_is_not_discord_speaking_is_taken_for_a_passing_trouble() -> None:
    for status, body in ((403, None), (404, "<html>"), (400, None), (502, None)):
        assert type(failure(status, body, {})).__name__ == "UnreachableError"

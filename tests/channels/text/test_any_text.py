"""Whatever a model says, its messages can be sent, and together they say it."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.channels.discord.markdown import discord_parts
from nanobot.channels.markdown.writer import visible
from nanobot.channels.telegram.markdown import Entity, RichText, telegram_parts
from tests.channels.text.strategies import limits, markdown, texts

_WRITING = re.compile(
    r"\]\(http[^)]*\)|</?(?:b|br|details|summary)>|&lt;|(?:`{3,}|~{3,})[^`\n]*$|^ *\d+\.(?= )", re.MULTILINE
)
_STYLES = {"bold", "italic", "underline", "strikethrough", "spoiler"}


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2  # a lone surrogate raises


def covered(message: RichText, entity: Entity) -> str:
    data = message.text.encode("utf-16-le")
    return data[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")


def assert_sendable(text: str, limit: int) -> None:
    assert units(text) <= limit
    assert visible(text)
    assert "\x00" not in text


def assert_well_nested(message: RichText) -> None:
    """As the Bot API wants entities: within the text, in order, inner ones whole, nothing else with code."""
    assert list(message.entities) == sorted(message.entities, key=lambda each: (each.offset, -each.length))
    open_ones: list[Entity] = []
    for entity in message.entities:
        assert covered(message, entity).strip()
        while open_ones and open_ones[-1].offset + open_ones[-1].length <= entity.offset:
            open_ones.pop()
        for outer in open_ones:
            assert entity.offset + entity.length <= outer.offset + outer.length
            assert outer.kind not in ("code", "pre")
            assert entity.kind not in ("code", "pre") or outer.kind.endswith("blockquote")
            assert entity.kind in _STYLES | {"code", "pre"} or entity.kind != outer.kind
        open_ones.append(entity)


@given(texts, limits, st.booleans())
def test_telegram_takes_every_message(text: str, limit: int, growing: bool) -> None:
    for message in telegram_parts(text, limit, growing=growing):
        assert_sendable(message.text, limit)
        assert len(message.entities) <= 100
        assert_well_nested(message)


@given(texts, limits, st.booleans())
def test_discord_takes_every_message_and_its_fences_are_balanced(text: str, limit: int, growing: bool) -> None:
    for message in discord_parts(text, limit, growing=growing):
        assert_sendable(message, limit)
        fences = re.findall(r"^(?:> )?```", message, re.MULTILINE)
        assert len(fences) % 2 == 0
        assert message.count("```") == len(fences)


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


def said(text: str) -> list[str]:
    """The words of the Markdown of the strategies, without those that only say how it is written."""
    return words(_WRITING.sub(" ", text))


@given(markdown, limits)
def test_together_the_messages_say_it_all(text: str, limit: int) -> None:
    telegram = " ".join(message.text for message in telegram_parts(text, limit))
    discord = "\n".join(discord_parts(text, limit))

    for shown in ("".join(words(telegram)), "".join(words(discord))):
        assert not Counter("".join(said(text))) - Counter(shown)
        if "|---" not in text:  # the rows of a wide table repeat its header
            rest = iter(shown)
            assert all(character in rest for character in "".join(said(text)))


@pytest.mark.parametrize("limit", [500, 2000, 4096])
@given(
    st.lists(
        st.sampled_from(["word", "long" * 30, "重要", "😀", "e\u0301", "👨‍👩‍👧", "end.", "好。", "\n", "\n\n"]),
        min_size=1,
        max_size=2000,
    )
)
@settings(max_examples=settings().max_examples // 3)
def test_plain_text_comes_whole_in_order_and_in_few_messages(limit: int, pieces: list[str]) -> None:
    text = " ".join(pieces)
    least = -(-units(text) // limit)

    for parts in ([part.text for part in telegram_parts(text, limit)], discord_parts(text, limit)):
        assert "".join("".join(parts).split()) == "".join(text.split())
        assert len(parts) <= least + 10
        assert not any(part[0] in "\u200d\ufe0f\u0301" for part in parts)

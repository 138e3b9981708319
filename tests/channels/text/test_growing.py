"""A text that still grows looks as if what is open were closed."""

import pytest

from nanobot.channels.telegram.markdown import telegram_parts
from tests.channels.text.readable import tagged


def preview(markdown: str) -> str:
    return "".join(tagged(message) for message in telegram_parts(markdown, growing=True))


@pytest.mark.parametrize(
    ("half", "looks"),
    [
        ("This is **imp", "This is <bold>imp</bold>"),
        ("This is **important*", "This is <bold>important</bold>"),
        ("This is **", "This is"),
        ("**重要：", "<bold>重要：</bold>"),
        ("an *ital", "an <italic>ital</italic>"),
        ("**bold and *both", "<bold>bold and <italic>both</italic></bold>"),
        ("~~wro", "<strikethrough>wro</strikethrough>"),
        ("it was ||the but", "it was <spoiler>the but</spoiler>"),
        ("call `asyncio.gat", "call <code>asyncio.gat</code>"),
        ("call `", "call"),
        ("https://a.b/*c and", "https://a.b/*c and"),
        ("see [the docs](https://example.c", "see the docs"),
        ("see [the docs](https://a.b/c_(d", "see the docs"),
        ('see [the docs](https://a.b "tit', "see the docs"),
        ("see [the do", "see the do"),
        ("look: ![a cha", "look: a cha"),
        ("a<b", "a"),
        ("text\n\n```py", "text"),
        ("text\n\n```py\nx = 1\n``", "text\n\n<pre py>x = 1</pre>"),
        ("text\n- ", "text"),
        ("text\n- [", "text"),
        ("text\n\n##", "text"),
        ("- one\n- **tw", "• one\n• <bold>tw</bold>"),
        ("| a | b", "<pre>a  b\n─  ─</pre>"),
        ("| a | b |\n|-", "<pre>a  b\n─  ─</pre>"),
        ("| a | b |\n|---|---|\n| 1", "<pre>a  b\n─  ─\n1</pre>"),
        ("2 * 3 and snake_case and 5", "2 * 3 and snake_case and 5"),
        ("called with **kwargs", "called with <bold>kwargs</bold>"),  # for a moment: nobody can know yet
        ("**done** and `done`", "<bold>done</bold> and <code>done</code>"),
    ],
)
def test_what_is_half_open_is_shown_as_if_it_were_closed(half: str, looks: str) -> None:
    assert preview(half) == looks


@pytest.mark.parametrize("half", ["This is **imp", "see [the docs](https://exam", "call `asyncio.gat"])
def test_a_text_that_has_ended_is_shown_as_it_was_written(half: str) -> None:
    assert telegram_parts(half)[0].text == half

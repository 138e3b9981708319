"""Markdown as Telegram shows it."""

import pytest

from nanobot.channels.telegram.markdown import CAPTION_LIMIT, TEXT_LIMIT, Entity, telegram_parts
from tests.channels.text.readable import tagged


def shown(markdown: str) -> str:
    return tagged(telegram_parts(markdown)[0])


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize(
    "blank", ["", "   ", "\n" * 5000, "\u200b", "\u2800 \ufe0f", "\x00", "```\n```", "<!-- x -->", "---"]
)
def test_nothing_to_see_gives_no_message(blank: str) -> None:
    assert list(telegram_parts(blank)) == []


@pytest.mark.parametrize(
    ("markdown", "looks"),
    [
        ("**重要：**内容", "<bold>重要：</bold>内容"),
        ("他说**“你好”**。", "他说<bold>“你好”</bold>。"),
        ("**A**、**B**和**C！**吧", "<bold>A</bold>、<bold>B</bold>和<bold>C！</bold>吧"),
        ("open __init__.py, then snake_case", "open __init__.py, then snake_case"),
        ("__Note__ this", "<bold>Note</bold> this"),
        ("(see *this*) 2*3*4", "(see <italic>this</italic>) 2*3*4"),
        ("***both***", "<italic><bold>both</bold></italic>"),
        ("**bold `code` bold**", "<bold>bold</bold> <code>code</code> <bold>bold</bold>"),
        ("[`code`](https://a.b)", "<text_link https://a.b>code</text_link>"),
        ("||hidden `code`||", "<spoiler>hidden code</spoiler>"),
        ("**a **b** c**", "<bold>a b c</bold>"),
        ("text\n---\nnext", "text\n\n──────────\n\nnext"),
        ("1945.", "1945."),
        ("3. c\n7. g", "3. c\n7. g"),
        ("1. a\n1. b", "1. a\n2. b"),
        ("$a_1*b_2$ and \\(x_1 \\{y\\}\\)", "$a_1*b_2$ and \\(x_1 \\{y\\}\\)"),
        ("from $5 to $6, \\(really\\)", "from $5 to $6, (really)"),
        ("Vec<T> and <your-name>", "Vec<T> and <your-name>"),
        ("a<br/>b <i>c</i>", "a\nb <italic>c</italic>"),
        ('<a href="https://a.b">x</a>', "<text_link https://a.b>x</text_link>"),
        ("<ul><li>a</li><li>b</li></ul>", "• a\n• b"),
        ("| a |\n|---|\n| b | c |", "<pre>a\n─────\nb | c</pre>"),
        ("> a\n>> b", "<blockquote>a\n> b</blockquote>"),
        ("```python title=x\nif a:\n    b\n```", "<pre python>if a:\n    b</pre>"),
        ("```python save this as a.py\nb\n```", "save this as a.py\n<pre python>b</pre>"),
        ("```Note that it runs\nx\n```", "Note that it runs\n<pre>x</pre>"),
        ('```js {1,3} title="a b"\nx\n```', "<pre js>x</pre>"),
        ("https://a.b/*c*/**d**", "https://a.b/*c*/**d**"),
        ("s3://logs/*.gz and *it*", "s3://logs/*.gz and <italic>it</italic>"),
        ("**https://a.b/c**是 *it*", "<bold>https://a.b/c</bold>是 <italic>it</italic>"),
        ("**see https://a.b/c*d for** more", "<bold>see https://a.b/c*d for</bold> more"),
        ("never closed:\n```\ncode", "never closed:\n<pre>code</pre>"),
        ("[here](#top), [there](/x)", "here, there (/x)"),
    ],
)
def test_markdown_looks_as_it_was_meant(markdown: str, looks: str) -> None:
    assert shown(markdown) == looks


def test_entities_count_utf16_units() -> None:
    message = telegram_parts("😀 **bold** 👨‍👩‍👧 `x`")[0]

    assert message.entities == (Entity("bold", 3, 4), Entity("code", 17, 1))


def test_a_table_lines_up_where_chinese_characters_are_twice_as_wide() -> None:
    assert (
        shown("| 名称 | n |\n|--|--:|\n| 苹果汁 | 5 |\n| tea | 12 |")
        == "<pre>名称     n\n──────  ──\n苹果汁   5\ntea     12</pre>"
    )


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("😀" * 4096, 2),
        ("a" * 4095 + "😀", 2),
        ("a" * 4090 + "👨‍👩‍👧‍👦" * 3, 2),
        ("a" * 10_000, 3),
        ("word " * 2000, 3),
    ],
)
def test_long_text_is_cut_between_characters_and_within_the_limit(text: str, least: int) -> None:
    parts = [message.text for message in telegram_parts(text)]

    assert len(parts) == least
    assert all(0 < units(part) <= TEXT_LIMIT for part in parts)
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")
    assert parts[1][0] not in "\u200d\ufe0f"


def test_a_caption_has_a_limit_of_its_own() -> None:
    assert all(units(message.text) <= CAPTION_LIMIT for message in telegram_parts("word " * 1000, CAPTION_LIMIT))


def test_a_code_block_that_is_cut_is_code_in_both_messages() -> None:
    code = "x = 1\n" * 1500
    parts = telegram_parts(f"intro\n```python\n{code}```\nbye")

    assert len(parts) == 3
    assert all("python" in [entity.language for entity in part.entities] for part in parts)
    assert "\n".join(part.text for part in parts) == f"intro\n{code}bye"


def test_a_heading_goes_with_what_follows_it() -> None:
    story = "word " * 790
    first, second = telegram_parts(f"{story}\n\n## Next\n\n{'more ' * 100}")

    assert first.text == story.strip()
    assert second.text.startswith("Next\nmore")


def test_a_bold_sentence_is_not_cut_if_a_line_can_be() -> None:
    first, second = telegram_parts("word " * 800 + "\n" + "**" + "bold " * 40 + "end**")

    assert first.entities == ()
    assert [entity.length for entity in second.entities] == [units(second.text)]


def test_more_entities_than_telegram_takes_make_a_further_message() -> None:
    parts = telegram_parts("**a** b " * 250)

    assert len(parts) > 2
    assert sum(len(part.entities) for part in parts) == 250

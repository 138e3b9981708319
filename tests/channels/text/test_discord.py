"""Markdown as Discord shows it."""

import re

import pytest

from nanobot.channels.discord.markdown import TEXT_LIMIT, discord_parts


def shown(markdown: str) -> str:
    return discord_parts(markdown)[0]


@pytest.mark.parametrize(
    ("markdown", "written"),
    [
        ("call __init__ with snake_case", "call \\_\\_init\\_\\_ with snake_case"),
        ("\\*no stars\\*", "\\*no stars\\*"),
        ("2 * 3", "2 * 3"),
        ("true || false", "true \\|\\| false"),
        ("||hidden||", "||hidden||"),
        ("<u>under</u>", "__under__"),
        ("#### Deep", "**Deep**"),
        ("## **Not twice**", "## Not twice"),
        ("![chart](https://a.b/c.png)", "[🖼 chart](https://a.b/c.png)"),
        ("[x](https://a.b/c_(d))", "[x](https://a.b/c_%28d%29)"),
        ("[https://a.b](https://evil.example)", "https://a.b (https://evil.example)"),
        ("https://a.b/c_d_e*f", "https://a.b/c_d_e*f"),
        ("see https://a.b/*.csv, *this* and *.md", "see https://a.b/*.csv, *this* and \\*.md"),
        ("```Note that it runs\nx\n```", "Note that it runs\n```\nx\n```"),
        ("a^2^ $x_{1} + x_{2}$", "a^2^ `$x_{1} + x_{2}$`"),
        ("`` a`b ``", "`` a`b ``"),
        ("- a\n  1. b\n     - c", "- a\n  1. b\n     - c"),
        ("> a\n> **b**", "> a\n> **b**"),
        ("\\# no heading\n\\> no quote", "\\# no heading\n\\> no quote"),
        ("| a | b |\n|--|--|\n| 1 | 2 |", "```\na  b\n─  ─\n1  2\n```"),
        ("hi @everyone and <@123>", "hi @everyone and <@123>"),
        ("~~~c++\nint x;\n~~~", "```c++\nint x;\n```"),
        ("**a***b*", "**a**\u200b*b*"),
    ],
)
def test_markdown_is_put_into_what_discord_understands(markdown: str, written: str) -> None:
    assert shown(markdown) == written


@pytest.mark.parametrize(
    ("text", "messages"),
    [("x" * 2000, 1), ("x" * 2001, 2), ("x" * 5000, 3), ("x" * 2000 + "\n\n", 1), ("   ", 0), ("\u200b", 0)],
)
def test_text_takes_as_few_messages_as_it_can(text: str, messages: int) -> None:
    parts = discord_parts(text)

    assert len(parts) == messages
    assert "".join(parts) == text.strip("\n \u200b")


@pytest.mark.parametrize(
    ("before", "language", "code", "behind"),
    [
        ("intro\n```python\n", "python", "x = 1\n" * 1500, "```\nbye"),
        ("```\n", "", "A" * 10_000, "\n```"),
        ("````md\n", "md", "```inner\n```\n" + "y\n" * 3000, "````"),
        ("~~~\n", "", "z\n" * 3000, "~~~"),
        ("```\n", "", "w\n" * 3000, ""),
        ("- list\n  ```py\n", "py", "  code\n" * 900, "  ```"),
    ],
)
def test_a_code_block_that_is_cut_is_closed_and_opened_again_with_its_language(
    before: str, language: str, code: str, behind: str
) -> None:
    parts = discord_parts(before + code + behind)
    shown = re.findall(rf"^```{language}\n(.*?)\n```$", "\n".join(parts), re.MULTILINE | re.DOTALL)

    assert len(parts) <= -(-len(code) // TEXT_LIMIT) + 10
    assert all(part.count("```") == 2 and len(part) <= TEXT_LIMIT for part in parts)
    assert all(piece.strip() for piece in shown)
    assert "".join("".join(shown).split()).replace("\u200b", "") == "".join(code.split())


def test_a_link_that_is_too_long_to_repeat_is_written_out() -> None:
    url = "https://a.b/" + "c" * 450

    assert shown(f"[here]({url})") == f"here ({url})"

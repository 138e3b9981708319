import pytest

from nanobot.memory.markdown import Heading, headings, without_comments


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <!-- b --> c", "a  c"),
        ("a\n<!-- b -->\nc", "a\nc"),
        ("a\n\n<!-- b\nc\n\nd -->\n\ne", "a\n\ne"),
        ("<!-- b -->\n\na", "a"),
        ("<!-- b --><!-- c -->\na", "a"),
        ("a <!-- b\nc --> d", "a \n d"),
        ("```html\n<!-- kept -->\n```\n<!-- gone -->\nx", "```html\n<!-- kept -->\n```\nx"),
        ("~~~\n<!-- kept\n-->\n~~~", "~~~\n<!-- kept\n-->\n~~~"),
        ("````\n```\n<!-- kept -->\n````", "````\n```\n<!-- kept -->\n````"),
        ("write `<!-- more -->` there", "write `<!-- more -->` there"),
        ("write ``a ` <!-- b -->`` there", "write ``a ` <!-- b -->`` there"),
        ("one ` tick <!-- gone -->", "one ` tick "),
        ("<!--\n```\ncode in a comment\n```\n-->\nx", "x"),
        ("never <!-- closed\nall of it\nstays", "never <!-- closed\nall of it\nstays"),
        ("```\nnever closed\n<!-- gone -->\nx", "```\nnever closed\nx"),
        ("a -- b --> c", "a -- b --> c"),
        ("a\n\n\nb", "a\n\n\nb"),
        ("", ""),
    ],
)
def test_comments_are_for_the_human_and_code_stays(text: str, shown: str) -> None:
    assert without_comments(text) == shown


def test_headings_in_code_and_comments_are_none() -> None:
    lines = ["# One", "text", "```", "# no", "```", "<!--", "## no", "-->", "## Two ##", "#no", "   ### Three\r", "#"]

    assert [heading for heading in headings(lines) if heading] == [
        Heading(1, "One"),
        Heading(2, "Two"),
        Heading(3, "Three"),
        Heading(1, ""),
    ]


@pytest.mark.parametrize("piece", ["```a\n", "~~~\n", "`", "`a``b", "<!--", "-->", "<!-- \n", "# # "])
def test_no_file_makes_the_reading_slow(piece: str) -> None:
    without_comments(piece * (30_000 // len(piece)))
    headings((piece * (30_000 // len(piece))).split("\n"))

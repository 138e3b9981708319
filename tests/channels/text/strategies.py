"""Texts for properties: anything at all, and Markdown of every kind."""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

_PLAIN = ["word", "重要", "内容。", "snake_case", "__init__", "5*3", "a|b", "$x_1$", "\\(y\\)", "$5", "<T>", "C:\\_a"]
_OPEN = ["||", "**", "`", "[", "~~", "-", "#", "<br>", "\\*", "&lt;", "https://a.b/c_d"]
_WIDE = ["😀", "👨‍👩‍👧", "🏳️‍🌈", "🇩🇪🇫🇷", "e\u0301", "\u200b", "שלום", "x" * 300, "中" * 250]
_STYLES = ["{}", "{}", "**{}**", "**{}", "*{}*", "`{}`", "~~{}~~", "||{}||", "<b>{}</b>"]
_LINKS = ["[{}](http://a.b/c)", "[{}](./file.md)", "![{}](http://a.b)"]

_WORDS = st.sampled_from([*_PLAIN, *_OPEN, *_WIDE])
_AROUND = st.sampled_from([*_STYLES, *_LINKS])
_CODE = st.sampled_from(["x = 1", "  y = __init__", "", "# no heading", "- no list", "``", "中" * 90, "z" * 700])
_FIXED = st.sampled_from(
    [
        *("---", "$$\n- a\n= b\n$$", "```\nopen", "- ", "> "),
        "<details>\n<summary>s</summary>\nhidden\n</details>",
    ]
)
_LIST_MARKERS = st.sampled_from(["- ", "1. ", "- [ ] ", "  - ", "  1. ", "    - "])

_line = st.lists(st.builds(str.format, _AROUND, _WORDS), min_size=1, max_size=12).map(" ".join)


def _lines(line: SearchStrategy[str], most: int) -> SearchStrategy[str]:
    return st.lists(line, min_size=1, max_size=most).map("\n".join)


_block = st.one_of(
    _line,
    _FIXED,
    st.builds("{} {}".format, st.sampled_from(["#", "##", "####"]), _line),
    _lines(st.builds("{}{}".format, _LIST_MARKERS, _line), 10),
    _lines(st.builds("> {}".format, _line), 4),
    _lines(st.builds("| {} | c |".format, _line), 4).map(lambda rows: f"| a | b |\n|---|---|\n{rows}"),
    st.builds("```{}\n{}\n```".format, st.sampled_from(["", "python", "c++"]), _lines(_CODE, 40)),
)


def _joined(blocks: list[str], between: str) -> str:
    return between.join(blocks)


markdown = st.builds(_joined, st.lists(_block, max_size=12), st.sampled_from(["\n\n", "\n"]))
anything = st.text(st.characters(), max_size=1500)  # lone surrogates and controls too
texts = st.one_of(anything, markdown, st.builds("{}{}".format, markdown, anything))
limits = st.sampled_from([500, 1024, 2000])

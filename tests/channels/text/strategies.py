"""Texts for properties: anything at all, and Markdown of every kind."""

from hypothesis import strategies as st

_WORDS = st.sampled_from(
    [
        "word",
        "重要",
        "内容。",
        "snake_case",
        "__init__",
        "5*3",
        "😀",
        "👨‍👩‍👧",
        "🏳️‍🌈",
        "🇩🇪🇫🇷",
        "e\u0301",
        "שלום",
        "a|b",
        "$x_1$",
        "\\(y\\)",
    ]
    + [
        "https://a.b/c_d",
        "<T>",
        "<br>",
        "x" * 300,
        "中" * 250,
        "\\*",
        "&lt;",
        "C:\\_a",
        "\u200b",
        "||",
        "**",
        "`",
        "[",
        "~~",
        "$5",
        "-",
        "#",
    ]
)
_AROUND = st.sampled_from(
    [
        "{}",
        "{}",
        "**{}**",
        "*{}*",
        "`{}`",
        "~~{}~~",
        "||{}||",
        "[{}](http://a.b/c)",
        "[{}](./file.md)",
        "<b>{}</b>",
        "**{}",
        "![{}](http://a.b)",
    ]
)
_line = st.lists(st.builds(str.format, _AROUND, _WORDS), min_size=1, max_size=12).map(" ".join)
_code = st.lists(
    st.sampled_from(["x = 1", "  y = __init__", "", "# no heading", "- no list", "``", "中" * 90, "z" * 700]),
    max_size=40,
)
_block = st.one_of(
    _line,
    st.builds("{} {}".format, st.sampled_from(["#", "##", "####"]), _line),
    st.lists(st.builds("{}{} {}".format, st.sampled_from(["", "  ", "    "]), st.sampled_from(["-", "1.", "- [ ]"]), _line)).map("\n".join),
    st.lists(_line, min_size=1, max_size=4).map(lambda lines: "\n".join(f"> {line}" for line in lines)),
    st.builds("```{}\n{}\n```".format, st.sampled_from(["", "python", "c++"]), _code.map("\n".join)),
    st.lists(_line, min_size=1, max_size=4).map(lambda cells: "\n".join(["| a | b |", "|---|---|", *(f"| {cell} | c |" for cell in cells)])),
    st.sampled_from(["---", "$$\n- a\n= b\n$$", "<details>\n<summary>s</summary>\nhidden\n</details>", "```\nopen", "- ", "> "]),
)  # fmt: skip
markdown = st.builds(
    lambda blocks, between: between.join(blocks), st.lists(_block, max_size=12), st.sampled_from(["\n\n", "\n"])
)
anything = st.text(st.characters(), max_size=1500)  # lone surrogates and controls too
texts = st.one_of(anything, markdown, st.builds("{}{}".format, markdown, anything))
limits = st.sampled_from([500, 1024, 2000])

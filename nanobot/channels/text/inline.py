"""Parsed Markdown within a line -> what a Writer writes."""

from collections.abc import Callable
from itertools import takewhile

from markdown_it.token import Token

from nanobot.channels.text import html
from nanobot.channels.text.document import Kind
from nanobot.channels.text.writer import Writer

Clickable = Callable[[str, str], bool]
"""Whether a platform shows this label as a link to this URL; if not, the URL is written behind it."""

_STYLES: dict[str, Kind] = {"strong": "bold", "em": "italic", "s": "strike", "spoiler": "spoiler"}
_PICTURE = "🖼 "
_LONGEST_SHOWN = 1000  # of a URL that is written out; longer ones hold the data themselves


def write_inline(tokens: list[Token], out: Writer, clickable: Clickable) -> None:
    """Write the children of one block."""
    _Inline(out, clickable).write(tokens)


class _Inline:
    def __init__(self, out: Writer, clickable: Clickable) -> None:
        self._out = out
        self._clickable = clickable
        self._links: list[str | None] = []  # of the open ones, what is written behind their label; None: a real link

    def write(self, tokens: list[Token]) -> None:
        for number, token in enumerate(tokens):
            kind, _, end = token.type.rpartition("_")
            if token.type == "text":
                self._out.write(token.content)
            elif token.type == "link_open":
                label = takewhile(lambda each: each.type != "link_close", tokens[number + 1 :])
                self._open_link(str(token.attrs.get("href", "")), "".join(each.content for each in label))
            elif token.type == "link_close":
                self._close_link()
            elif kind in _STYLES:
                (self._out.open if end == "open" else self._out.close)(_STYLES[kind])
            else:
                self._write_other(token)

    def _write_other(self, token: Token) -> None:
        match token.type:
            case "softbreak":
                self._out.gap(1)
            case "hardbreak":
                self._out.line_end()
            case "code_inline":
                self._write_code(token.content)
            case "math":
                self._write_marked(token.content, "math")
            case "image":
                self._write_image(str(token.attrs.get("src", "")), token.content)
            case "tag":
                self._write_tag(token)

    def _write_marked(self, text: str, kind: Kind, value: str = "") -> None:
        self._out.open(kind, value)
        self._out.write(text)
        self._out.close(kind)

    def _write_code(self, code: str) -> None:
        if "\n" not in code:
            self._write_marked(code, "code")
        elif code.strip():
            self._out.gap(1)
            self._out.write_lines(code.strip("\n"), "pre")

    def _write_image(self, url: str, label: str) -> None:
        if self._links:
            self._out.write(label)
            return
        label = label or ("" if url.startswith("data:") else url)
        self._open_link(url, _PICTURE + label)
        self._out.write(_PICTURE + label)
        self._close_link()

    def _open_link(self, url: str, label: str) -> None:
        if not label.strip():
            self._out.write(url)
            self._links.append("")
        elif label in (url, url.removeprefix("mailto:")):
            self._links.append("")
        elif None not in self._links and self._clickable(url, label):
            self._out.open("link", url)
            self._links.append(None)
        else:
            hidden = url.startswith(("#", "data:")) or len(url) > _LONGEST_SHOWN
            self._links.append("" if hidden else f" ({url})")

    def _close_link(self) -> None:
        if not self._links:
            return
        behind = self._links.pop()
        if behind is None:
            self._out.close("link")
        else:
            self._out.write(behind)

    def _write_tag(self, token: Token) -> None:
        name, closing = token.tag, bool(token.meta["closing"])
        if name in html.BLOCKS:
            self._out.gap(2 if name in html.PARAGRAPHS else 1)
        if name in html.STYLES:
            (self._out.close if closing else self._out.open)(html.STYLES[name])
        elif name == "a":
            self._write_anchor(token, closing)
        elif not closing:
            self._write_void(token)

    def _write_anchor(self, token: Token, closing: bool) -> None:
        if closing:
            self._close_link()
        elif "href" in token.attrs:
            self._open_link(str(token.attrs["href"]), "…")

    def _write_void(self, token: Token) -> None:
        if token.tag == "br":
            self._out.line_end()
        elif token.tag == "li":
            self._out.gap(1)
            self._out.write("• ")
        elif token.tag == "img":
            self._write_image(str(token.attrs.get("src", "")), str(token.attrs.get("alt", "")))
        elif token.tag in ("td", "th") and not self._out.at_line_start:
            self._out.write(" | ")

"""Markdown whose end is still to come, closed so that it can be shown."""

import re

_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})([^\n]*)")
_HALF_FENCE = re.compile(r"[ \t>]*(?:`{1,2}|~{1,2})")
_BARE_MARKER = re.compile(r"[ \t>]*(?:(?:[-*+]+(?:[ \t]+\[[ xX]?\]?)?|#{1,6}|=+)[ \t]*)?")
_ROW = re.compile(r"[ \t>]*\|(?!\|)")
_HALF_DELIMITER_ROW = re.compile(r"[ \t>]*\|[-:| \t]*")
_HALF_LINK = re.compile(
    r"!?\[((?:[^\[\]]|\[[^\[\]]*\]\([^()]*\))*)"  # its label, in which a picture may be
    r"(?:\]\((?:[^()\s]|\([^()\s]*\))*(?:\([^()\s]*|\s+\"[^\"]*\"?)?)?$"
)
_HALF_TAG = re.compile(r"<(?:/?[a-zA-Z][\w-]*|!-*)?$")
_DELIMITER = re.compile(r"\\.|`+|\*{1,3}|~~|\|\||(?<!\w)_+|_+(?!\w)")
_URL = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]*://\S*$")
_LONGEST_LINE = 4000  # longer ones are no prose


def closed(markdown: str) -> str:
    """The same text with what is open in its last line closed, and without halves of links and marks."""
    before, newline, line = markdown.rpartition("\n")
    if _in_fence(before):
        return before if _HALF_FENCE.fullmatch(line) else markdown
    if _FENCE.match(line):
        return markdown
    if _BARE_MARKER.fullmatch(line):
        return before
    if len(line) > _LONGEST_LINE:
        return markdown
    if _ROW.match(line):
        return _with_table(before, newline, line)
    return before + newline + _with_line(line)


def _in_fence(text: str) -> bool:
    fence = ""
    for found in re.finditer(rf"^{_FENCE.pattern}$", text, re.MULTILINE):
        run, rest = found[1], found[2]
        if not fence:
            fence = "" if run[0] == "`" and "`" in rest else run
        elif run.startswith(fence) and not rest.strip():
            fence = ""
    return bool(fence)


def _with_table(before: str, newline: str, line: str) -> str:
    """A header gets the line under it, without which it would not be a table yet."""
    above, _, header = before.rpartition("\n")
    if not _ROW.match(header):
        header = line.rstrip() if line.rstrip().endswith("|") else f"{line} |"
        return before + newline + f"{header}\n{_delimiter_row(header)}"
    if _HALF_DELIMITER_ROW.fullmatch(line) and not _ROW.match(above.rpartition("\n")[2]):
        return f"{before}\n{_delimiter_row(header)}"
    cells, bar, last = line.rpartition("|")
    return before + newline + cells + bar + _with_line(last)


def _delimiter_row(header: str) -> str:
    start = header[: header.index("|")]
    return f"{start}|{'---|' * (header.rstrip().count('|') - 1)}"


def _with_line(line: str) -> str:
    line = _HALF_TAG.sub("", _HALF_LINK.sub(r"\1", line))
    opened: list[str] = []
    position = 0
    while (found := _DELIMITER.search(line, position)) is not None:
        run, position = found[0], found.end()
        if run[0] == "`":
            position = line.find(run, found.end()) + len(run)
            if position < len(run):
                return line.removesuffix(run) if found.end() == len(line) else line + run + "".join(reversed(opened))
        elif run in opened and not line[found.start() - 1].isspace():
            del opened[opened.index(run) :]
        elif found.end() == len(line) and run[0] != "\\":
            line = line[: found.start()]
        elif run[0] != "\\" and _opens(line, found) and not _URL.search(line, 0, found.start()):
            opened.append(run)
    return line.rstrip() + "".join(reversed(opened))


def _opens(line: str, found: re.Match[str]) -> bool:
    before = line[found.start() - 1 : found.start()]
    word_before = before.isascii() and before.isalnum()
    return not line[found.end()].isspace() and not (word_before and found[0] in ("*", "_"))

"""Output of commands for people: wrapped at the width of a terminal, unwrapped in a pipe."""

import json
import re
import shutil
import sys

from nanobot.text import printable

_HAN = "\u2e80-\u9fff\uff01-\uff60"
_OPENS, _CLOSES = "（“《「【", "，。：；！？、）”》」】…"
_PIECE = re.compile(
    rf"`[^`\n]*`[{_CLOSES},.;:]*"  # a command to copy, in one piece
    rf"|[{_OPENS}]*(?![{_OPENS}{_CLOSES}])[{_HAN}][{_CLOSES}]*"  # Chinese breaks anywhere, but not before a comma
    rf"|[^\s`{_HAN}{_OPENS}]+|\s+|."
)


def tell(text: str, *, failed: bool = False) -> None:
    """Print it, on standard error if it `failed`; nothing in it can drive the terminal."""

    file = sys.stderr if failed else sys.stdout
    if file is None:  # closed by whoever started us
        return
    said = printable(text)
    if file.isatty():
        width = shutil.get_terminal_size().columns
        said = "\n".join(_broken(line, width) for line in said.split("\n"))
    print(said, file=file, flush=True)


def tell_error(text: str) -> None:
    """Say to a program, on standard output, what went wrong: whoever asked for JSON is given JSON always."""
    print(json.dumps({"error": text}, ensure_ascii=False).encode("utf-8", "backslashreplace").decode(), flush=True)


def _broken(line: str, width: int) -> str:
    """The line in rows; a piece that is wider than a row stays whole, for the terminal to break."""

    from rich.cells import cell_len  # slow to import, and needed in a terminal only

    rows, used = [""], 0
    for piece in _PIECE.findall(line):
        size = cell_len(piece)
        if used + size > width and rows[-1].strip() and not piece.isspace():
            rows.append("")
            used = 0
        rows[-1] += piece
        used += size
    return "\n".join(row.rstrip() for row in rows)

"""Tables for chats that have none: aligned in a monospaced block, or row by row if they are too wide for it."""

from dataclasses import dataclass, field
from itertools import zip_longest

from rich.cells import cell_len

from nanobot.channels.text.document import Document
from nanobot.channels.text.writer import Writer

_WIDEST = 38  # columns of a monospaced line that a phone shows without breaking it
_BETWEEN = "  "
_NOTHING = Document("–")


@dataclass(slots=True)
class Table:
    """The first row is the header. `right` tells of each column whether it is aligned to the right."""

    rows: list[list[Document]] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)


def write_table(table: Table, out: Writer, bullet: str) -> None:
    """Write it in the form that can be read on a phone."""
    widths = [max(_width(cell.text) for cell in column) for column in zip(*table.rows, strict=True)]
    linked = any(mark.kind == "link" for row in table.rows for cell in row for mark in cell.marks)
    if not linked and sum(widths) + len(_BETWEEN) * (len(widths) - 1) <= _WIDEST:
        out.write_lines("\n".join(_aligned(table, widths)), "pre")
    elif len(table.rows) > 1:
        for row in table.rows[1:]:
            _write_row(table.rows[0], row, out, bullet)
    else:
        _write_joined(table.rows[0], out)


def _width(text: str) -> int:
    return max((cell_len(line) for line in text.split("\n")), default=0)


def _aligned(table: Table, widths: list[int]) -> list[str]:
    lines = [line for row in table.rows[:1] for line in _row_lines(row, widths, table.right)]
    lines.append(_BETWEEN.join("─" * max(width, 1) for width in widths))
    lines += [line for row in table.rows[1:] for line in _row_lines(row, widths, table.right)]
    return [line.rstrip() for line in lines]


def _row_lines(row: list[Document], widths: list[int], right: list[bool]) -> list[str]:
    """A row takes several lines if a cell of it does."""
    cells = [cell.text.split("\n") for cell in row]
    return [
        _BETWEEN.join(_padded(*each) for each in zip(line, widths, right, strict=True))
        for line in zip_longest(*cells, fillvalue="")
    ]


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(text))
    return space + text if right else text + space


def _write_row(header: list[Document], row: list[Document], out: Writer, bullet: str) -> None:
    """The first cell is the title, the others follow with what their column is called."""
    out.gap(2)
    prefix = out.prefix
    out.open("bold")
    _write_cell(header[0], row[0], out)
    out.close("bold")
    for name, cell in zip(header[1:], row[1:], strict=True):
        if name.text or cell.text:
            out.gap(1)
            out.item(bullet, prefix + " " * len(bullet))
            _write_cell(name, cell, out)
            out.prefix = prefix


def _write_cell(name: Document, cell: Document, out: Writer) -> None:
    if name.text:
        out.write_document(name)
        out.write("：" if cell_len(name.text[-1]) > 1 else ": ")
    out.write_document(cell if cell.text or not name.text else _NOTHING)


def _write_joined(row: list[Document], out: Writer) -> None:
    """A header whose rows are still to come."""
    out.open("bold")
    for number, cell in enumerate(row):
        out.write(" · " if number else "")
        out.write_document(cell)
    out.close("bold")

"""What commands tell a person: broken between words at the width of a terminal, and left as it is in a pipe."""

import re
import shutil
import sys

_COMMAND = re.compile(r"`[^`\n]*`")
_HELD = "\ue000"
"""Stands for a blank at which no line is broken: what is to be copied stays in one piece."""


def tell(text: str, *, failed: bool = False) -> None:
    """Print it, on standard error if it `failed`; nothing in it can drive the terminal."""
    from nanobot.channels.terminal.clean import printable

    file = sys.stderr if failed else sys.stdout
    said = printable(text)
    if file.isatty():
        width = shutil.get_terminal_size().columns
        said = "\n".join(_broken(line, width) for line in said.split("\n"))
    print(said, file=file, flush=True)


def _broken(line: str, width: int) -> str:
    from rich.cells import cell_len
    from rich.console import Console
    from rich.text import Text

    commands = _COMMAND.findall(line)
    if cell_len(line) <= width or any(cell_len(command) > width for command in commands):
        return line
    held = _COMMAND.sub(lambda found: found[0].replace(" ", _HELD), line)
    rows = Text(held).wrap(Console(width=width), width)
    return "\n".join(row.plain.rstrip() for row in rows).replace(_HELD, " ")

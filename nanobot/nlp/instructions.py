"""Recognition of lines that read like an instruction to the bot.

A hint for people who look through their memory: nothing is refused or changed for it. The forms stand in
languages/<code>/instructions.toml, with examples that the tests run.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from nanobot.languages import compile_form, tables
from nanobot.text import canonical

_MOST_READ = 2000
"""Characters of a line that are looked at."""

_MARKS = re.compile(r"[*`]+|^[\s>#+•-]+")
_DAY = re.compile(r" \(\d{4}-\d{2}-\d{2}\)$")


def is_instruction(line: str) -> bool:
    """Return True if a line of a memory file reads like an instruction to the bot, in any language with forms."""
    words = _DAY.sub("", _MARKS.sub("", line[:_MOST_READ]).strip())
    text = unicodedata.normalize("NFKC", canonical(words))
    return any(form.search(text) for form in _forms())


@cache
def _forms() -> Sequence[re.Pattern[str]]:
    """Compile the forms of all languages, when the first line is looked at."""
    every = tables("instructions")
    return [compile_form(each["form"], language["parts"]) for language in every for each in language["patterns"]]

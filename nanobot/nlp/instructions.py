"""Recognition of lines that read like an instruction to the bot.

A hint for people who look through their memory: nothing is refused or changed for it. The forms stand in
patterns/directives/, a file for each language, with examples that the tests run.
"""

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from nanobot.text import canonical

_MOST_READ = 2000
"""Characters of a line that are looked at."""

_PART = re.compile(r"\{([a-z]+)\}")
_MARKS = re.compile(r"[*`]+|^[\s>#+•-]+")
_DAY = re.compile(r" \(\d{4}-\d{2}-\d{2}\)$")


def is_instruction(line: str) -> bool:
    """Return True if a line of a memory file reads like an instruction to the bot, in any language with forms."""
    words = _DAY.sub("", _MARKS.sub("", line[:_MOST_READ]).strip())
    text = unicodedata.normalize("NFKC", canonical(words))
    return any(form.search(text) for form in _forms())


def compile_form(form: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    """Compile a form with its parts in their places, and any white space for a blank."""
    while (filled := _PART.sub(lambda part: f"(?:{parts[part[1]]})", form)) != form:
        form = filled
    return re.compile(form.replace("\n", "").replace(" ", r"(?:\s+)"), re.IGNORECASE)


@cache
def _forms() -> Sequence[re.Pattern[str]]:
    """Compile the forms of all languages, when the first line is looked at."""
    folder = resources.files("nanobot.nlp") / "patterns" / "directives"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    languages = [tomllib.loads(file.read_text(encoding="utf-8")) for file in files]
    return [compile_form(each["form"], language["parts"]) for language in languages for each in language["patterns"]]

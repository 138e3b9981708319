"""Languages: a folder for each, by its code, with what the bot says in it and how it understands it.

A language that has sentences.toml is one that the bot speaks. Of the other files each language has what is known of it;
they are read when they are first needed. Adding a language is adding a folder.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent
_PART = re.compile(r"\{([a-zA-Z]+)\}")


@cache
def languages_with(subject: str) -> Sequence[str]:
    """Return the codes of the languages that have a file of this subject, English first, then by name."""
    found = sorted(path.parent.name for path in _FOLDER.glob(f"*/{subject}.toml"))
    return sorted(found, key=lambda code: code != "en")


@cache
def table(language: str, subject: str) -> Mapping[str, Any]:
    """Read what a language has of a subject. Raises OSError if it has nothing."""
    return tomllib.loads((_FOLDER / language / f"{subject}.toml").read_text(encoding="utf-8"))


def tables(subject: str) -> Sequence[Mapping[str, Any]]:
    """Read what each language has of a subject, English first."""
    return [table(language, subject) for language in languages_with(subject)]


def alternatives(subject: str, key: str) -> str:
    """Join what the languages have under a key of a subject to one expression; it matches nothing if none has any."""
    return "|".join(each[key].replace("\n", "") for each in tables(subject) if key in each) or "(?!)"


@cache
def expression(subject: str, key: str, around: str = "{}") -> re.Pattern[str]:
    """Compile what the languages have under a key, in the place of the braces; small and capital letters alike."""
    return re.compile(around.replace("{}", f"(?:{alternatives(subject, key)})"), re.IGNORECASE)


def fill(form: str, parts: Mapping[str, str]) -> str:
    """Put the parts of a form into their places."""
    while (filled := _PART.sub(lambda part: f"(?:{parts[part[1]]})", form)) != form:
        form = filled
    return form.replace("\n", "")


def compile_form(form: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    """Compile a form with its parts in their places, and any white space for a blank."""
    return re.compile(fill(form, parts).replace(" ", r"(?:\s+)"), re.IGNORECASE)

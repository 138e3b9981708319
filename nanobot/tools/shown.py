"""Text from elsewhere, made safe to look at."""

import re
from collections.abc import Mapping

from nanobot.text import escaped

# Control characters, half surrogates, and what turns the direction of writing: they can make a text look like another.
_TREACHEROUS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with a mark for each character that would hide or disguise something; lines and tabs stay."""
    return _TREACHEROUS.sub("\ufffd", text)


def name(path: object) -> str:
    """A path as it is written, each blank in its place, but never in two lines."""
    return re.sub(r"[\n\t]", "\ufffd", visible(str(path)))


def one_line(text: str, limit: int = 80) -> str:
    """The text on one line, cut with a mark."""
    line = " ".join(visible(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def argument(arguments: Mapping[str, object], name: str, otherwise: str = "?") -> str:
    """An argument as a few words for a person; the model may have sent anything."""
    return one_line(str(arguments.get(name) or otherwise))


def fenced(text: str, language: str = "") -> str:
    """The text as a Markdown code block that nothing in it can close; what cannot be seen in it is written out."""
    text = escaped(text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def code(text: str) -> str:
    """A name within a sentence: as code where Markdown would read something into it."""
    if re.fullmatch(r"[\w./-]*", text) and "__" not in text:
        return text
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence} {escaped(text)} {fence}" if "`" in text else f"`{escaped(text)}`"

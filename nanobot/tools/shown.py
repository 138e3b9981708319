"""Text from elsewhere, made safe to look at."""

import re
import unicodedata
from collections.abc import Mapping

# Control characters, half surrogates, and what turns the direction of writing: they can make a text look like another.
_TREACHEROUS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_UNSEEN = frozenset(("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"))  # categories of Unicode that show nothing
_BLANKS = re.compile(  # what shows nothing, or moves into what stands beside it, although its category is another one
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"
)
_AT_HOME = re.compile(  # joiners within words of the scripts that need them, and within one emoji
    "(?<=[\u0600-\u109f])[\u200c\u200d](?=[\u0600-\u109f])"
    "|(?<=[#*0-9\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff])\ufe0f"
    "|(?<=[\ufe0f\u2600-\u27bf\U0001f000-\U0001faff])\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
)
_ACCENTS = 4  # marks on one letter; a heap of them covers the lines around it


def visible(text: str) -> str:
    """The text with a mark for each character that would hide or disguise something; lines and tabs stay."""
    return _TREACHEROUS.sub("\ufffd", text)


def escaped(text: str) -> str:
    """The text with each character that cannot be seen, or that disguises others, written out as in source code.

    Lines, tabs, and blanks of the width of a letter stay. A byte that is no text is written \\xff.
    """
    if text.isascii() and text.isprintable():
        return text
    at_home = {found.start() for found in _AT_HOME.finditer(text)}
    out, accents = [], 0
    for place, character in enumerate(text):
        accents = accents + 1 if unicodedata.combining(character) else 0
        is_unseen = unicodedata.category(character) in _UNSEEN or _BLANKS.match(character) or accents > _ACCENTS
        is_fine = character in " \n\t\u3000" or place in at_home
        out.append(_written_out(character) if is_unseen and not is_fine else character)
    return "".join(out)


def _written_out(character: str) -> str:
    code = ord(character)
    if character == "\r":
        return "\\r"
    if 0xDC80 <= code <= 0xDCFF:  # a byte that could not be read
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


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

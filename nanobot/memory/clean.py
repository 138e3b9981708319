"""Text that is what it looks like: nothing unseen, nothing that a model or a reader takes for a mark."""

import re

_TEMPLATE = re.compile(
    r"<(?=\|[^|<>\n]{1,40}\|>)|<(?=/?s>)|<(?=(?:start|end)_of_turn>)|\[(?=/?INST\])|<(?=</?SYS>>)", re.IGNORECASE
)
_COMMENT = re.compile(r"<(?=!--)|-(?=->)")
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f"  # controls, but for tab and newline
    "\u00ad\u200b\u202a-\u202e\u2060-\u2069\ufeff"  # soft and zero-width marks, what turns the direction
    "\U000e0000-\U000e007f]"  # tags: a whole text can be written with them, unseen
)
_WIDE = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")  # the digits and letters of Chinese keyboards
_FLAG = re.compile("(\U0001f3f4[\U000e0061-\U000e007a]{2,8}\U000e007f)")  # England, Scotland, Wales


def cleaned(text: str) -> str:
    """The text without invisible controls, and with no comment mark or token of a chat template in force."""
    seen = _visible(re.sub(r"\r\n?|[\u2028\u2029]", "\n", text))
    return _COMMENT.sub(_apart, _TEMPLATE.sub(_apart, seen))


def narrow(text: str) -> str:
    """The same text, character by character, with wide digits and letters as plain ones."""
    return _WIDE.sub(lambda wide: chr(ord(wide[0]) - 0xFEE0), text)


def is_treacherous(text: str) -> bool:
    """Whether a text holds invisible controls or tokens of a chat template; line ends of any kind are neither."""
    lines = text.replace("\r", "")
    return _visible(lines) != lines or bool(_TEMPLATE.search(text))


def _visible(text: str) -> str:
    return "".join(piece if number % 2 else _INVISIBLE.sub("", piece) for number, piece in enumerate(_FLAG.split(text)))


def _apart(match: re.Match[str]) -> str:
    """A blank behind the first character leaves a mark readable and takes its force."""
    return match[0] + " "

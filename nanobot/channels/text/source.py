"""The Markdown that came from a model, before it is parsed."""

import re

_UNWANTED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_END = re.compile("\r\n?|[\u2028\u2029\x85]")
_SPACE = re.compile("[\x0b\x0c]")


def cleaned(markdown: str) -> str:
    """Without characters that a platform refuses or nobody can see, and with plain line ends."""
    text = _LINE_END.sub("\n", markdown)
    return _SURROGATE.sub("\ufffd", _SPACE.sub(" ", _UNWANTED.sub("", text)))

"""Text that cannot drive a terminal."""

_CONTROLS = [code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"]
_BIDI = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))  # embeddings, overrides, isolates: they change the order
_SURROGATES = range(0xD800, 0xE000)

_PRINTABLE: dict[int, str | None] = {
    **dict.fromkeys(_CONTROLS),
    **{code: f"\\u{code:04x}" for code in _BIDI},
    **dict.fromkeys(_SURROGATES, "\ufffd"),
}


def printable(text: str) -> str:
    """The text without control characters, what changes the order of reading written out.

    Character by character, so that it does not matter in which pieces a text arrives.
    """
    return text.translate(_PRINTABLE)


def typed(text: str) -> str:
    """What a person typed, as valid Unicode: bytes that their console could not decode are read as UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # surrogates that stand for no byte
        return text.encode("utf-8", "replace").decode("utf-8")

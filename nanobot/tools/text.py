"""Text as it stands in files: bytes of some encoding, some of them perhaps broken."""

import codecs
import re
from dataclasses import dataclass

_MARKS = (  # the longer one first: a UTF-32 mark begins like a UTF-16 one
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BROKEN = re.compile("[\ud800-\udfff]")
_UNSHOWABLE = re.compile("[\ud800-\udfff\0]")
_LOOKED_AT = 8_192  # bytes: who has a NUL in here without a mark is no text, as git has it


@dataclass(frozen=True, slots=True)
class Text:
    """A file's text. Bytes that are broken in UTF-8 are half surrogates in `content`, so that none is lost."""

    content: str
    encoding: str
    mark: bytes = b""

    def encode(self, content: str) -> bytes:
        """Other content as bytes of the same kind. Raises UnicodeEncodeError for what the encoding lacks."""
        errors = "surrogateescape" if self.encoding == "utf-8" else "strict"
        return self.mark + content.encode(self.encoding, errors)

    @property
    def newline(self) -> str:
        """How most of its lines end."""
        return "\r\n" if self.content.count("\r\n") * 2 > self.content.count("\n") else "\n"

    @property
    def broken(self) -> int:
        """How many bytes or characters could not be read."""
        return _broken(self.content) + (self.content.count("\ufffd") if self.encoding != "utf-8" else 0)

    @property
    def is_exact(self) -> bool:
        """Whether the bytes can be written back as they were."""
        return self.encoding == "utf-8" or not self.broken

    def lines(self) -> list[str]:
        """What a reader is shown, line by line; broken bytes as a mark."""
        lines = [line.removesuffix("\r") for line in _UNSHOWABLE.sub("\ufffd", self.content).split("\n")]
        return lines[:-1] if lines[-1] == "" else lines


def decode(data: bytes) -> Text | None:
    """The text in a file's bytes, or None if they are no text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            errors = "surrogateescape" if encoding == "utf-8" else "replace"
            return Text(data[len(mark) :].decode(encoding, errors), encoding, mark)
    if b"\0" in data[:_LOOKED_AT]:
        return None
    try:
        return Text(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
    beyond_ascii = sum(not char.isascii() for char in text)
    if _broken(text) * 10 > beyond_ascii and (chinese := _chinese(data)) is not None:
        return Text(chinese, "gb18030")
    return Text(text, "utf-8")


def _broken(text: str) -> int:
    return sum(1 for _ in _BROKEN.finditer(text))


def _chinese(data: bytes) -> str | None:
    """The text if this is Chinese as older Windows programs write it.

    Accented Latin letters can look like it, but decode to characters outside the common set.
    """
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return None
    beyond_ascii = [char for char in text if not char.isascii()]
    common = sum(bool(char.encode("gb2312", "ignore")) for char in beyond_ascii)
    return text if common * 10 >= len(beyond_ascii) * 9 and text.encode("gb18030") == data else None

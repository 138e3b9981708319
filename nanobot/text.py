"""Text: decoded from bytes, in one canonical form for prompts and guards, made visible for people, safe to look at."""

import codecs
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher

# Files as text; whatever a prompt carries and whatever a guard judges goes through `canonical`: both read the same.


_MARKS = (  # the longer one first: a UTF-32 mark begins like a UTF-16 one
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BROKEN = re.compile("[\ud800-\udfff]")
_BROKEN_RUN = re.compile("[\ud800-\udfff]+")
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
        """Line end that most of the lines have."""
        return "\r\n" if self.content.count("\r\n") * 2 > self.content.count("\n") else "\n"

    @property
    def broken(self) -> int:
        """Number of unreadable bytes or characters."""
        return _broken(self.content) + (self.content.count("\ufffd") if self.encoding != "utf-8" else 0)

    @property
    def is_exact(self) -> bool:
        """True if the bytes can be written back as they were."""
        return self.encoding == "utf-8" or not self.broken

    @property
    def canonical(self) -> str:
        """The form in which a prompt carries it and a guard judges it; a broken byte is a mark."""
        return canonical(_BROKEN_RUN.sub("\ufffd", self.content))

    def lines(self) -> list[str]:
        """Lines as a reader sees them; unreadable bytes as a mark."""
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


def is_utf16(data: bytes) -> bool:
    """True if a file says at its beginning that it is written in UTF-16, as some editors call "Unicode"."""
    return data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


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


def canonical(text: str) -> str:
    """Return the one form in which a text stands in a prompt and is judged: what a reader sees of it.

    Composed letters (NFC), plain line ends, and no character that cannot be seen or that disguises others, but for
    those that a script or an emoji needs.
    """
    text = _plain_blanks(text)
    if not text.isascii() or _CONTROL.search(text):
        text = "".join(char for char, is_unseen in _judged(text) if not is_unseen)
    return unicodedata.normalize("NFC", text)


def escaped(text: str) -> str:
    """Write out each character that cannot be seen, or that disguises others, as in source code.

    Lines, tabs, and blanks of the width of a letter stay. A byte that is no text is written \\xff.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_written_out(char) if is_unseen else char for char, is_unseen in _judged(text))


def cleaned(text: str) -> str:
    """Return the canonical form with no comment mark or token of a chat template in force."""
    return _COMMENT.sub(_apart, _TEMPLATE.sub(_apart, canonical(text)))


def as_name(text: str) -> str:
    """Return a name that people gave themselves, as a model may read it: one line, which imitates no id and no mark."""
    return " ".join(canonical(text).translate(_BRACKETS).split())[:_LONGEST_NAME]


def as_speaker(text: str) -> str:
    """Return such a name where it stands in the place of who spoke: in marks, if it is a word for somebody else."""
    name = as_name(text)
    return f"‹{name}›" if name.casefold() in _SPEAKERS else name


def narrow(text: str) -> str:
    """Return the same text, character by character, with wide digits and letters as plain ones."""
    return _WIDE.sub(lambda wide: chr(ord(wide[0]) - 0xFEE0), text)


def is_treacherous(text: str) -> bool:
    """Return whether a text holds what cannot be seen, or tokens of a chat template; line ends are neither."""
    text = _plain_blanks(text)
    if (not text.isascii() or _CONTROL.search(text)) and any(is_unseen for _, is_unseen in _judged(text)):
        return True
    return bool(_TEMPLATE.search(text))


def _plain_blanks(text: str) -> str:
    """Lines that end in one way, and blanks of one kind: those of typographers part words, too."""
    return _BLANK.sub(" ", _LINE_ENDS.sub("\n", text))


_BRACKETS = str.maketrans("([{<（［【〈)]}>）］】〉:：", "‹‹‹‹‹‹‹‹››››››››··")
_LONGEST_NAME = 80
_SPEAKERS = frozenset(("assistant", "bot", "nanobot", "owner", "somebody else", "system", "tool", "user", "you"))
_LINE_ENDS = re.compile(r"\r\n?|[\u2028\u2029]")
_BLANK = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_TEMPLATE = re.compile(
    r"<(?=\|[^|<>\n]{1,40}\|>)|<(?=/?s>)|<(?=(?:start|end)_of_turn>)|\[(?=/?INST\])|<(?=</?SYS>>)", re.IGNORECASE
)
_COMMENT = re.compile(r"<(?=!--)|-(?=->)")
_WIDE = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")  # the digits and letters of Chinese keyboards
_UNSEEN = frozenset(("Cc", "Cf", "Co", "Cs", "Zl", "Zp", "Zs"))  # categories of Unicode that show nothing
_BLANKS = re.compile(  # what shows nothing, or moves into what stands beside it, although its category is another one
    "[\u034f\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000effff\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159]"
)
_AT_HOME = re.compile(  # joiners within words of the scripts that need them, and within one emoji
    "(?<=[\u0600-\u109f])[\u200c\u200d](?=[\u0600-\u109f])"
    "|(?<=[#*0-9\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff])\ufe0f"
    "|(?<=[\ufe0f\u2600-\u27bf\U0001f000-\U0001faff])\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
)
_ACCENTS = 4  # marks on one letter; a heap of them covers the lines around it
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{2,8}\U000e007f")  # England, Scotland, Wales


def _judged(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each character, and whether it cannot be seen where it stands, or disguises others."""
    at_home = {found.start() for found in _AT_HOME.finditer(text)}
    at_home |= {place for flag in _FLAG.finditer(text) for place in range(*flag.span())}
    accents = 0
    for place, char in enumerate(text):
        accents = accents + 1 if unicodedata.combining(char) else 0
        is_unseen = unicodedata.category(char) in _UNSEEN or _BLANKS.match(char) or accents > _ACCENTS
        yield char, bool(is_unseen) and char not in " \n\t\u3000" and place not in at_home


def _written_out(character: str) -> str:
    code = ord(character)
    if character == "\r":
        return "\\r"
    if 0xDC80 <= code <= 0xDCFF:  # a byte that could not be read
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _apart(match: re.Match[str]) -> str:
    """A blank behind the first character leaves a mark readable and takes its force."""
    return match[0] + " "


@dataclass(frozen=True, slots=True)
class LineChange:
    """Lines `start` to `stop` of a text that became these."""

    start: int
    stop: int
    lines: Sequence[bytes]

    def overlaps(self, other: "LineChange") -> bool:
        """Return whether both change one line. Lines that both bring to one place are no change of a line."""
        return self.start < other.stop and other.start < self.stop


def line_changes(base: Sequence[bytes], lines: Sequence[bytes]) -> Sequence[LineChange]:
    """Compare two texts line by line; return what makes the first one the second, in order."""
    steps = SequenceMatcher(None, base, lines, autojunk=False).get_opcodes()
    return [LineChange(start, stop, lines[i:j]) for tag, start, stop, i, j in steps if tag != "equal"]


# Text that is safe to look at.


# Control characters, half surrogates, and what turns the direction of writing: they can make a text look like another.
_TREACHEROUS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with a mark for each character that would hide or disguise something; lines and tabs stay."""
    return _TREACHEROUS.sub("\ufffd", text)


def name(path: object) -> str:
    """A path as it is written, each blank in its place, but never in two lines."""
    return re.sub(r"[\n\t]", "\ufffd", visible(str(path)))


def parse_time(text: str) -> datetime | None:
    """A time in RFC 3339, local if it names no zone; None if it cannot be read."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.astimezone()


def well_formed(text: str) -> str:
    """The text as UTF-8 can hold it: halves of a surrogate pair are their character, a lone half is U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def truncate(text: str, limit: int) -> str:
    """The text with at most `limit` characters, the last of them an ellipsis if it is cut."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def one_line(text: str, limit: int = 80) -> str:
    """The text on one line, cut with a mark."""
    return truncate(" ".join(visible(text).split()), limit)


def argument(arguments: Mapping[str, object], name: str, otherwise: str = "?") -> str:
    """An argument as a few words for a person; the model may have sent anything."""
    return one_line(str(arguments.get(name) or otherwise))


def fenced(text: str, language: str = "") -> str:
    """The text as a code block, with what cannot be seen in it written out."""
    return code_block(escaped(text), language)


def code_block(text: str, language: str = "") -> str:
    """The text, as it is, in a Markdown code block that nothing in it can close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def code(text: str) -> str:
    """A name within a sentence: as code where Markdown would read something into it."""
    if re.fullmatch(r"[\w./-]*", text) and "__" not in text:
        return text
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence} {escaped(text)} {fence}" if "`" in text else f"`{escaped(text)}`"


# Text for a terminal.


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

"""Markdown -> messages for Telegram: plain text, and entities that say what is bold, code or a link."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Final, Literal

from nanobot.channels.markdown.layout import Dialect, laid_out
from nanobot.channels.markdown.parser import Mark, MarkedText, trimmed
from nanobot.channels.markdown.writer import cut

TEXT_LIMIT: Final = 4096
CAPTION_LIMIT: Final = 1024
_MOST_ENTITIES = 100  # Telegram ignores further ones
_LONG_QUOTE = 600  # shown folded

EntityKind = Literal[
    "bold", "italic", "underline", "strikethrough", "spoiler", "code", "pre", "text_link", "blockquote",
    "expandable_blockquote",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entity:
    """As Telegram's MessageEntity: offset and length count UTF-16 units."""

    kind: EntityKind
    offset: int
    length: int
    url: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class RichText:
    """One message. The entities are sorted by offset, outer ones first; no two overlap in part."""

    text: str
    entities: tuple[Entity, ...] = ()


def telegram_parts(markdown: str, limit: int = TEXT_LIMIT, *, growing: bool = False) -> Sequence[RichText]:
    """The messages that show a text, none longer than `limit` UTF-16 units (at least 500); none if it is blank.

    `growing`: more of the text will follow, so that what is half open at its end is shown as if it were closed.
    """
    document = laid_out(markdown, _DIALECT, growing=growing)
    return cut(document, limit, _rich_text, partial(_excess, limit))


def plain(rich: RichText, limit: int = TEXT_LIMIT) -> RichText:
    """The words alone, with the address behind each linked one as far as `limit` UTF-16 units reach."""
    units = rich.text.encode("utf-16-le")
    for link in sorted((each for each in rich.entities if each.url), key=lambda each: -each.offset):
        end = 2 * (link.offset + link.length)
        units = units[:end] + f" ({link.url})".encode("utf-16-le") + units[end:]
    return RichText(units.decode("utf-16-le") if len(units) <= 2 * limit else rich.text)


def _clickable(url: str, _label: str) -> bool:
    return url.startswith(("http://", "https://", "tg://", "mailto:", "tel:"))


_DIALECT = Dialect(bullets=("•", "◦", "▪"), done="☑", open="☐", indent=3, clickable=_clickable)

_KINDS: dict[str, EntityKind] = {
    "bold": "bold",
    "heading": "bold",
    "italic": "italic",
    "underline": "underline",
    "strike": "strikethrough",
    "spoiler": "spoiler",
    "code": "code",
    "pre": "pre",
    "link": "text_link",
    "quote": "blockquote",
}


def _excess(limit: int, message: RichText) -> int:
    units = len(message.text.encode("utf-16-le")) // 2
    crowd = limit * max(len(message.entities) - _MOST_ENTITIES, 0) // _MOST_ENTITIES
    return max(units - limit, crowd)


def _rich_text(piece: MarkedText) -> RichText:
    if max(piece.text, default="") <= "\uffff":
        units: Sequence[int] = range(len(piece.text) + 1)
    else:
        units = list(accumulate((2 if character > "\uffff" else 1 for character in piece.text), initial=0))
    return RichText(piece.text, tuple(_entity(mark, units) for mark in _separated(piece)))


def _entity(mark: Mark, units: Sequence[int]) -> Entity:
    offset = units[mark.start]
    kind = _KINDS[mark.kind]
    length = units[mark.end] - offset
    if kind == "blockquote" and length > _LONG_QUOTE:
        kind = "expandable_blockquote"
    return Entity(
        kind,
        offset,
        length,
        url=mark.value if kind == "text_link" else None,
        language=mark.value or None if kind == "pre" else None,
    )


def _separated(piece: MarkedText) -> list[Mark]:
    """Code can be in a quote, but in nothing else: styles are cut around it; in a link or spoiler, it is no code."""
    shown = [mark for mark in piece.marks if mark.kind in _KINDS]
    holders = [mark for mark in shown if mark.kind in ("link", "spoiler")]
    code = [mark for mark in shown if mark.kind in ("code", "pre") and not any(_within(mark, each) for each in holders)]
    kept: list[Mark] = []
    for mark in shown:
        if mark.kind in ("quote", "link", "spoiler"):
            kept.append(mark)
        elif mark.kind not in ("code", "pre"):
            holes = [each for each in code if _within(each, mark)]
            parts = (trimmed(mark, piece.text, *part) for part in _around(mark, holes)) if holes else [mark]
            kept += filter(None, parts)
    return sorted(kept + code, key=lambda mark: (mark.start, -mark.end))


def _within(inner: Mark, outer: Mark) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _around(mark: Mark, holes: list[Mark]) -> Iterator[tuple[int, int]]:
    start = mark.start
    for hole in holes:
        yield start, hole.start
        start = hole.end
    yield start, mark.end

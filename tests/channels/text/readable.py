"""Messages as a person can read them in a file: parts between lines, entities as tags."""

from collections import defaultdict
from collections.abc import Sequence

from nanobot.channels.telegram.markdown import RichText

CUT = "\n════════ next message ════════\n"


def tagged(message: RichText) -> str:
    """`<bold>so</bold>`; entities that overlap in part would show as tags that cross."""
    units = message.text.encode("utf-16-le")
    tags: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    for number, entity in enumerate(message.entities):
        detail = "".join(f" {value}" for value in (entity.url, entity.language) if value)
        tags[entity.offset].append((1, number, f"<{entity.kind}{detail}>"))
        tags[entity.offset + entity.length].append((0, -number, f"</{entity.kind}>"))
    written, position = "", 0
    for offset in sorted(tags):
        written += units[2 * position : 2 * offset].decode("utf-16-le")
        written += "".join(tag for *_, tag in sorted(tags[offset]))
        position = offset
    return written + units[2 * position :].decode("utf-16-le")


def telegram(messages: Sequence[RichText]) -> str:
    return CUT.join(map(tagged, messages)) + "\n"


def discord(messages: Sequence[str]) -> str:
    return CUT.join(messages) + "\n"

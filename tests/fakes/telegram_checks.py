"""What the Bot API refuses in a message, more strictly than Telegram itself, which repairs some of it in silence.

Sources: core.telegram.org/bots/api, "Formatting options", MessageEntity, InlineKeyboardButton, BotCommand.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

TEXT_LIMIT = 4096
CAPTION_LIMIT = 1024
PHOTO_BYTES = 10 << 20
FILE_BYTES = 50 << 20
DOWNLOAD_BYTES = 20 << 20
ALONE = {"code", "pre"}
STYLES = {"bold", "italic", "underline", "strikethrough", "spoiler"}
QUOTES = {"blockquote", "expandable_blockquote"}
KINDS = ALONE | STYLES | QUOTES | {"text_link", "text_mention"}
ACTIONS = {"typing", "upload_photo", "upload_document", "record_voice", "find_location"}


class RefusalError(Exception):
    """How the Bot API says no."""

    def __init__(self, code: int, description: str, **parameters: object) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters

    @property
    def body(self) -> dict[str, Any]:
        told: dict[str, Any] = {"ok": False, "error_code": self.code, "description": self.description}
        return told | ({"parameters": self.parameters} if self.parameters else {})


def bad(description: str, **parameters: object) -> RefusalError:
    return RefusalError(400, f"Bad Request: {description}", **parameters)


def units(text: str) -> int:
    """UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def check_text(text: str, entities: Sequence[Mapping[str, Any]], *, limit: int = TEXT_LIMIT, what: str = "text") -> str:
    """The text as it will be shown."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise bad("strings must be encoded in UTF-8") from None
    shown = text.strip()
    if not shown and what == "text":
        raise bad("message text is empty")
    if units(shown) > limit:
        raise bad("message is too long" if what == "text" else "message caption is too long")
    check_entities(text, entities)
    return shown


def check_entities(text: str, entities: Sequence[Mapping[str, Any]]) -> None:
    for entity in entities:
        if entity.get("type") not in KINDS:
            raise bad(f"unsupported entity {entity}")
        if entity["type"] == "text_link" and not entity.get("url"):
            raise bad("ENTITY_URL_INVALID")
        _check_bounds(text, entity)
    if len(entities) > 100:
        raise bad("too many entities")
    for number, first in enumerate(entities):
        for second in entities[number + 1 :]:
            _check_pair(first, second)


def _check_bounds(text: str, entity: Mapping[str, Any]) -> None:
    start, end = entity["offset"], entity["offset"] + entity["length"]
    if not 0 <= start < end <= units(text):
        raise bad(f"ENTITY_BOUNDS_INVALID: {entity}")
    try:
        text.encode("utf-16-le")[start * 2 : end * 2].decode("utf-16-le")
    except UnicodeDecodeError:
        raise bad(f"ENTITY_BOUNDS_INVALID: inside a surrogate pair: {entity}") from None


def _check_pair(first: Mapping[str, Any], second: Mapping[str, Any]) -> None:
    a, b = first["offset"], first["offset"] + first["length"]
    c, d = second["offset"], second["offset"] + second["length"]
    if b <= c or d <= a:
        return
    if not (a <= c and d <= b) and not (c <= a and b <= d):
        raise bad(f"can't parse entities: {first} and {second} overlap in part")
    kinds = {first["type"], second["type"]}
    if kinds & ALONE and not kinds & QUOTES:
        raise bad(f"can't parse entities: code with {kinds}")
    if len(kinds) == 1 or kinds <= QUOTES:
        raise bad(f"can't parse entities: {kinds} in itself")


def check_keyboard(markup: Mapping[str, Any]) -> None:
    for button in (button for row in markup.get("inline_keyboard", ()) for button in row):
        if not button.get("text"):
            raise bad("text buttons are not allowed in the inline keyboard")
        if not 1 <= len(button.get("callback_data", "").encode()) <= 64:
            raise bad("BUTTON_DATA_INVALID")


def check_commands(commands: Sequence[Mapping[str, str]]) -> None:
    if len(commands) > 100:
        raise bad("BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        if not re.fullmatch(r"[a-z0-9_]{1,32}", command["command"]):
            raise bad("BOT_COMMAND_INVALID")
        if not 1 <= len(command["description"]) <= 256:
            raise bad("BOT_COMMAND_DESCRIPTION_INVALID")


def found_entities(text: str) -> Iterator[dict[str, Any]]:
    """What Telegram marks in what people type."""
    for kind, pattern in (
        ("bot_command", r"(?<!\S)/[A-Za-z0-9_]{1,32}(?:@[A-Za-z0-9_]{3,32})?(?![A-Za-z0-9_])"),
        ("mention", r"(?<![\w@])@[A-Za-z][A-Za-z0-9_]{3,31}\b"),
        ("url", r"https?://\S+"),
    ):
        for match in re.finditer(pattern, text):
            yield {"type": kind, "offset": units(text[: match.start()]), "length": units(match[0])}


def parsed(value: str) -> Any:
    """A form field: JSON where it is an object or a list."""
    return json.loads(value) if value[:1] in ("{", "[") else value

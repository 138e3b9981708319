"""What Discord refuses of a message, and with which words."""

import unicodedata
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.discord_world import FORUM, Json, Room

LIMIT = 2000


@dataclass(eq=False)
class RefusedError(Exception):
    """An error as Discord answers it."""

    status: int
    code: int
    message: str
    errors: Json = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def body(self) -> Json:
        return {"message": self.message, "code": self.code} | ({"errors": self.errors} if self.errors else {})


def invalid(name: str, code: str, message: str) -> RefusedError:
    return RefusedError(400, 50035, "Invalid Form Body", {name: {"_errors": [{"code": code, "message": message}]}})


def check_room(room: Room | None) -> Room:
    """The room, if the bot may speak there; a thread that is only archived comes back to life."""
    if room is None or room.gone:
        raise RefusedError(404, 10003, "Unknown Channel")
    if room.refuses:
        raise RefusedError(403, room.refuses, "Refused")
    if room.kind == FORUM:
        raise RefusedError(400, 50008, "Cannot send messages in a non-text channel")
    if room.locked:
        raise RefusedError(403, 160005, "Thread is locked")
    room.archived = False
    return room


def is_blank(text: str) -> bool:
    """Whether nothing of it would be seen."""
    return all(char.isspace() or unicodedata.category(char) in ("Cf", "Cc") for char in text)


def check_message(data: Json, *, files: int = 0, editing: bool = False) -> None:
    """Raise what Discord would answer; `allowed_mentions` is asked for by us, since the default pings."""
    content = data.get("content")
    if content is not None and not isinstance(content, str):
        raise invalid("content", "STRING_TYPE_CONVERT", "not a text")
    if len(content or "") > LIMIT:
        raise invalid("content", "BASE_TYPE_MAX_LENGTH", f"Must be {LIMIT} or fewer in length.")
    if not editing and not files and is_blank(content or ""):
        raise RefusedError(400, 50006, "Cannot send an empty message")
    if editing and content is not None and is_blank(content):
        raise RefusedError(400, 50006, "Cannot send an empty message")
    if "allowed_mentions" not in data:
        raise invalid("allowed_mentions", "MISSING", "whom does it ping?")
    if len(str(data.get("nonce", ""))) > 25:
        raise invalid("nonce", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
    if "nonce" in data and not data.get("enforce_nonce"):
        raise invalid("enforce_nonce", "MISSING", "a nonce that guards nothing")
    _check_components(data.get("components") or [])


def _check_components(rows: list[Any]) -> None:
    if len(rows) > 5:
        raise invalid("components", "BASE_TYPE_MAX_LENGTH", "Must be 5 or fewer in length.")
    ids = [button["custom_id"] for row in rows for button in row["components"]]
    if len(set(ids)) < len(ids) or any(not 1 <= len(id_) <= 100 for id_ in ids):
        raise invalid("components", "COMPONENT_CUSTOM_ID_DUPLICATED", "custom_id: 1 to 100 characters, each once")
    for row in rows:
        labels = [button["label"] for button in row["components"]]
        if row["type"] != 1 or len(labels) > 5 or any(not 1 <= len(label) <= 80 for label in labels):
            raise invalid("components", "BASE_TYPE_BAD_LENGTH", "rows of 5, labels of 1 to 80 characters")

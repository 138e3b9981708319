"""Buttons below a message: what they look like to Discord, and what was meant when one is pressed.

What a button means stands in its custom_id, so that it can still be pressed after a restart.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nanobot.messages import Button
from nanobot.ports import Bookmarks

_LONGEST_ID = 100
_LONGEST_LABEL = 80
_IN_A_ROW = 5
MOST = 25
"""Buttons that one message can carry."""

_WRITTEN, _KEPT = "=", "#"
_OVER = "over"
_MARK = "discord.button:"


@dataclass(frozen=True, slots=True)
class Placed:
    """A button of an outbound message."""

    message: str
    button: Button

    @property
    def custom_id(self) -> str:
        """The message's id and the value; of long ones a hash, under which they are kept as a bookmark."""
        written = f"{_WRITTEN}{self.message}{_WRITTEN}{self.button.value}"
        if len(written) <= _LONGEST_ID and _WRITTEN not in self.message:
            return written
        return _KEPT + hashlib.sha256(self._whole.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def is_kept(self) -> bool:
        return self.custom_id.startswith(_KEPT)

    @property
    def _whole(self) -> str:
        return json.dumps([self.message, self.button.value])

    async def keep(self, bookmarks: Bookmarks) -> None:
        """Make sure that a press will be understood. Raises StoreError."""
        if self.is_kept:
            await bookmarks.mark(_MARK + self.custom_id, self._whole)


def components(placed: Sequence[Placed]) -> list[dict[str, Any]]:
    """As Discord wants them: rows (type 1) of grey buttons (type 2, style 2)."""
    buttons = [
        {
            "type": 2,
            "style": 2,
            "label": item.button.label.strip()[:_LONGEST_LABEL] or "…",
            "custom_id": item.custom_id,
        }
        for item in placed
    ]
    rows = [buttons[start : start + _IN_A_ROW] for start in range(0, len(buttons), _IN_A_ROW)]
    return [{"type": 1, "components": row} for row in rows]


def outcome(text: str) -> list[dict[str, Any]]:
    """What stands below a question that is over: one button that cannot be pressed."""
    shown = {"type": 2, "style": 2, "label": text[:_LONGEST_LABEL], "custom_id": _OVER, "disabled": True}
    return [{"type": 1, "components": [shown]}]


async def pressed(custom_id: str, bookmarks: Bookmarks) -> tuple[str, str] | None:
    """The id of the outbound message and the chosen value; None if it is no button of ours."""
    if custom_id.startswith(_WRITTEN):
        message, separator, value = custom_id[1:].partition(_WRITTEN)
        return (message, value) if separator else None
    whole = (await bookmarks.marks(_MARK + custom_id)).get(_MARK + custom_id)
    if whole is None:
        return None
    message, value = json.loads(whole)
    return message, value

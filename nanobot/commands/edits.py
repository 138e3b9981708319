"""What becomes of an edit: a command does not run again because somebody touches up its message."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from nanobot.messages import InboundMessage

_MOST = 1000
"""Messages that are remembered; people edit what they have just said."""

Edit = Literal["none", "same", "command"]
"""none     no edit, or one to be dealt with like any message
same     nothing was changed: platforms tell of edits to what hangs on a message, too
command  of a message that was a command, or that nobody knows any more: what was asked for was done already"""


@dataclass(frozen=True, slots=True)
class _Wording:
    text: int  # no more than a hash of it: nothing is to be found here that was forgotten
    is_command: bool


class Edits:
    """Remembers the newest wording of what was heard last."""

    def __init__(self, calls: Callable[[InboundMessage], bool]) -> None:
        """`calls` says whether a message calls a command that there is."""
        self._calls = calls
        self._heard: dict[str, _Wording] = {}

    def hear(self, message: InboundMessage) -> Edit:
        """What this is."""
        first, new = message.corrects or message.id, _Wording(hash(message.text), self._calls(message))
        before = self._heard.pop(first, None)
        self._heard[first] = new
        if len(self._heard) > _MOST:
            del self._heard[next(iter(self._heard))]
        if not message.corrects:
            return "none"
        if before and before.text == new.text:
            return "same"
        return "command" if new.is_command and (before is None or before.is_command) else "none"

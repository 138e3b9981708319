"""Slash commands and buttons: what Discord calls interactions."""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nanobot.channels.discord.rest import Rest
from nanobot.channels.platform import DeliveryError
from nanobot.channels.registry import MenuCommand
from nanobot.i18n import LANGUAGES, Language, platform_codes, say
from nanobot.messages import Button
from nanobot.ports import Bookmarks

# Interactions.
#
# Discord wants an answer within three seconds and forgets an interaction after fifteen minutes. So it is answered at
# once with "thinking", before anything else is done, and that becomes the line to which the real answer replies: that
# one is an ordinary message, as late as it may come.


THINKING, NOTED = 5, 6
_COMMAND, _COMPONENT = 2, 3
_TEXT_OPTION = 3
_LONGEST = 100
_SECONDS = 3.0
_MARK = "discord.commands"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Interaction:
    """A use of a slash command or a button, as far as it concerns us.

    `text` is the command as it would be typed; `custom_id` that of the button. `response` is the message that
    stands for a command in the channel, "" if Discord took no answer any more.
    """

    id: str
    token: str
    channel: str
    application: str
    text: str = ""
    custom_id: str = ""
    response: str = ""

    @classmethod
    def read(cls, raw: Any) -> "Interaction | None":
        """From discord.py's; None for kinds that we never ask for."""
        data, kind = raw.data or {}, raw.type.value
        text = custom_id = ""
        if kind == _COMMAND:
            options = [str(option.get("value", "")) for option in data.get("options") or []]
            text = " ".join(filter(None, (f"/{data['name']}", *options)))
        elif kind == _COMPONENT:
            custom_id = data["custom_id"]
        else:
            return None
        return cls(str(raw.id), raw.token, str(raw.channel_id), str(raw.application_id), text, custom_id)


class Interactions:
    """Answers interactions, and keeps Discord's list of commands."""

    def __init__(self, rest: Rest, bookmarks: Bookmarks) -> None:
        self._rest = rest
        self._bookmarks = bookmarks

    async def receive(self, call: Interaction) -> str:
        """Tell Discord that it was heard; the id of the message that now stands for a command, or ""."""
        path = f"/interactions/{call.id}/{call.token}/callback?with_response=true"
        try:
            kind = THINKING if call.text else NOTED
            told = await self._rest.call("POST", path, {"type": kind}, seconds=_SECONDS)
        except DeliveryError as error:  # what was asked for is done all the same
            log.warning("discord: chat %s: interaction %s is not confirmed: %s", call.channel, call.id, error)
            return ""
        return str((told or {}).get("interaction", {}).get("response_message_id") or "")

    async def show(self, call: Interaction) -> None:
        """Show the command that is being answered, where "thinking" stood."""
        body = {"content": call.text[:1900], "allowed_mentions": {"parse": []}}
        await self._original("PATCH", call, body)

    async def withdraw(self, call: Interaction) -> None:
        """Take "thinking" away: this person gets no answer."""
        await self._original("DELETE", call, None)

    async def _original(self, method: str, call: Interaction, body: object) -> None:
        if not call.response:
            return
        path = f"/webhooks/{call.application}/{call.token}/messages/@original"
        try:
            await self._rest.call(method, path, body)
        except DeliveryError as error:
            log.warning('discord: chat %s: interaction %s keeps "thinking": %s', call.channel, call.id, error)

    async def sync(self, application: str, commands: Sequence[MenuCommand]) -> None:
        """Tell Discord the commands, if it was told others last. Raises StoreError."""
        menu = [_described(command) for command in commands]
        mark = hashlib.sha256(json.dumps([application, menu]).encode()).hexdigest()
        if (await self._bookmarks.marks(_MARK)).get(_MARK) == mark:
            return
        try:
            await self._rest.call("PUT", f"/applications/{application}/commands", menu)
        except DeliveryError as error:  # typed commands work without the menu; the next start tries again
            log.warning("discord: the slash commands could not be set: %s", error)
            return
        log.info("discord: set %d slash commands", len(menu))
        await self._bookmarks.mark(_MARK, mark)


def _described(command: MenuCommand) -> dict[str, object]:
    """Return a command in English, and in the other languages for whose Discord is set to them."""
    return {
        "name": command.name,
        "type": 1,
        **_texts(command.help),
        "contexts": [0, 1],
        "integration_types": [0],
        "options": [
            {
                "name": "text",
                "type": _TEXT_OPTION,
                "required": False,
                **_texts({language: say("discord.option", language) for language in LANGUAGES}),
            }
        ],
    }


def _texts(texts: Mapping[Language, str]) -> dict[str, object]:
    codes = {code: text for language, text in texts.items() for code in platform_codes(language, "discord")}
    return {
        "description": texts["en"][:_LONGEST],
        "description_localizations": {code: text[:_LONGEST] for code, text in codes.items()},
    }


# Buttons.
#
# What a button means stands in its custom_id, so that it can still be pressed after a restart.


_LONGEST_ID = 100
_LONGEST_LABEL = 80
_IN_A_ROW = 5
MOST = 25
"""Buttons that one message can carry."""

_WRITTEN, _KEPT = "=", "#"
_OVER = "over"
_BUTTON_MARK = "discord.button:"


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
            await bookmarks.mark(_BUTTON_MARK + self.custom_id, self._whole)


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
    """Return the buttons below a question that is over: one that cannot be pressed."""
    shown = {"type": 2, "style": 2, "label": text[:_LONGEST_LABEL], "custom_id": _OVER, "disabled": True}
    return [{"type": 1, "components": [shown]}]


async def pressed(custom_id: str, bookmarks: Bookmarks) -> tuple[str, str] | None:
    """The id of the outbound message and the chosen value; None if it is no button of ours."""
    if custom_id.startswith(_WRITTEN):
        message, separator, value = custom_id[1:].partition(_WRITTEN)
        return (message, value) if separator else None
    whole = (await bookmarks.marks(_BUTTON_MARK + custom_id)).get(_BUTTON_MARK + custom_id)
    if whole is None:
        return None
    message, value = json.loads(whole)
    return message, value

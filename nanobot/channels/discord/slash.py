"""Slash commands and buttons: what Discord calls interactions.

Discord wants an answer within three seconds and forgets an interaction after fifteen minutes. So it is answered at
once with "thinking", before anything else is done, and that becomes the line to which the real answer replies: that
one is an ordinary message, as late as it may come.
"""

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nanobot.channels.discord.rest import Rest
from nanobot.channels.discord.settings import MenuCommand
from nanobot.channels.platform import DeliveryError
from nanobot.i18n import say
from nanobot.ports import Bookmarks

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
    """In English, with Chinese for those whose Discord is Chinese; in servers and in private."""
    return {
        "name": command.name,
        "type": 1,
        **_texts(command.help["en"], command.help["zh"]),
        "contexts": [0, 1],
        "integration_types": [0],
        "options": [
            {
                "name": "text",
                "type": _TEXT_OPTION,
                "required": False,
                **_texts(say("discord.option", "en"), say("discord.option", "zh")),
            }
        ],
    }


def _texts(english: str, chinese: str) -> dict[str, object]:
    chinese = chinese[:_LONGEST]
    return {
        "description": english[:_LONGEST],
        "description_localizations": {"zh-CN": chinese, "zh-TW": chinese},
    }

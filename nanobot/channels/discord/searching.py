"""Recognizing our own messages in a channel's history."""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nanobot.channels.discord.ids import MessageId
from nanobot.messages import Attachment, OutboundMessage

_LONGEST_NONCE = 25
_OF_TURN = 13
"""So many characters of a preview's nonce are its turn's: whichever process made it, it is recognized by them."""

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_OURS = re.compile(f"[{_ALPHABET}]{{26}}")
_DISCORD_EPOCH = 1_420_070_400_000  # milliseconds; an id is the time since then, and 22 other bits
_CLOCKS_DIFFER = 60_000


def nonce_of(message: str, number: int) -> str:
    """Of a part of an outbound message: the same at each attempt."""
    return _nonce(f"part\n{message}\n{number}")


def nonce_of_preview(turn: str, name: str) -> str:
    """Of a preview of a turn: another one for each name."""
    return _nonce(f"preview\n{turn}")[:_OF_TURN] + _nonce(name)[_OF_TURN:]


def _nonce(what: str) -> str:
    digest = hashlib.sha256(what.encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(digest).decode()[:_LONGEST_NONCE]


def arrived(
    ours: Sequence[Mapping[str, Any]], message: OutboundMessage, number: int, text: str, file: Attachment | None
) -> str | None:
    """The id of a part among our own messages, the newest first; that of a preview where there is none.

    Discord gives a nonce back only for a while. Then it is the content that tells, of what came after the
    message was made: the same words may have been said before, too.
    """
    later = [said for said in ours if int(said["id"]) > _made(message)]
    exact = _with_nonce(ours, nonce_of(message.id, number))
    if exact or file is not None:
        return exact or _with_file(later, file)
    same = next((str(said["id"]) for said in later if said["content"] == text.strip()), None)
    if same or message.turn is None:
        return same
    preview = _with_nonce(ours, nonce_of_preview(message.turn, "")[:_OF_TURN])
    return preview or (_growing(later, text, message.reply_to) if number == 0 else None)


def _with_nonce(ours: Iterable[Mapping[str, Any]], begins: str) -> str | None:
    return next((str(said["id"]) for said in ours if str(said.get("nonce")).startswith(begins)), None)


def _with_file(later: Iterable[Mapping[str, Any]], file: Attachment | None) -> str | None:
    name = file.name or file.path.rpartition("/")[2] if file else ""
    for said in later:
        if [attachment["filename"] for attachment in said["attachments"]] == [name]:
            return str(said["id"])
    return None


def _growing(later: Iterable[Mapping[str, Any]], text: str, reply_to: str | None) -> str | None:
    """A preview replies to nothing else than the answer does, and shows how the text begins."""
    asked = MessageId.parse(reply_to)
    for said in later:
        begun, replied = said["content"].rstrip("`\n "), (said.get("message_reference") or {}).get("message_id")
        if begun and text.startswith(begun) and (not replied or (asked and str(replied) == asked.message)):
            return str(said["id"])
    return None


def _made(message: OutboundMessage) -> float:
    """When a message was made, as a number that Discord's ids of that time have; endless if it is not known.

    What is answered came before it; an id of ours holds the time, by a clock that may be wrong by a little.
    """
    if asked := MessageId.parse(message.reply_to):
        return int(asked.message)
    if _OURS.fullmatch(message.id):
        milliseconds = sum(_ALPHABET.index(char) << 5 * place for place, char in enumerate(message.id[9::-1]))
        return (milliseconds - _CLOCKS_DIFFER - _DISCORD_EPOCH) << 22
    return float("inf")

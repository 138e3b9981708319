"""What Telegram's refusals mean. The Bot API documents no list of them; these are its server's own words."""

import re
from datetime import timedelta

import httpx
from telegram.error import BadRequest, Conflict, Forbidden, InvalidToken, NetworkError, RetryAfter, TelegramError

from nanobot.channels.platform import (
    DeliveryError,
    FloodError,
    GoneError,
    LostPreviewError,
    RejectedError,
    UnreachableError,
)

_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)
_TOO_LARGE = r"entity too large|file is too big"
_LOST = r"message to (?:edit|delete) not found|message (?:can't|cannot) be (?:edited|deleted)|message_id_invalid"
_GONE = (
    r"chat not found|user not found|peer_id_invalid|rights|chat_write_forbidden|chat_restricted|topic_closed"
    r"|user_is_blocked|deactivated|is not a member|chat_admin_required|was kicked|was deleted"
)


class UnchangedError(RejectedError):
    """The message shows just this already."""


class LostThreadError(GoneError):
    """The topic does not exist any more."""


class TooLargeError(RejectedError):
    """The file is bigger than Telegram takes or gives."""


class BadPictureError(RejectedError):
    """Telegram cannot show this as a photo."""


def failure(error: TelegramError, words: str) -> DeliveryError:
    """What an error of the library means; `words` are what may be shown of it."""
    text = f"Telegram: {words}"
    if isinstance(error, RetryAfter):
        return FloodError(text, retry_after=seconds(error))
    if isinstance(error.__cause__, TelegramError):  # the page of a proxy, or of a wall before Telegram
        return UnreachableError(text, may_have_arrived=type(error) is NetworkError)
    if isinstance(error, Forbidden):
        return GoneError(text)
    if isinstance(error, InvalidToken | Conflict):  # either may be put right
        return UnreachableError(text, may_have_arrived=False)
    if isinstance(error, BadRequest):
        return _refusal(text)
    if re.search(_TOO_LARGE, words, re.IGNORECASE):
        return TooLargeError(text)
    return UnreachableError(text, may_have_arrived=not isinstance(error.__cause__, _NEVER_SENT))


def seconds(error: RetryAfter) -> float:
    """For how long Telegram wants silence."""
    pause = error.retry_after
    return pause.total_seconds() if isinstance(pause, timedelta) else float(pause)


def is_refused_token(error: Exception) -> bool:
    """Whether Telegram itself says that it does not know this token."""
    return isinstance(error, InvalidToken) and not isinstance(error.__cause__, TelegramError)


_REFUSALS: tuple[tuple[str, type[DeliveryError]], ...] = (
    ("not modified", UnchangedError),
    ("thread not found", LostThreadError),
    (_LOST, LostPreviewError),
    (_TOO_LARGE, TooLargeError),
    ("photo_|image_process|wrong type of the web page|too big for a photo", BadPictureError),
    (_GONE, GoneError),
)


def _refusal(text: str) -> DeliveryError:
    for pattern, kind in _REFUSALS:
        if re.search(pattern, text, re.IGNORECASE):
            return kind(text)
    return RejectedError(text)

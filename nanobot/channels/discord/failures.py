"""What Discord's refusals mean. The numbers are from its documentation, "Opcodes and Status Codes"."""

from collections.abc import Mapping

from nanobot.channels.platform import (
    DeliveryError,
    FloodError,
    GoneError,
    LostPreviewError,
    RejectedError,
    UnreachableError,
)

UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008
_TOO_LARGE = 40005
_INVALID_FORM = 50035
_MAY_NOT_REPLY = 160002
_FOREIGN_MESSAGE = 50005  # only the author edits a message
_OVERLOADED = 130000
_CLOSED = {
    10004,  # unknown guild
    20009,  # explicit content cannot be sent there
    50001,  # missing access
    50007,  # this person takes no messages from it
    50008,  # not a channel for text
    50009,  # verification level
    50013,  # missing permissions
    50083,  # the thread is archived
    50278,  # no server in common
    160005,  # the thread is locked
    240000,  # blocked by the server's AutoMod
}
_DEFAULT_PAUSE = 5.0


class LostThreadError(GoneError):
    """The channel or thread does not exist any more."""


class TooLargeError(RejectedError):
    """The file is bigger than Discord takes there."""


class BadReferenceError(RejectedError):
    """What was to be replied to does not exist any more, or cannot be replied to."""


def failure(status: int, body: object, headers: Mapping[str, str]) -> DeliveryError:
    """What an answer other than success means; `body` is the parsed JSON, or None if it was none."""
    told = body if isinstance(body, dict) else {}
    code = told.get("code", 0)
    text = f"Discord answered {status}: {told.get('message') or 'nothing that can be read'} (code {code})"
    if status == 429:
        everywhere = bool(told.get("global")) or not told  # without JSON it comes from the wall before Discord
        return FloodError(text, retry_after=_pause(told, headers), everywhere=everywhere)
    if status >= 500 or code == _OVERLOADED:
        return UnreachableError(text, may_have_arrived=code != _OVERLOADED)
    if not told or status == 401:  # not Discord itself, or the token: either may be put right
        return UnreachableError(text, may_have_arrived=False)
    return _refusal(status, code, text, told.get("errors"))


def _refusal(status: int, code: int, text: str, errors: object) -> DeliveryError:
    if code == UNKNOWN_CHANNEL:
        return LostThreadError(text)
    if code in (UNKNOWN_MESSAGE, _FOREIGN_MESSAGE):
        return LostPreviewError(text)
    if code == _TOO_LARGE or status == 413:
        return TooLargeError(text)
    if code == _MAY_NOT_REPLY or (code == _INVALID_FORM and isinstance(errors, dict) and "message_reference" in errors):
        return BadReferenceError(text)
    if code in _CLOSED or status == 403:
        return GoneError(text)
    return RejectedError(text)


def _pause(told: Mapping[str, object], headers: Mapping[str, str]) -> float:
    for value in (told.get("retry_after"), headers.get("Retry-After")):
        try:
            return max(float(str(value)), 0.0)
        except ValueError:
            continue
    return _DEFAULT_PAUSE

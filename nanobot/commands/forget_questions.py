"""Questions about forgetting: what says yes to one, how long it is open, and what is answered with it."""

import re
import secrets
from datetime import datetime

from nanobot.forgotten import Traces, terms_in
from nanobot.i18n.consent import consent
from nanobot.ports.erasable import Question

_LETTERS, _DIGITS = "ABCDEFGHJKMNPQRSTVWXYZ", "23456789"
_ANSWER = re.compile(rf"(?:[{_LETTERS}][{_LETTERS}{_DIGITS}]{{3}})?\s*(?:\d+)?", re.IGNORECASE | re.ASCII)


ALL = "all"
"""The word before a token that asks for all of what was shown in part."""


def new_token() -> str:
    """What names a question: short enough to be typed, and no number."""
    return secrets.choice(_LETTERS) + "".join(secrets.choice(_LETTERS + _DIGITS) for _ in range(3))


def answer_in(argument: str) -> tuple[bool | None, str, str]:
    """Whether it says yes or no (None: it does neither), to which token, with which number; "" for what is not said."""
    word, *rest = argument.split() or [""]
    if (agrees := consent(word)) is None or not _ANSWER.fullmatch(" ".join(rest)):
        return None, "", ""
    token = next((part for part in rest if not part.isdecimal()), "")
    return agrees, token, next((part for part in rest if part.isdecimal()), "")


def all_of(argument: str) -> str:
    """The token whose question is to be shown in full, "" if the words ask for nothing like that."""
    word, *rest = argument.split() or [""]
    token = rest[0] if word.casefold() == ALL and len(rest) == 1 else ""
    return token if _ANSWER.fullmatch(token) and not token.isdecimal() else ""


def is_before(now: datetime, until: str) -> bool:
    """A time that nobody can read is over."""
    try:
        return now < datetime.fromisoformat(until)
    except (ValueError, TypeError):
        return False


def goes_with(other: Question, question: Question) -> bool:
    """Whether it is about what goes with a yes to the second."""
    match question.kind:
        case "person":
            return other.by.startswith(f"{question.value} ") or other.value == question.value
        case "session":
            return question.value in (other.where, other.value)
    return Traces(terms_in(question.value)).name(other.value)

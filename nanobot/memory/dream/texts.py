"""What may stand in memory at all, whoever said it."""

import re
from dataclasses import replace

from nanobot.memory.dream.head import body_of
from nanobot.memory.dream.limits import Limits
from nanobot.memory.dream.proposals import Proposal
from nanobot.memory.dream.refused import Refused
from nanobot.memory.secrets import REDACTED, redact, refusal
from nanobot.text import is_treacherous

_OUR_MARK = re.compile(
    r"<\s*/?\s*(?:[a-z]+(?:_[a-z]+)+|context|quoted|episodes?|history|memory|system|assistant|user|tool|instructions?)"
    r"\b[^<>\n]{0,80}>|<!--\s*index\b",
    re.IGNORECASE,
)
_TYPE = re.compile(r"[^\W\d_][\w -]{0,29}")
_LONGEST_NAME = 100
_LONGEST_SUMMARY = 160


def fit(proposal: Proposal, limits: Limits) -> Proposal:
    """The proposal without its secrets and in a form that files can hold. Raises Refused."""
    is_note = proposal.do in ("write", "merge")
    fitted = replace(
        proposal,
        text=_safe(body_of(proposal.text) if is_note else proposal.text),
        section=_one_line(_safe(proposal.section), _LONGEST_NAME),
        summary=_one_line(_safe(proposal.summary), _LONGEST_SUMMARY),
    )
    if proposal.type and not _TYPE.fullmatch(proposal.type):
        raise Refused("malformed", "type is one word, such as project or reference.")
    if is_note and len(fitted.text) > limits.note:
        raise Refused("size", f"The note is too long: at most {limits.note:,} characters. Split it, or shorten it.")
    return fitted if is_note else replace(fitted, text=_one_line(fitted.text, limits.fact))


def _safe(text: str) -> str:
    if is_treacherous(text) or _OUR_MARK.search(text):
        raise Refused("unsafe", "It holds invisible characters, tokens of a chat template, or tags. Leave them out.")
    redacted = redact(text)
    if refusal(redacted) or (redacted != text and not redacted.replace(REDACTED, "").strip(" \t\n-:.,;")):
        raise Refused("secret", "Passwords, keys and tokens do not belong in memory. Leave it out.")
    return redacted


def _one_line(text: str, most: int) -> str:
    if "\n" in text.strip():
        raise Refused("size", "A line of memory is one line; what needs more is a note (write).")
    if len(text) > most:
        raise Refused("size", f"It is too long: at most {most} characters in one line; what needs more is a note.")
    return " ".join(text.split()).lstrip("#> ")

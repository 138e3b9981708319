"""Searching what was said and noted: /recall."""

import logging
from collections.abc import Callable, Iterator, Sequence

from nanobot.commands.router import Answer, Call, Command
from nanobot.commands.session import Lines
from nanobot.errors import StoreError
from nanobot.i18n import Language, say
from nanobot.ports import Hit, Said, Searching
from nanobot.text import as_name

log = logging.getLogger(__name__)

MOST = 6
"""Results of one search."""

_LENGTH = 400  # characters of each


def recall_command(searching: Searching) -> Command:
    """/recall words: in the scope of whoever asks."""

    async def handle(call: Call) -> Answer:
        if not call.argument:
            return Answer(call.say("recall.usage"), failed=True)
        try:
            found = await searching.find(call.argument, call.message.authority, k=2 * MOST)
        except StoreError as error:
            log.warning("%s: nothing can be searched: %s", call.message.address.session_key, error)
            return Answer(call.say("recall.broken"), failed=True)
        every = [hit for hit in found.hits if not hit.is_beside] or found.hits
        hits = every[:MOST]
        parts = [_heading(len(hits), call), *("\n".join(_shown(hit, call)) for hit in hits)]
        if len(every) > len(hits):
            parts.append(call.say("recall.more"))
        if found.unread:
            parts.append(call.say("recall.still_reading", share=f"{found.unread:.0%}"))
        return Answer("\n\n".join(parts))

    return Command("recall", handle, immediate=True)


def recall_lines(trouble: Callable[[], str]) -> Lines:
    """For /status: whether something that was said may not be found yet. Owners can do something about it."""

    async def lines(call: Call) -> Sequence[str]:
        reason = trouble()
        return [call.say("recall.behind", reason=reason)] if reason and call.message.authority.scope.is_owner else []

    return lines


def _heading(count: int, call: Call) -> str:
    return call.say({0: "recall.nothing", 1: "recall.found_one"}.get(count, "recall.found"))


def _shown(hit: Hit, call: Call) -> Iterator[str]:
    said = hit.said
    yield f"{said.at[:16].replace('T', ' ')} · {source_of(said, call.language)}"
    text = said.text.strip()
    text = text if len(text) <= _LENGTH else f"{text[: _LENGTH - 1].rstrip()}…"
    yield "\n".join(f"> {line}" for line in text.split("\n"))
    for other in hit.related:
        yield f"→ {other.kind or call.say('recall.related')}: {other.name}"


def source_of(said: Said, language: Language) -> str:
    """Where something stands, or who said it and where."""
    if said.source in ("note", "memory"):
        return say(f"recall.{said.source}", language, file=said.file)
    if said.source == "episode":
        return say("recall.episode", language, session=said.session)
    if said.source == "quote":
        return say("recall.passed_on", language, who=as_name(said.speaker) or say("recall.somebody", language))
    who = (
        say("recall.bot", language)
        if said.role == "assistant"
        else as_name(said.speaker) or say("recall.you", language)
    )
    return say("recall.session", language, who=who, session=said.session)

"""A conversation as a person reads it."""

import re
import textwrap
from collections.abc import Iterator, Sequence

from nanobot.i18n import Language, say
from nanobot.messages import Quote
from nanobot.text import as_name
from nanobot.transcript import Message

LONGEST_RESULT = 500
"""Characters of a tool's result that are shown; exports hold all."""

_SHOWN = ("reply", "quote", "forward", "via", "card")  # the others are files and outputs, which may be long
_AROUND = 60  # characters on each side of what was found


def day_and_time(at: str, language: Language) -> str:
    """`2026-11-30 09:00`, as it stands in the file."""
    return at[:16].replace("T", " ") or say("shell.no_time", language)


class Speakers:
    """Tells who says each message; tools are known by the calls that came before. For messages in order."""

    def __init__(self, language: Language) -> None:
        self._language: Language = language
        self._tools: dict[str, str] = {}

    def of(self, message: Message) -> str:
        self._tools.update((call.id, call.name) for call in message.tool_calls)
        match message.role:
            case "user":
                who = as_name(message.sender.name) or message.sender.id if message.sender else ""
                return who or say("shell.user", self._language)
            case "assistant":
                return f"nanobot ({message.model})" if message.model else "nanobot"
            case "tool":
                name = self._tools.get(message.tool_call_id or "", "")
                return say("shell.tool", self._language, name=name).rstrip()
            case _:
                return message.role


def as_text(messages: Sequence[Message], language: Language) -> Iterator[str]:
    """Blocks to be shown in a terminal, one for each message."""
    speakers = Speakers(language)
    for message in messages:
        head = f"{day_and_time(message.at, language)}  {speakers.of(message)}"
        parts = (textwrap.indent(part, "    ", lambda _: True) for part in _parts(message, language))
        yield "\n".join([head, *parts, ""])


def as_markdown(key: str, messages: Sequence[Message], language: Language) -> Iterator[str]:
    """A document, in pieces."""
    speakers = Speakers(language)
    yield f"# {' '.join(key.split())}\n"
    for message in messages:
        yield f"\n## {speakers.of(message)}, {day_and_time(message.at, language)}\n"
        for part in _body(message, language):
            yield f"\n{part}\n"


def around(text: str, words: str) -> str:
    """One line with what was found and what stands around it."""
    found = re.search(re.escape(words), text, re.IGNORECASE)
    start = max((found.start() if found else 0) - _AROUND, 0)
    end = (found.end() if found else 0) + _AROUND
    piece = " ".join(text[start:end].split())
    return f"{'… ' if start else ''}{piece}{' …' if end < len(text) else ''}"


def _parts(message: Message, language: Language) -> Iterator[str]:
    content = message.content or ""
    if message.role == "tool" and len(content) > LONGEST_RESULT:
        yield content[:LONGEST_RESULT]
        yield say("shell.longer", language, count=f"{len(content) - LONGEST_RESULT:,}")
    elif content:
        yield content
    yield from _remarks(message, language)
    for call in message.tool_calls:
        yield f"→ {call.name} {call.arguments}"


def _body(message: Message, language: Language) -> Iterator[str]:
    if message.content:
        yield fenced(message.content) if message.role == "tool" else message.content
    yield from _remarks(message, language)
    for call in message.tool_calls:
        yield f"→ {call.name}\n\n{fenced(call.arguments, 'json')}"


def _remarks(message: Message, language: Language) -> Iterator[str]:
    yield from (_quoted(quote) for quote in message.quotes if quote.how in _SHOWN)
    for file in message.files:
        yield f"[{file.name or file.path}: {file.path}]" if file.name else f"[{file.path}]"
    if message.incomplete:
        yield say(f"shell.incomplete_{message.incomplete}", language)


def _quoted(quote: Quote) -> str:
    """What somebody else wrote, as Markdown quotes it."""
    head = f"[{' '.join(filter(None, (quote.how, as_name(quote.by))))}]"
    return "\n".join(f"> {line}" for line in (head, *quote.text.split("\n")))


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any in the text."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`+", text))])
    return f"{fence}{language}\n{text}\n{fence}"

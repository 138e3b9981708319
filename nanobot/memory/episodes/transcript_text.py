"""A piece of a conversation as text: who said what, when, on whose authority."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nanobot.authority import Origin, least
from nanobot.messages import Quote
from nanobot.nlp.pasted import pasted_spans
from nanobot.nlp.secrets import redact
from nanobot.text import as_name
from nanobot.transcript import Message

FROM_TOOL = 300
"""Characters of what a tool reported: the answer that was made of it says the rest."""

SAID = 12_000
"""Characters of one message; beyond, its middle is left out."""

QUOTED = 1_000

READ = 50_000
"""Characters of one message that are looked at at all."""

MEMORY_TOOLS = frozenset({"recall"})
"""What these report was remembered before: it is not learnt once more."""

LONGEST_NAME = 80

_REMEMBERED = re.compile(r"<\s*(/\s*)?(relevant_memories|context|episodes|memory_file|notes_index)\s*>", re.IGNORECASE)
"""A mark around what was remembered before: where it begins, or with a slash where it ends."""


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """Transcript entry of one message."""

    message: Message
    text: str


class TranscriptRenderer:
    """Writes down messages in their order; secrets are left out."""

    def __init__(self, messages: Sequence[Message]) -> None:
        """`messages` may be more than are written down: among them are the calls to which results belong."""
        self._tools: Mapping[str, str] = {call.id: call.name for message in messages for call in message.tool_calls}

    def entry(self, message: Message, most: int = SAID) -> TranscriptEntry:
        """Entry of about `most` characters. Each line but the first is indented: none can pass for another message."""
        tool = self._tools.get(message.tool_call_id or "", "")
        said = "(what was remembered before)" if tool in MEMORY_TOOLS else _harmless(message.content or "")
        if message.role == "tool":
            said, most = " ".join(said.split()), min(most, FROM_TOOL)
        rows = [
            f"{message.at[11:16]} {_speaker(message, tool)}: {shortened(said, most)}",
            *map(_quoted, message.quotes),
            *(f"(file: {_one_line(file.name or file.path)})" for file in message.files),
            *(f"(calls {_one_line(call.name)})" for call in message.tool_calls),
        ]
        return TranscriptEntry(message, "\n".join(rows).replace("\n", "\n  "))


def numbered(entries: Sequence[TranscriptEntry]) -> str:
    """The entries as lines with numbers from 1 on, day by day."""
    return "\n".join(_numbered(entries))


def others_words(messages: Iterable[Message]) -> Iterator[tuple[str, str]]:
    """Return name and words of everybody whom these messages quote, "" for an unknown name; files' names are words."""
    for message in messages:
        content = message.content or ""
        if message.role == "tool":
            yield "", content
        elif message.role == "user":
            yield from (("", content[start:end]) for start, end in pasted_spans(content))
            yield from ((as_name(quote.by.rpartition("/")[2]), quote.text) for quote in message.quotes)
            yield from (("", file.name) for file in message.files if file.name)


def plain(entries: Sequence[TranscriptEntry], most: int) -> str:
    """Return the transcript of people and model, with at most so many characters of each message."""
    spoken = (entry for entry in entries if entry.message.role != "tool" and _says_something(entry.message))
    return "\n".join(f"- {shortened(entry.text, most)}" for entry in spoken)


def origin_of(message: Message) -> Origin:
    """The least trusted source of a line; one that does not tell counts as a tool's, or as a person's."""
    return least(*message.origins) if message.origins else (Origin.TOOL if message.role == "tool" else Origin.PERSON)


def shortened(text: str, most: int) -> str:
    """Beginning and end of a text that is longer than `most` characters; else all of it."""
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3].rstrip()} [… {len(text) - most} characters …] {text[-(most // 3) :].lstrip()}"


def _numbered(entries: Sequence[TranscriptEntry]) -> Iterator[str]:
    day = ""
    for number, entry in enumerate(entries, 1):
        if entry.message.at[:10] != day:
            day = entry.message.at[:10]
            yield f"== {day} =="
        yield f"#{number} {entry.text}"


def _speaker(message: Message, tool: str) -> str:
    if message.role == "tool":
        return f"[{origin_of(message)}] {_one_line(tool) or 'a tool'}"
    name = "assistant" if message.role == "assistant" else _name(message)
    remark = ", new wording of an earlier message" if message.corrects else ""
    return f"[{origin_of(message)}] {name}{remark}"


def _name(message: Message) -> str:
    if message.sender is None:
        return "user"
    return f"{redact(as_name(message.sender.name)) or 'user'} ({_one_line(message.sender.id)})"


def _quoted(quote: Quote) -> str:
    return f"([quoted] {redact(as_name(quote.by)) or 'somebody else'}: {shortened(_harmless(quote.text), QUOTED)})"


def _harmless(text: str) -> str:
    """Without secrets, and without what was remembered before; before it is cut, or half a secret would stay."""
    return redact(_without_remembered(shortened(text, READ))).strip()


def _without_remembered(text: str) -> str:
    """Without what stands between two marks of one kind; a mark that has no other stays."""
    marks = list(_REMEMBERED.finditer(text))
    last = {mark[2].lower(): mark.start() for mark in marks if mark[1]}  # where each kind ends for the last time
    kept, at, inside = [], 0, ""
    for mark in marks:
        kind = mark[2].lower()
        if inside:
            if mark[1] and kind == inside:
                at, inside = mark.end(), ""
        elif not mark[1] and last.get(kind, -1) > mark.start():
            kept.append(text[at : mark.start()])
            inside = kind
    return "".join([*kept, text[at:]])


def _says_something(message: Message) -> bool:
    return bool((message.content or "").strip() or message.quotes or message.files)


def _one_line(text: str) -> str:
    """Names come from outside; they must not be able to pass for more."""
    return redact(" ".join(text.split())[:LONGEST_NAME]).replace("[", "(").replace("]", ")").replace(":", " ")

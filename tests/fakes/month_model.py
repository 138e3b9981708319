"""A model that follows rules: it chats, summarises and dreams over whatever it reads, and has bad habits.

It does what any text tells it, whoever wrote that; it repeats everything, secrets included; it says things twice,
learns again what was undone, and now and then answers with nothing that can be used.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from nanobot.memory.facts import compared, without_speaker
from nanobot.ports import ModelInfo, Reply, Request, Stream
from nanobot.transcript import Message, ToolCall
from tests.fakes.dreamers import Row, add, change, data_of, note, remove, wants

Kind = Literal["chat", "summary", "dream"]

TIDY = ("By the way, ", "Please remember that ")
CORRECTED = ("Correction: ", "更正:")
TAKEN_BACK = ("No longer so: ", "不再是这样:")

_ORDER = re.compile(r"\b(?:always|never|from now on|must|ignore all|remember that i am)\b", re.IGNORECASE)
_FACT = re.compile(
    r"((?:My|The) .+?) (?:is|are|was|meets|lives|rehearses|comes|opens|leaves) .+|(我的[^叫是在]+)[叫是在].+"
)
_BY = re.compile(r"^- \[.*?\] ")
_ENTRY = re.compile(r"#(\d+) \d\d:\d\d \[(\w+)\] (.*?): (.*)")
_QUOTED = re.compile(r"\(\[quoted\] .*?: (.*?)\)?")
_READ = re.compile(r"^What does (?:the list|(\S+)) say\?")
_FILE = re.compile(r"media/\S+\.txt")
_FOLDER = re.compile(r"`([\w./%-]+)/MEMORY\.md`")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the model was asked: for what, and all the text that it was shown."""

    kind: Kind
    text: str


Calls = list[tuple[str, Mapping[str, object]]]
"""Of tools, with what they are given."""


class MonthModel:
    """Keeps all that it was asked in `asked`, in order."""

    info = ModelInfo("month", "month-1", 100_000, 2_000)

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._calls = 0

    def warm(self) -> None: ...

    async def aclose(self) -> None: ...

    async def complete(self, request: Request, stream: Stream) -> Reply:
        kind = _kind(request.messages)
        self.asked.append(Asked(kind, "\n".join(map(_shown, request.messages))))
        answers: Mapping[Kind, Callable[[Request], Reply]] = {
            "chat": self._chat,
            "summary": self._summary,
            "dream": self._dream,
        }
        reply = answers[kind](request)
        if reply.text:
            stream.text(reply.text)
        return replace(reply, model=self.info.preset)

    # Talking.

    def _chat(self, request: Request) -> Reply:
        turn = _newest(request.messages)
        said = turn[0].content or ""
        if len(turn) == 1:
            if wanted := _wanted(said, turn[0]):
                return self._call(*wanted)
            if said.startswith(TIDY[1]):
                return self._call(*_written(f"- {_sentence(said)}", "USER.md"))
        system = request.messages[0].content or ""
        read = [_BY.sub("", line) for text in _read(turn) for line in text.split("\n")]
        orders = [line for line in read if _ORDER.search(line) and line not in system]
        if orders and (writes := self._obey(orders[-1], system, turn)):
            return self._call(*writes)
        return Reply(f"Noted: {said}" if said else "Noted.")

    def _obey(self, order: str, system: str, turn: Sequence[Message]) -> Calls:
        """Put it where it thinks that orders belong: among what shapes it, and if it may not, among the memories."""
        found = _FOLDER.search(system)
        folder = found[1] if found else "memory"
        line = f"- {order}"
        tried = {call.arguments for message in turn for call in message.tool_calls}
        if not any("SOUL.md" in arguments for arguments in tried):
            return _written(order, "SOUL.md")
        if any("rules.md" in arguments for arguments in tried) or "was changed" in (turn[-1].content or ""):
            return []
        user = "USER.md" if folder == "memory" else f"{folder}/USER.md"
        return [
            *_written(line, user),
            *_written(line, f"{folder}/MEMORY.md"),
            ("write_file", {"path": f"{folder}/rules.md", "content": f"{order}\n"}),
        ]

    def _call(self, *calls: tuple[str, Mapping[str, object]]) -> Reply:
        self._calls += len(calls)
        first = self._calls - len(calls)
        return Reply(
            "", tuple(ToolCall(f"c{first + place}", name, json.dumps(more)) for place, (name, more) in enumerate(calls))
        )

    # Summing up.

    def _summary(self, request: Request) -> Reply:
        record = request.messages[1].content or ""
        rows = list(_entries(record))
        facts = [f"FACT [{number}] (life, 0.9) {text}" for number, text in rows if _is_told(text)]
        said = [f"- {text}" for _, text in rows]
        return Reply("\n".join([*said, *facts, *facts]) or "- nothing was said")

    # Dreaming.

    def _dream(self, request: Request) -> Reply:
        if len(request.messages) > 2:  # it is told what was wrong
            return wants()
        episodes = data_of(request, "episodes")
        told = [
            (str(fact["number"]), str(fact["text"])) for episode in episodes for fact in _rows(episode.get("facts"))
        ]
        remembered: list[Row] = [*data_of(request, "remembered")]
        rows: list[Row] = []
        for number, text in told:
            learnt = list(_learnt(text, number, remembered))
            remembered += [row for row in learnt if row["do"] == "write" and row["note"] == "greenhouse"]
            rows += learnt
        numbers = [number for number, _ in told] + [episode["episode"] for episode in episodes]
        claims = [str(row["claim"]) for row in data_of(request, "undone")]
        rows += [add(line, name) for claim in claims for line in claim.split("\n") for name in numbers]
        return wants(*rows, *rows)


def _learnt(text: str, number: str, remembered: Sequence[Mapping[str, object]]) -> Iterator[Row]:
    """What it does about one fact of an episode."""
    if not about(text):
        if any(compared(line) == compared(text) for _, line in _lines(remembered)):
            return
        files = ("SOUL.md", "USER.md", "MEMORY.md", "AGENTS.md", "TOOLS.md")
        yield from (add(text, number, file=file) for file in files)
        yield note("rules", text, number)
        return
    is_wrong = text.startswith(TAKEN_BACK)
    fact = _without(text, *TAKEN_BACK, *CORRECTED)
    old = next(((file, line) for file, line in _lines(remembered) if about(without_speaker(line)) == about(fact)), None)
    if is_wrong:
        yield from [remove(old[1], number, file=old[0])] if old else []
    elif old and compared(old[1]) != compared(fact):
        yield change(old[1], fact, number, file=old[0])
    else:
        yield from _added(fact, number, remembered)


def _added(fact: str, number: str, remembered: Sequence[Mapping[str, object]]) -> Iterator[Row]:
    if fact.startswith("The greenhouse"):
        if any(row.get("note") == "greenhouse" for row in remembered):
            yield add(fact, number, file="greenhouse.md")
        else:
            yield note("greenhouse", f"- {fact}", number, summary="the greenhouse and what is in it", type="project")
    else:
        yield add(fact, number, file="USER.md" if fact.startswith(("My ", "我的", "I ")) else "MEMORY.md")


def _lines(remembered: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, str]]:
    """The lines that are remembered, each with the file in which it stands."""
    for row in remembered:
        if "line" in row:
            yield str(row["file"]), str(row["line"])
        elif "note" in row:
            yield from ((f"{row['note']}.md", line) for line in str(row.get("text", "")).split("\n") if line)


def about(text: str) -> str:
    """What a sentence tells something about, "" if it tells nothing that is so, or what is left out of it."""
    text = _without(text, *TAKEN_BACK, *CORRECTED)
    match = _FACT.fullmatch(text.strip())
    return "" if match is None or _ORDER.search(text) or "[" in text else match[1] or match[2]


def _kind(messages: Sequence[Message]) -> Kind:
    system = messages[0].content or ""
    if system.startswith("You write the memory"):
        return "summary"
    return "dream" if system.startswith("You keep the long-term memory") else "chat"


def _shown(message: Message) -> str:
    calls = (call.arguments for call in message.tool_calls)
    return "\n".join(filter(None, [message.context, message.content, *calls]))


def _newest(messages: Sequence[Message]) -> Sequence[Message]:
    """The last user message and what came after it."""
    start = next(place for place in reversed(range(len(messages))) if messages[place].role == "user")
    return messages[start:]


def _read(turn: Sequence[Message]) -> Iterator[str]:
    """All that is new to it in a turn: what was said and passed on, and what tools brought."""
    yield from (text for text in (turn[0].context, turn[0].content) if text)
    yield from (message.content for message in turn[1:] if message.role == "tool" and message.content)


def _wanted(said: str, message: Message) -> Calls:
    """The call that a question needs."""
    match = _READ.search(said)
    if match is None:
        return []
    if match[1] is None:
        path = _FILE.search(_shown(message)) or (_FILE.search(" ".join(file.path for file in message.files)))
        return [("read_file", {"path": path[0]})] if path else []
    return [("browse", {"url": match[1]}) if match[1].startswith("http") else ("read_file", {"path": match[1]})]


def _written(line: str, path: str) -> Calls:
    """A line put at the top of a file."""
    start = {"SOUL.md": "You are a calm"}.get(path, "# The user" if path.endswith("USER.md") else "# Memory")
    new = f"{line}\n{start}" if path == "SOUL.md" else f"{start}\n\n{line}"
    return [("edit_file", {"path": path, "old_text": start, "new_text": new})]


def _entries(record: str) -> Iterator[tuple[str, str]]:
    """What stands in a record, line by line, with the number of the message, whoever said or passed it on."""
    number = "0"
    for row in record.split("\n"):
        if match := _ENTRY.fullmatch(row):
            number, text = match[1], match[4]
        elif row.startswith("  "):
            quoted = _QUOTED.fullmatch(row.strip())
            text = quoted[1] if quoted else row
        else:
            continue
        if text := _sentence(text):
            yield number, text


def _sentence(text: str) -> str:
    return _without(_without(text.strip(), "Noted: "), *TIDY)


def _without(text: str, *beginnings: str) -> str:
    """The text without one of these beginnings, and with a capital at its start."""
    found = next((text.removeprefix(start) for start in beginnings if text.startswith(start)), text)
    return found[:1].upper() + found[1:]


def _is_told(text: str) -> bool:
    return bool(about(text) or _ORDER.search(text))


def _rows(value: object) -> list[Mapping[str, object]]:
    return value if isinstance(value, list) else []

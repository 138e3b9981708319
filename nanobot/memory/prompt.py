"""Memory section of the prompt: facts, notes and earlier conversations, cut to their budgets."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from nanobot.authority import Origin
from nanobot.memory.markdown import without_comments, without_index
from nanobot.memory_files import NOTES_FOLDER, USER
from nanobot.ports import Episode

# Texts cut to a budget, with a mark.


@dataclass(frozen=True, slots=True)
class CutText:
    """Text cut to a budget. Sizes in bytes of UTF-8: of the kept part, and of all."""

    text: str
    kept: int
    size: int

    @property
    def is_cut(self) -> bool:
        return self.kept < self.size


def cut(text: str, budget: int, name: str) -> CutText:
    """Cut a text to `budget` bytes, with a mark that says how much was left out.

    The cut is at a line's end; within a line only if that line alone would cost more than half of the room.
    The same text and budget always give the same result.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= budget:
        return CutText(data.decode(), len(data), len(data))
    room = max(0, budget - len(_mark(name, budget, len(data), len(data)).encode()) - 1)
    kept = _whole_lines(data[: room + 1], room)
    mark = _mark(name, budget, len(kept), len(data))
    text = kept.decode()
    gap = "" if not text or text.endswith("\n") else "\n"
    return CutText(f"{text}{gap}{mark}", len(kept), len(data))


def _whole_lines(data: bytes, room: int) -> bytes:
    end = data.rfind(b"\n", 0, room) + 1
    if end >= room // 2:
        return data[:end]
    return data[:room].decode("utf-8", "ignore").encode()  # not half a character


def _mark(name: str, budget: int, kept: int, size: int) -> str:
    limit = f"{budget // 1024}KB" if budget % 1024 == 0 else f"{budget} bytes"
    return f"[{name} truncated at {limit}: kept {kept} of {size} bytes]"


# Section of the prompt about memory.


INDEX_SHARE = 4
"""The index may take a quarter of the budget; what it does not need belongs to the facts."""


def memory_section(
    memory: str | None, index: Sequence[str], budget: int, *, folder: str = NOTES_FOLDER, user: str = USER
) -> CutText:
    """The guidance, what MEMORY.md says, and the index of notes, as one text for the prompt.

    Args:
        memory: the text of MEMORY.md, None if there is none; the index in it is not looked at.
        index: the index lines, the most important first.
        budget: bytes of UTF-8 for facts and index together.
        folder: where MEMORY.md and the notes lie, as the file tools know it.
        user: where USER.md lies.

    Returns:
        The text; its sizes are those of the facts, so that their owner can be told that they were cut.
    """
    shown_index = _fitting(index, budget // INDEX_SHARE)
    facts = shown_facts(memory, budget - len(shown_index.encode()))
    guidance = prompt("memory").replace("{folder}", folder).replace("{user}", user)
    parts = [guidance, fenced("memory_file", facts.text) if facts.text else prompt("memory_empty")]
    if shown_index:
        parts.append(fenced("notes_index", shown_index))
    return CutText("\n\n".join(parts), facts.kept, facts.size)


def shown_facts(memory: str | None, budget: int) -> CutText:
    """Return the facts in MEMORY.md, without comments and index; empty if it holds no more than titles."""
    text = without_comments(without_index(memory or ""))
    if all(not line.strip() or line.startswith("#") for line in text.split("\n")):
        return CutText("", 0, 0)
    shown = cut(text, budget, "memory")
    return replace(shown, text=shown.text.rstrip())


@cache
def prompt(name: str) -> str:
    """A text of this package's prompts."""
    return (resources.files("nanobot.memory") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def _fitting(index: Sequence[str], budget: int) -> str:
    """Whole lines that fit, and the number of all if not all do."""
    text = "\n".join(index)
    if len(text.encode()) <= budget:
        return text
    room = budget - len(_left_out(len(index), len(index)).encode())
    kept: list[str] = []
    for line in index:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([*kept, _left_out(len(kept), len(index))])


def _left_out(kept: int, count: int) -> str:
    return f"[index truncated: the newest {kept} of {count} notes; list_dir shows all]"


def fenced(tag: str, text: str) -> str:
    """The text as data that cannot close its own mark."""
    inside = re.sub(rf"<(?=\s*/\s*{tag})", "< ", text, flags=re.IGNORECASE)
    return f"<{tag}>\n{inside}\n</{tag}>"


# Section of the prompt about earlier conversations.


LONGEST = 1_200
"""Characters of one episode; more is found by search."""

_OWN_WORDS = (Origin.OWNER, Origin.PERSON)
_OF_OTHERS = "(about what others said or pages and tools told; search for it when it matters)"


def past_section(own: Sequence[Episode], others: Sequence[Episode], size: Callable[[str], float], room: float) -> str:
    """The summaries that fit, as one text; "" if none does. What others brought in is left out: a search finds it.

    Args:
        own: of this conversation, the newest first.
        others: the newest of the scope.
        size: of a text.
        room: for all.
    """
    text = ""
    shown: list[Episode] = []
    for episode in [*own, *(one for one in others if one not in own)]:
        longer = _section([*shown, episode], own)
        if size(longer) <= room:
            shown.append(episode)
            text = longer
    return text


def _section(shown: Sequence[Episode], own: Sequence[Episode]) -> str:
    """Return the episodes: those of the conversation first, each group in the order of time."""
    ordered = sorted(shown, key=lambda episode: (episode not in own, episode.cursor))
    return f"{prompt('episodes')}\n\n{fenced('episodes', chr(10).join(map(_row, ordered)))}"


def _row(episode: Episode) -> str:
    source = "" if episode.origin in _OWN_WORDS else f", partly from {episode.origin}"
    shown = episode.shown or _OF_OTHERS
    content = shown if len(shown) <= LONGEST else f"{shown[:LONGEST].rstrip()} […]"
    inside = content.replace("\n", "\n  ")
    return f"[{episode.timestamp[:16].replace('T', ' ')}, {episode.session}{source}]\n  {inside}"

"""What the prompt says about memory."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import resources

from nanobot.memory.cut import Shown, cut
from nanobot.memory.index import without_index
from nanobot.memory.markdown import without_comments

INDEX_SHARE = 4
"""The index may take a quarter of the budget; what it does not need belongs to the facts."""


def memory_section(
    memory: str | None, index: Sequence[str], budget: int, *, folder: str = "memory", user: str = "USER.md"
) -> Shown:
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
    return Shown("\n\n".join(parts), facts.kept, facts.size)


def shown_facts(memory: str | None, budget: int) -> Shown:
    """What people and the bot wrote in MEMORY.md, without comments and index; empty if it holds no more than titles."""
    text = without_comments(without_index(memory or ""))
    if all(not line.strip() or line.startswith("#") for line in text.split("\n")):
        return Shown("", 0, 0)
    shown = cut(text, budget, "memory")
    return replace(shown, text=shown.text.rstrip())


@cache
def prompt(name: str) -> str:
    """A text of this package's prompts."""
    return (resources.files("nanobot.memory") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def _fitting(index: Sequence[str], budget: int) -> str:
    """As many whole lines as fit, and how many there are if not all do."""
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

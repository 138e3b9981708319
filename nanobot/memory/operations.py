"""What a change of files comes to, operation by operation."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from nanobot.memory.commits import Operation
from nanobot.memory.dream.head import facts_of, field_of
from nanobot.memory.facts import bare, compared
from nanobot.ports import Edit

_OF_FACTS = frozenset({"MEMORY.md", "USER.md", "SOUL.md"})
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def operations(edits: Mapping[str, Edit], messages: tuple[str, ...]) -> tuple[Operation, ...]:
    """One for each fact in the files of facts, one for each other file; all rest on these messages."""
    return tuple(operation for path, edit in edits.items() for operation in _operations(path, edit, messages))


def lines_brought(before: bytes | None, after: bytes | None) -> Sequence[str]:
    """The lines that say something in the one content and do not stand in the other."""
    known = {compared(line) for line in facts_in(before)}
    return [line for line in facts_in(after) if compared(line) not in known]


def facts_in(data: bytes | None) -> Sequence[str]:
    """The lines of a file that say something."""
    return [] if data is None or data.startswith(_UTF16) else [line for _, line in facts_of(_text(data))]


def _operations(path: str, edit: Edit, messages: tuple[str, ...]) -> Iterator[Operation]:
    if path.rpartition("/")[2] in _OF_FACTS:
        yield from _of_facts(path, edit, messages)
    elif edit.after is None:
        yield Operation("delete", path, text=field_of(_text(edit.before or b""), "summary"), messages=messages)
    else:
        yield Operation("write", path, text=field_of(_text(edit.after), "summary"), messages=messages)


def _of_facts(path: str, edit: Edit, messages: tuple[str, ...]) -> Iterator[Operation]:
    old, new = facts_in(edit.before), facts_in(edit.after)
    matcher = SequenceMatcher(None, [compared(line) for line in old], [compared(line) for line in new], autojunk=False)
    for _, start, stop, begin, end in (code for code in matcher.get_opcodes() if code[0] != "equal"):
        for gone, come in zip_longest(old[start:stop], new[begin:end]):
            if gone is None:
                yield Operation("add", path, text=bare(come), messages=messages)
            elif come is None:
                yield Operation("remove", path, text=bare(gone), messages=messages)
            else:
                yield Operation("replace", path, text=bare(come), before=bare(gone), messages=messages)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")

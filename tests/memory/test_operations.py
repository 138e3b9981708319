"""What a change of files comes to: every fact that came and every one that went, and nothing else."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from nanobot.memory.facts import compared, facts_in, lines_brought, operations
from nanobot.ports import Edit

MEMORY = "memory/MEMORY.md"
FACTS = st.lists(
    st.sampled_from(["tea", "Tea.", "coffee (2026-03-02)", "the boat is blue", "船是蓝色的", "x < y"]), max_size=8
)


def file_of(facts: list[str]) -> bytes:
    return ("# Memory\n\n## Remembered\n" + "".join(f"- {fact}\n" for fact in facts)).encode()


def counted(lines: list[str]) -> Counter[str]:
    return Counter(map(compared, lines))


@given(FACTS, FACTS)
def test_operations_lead_from_what_stood_there_to_what_stands_there(old: list[str], new: list[str]) -> None:
    made = operations({MEMORY: Edit(file_of(old), file_of(new))}, ("m1",))

    gone = [one.before if one.verb == "replace" else one.text for one in made if one.verb in ("replace", "remove")]
    come = [one.text for one in made if one.verb in ("replace", "add")]
    assert counted(old) - counted(gone) + counted(come) == counted(new)
    assert sum(counted(gone).values()) <= len(old)
    assert {one.messages for one in made} <= {("m1",)}


def test_headings_comments_and_the_head_of_a_note_are_no_facts() -> None:
    note = b"---\nsummary: the boat\n---\n# Boat\n<!-- for people -->\nIt is blue.\n```\ncode\n```\n"

    assert facts_in(note) == ["It is blue."]
    assert lines_brought(None, note) == ["It is blue."]
    assert lines_brought(note, None) == []
    assert facts_in("It is blue.\n".encode("utf-16")) == []


def test_a_note_is_told_as_a_whole_and_so_is_its_end() -> None:
    note = b"---\nsummary: the boat\n---\nIt is blue.\n"
    edits = {"memory/boat.md": Edit(None, note), "memory/car.md": Edit(note, None), "AGENTS.md": Edit(b"a", b"b")}

    assert [(one.verb, one.file, one.text) for one in operations(edits, ())] == [
        ("write", "memory/boat.md", "the boat"),
        ("delete", "memory/car.md", "the boat"),
        ("write", "AGENTS.md", ""),
    ]

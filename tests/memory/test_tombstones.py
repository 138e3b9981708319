"""What was undone, on disk and in words."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from nanobot.memory.changes import Operation
from nanobot.memory.tombstones import Tombstone, bury, decode, encode, read

AT = "2026-03-02T10:15:00+00:00"
ADDED = Operation("add", "memory/MEMORY.md", text="the standup is at 9:30", messages=("m1", "m2"))


def stone(operation: Operation = ADDED) -> Tombstone:
    return next(iter(bury(operation, scope="owner", at=AT)))


texts = st.text(max_size=40)
stones = st.builds(
    Tombstone,
    scope=texts,
    undone=st.sampled_from(["add", "remove", "merge"]),
    at=texts,
    claim=texts,
    evidence=st.lists(texts, max_size=3).map(tuple),
)


@given(stones)
def test_what_is_written_is_read_again(tombstone: Tombstone) -> None:
    data = encode(tombstone)

    again = decode(data)

    assert again is not None
    assert encode(again) == data


@given(st.binary(max_size=60) | st.sampled_from([b"{}", b"[]", b'{"undone": "add", "evidence": 3}', b"[" * 9999]))
def test_a_file_that_is_none_costs_nothing(data: bytes) -> None:
    decode(data)


def test_only_files_in_its_folder_are_tombstones() -> None:
    tombstone = stone()

    assert read({tombstone.path: encode(tombstone), "memory/x.json": encode(tombstone)}) == {tombstone.path: tombstone}


def test_the_same_claim_in_other_words_is_meant_too() -> None:
    assert stone().is_about("add", "Standup: 9:30 every day")
    assert not stone().is_about("remove", "the standup is at 9:30")
    assert not stone().is_about("add", "the dog is called Pixel")


def test_evidence_is_old_by_any_of_its_names() -> None:
    assert stone().covers([{"m1"}, {"episode:4", "m2", "m3"}])
    assert not stone().covers([{"m1"}, {"episode:9", "m9"}])


def test_each_operation_leaves_what_would_bring_it_back() -> None:
    replaced = Operation("replace", "f", text="new", before="old", messages=("m1",))
    merged = Operation("merge", "f", text="s", merged=("b", "a"))
    found = [
        [(one.undone, one.claim) for one in bury(operation, scope="owner", at=AT, lines=["line"])]
        for operation in (replaced, Operation("remove", "f", text="x"), Operation("write", "f", text="s"), merged)
    ]

    assert found == [
        [("add", "new\nline"), ("remove", "old")],
        [("remove", "x")],
        [("add", "s\nline")],
        [("merge", "a\nb")],
    ]


def test_after_a_forget_it_knows_the_claim_without_holding_it() -> None:
    forgotten = stone().forgotten()

    data = encode(forgotten)
    assert b"standup" not in data
    assert b"m1" not in data
    again = decode(data)
    assert again is not None
    assert again.is_about("add", "The standup is at  9:30.")
    assert not again.is_about("add", "the standup is at 9:31")
    assert again.covers([{"m1", "m9"}])
    assert not again.covers([{"m3"}])
    assert stone().forgotten() != forgotten


def test_only_what_is_said_later_by_a_second_counts_as_later() -> None:
    undone = replace(stone(), at="2026-03-02T10:15:00+01:00")
    assert undone.is_before("2026-03-02T09:15:01.000+00:00")
    assert not undone.is_before("2026-03-02T09:15:00.900+00:00")
    assert not undone.is_before("some day")
    assert not replace(undone, at="2026").is_before("2027-01-01T00:00:00+00:00")

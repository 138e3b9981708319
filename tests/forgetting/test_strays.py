"""What editors and people leave beside memory: found whoever left it, named, and only to those whose it is."""

from pathlib import Path

import pytest

from nanobot.commands.forget import forget_at_shell
from tests.forgetting.household import MEMBER, OTHER, SECRET, Household

PROSE = (
    *("memory/list.txt", "memory/plans/2026/trip.md", "memory/MEMORY.md~", "memory/MEMORY.md.bak", "SOUL.md.bak"),
    *("memory/#USER.md#", "USER.md~", "#SOUL.md#", "HEARTBEAT.md.orig", "skills/baking/notes.txt~"),
)
NAMED = (
    *(".SOUL.md.swp", "memory/.health.old.md.swp", "memory/.obsidian/workspace.json", "memory/data.json"),
    *("memory/table.bin", "skills/baking/photo.bin", "memory/.draft", "memory/.dir/notes.txt"),
)
BINARY = ("swp", "bin")


def put(house: Household, path: str, text: str) -> Path:
    file = house.space.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    file.write_bytes(b"b0VIM\0\0" + data + b"\0" if path.endswith(BINARY) else data)
    return file


async def test_all_of_them_are_shown_and_what_is_no_prose_is_named(house: Household) -> None:
    files = {path: put(house, path, f"- the {OTHER}\n- more {SECRET}\n") for path in (*PROSE, *NAMED)}

    shown = await forget_at_shell(house.bot().forgetting, ["en", "*", "show", SECRET])
    done = await house.forget(SECRET)

    assert [path for path in PROSE if f"{path}:2: more {SECRET}" not in shown.text] == []
    assert not done.failed, done.text
    assert house.holding(SECRET) == sorted(f"workspace/{path}" for path in NAMED)
    assert {files[path].read_text() for path in PROSE} == {f"- the {OTHER}\n"}
    everything = (await forget_at_shell(house.bot().forgetting, ["en", "*", "show", SECRET])).text
    assert [path for path in NAMED if str(files[path]) not in everything] == []


@pytest.mark.parametrize("path", [*PROSE, *NAMED])
async def test_one_that_is_left_over_alone_is_found(house: Household, path: str) -> None:
    await house.forget(SECRET)
    file = put(house, path, f"about {SECRET}\n")

    shown = await forget_at_shell(house.bot().forgetting, ["en", "*", "show", SECRET])

    assert (f"{path}:1: about {SECRET}" if path in PROSE else str(file)) in shown.text


async def test_a_member_sees_their_own_and_never_an_owners(house: Household) -> None:
    await house.forget(SECRET)
    put(house, "memory/list.txt", f"{SECRET}\n")
    put(house, f"memory/.{SECRET}.swp", f"{SECRET}\n")
    put(house, "people/telegram-556/.notes.swp", f"{SECRET}\n")
    assert "nothing to forget" in (await house.forget_as(MEMBER, SECRET)).text
    put(house, "people/telegram-555/.list.md.swp", f"{SECRET}\n")

    answer = await house.forget_as(MEMBER, SECRET)

    assert "people/telegram-555/.list.md.swp" in answer.text
    assert [name for name in ("memory/", f".{SECRET}", "556", str(house.home.root)) if name in answer.text] == []
    assert (house.space.memory / "list.txt").read_text() == f"{SECRET}\n"


async def test_copies_of_what_goes_whole_go_whole(house: Household) -> None:
    copies = [put(house, path, "in other words\n") for path in ("memory/.health.md.swp", "memory/health.md~")]
    other = put(house, "memory/healthy.md~", "in other words\n")

    done = await house.forget("note:health")

    assert not done.failed, done.text
    assert [file for file in copies if file.exists()] == []
    assert other.exists()


async def test_a_copy_of_memory_loses_what_goes_with_a_conversation(house: Household) -> None:
    copy = put(house, "memory/MEMORY.md~", f"# Memory\n\n- lives in a {OTHER} (2026-03-02)\n- likes tea\n")

    await house.forget("session:cli:default")

    assert copy.read_text() == "# Memory\n\n- likes tea\n"


async def test_one_that_cannot_be_written_is_named_and_the_rest_goes(house: Household) -> None:
    files = [put(house, path, f"{SECRET}\nmore\n") for path in ("memory/a/list.txt", "memory/z/list.txt")]
    files[0].parent.chmod(0o500)
    try:
        done = await house.forget(SECRET)
    finally:
        files[0].parent.chmod(0o700)

    assert files[1].read_text() == "more\n"
    assert ("where memory is kept" in done.text) or files[0].read_text() == "more\n"  # root may write anywhere

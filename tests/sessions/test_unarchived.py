"""What of a session is in no episode yet, read from its log."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.sessions import replay
from nanobot.sessions.store import SessionManager
from nanobot.transcript import Archived, Ended, Line, Message, Owed, Reset, Window
from nanobot.workspace import Workspace

KEY = "cli:test"
AT = "2026-03-02T10:15:00+00:00"


def says(name: str) -> Message:
    return Message(role="user", content=f"text of {name}", id=name, at=AT, turn=name)


STEPS = st.lists(st.sampled_from(["message", "message", "reset", "window", "ended", "archived"]), max_size=25)


@given(st.data(), STEPS)
async def test_it_is_all_that_was_said_behind_the_last_mark(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, steps: Sequence[str]
) -> None:
    store = SessionManager(Workspace(tmp_path_factory.mktemp("home")), fsync=False)
    session = await store.load(KEY)
    parts: list[list[str]] = [[]]
    for number, step in enumerate(steps):
        said = [name for part in parts for name in part]
        lines: dict[str, Line] = {
            "message": says(f"m{number}"),
            "reset": Reset(at=AT),
            "window": Window(at=AT, start=said[-1] if said else "gone"),
            "ended": Ended(at=AT, turn="m0", how="failed"),
        }
        if step == "archived" and said:
            through = data.draw(st.sampled_from(said))
            lines["archived"] = Archived(at=AT, through=through, cursor=number + 1)
            while through in [name for part in parts for name in part]:
                if not parts[0]:
                    del parts[0]
                else:
                    del parts[0][0]
        if step in lines:
            await store.append(session, lines[step])
        if step == "message":
            parts[-1].append(f"m{number}")
        elif step == "reset":
            parts.append([])
        found = [[message.id for message in part] for part in await store.unarchived(KEY)]
        assert [part for part in found[:-1] if part] == [part for part in parts[:-1] if part]
        assert found[-1] == parts[-1]
        owes = [Owed(KEY, AT, is_reset=any(parts[:-1]))] if any(parts) else []
        assert await store.owed() == owes


async def test_a_mark_whose_message_was_erased_counts_where_it_stands(tmp_path: Path) -> None:
    store = SessionManager(Workspace(tmp_path))
    await store.append(await store.load(KEY), says("a"), Archived(at=AT, through="gone", cursor=1), says("b"))

    assert [[message.id for message in part] for part in await store.unarchived(KEY)] == [["b"]]


async def test_a_long_log_is_given_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "MOST_MESSAGES", 2)
    store = SessionManager(Workspace(tmp_path))
    session = await store.load(KEY)
    await store.append(session, *map(says, "abcde"))
    seen: list[str] = []
    while (part := (await store.unarchived(KEY))[0]) and len(seen) < 9:
        seen += [message.id for message in part]
        await store.append(session, Archived(at=AT, through=part[-1].id, cursor=1))

    assert seen == list("abcde")


async def test_an_unchanged_log_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SessionManager(Workspace(tmp_path))
    await store.append(await store.load(KEY), says("a"))
    first = await store.owed()
    monkeypatch.setattr("nanobot.sessions.store.read_owed", lambda *_: pytest.fail("read again"))

    assert await store.owed() == first == [Owed(KEY, AT, is_reset=False)]


async def test_bad_lines_are_stepped_over(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    store = SessionManager(workspace)
    await store.append(await store.load(KEY), says("a"))
    with (workspace.sessions / "cli" / "test.jsonl").open("ab") as file:
        file.write(b'{"type":"archived",not json}\n\xff\n{"type":"archived"}\n')

    assert [[message.id for message in part] for part in await store.unarchived(KEY)] == [["a"]]
    assert await store.owed() == [Owed(KEY, AT, is_reset=False)]

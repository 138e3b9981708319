"""history.jsonl."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.authority import Origin, Scope
from nanobot.errors import StoreError
from nanobot.memory.episodes import history_file
from nanobot.memory.episodes.history_file import EpisodeStore
from nanobot.ports import Episode, Fact
from nanobot.workspace import Workspace
from tests.fakes.episodes import episode

OWNER = Scope.owner()
GROUP = Scope.group("telegram", "-100")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


async def written(workspace: Workspace, count: int, **fields: str) -> Sequence[Episode]:
    history = EpisodeStore(workspace, fsync=False)
    return [await history.append(episode(f"- number {n}", **fields)) for n in range(count)]  # type: ignore[arg-type]


def cursors(episodes: Sequence[Episode]) -> list[int]:
    return [one.cursor for one in episodes]


async def test_an_episode_comes_back_as_it_was_written(workspace: Workspace) -> None:
    fact = Fact("standup at 9:30", ("01A", "telegram:1#01B"), "work", 0.9)
    one = replace(episode("早上好\n- tea", facts=[fact, Fact("tea", ["01A"])], origin=Origin.WEB), raw=True)
    added = await EpisodeStore(workspace).append(one)
    read = await EpisodeStore(workspace).get(1)

    assert added == read == replace(one, cursor=1, facts=(fact, Fact("tea", ("01A",))))


async def test_a_line_holds_what_the_format_promises_and_only_its_owner_reads_it(workspace: Workspace) -> None:
    await EpisodeStore(workspace).append(episode(facts=[Fact("likes tea", ("m1",), "taste", 0.5)]))
    (line,) = workspace.history.read_text(encoding="utf-8").splitlines()

    assert json.loads(line) == {
        "cursor": 1,
        "timestamp": "2026-03-02T10:15:00.000+00:00",
        "session": "cli:test",
        "scope": "owner",
        "origin": "owner",
        "messages": ["m1", "m2"],
        "content": "- likes tea",
        "facts": [{"text": "likes tea", "category": "taste", "confidence": 0.5, "messages": ["m1"]}],
    }
    assert workspace.history_cursor.read_text(encoding="utf-8") == "1\n"
    assert [path.stat().st_mode & 0o777 for path in (workspace.history, workspace.history_cursor)] == [0o600, 0o600]


async def test_an_empty_history_has_nothing_and_makes_no_file(workspace: Workspace) -> None:
    history = EpisodeStore(workspace)

    assert await history.last() == 0
    assert await history.get(1) is None
    assert [*await history.after(0, 5), *await history.newest(OWNER, 5), *await history.of_session("x", 5)] == []
    assert not workspace.history.exists()


async def test_a_new_process_counts_on(workspace: Workspace) -> None:
    await written(workspace, 2)

    assert cursors(await written(workspace, 2)) == [3, 4]
    assert await EpisodeStore(workspace).last() == 4


@pytest.mark.parametrize("cursor", ["", "1\n", "two", "-5", "9" * 60])
async def test_a_cursor_that_stayed_behind_or_is_damaged_is_not_believed(workspace: Workspace, cursor: str) -> None:
    await written(workspace, 3)
    workspace.history_cursor.write_text(cursor, encoding="utf-8")

    assert cursors(await written(workspace, 1)) == [4]
    assert workspace.history_cursor.read_text(encoding="utf-8") == "4\n"


async def test_a_number_is_not_given_again_when_the_newest_episodes_were_erased(workspace: Workspace) -> None:
    await written(workspace, 3)
    history = EpisodeStore(workspace)
    await history.last()
    first, *_ = workspace.history.read_bytes().splitlines(keepends=True)
    workspace.history.write_bytes(first)

    assert await history.last() == 1
    assert (await history.append(episode())).cursor == 4
    assert cursors(await history.after(1, 5)) == [4]


async def test_a_torn_line_is_set_aside_when_the_next_one_is_written(workspace: Workspace) -> None:
    await written(workspace, 2)
    with workspace.history.open("ab") as file:
        file.write(b'{"cursor":3,"timestamp":"2026')
    history = EpisodeStore(workspace)

    assert cursors(await history.after(0, 9)) == [1, 2]
    assert (await history.append(episode("- three"))).cursor == 3
    assert [json.loads(line)["cursor"] for line in workspace.history.read_bytes().splitlines()] == [1, 2, 3]
    assert b'"cursor":3' in (workspace.memory / "history.jsonl.torn").read_bytes()


async def test_a_whole_line_without_its_end_counts(workspace: Workspace) -> None:
    await written(workspace, 2)
    workspace.history.write_bytes(workspace.history.read_bytes().rstrip(b"\n"))

    assert cursors(await written(workspace, 1)) == [3]
    assert cursors(await EpisodeStore(workspace).after(0, 9)) == [1, 2, 3]


@pytest.mark.parametrize("near", [True, False])
async def test_a_bad_line_is_left_out_said_once_and_kept(
    workspace: Workspace, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, near: bool
) -> None:
    if not near:
        monkeypatch.setattr(history_file, "TAIL", 0)
    await written(workspace, 1)
    bad = [b"{not json}", b'{"cursor":"x"}', b"\xff\xfe", b"[" * 100_000, b'{"cursor":7,"session":"s","scope":"owner"}']
    with workspace.history.open("ab") as file:
        file.write(b"\n".join([*bad, b"", b""]))
    before = workspace.history.read_bytes()
    history = EpisodeStore(workspace)
    with caplog.at_level(logging.WARNING):
        await history.append(episode("- good"))
        for _ in range(2):
            assert cursors(await history.after(0, 9)) == [1, 8]
            assert cursors(await history.newest(OWNER, 9)) == [8, 1]

    assert workspace.history.read_bytes().startswith(before)
    assert sorted(re.findall(r"line (\d+)", caplog.text)) == ["2", "3", "4", "5", "6"]


async def test_what_another_hand_added_is_seen(workspace: Workspace) -> None:
    ours, theirs = EpisodeStore(workspace, fsync=False), EpisodeStore(workspace, fsync=False)
    await ours.append(episode())
    await theirs.append(episode())

    assert (await ours.append(episode())).cursor == 3
    assert cursors(await theirs.after(0, 9)) == [1, 2, 3]


async def test_a_lone_surrogate_is_replaced_and_one_that_was_written_is_read(workspace: Workspace) -> None:
    history = EpisodeStore(workspace)
    added = await history.append(episode("ok \udc88 end"))
    with workspace.history.open("ab") as file:
        file.write(workspace.history.read_bytes().replace(b'"cursor":1', b'"cursor":2').replace(b"ok", rb"\udc88"))

    assert added.content == "ok \ufffd end"
    assert [one.content for one in await history.after(0, 9)] == ["ok \ufffd end", "\ufffd \ufffd end"]


async def test_a_disk_that_refuses_adds_nothing_and_says_where(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = EpisodeStore(workspace)
    await history.append(episode())

    def full(_: int, __: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StoreError, match=r"history\.jsonl.*No space left"):
            await history.append(episode())

    assert (await history.append(episode())).cursor == 2


async def test_a_cursor_that_cannot_be_written_does_not_undo_the_episode(workspace: Workspace) -> None:
    workspace.history_cursor.mkdir(parents=True)
    with pytest.raises(StoreError):  # it cannot be read either: rather nothing than a number twice
        await EpisodeStore(workspace).append(episode())
    workspace.history_cursor.rmdir()
    history = EpisodeStore(workspace)
    await history.append(episode())
    workspace.history_cursor.unlink()
    workspace.history_cursor.mkdir()

    assert (await history.append(episode())).cursor == 2


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["a", "b", "restart"]), st.sampled_from(["owner", GROUP.name]), st.integers(0, 4)),
        max_size=25,
    ),
    tail=st.sampled_from([0, 400, 10_000]),
)
async def test_every_question_is_answered_as_by_a_plain_list(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, int]], tail: int
) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("home"))
    history, known = EpisodeStore(workspace, fsync=False), list[Episode]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history_file, "TAIL", tail)
        for session, scope, limit in steps:
            if session == "restart":
                history = EpisodeStore(workspace, fsync=False)
            else:
                known.append(await history.append(episode(session=session, scope=scope, messages=(str(limit), "z"))))
            newest = known[::-1]
            assert await history.last() == len(known)
            assert await history.after(limit, 3) == known[limit : limit + 3]
            assert await history.get(limit) == (known[limit - 1] if 0 < limit <= len(known) else None)
            assert await history.newest(Scope(scope), limit) == [e for e in newest if e.scope.name == scope][:limit]
            assert await history.of_session("a", limit) == [e for e in newest if e.session == "a"][:limit]
            early = [e for e in newest if e.cursor <= 2 * limit and e.scope.name == scope]
            assert await history.newest(Scope(scope), 2, through=2 * limit) == early[:2]


async def test_a_process_that_is_killed_leaves_whole_numbered_lines(workspace: Workspace) -> None:
    for _ in range(3):
        confirmed = killed_after(5, workspace)
        history = EpisodeStore(workspace)
        numbers = cursors(await history.after(0, 10_000))
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) >= confirmed
        assert (await history.append(episode())).cursor == len(numbers) + 1


def killed_after(count: int, workspace: Workspace) -> int:
    """The last number that a process reported before it was killed."""
    with subprocess.Popen([sys.executable, "-c", KILLED, str(workspace.root)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        last = [int(process.stdout.readline()) for _ in range(count)][-1]
        process.send_signal(signal.SIGKILL)
    return last


KILLED = """
import asyncio, sys
from pathlib import Path
from nanobot.memory.episodes.history_file import EpisodeStore
from nanobot.workspace import Workspace
from tests.fakes.episodes import episode

async def main():
    history = EpisodeStore(Workspace(Path(sys.argv[1])))
    while True:
        print((await history.append(episode("x" * 3000))).cursor, flush=True)

asyncio.run(main())
"""

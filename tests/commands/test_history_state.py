"""What /status and /memory say of the history: whether it is kept, and what is not in it."""

import logging
from collections.abc import Sequence
from pathlib import Path

import pytest

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.commands.history import HistoryState
from nanobot.core.commands import CommandCall
from nanobot.memory.versions.store import GitVersions
from nanobot.messages import Address, InboundMessage, Sender
from nanobot.workspace import Workspace
from tests.commands.historian import ADA, BOB
from tests.fakes.clock import FakeClock


class Looking:
    """A workspace, and whoever looks at what is said about its history."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.put("USER.md", "# User\n")
        self.versions = GitVersions(Workspace(root), FakeClock())
        self.state = HistoryState(self.versions)

    def put(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    async def says(self, authority: Authority = ADA) -> Sequence[str]:
        message = InboundMessage(
            id="1", address=Address("telegram", "1"), sender=Sender("1"), authority=authority, text="/status"
        )
        return await self.state(CommandCall(message, "", "en"))


@pytest.fixture
def looking(tmp_path: Path) -> Looking:
    return Looking(tmp_path / "workspace")


async def test_where_all_is_well_nothing_is_said_and_hand_edits_are_taken_in_from_the_start(looking: Looking) -> None:
    await looking.state.begin()
    looking.put("USER.md", "# User\n\n- plays chess\n")

    assert await looking.says() == []
    assert [version.author for version in await looking.versions.log()] == ["person", "person"]


async def test_files_that_are_left_out_are_named_to_those_whose_they_are(looking: Looking) -> None:
    looking.put("memory/large.md", "x" * 1_000_001)
    looking.put("people/telegram-7/large.md", "x" * 1_000_001)

    assert await looking.says() == ["Not in the history: memory/large.md (larger than 1 MB)."]
    assert await looking.says(BOB) == ["Not in the history: people/telegram-7/large.md (larger than 1 MB)."]


async def test_while_it_cannot_be_kept_owners_are_told_and_then_not_any_more(
    looking: Looking, caplog: pytest.LogCaptureFixture
) -> None:
    await looking.state.begin()
    lock = looking.root / "memory" / ".git" / "index.lock"
    lock.touch()
    looking.put("USER.md", "# User\n\n- plays chess\n")

    with caplog.at_level(logging.WARNING):
        await looking.state.begin()
    [line] = await looking.says()

    assert "another git is at work" in line
    assert "could not begin" in caplog.text
    assert await looking.says(Authority(Role.MEMBER, Scope.person("telegram", "7"), Origin.PERSON)) == []
    lock.unlink()
    assert await looking.says() == []


async def test_without_git_it_begins_all_the_same_and_says_what_that_costs(
    looking: Looking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")

    await looking.state.begin()

    assert await looking.says(BOB) == [
        "There is no git on this machine, so changes of what I remember cannot be traced or undone. All else works."
    ]

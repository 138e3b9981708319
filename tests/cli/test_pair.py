"""`nanobot pair` from the shell, where no gateway runs."""

import asyncio
from pathlib import Path

import pytest

from nanobot.authority import Role
from nanobot.bus.spool import Spool
from nanobot.cli import main
from nanobot.messages import Sender
from nanobot.people.people import ConfiguredPeople, People
from nanobot.ports import Delivery
from nanobot.schedule.scheduler import SystemClock
from nanobot.store.lock import WorkspaceLock
from nanobot.store.state import PeopleFile
from nanobot.workspace import Workspace


class Shell:
    """The command, run on a workspace; `people` is what stands in it now."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.workspace = Workspace(home / "workspace")
        self._capsys = capsys

    @property
    def people(self) -> People:
        return People(PeopleFile(self.workspace), SystemClock(None), {"telegram": ConfiguredPeople()})

    def code(self, user_id: str) -> str:
        asking = asyncio.run(self.people.code_for("telegram", Sender(user_id), f"chat-of-{user_id}"))
        assert asking is not None
        return asking.code

    def pair(self, *words: str, exit_code: int = 0) -> str:
        assert main(["pair", *words]) == exit_code
        shown = self._capsys.readouterr()
        return shown.err if exit_code else shown.out


@pytest.fixture
def shell(private_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    return Shell(private_home, capsys)


def test_the_first_whose_code_is_approved_is_the_owner(shell: Shell) -> None:
    first, second, third = (shell.code(user_id) for user_id in "123")

    assert shell.pair("approve", first) == "telegram:1 is my owner now.\n"
    assert shell.pair("approve", second) == "telegram:2 may talk to me now.\n"
    assert shell.pair("approve", third, "--owner") == "telegram:3 is my owner now.\n"
    assert [shell.people.role("telegram", user_id) for user_id in "123"] == [Role.OWNER, Role.MEMBER, Role.OWNER]


def test_whoever_was_let_in_is_told_when_the_gateway_starts(shell: Shell) -> None:
    shell.pair("approve", shell.code("1"))

    async def outgoing() -> object:
        async with Spool(shell.workspace.spool, SystemClock(None)) as spool, asyncio.timeout(120):
            return await spool.outgoing("telegram")

    delivery = asyncio.run(outgoing())

    assert isinstance(delivery, Delivery)
    assert delivery.message.address.chat == "chat-of-1"


def test_people_and_codes_are_listed_and_shown_out(shell: Shell) -> None:
    assert shell.pair("list").startswith("Nobody may talk to me")
    shell.pair("approve", shell.code("1"))
    code = shell.code("2")
    listed = shell.pair("list")
    assert "telegram:1: owner" in listed
    assert "let in by this machine" in listed
    assert f"- {code}: telegram:2" in listed
    assert "nanobot pair approve CODE" in listed
    assert "may not talk to me any more" in shell.pair("revoke", "telegram:1")
    shell.pair("deny", code)
    assert shell.pair("list").startswith("Nobody may talk to me")


def test_groups_are_let_in_from_the_shell(shell: Shell) -> None:
    shell.pair("group", "telegram:-100", "open")
    shell.pair("group", "telegram:-100", "keep", "on")
    assert "telegram:-100: whatever an owner or a member says; everything" in shell.pair("groups")
    shell.pair("group", "telegram:-100", "off")
    assert shell.people.served("telegram", ["-100"]) is None


def test_what_cannot_be_done_is_a_sentence(shell: Shell) -> None:
    assert "no such code" in shell.pair("approve", "WRONG", exit_code=1)
    assert "nanobot pair list" in shell.pair("revoke", "telegram:1", exit_code=1)
    assert "Say who" in shell.pair("revoke", "Ada", exit_code=1)
    assert "Say which group" in shell.pair("group", "telegram:-1", "sometimes", exit_code=1)


def test_the_variables_of_the_gateway_are_not_needed_and_chat_can_pair_too(shell: Shell, private_home: Path) -> None:
    private_home.mkdir(exist_ok=True)
    (private_home / "config.yaml").write_text("telegram:\n  token: ${NOT_SET_HERE}\n  owners: [7]\n")
    assert "telegram:7: owner, by the configuration" in shell.pair("list")
    code = shell.code("1")
    assert main(["chat", "-m", f"/pair approve {code} --owner"]) == 0
    assert main(["chat", "-m", "/link"]) == 1
    assert shell.people.role("telegram", "1") is Role.OWNER


def test_a_workspace_in_use_is_not_touched(shell: Shell) -> None:
    code = shell.code("1")
    with WorkspaceLock(shell.workspace):
        assert "in use by process" in shell.pair("approve", code, exit_code=1)
        assert code in shell.pair("list")
    assert shell.people.role("telegram", "1") is Role.GUEST

"""A folder outside the workspace that an owner has opened for what they say."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope
from nanobot.errors import ToolError
from nanobot.messages import Address, Button
from nanobot.ports import Caller, Tool
from nanobot.tools.approval import Approval
from nanobot.tools.builtin import builtin_tools
from nanobot.tools.paths import Sandbox
from nanobot.tools.policy import ExecPolicy, ToolPolicy
from nanobot.workspace import Home, Workspace, why_not_opened


class Owner:
    """Answers each question the same way, and remembers it."""

    def __init__(self, answer: str = "once") -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def ask(self, caller: Caller, question: str, choices: Sequence[Button]) -> str:
        self.asked.append(question)
        return self.answer


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "config").write_text("[core]\n", encoding="utf-8")
    (project / "README.md").write_text("A project.\n", encoding="utf-8")
    for secret in (".env", "server.pem", "id_rsa"):
        (project / secret).write_text("hush\n", encoding="utf-8")
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "README.md").write_text("The workspace.\n", encoding="utf-8")
    return project


def tools(project: Path, owner: Owner, allow: Sequence[str] = ()) -> dict[str, Tool]:
    built = builtin_tools(
        Sandbox(Workspace(project.parent / "workspace")), policy=ToolPolicy(Approval(owner), ExecPolicy(allow=allow))
    )
    return {tool.spec.name: tool for tool in built}


def caller(here: Path | None, authority: Authority = OWNER_IN_TERMINAL) -> Caller:
    return Caller(Address("cli", "test"), replace(authority, here=str(here or "")), "turn", "en", "local")


async def test_its_files_are_read_without_a_question_and_by_nobody_who_did_not_open_it(project: Path) -> None:
    owner = Owner()
    read = tools(project, owner)["read_file"]
    assert "A project." in (await read.run({"path": str(project / "README.md")}, caller(project))).text
    assert "The workspace." in (await read.run({"path": "README.md"}, caller(project))).text  # that one is nearer
    (project / "only here.txt").write_text("found", encoding="utf-8")
    assert "found" in (await read.run({"path": "only here.txt"}, caller(project))).text
    assert owner.asked == []
    member = Authority(Role.MEMBER, Scope.person("telegram", "7"), Origin.PERSON)
    in_group = Authority(Role.OWNER, Scope.group("telegram", "-1"), Origin.OWNER)
    for other in (caller(None), caller(project, member), caller(project, in_group)):
        with pytest.raises(ToolError):
            await read.run({"path": str(project / "README.md")}, other)


@pytest.mark.parametrize("name", [".env", "server.pem", "id_rsa", ".git/config", "../workspace/../secret"])
async def test_secrets_and_what_is_gits_own_are_not_open(project: Path, name: str) -> None:
    (project.parent / "secret").write_text("hush", encoding="utf-8")
    (project / "link").symlink_to(project / ".env")
    by_name = tools(project, Owner())
    for path in (str(project / name), str(project / "link")):
        with pytest.raises(ToolError):
            await by_name["read_file"].run({"path": path}, caller(project))
        with pytest.raises(ToolError):
            await by_name["write_file"].run({"path": path, "content": "x"}, caller(project))
    found = await by_name["grep"].run({"pattern": "hush", "path": str(project)}, caller(project))
    assert ".env" not in found.text


@pytest.mark.parametrize("answer", ["once", "no"])
async def test_a_file_is_written_with_a_yes(project: Path, answer: str) -> None:
    owner = Owner(answer)
    write = tools(project, owner)["write_file"]
    arguments = {"path": str(project / "new.txt"), "content": "text"}
    if answer == "no":
        with pytest.raises(ToolError):
            await write.run(arguments, caller(project))
    else:
        await write.run(arguments, caller(project))
    assert (project / "new.txt").exists() == (answer == "once")
    assert owner.asked[0].startswith(f"May I change {project / 'new.txt'}?")


async def test_a_command_runs_there_and_is_asked_about_whatever_the_list_allows(project: Path) -> None:
    owner = Owner()
    run = tools(project, owner, allow=["pwd"])["exec"]
    result = await run.run({"command": "pwd"}, caller(project))
    assert str(project) in result.text
    assert result.printed == str(project)
    assert owner.asked[0].startswith(f"May I run this command in {project}?")
    assert str(project.parent / "workspace") in (await run.run({"command": "pwd"}, caller(None))).text
    assert len(owner.asked) == 1


async def test_what_was_allowed_in_the_workspace_is_asked_about_again_there(project: Path) -> None:
    owner = Owner("session")
    run = tools(project, owner)["exec"]
    for here in (None, None, project, project):
        await run.run({"command": "pwd"}, caller(here))
    assert len(owner.asked) == 2


def test_some_folders_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person = tmp_path / "ada"
    home, workspace = Home(person / ".nanobot"), Workspace(person / "notes" / "bot")
    for folder in (home.root, workspace.root / "skills", person / "work", person / ".ssh", person / "work" / ".git"):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(person))
    refused = (Path("/"), tmp_path, person, home.root, workspace.root, workspace.root / "skills", Path("/etc"))
    for folder in (*refused, person / "notes", person / ".ssh", person / "work" / ".git"):
        assert why_not_opened(folder, home, workspace), folder
    assert why_not_opened(person / "work", home, workspace) == ""


async def test_a_long_output_is_shown_by_its_ends(project: Path) -> None:
    run = tools(project, Owner())["exec"]
    async with asyncio.timeout(120):
        result = await run.run(
            {"command": "echo first; head -c 200000 /dev/zero | tr '\\0' x; echo; echo last; exit 2"}, caller(None)
        )
    assert result.printed.startswith("first\n")
    assert result.printed.endswith("last\n[exit code 2]")
    assert len(result.printed) < 50_000

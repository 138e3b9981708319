"""What the machine, its person and their git may be like."""

import asyncio
import logging
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nanobot.errors import VersionError
from nanobot.ports import Edit
from nanobot.workspace import Workspace
from tests.memory.versions.desk import BASE, MEMORY, Desk, git

HOSTILE = """
[core]
	fsmonitor = touch {trap}; false
	hooksPath = {hooks}
	pager = touch {trap}
	editor = touch {trap}
	sshCommand = touch {trap}
	attributesFile = {attributes}
	autocrlf = true
	worktree = /
	alternateRefsCommand = touch {trap}
[include]
	path = {include}
[diff]
	external = touch {trap}
[diff "evil"]
	command = touch {trap}
	textconv = touch {trap}
[filter "evil"]
	clean = touch {trap}
	smudge = touch {trap}
	process = touch {trap}
	required = true
[merge "evil"]
	driver = touch {trap}
[gpg]
	program = touch {trap}
[commit]
	gpgSign = true
[tag]
	gpgSign = true
[log]
	showSignature = true
	mailmap = true
[user]
	useConfigOnly = true
[gc]
	auto = 1
[remote "evil"]
	url = ext::touch {trap}
	promisor = true
	partialclonefilter = blob:none
[protocol "ext"]
	allow = always
[alias]
	log = !touch {trap}
	cat-file = !touch {trap}
[trailer "x"]
	command = touch {trap}
[uploadpack]
	packObjectsHook = touch {trap}
"""
HOOKS = ("pre-commit", "post-commit", "reference-transaction", "post-index-change", "post-rewrite", "pre-auto-gc")


def hostile(folder: Path) -> tuple[str, Path]:
    """Settings that run a program wherever git can be made to, and the file that it would leave."""
    trap = folder / "trap"
    (folder / "hooks").mkdir(parents=True)
    for name in HOOKS:
        (folder / "hooks" / name).write_text(f"#!/bin/sh\ntouch {trap}\nexit 1\n")
        (folder / "hooks" / name).chmod(0o755)
    (folder / "attributes").write_text("* filter=evil diff=evil merge=evil text eol=crlf ident\n")
    (folder / "include").write_text(f"[core]\n\tfsmonitor = touch {trap}\n")
    places = {name: folder / name for name in ("hooks", "attributes", "include")}
    return HOSTILE.format(trap=trap, **places), trap


async def live(desk: Desk) -> None:
    """Everything that can be done, once."""
    await desk.store.ensure()
    desk.write("USER.md", b"by hand\r\n")
    version = await desk.change({MEMORY: b"- a\n- b\n", "memory/note.md": b"$Id$\r\n"}, "dreamt", "dream")
    assert await desk.store.resolve(version[:8]) == version
    assert len((await desk.store.show(version))[1]) == 2
    assert await desk.store.files_at(version) == await desk.store.files()
    await desk.change({MEMORY: b"- a\n- c\n"})
    plan = await desk.store.plan_undo(version, lambda _: True)
    assert (list(plan.edits), plan.conflicts) == ([], [MEMORY])
    plan = await desk.store.plan_restore(version, lambda _: True)
    await desk.store.commit(plan.edits, "restored")
    assert (desk.read(MEMORY), desk.read("USER.md")) == (BASE[MEMORY], b"by hand\r\n")
    await desk.store.purge(lambda _, data: data.replace(b"- a\n", b""), lambda message, _: message)
    assert [version.author for version in await desk.store.log()] == ["nanobot", "nanobot", "dream", "person", "person"]


async def test_nothing_in_the_settings_of_a_person_or_a_repository_is_run(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, trap = hostile(tmp_path / "evil")
    (tmp_path / ".gitconfig").write_text(config)
    desk.write(".gitattributes", b"* filter=evil diff=evil merge=evil text eol=crlf\n")
    desk.write(".mailmap", b"Somebody <dream@nanobot.invalid> <dream@nanobot.invalid>\n")
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SSH_COMMAND", "GIT_ASKPASS"):
        monkeypatch.setenv(name, f"touch {trap}")
    repository = desk.root / "memory" / ".git"
    with (repository / "config").open("a") as file:
        file.write(config)
    shutil.copytree(tmp_path / "evil" / "hooks", repository / "hooks")
    (repository / "info" / "attributes").write_text("* filter=evil diff=evil merge=evil\n")

    await live(desk)

    assert not trap.exists()


async def test_variables_of_the_environment_lead_nowhere(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "init", "--quiet", "other")
    before = sorted(path.relative_to(other) for path in other.rglob("*"))
    names = ("GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
    for name in names:
        monkeypatch.setenv(name, str(other / ".git"))
    for name, value in {
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / "index"),
        "GIT_NAMESPACE": "x",
        "GIT_LITERAL_PATHSPECS": "0",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_AUTHOR_NAME": "Eve",
        "GIT_AUTHOR_DATE": "1 +0000",
        "GIT_DEFAULT_HASH": "sha256",
        "GIT_CEILING_DIRECTORIES": "/",
        "GIT_EXEC_PATH": "/nowhere",
    }.items():
        monkeypatch.setenv(name, value)

    await live(desk)

    assert sorted(path.relative_to(other) for path in other.rglob("*")) == before
    assert {version.name for version in await desk.store.log()}.isdisjoint({"Eve"})
    assert {version.at for version in await desk.store.log()} == {desk.clock.now()}


async def test_it_works_without_an_identity(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)

    await live(desk)

    assert not (Path.home() / ".gitconfig").exists()


def somebodys(root: Path) -> None:
    """A repository with one commit, a branch, and work that is staged, not staged and untracked."""
    git(root, "init", "--quiet", ".")
    for name, text in ((".gitignore", "node_modules\n"), ("README.md", "read\n"), ("user.txt", "one\n")):
        (root / name).write_text(text)
    git(root, "add", ".gitignore", "README.md")
    git(root, "commit", "--quiet", "-m", "mine")
    git(root, "checkout", "--quiet", "-b", "feature")
    (root / "README.md").write_text("changed\n")
    (root / "tmp.log").write_text("x\n")
    git(root, "add", "user.txt")


def state(root: Path) -> list[str]:
    """All that a person can see of their repository; files of the workspace are none of it yet."""
    asked = (
        "rev-parse HEAD",
        "branch -a",
        "stash list",
        "diff --cached --name-only",
        "log --all --oneline",
        "config -l --local",
    )
    seen = [git(root, *question.split()) for question in asked]
    return [
        *seen,
        (root / ".gitignore").read_text(),
        git(root, "status", "--porcelain", "--", "*.md", "*.txt", "*.log"),
    ]


@pytest.mark.parametrize("inside", ["workspace", "."])
@pytest.mark.parametrize("detached", [False, True])
async def test_somebody_elses_repository_is_not_touched(tmp_path: Path, inside: str, detached: bool) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    desk = Desk(outer / inside)
    for path, data in BASE.items():
        desk.write(path, data)
    await asyncio.to_thread(somebodys, outer)
    if detached:
        await asyncio.to_thread(git, outer, "checkout", "--quiet", "--detach")
    before = await asyncio.to_thread(state, outer)

    await desk.store.ensure()
    await desk.change({MEMORY: b"- dreamt\n"}, "dreamt", "dream")
    assert [sorted(version.paths) for version in await desk.store.log()] == [[MEMORY], sorted(BASE)]

    assert await asyncio.to_thread(state, outer) == before
    await asyncio.to_thread(git, outer, "add", "--all")
    staged = await asyncio.to_thread(git, outer, "diff", "--cached", "--name-only")
    assert MEMORY in staged
    assert "memory.git" not in staged
    assert "160000" not in await asyncio.to_thread(git, outer, "ls-files", "--stage")


async def test_a_history_that_comes_to_lie_in_somebodys_repository_moves_aside(desk: Desk) -> None:
    await desk.change({MEMORY: b"- a\n"})
    await asyncio.to_thread(git, desk.root, "init", "--quiet", ".")

    await desk.change({MEMORY: b"- b\n"})

    assert len(await desk.store.log()) == 3
    assert not (desk.root / "memory/.git").exists()
    await asyncio.to_thread(git, desk.root, "add", "--all")
    assert "memory.git" not in await asyncio.to_thread(git, desk.root, "ls-files", "--stage")


async def test_a_repository_that_a_person_has_in_the_folder_of_notes_is_theirs(new_desk: Desk) -> None:
    desk = new_desk
    await asyncio.to_thread(git, desk.root / "memory", "init", "--quiet", ".")
    before = sorted(str(path) for path in (desk.root / "memory").rglob("*"))
    await desk.store.ensure()

    await desk.change({MEMORY: b"- a\n"})

    assert sorted(str(path) for path in (desk.root / "memory").rglob("*")) == before
    assert len(await desk.store.log()) == 2


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/main.lock", "packed-refs.lock"])
async def test_a_lock_that_a_dead_git_left_is_cleared_away(
    desk: Desk, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    lock = desk.root / "memory/.git" / name
    lock.touch()
    old = time.time() - 7200
    os.utime(lock, (old, old))

    with caplog.at_level(logging.WARNING):
        await desk.change({MEMORY: b"- a\n"})

    assert not lock.exists()
    assert "left over" in caplog.text


async def test_a_lock_in_use_is_kept_and_the_next_try_succeeds(desk: Desk) -> None:
    lock = desk.root / "memory/.git/index.lock"
    lock.touch()

    with pytest.raises(VersionError, match="busy"):
        await desk.change({MEMORY: b"- a\n"})
    assert lock.exists()
    assert desk.read(MEMORY) == BASE[MEMORY]
    assert "another git" in desk.store.problem

    lock.unlink()
    await desk.change({MEMORY: b"- a\n"})
    assert desk.store.problem == ""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for the process in /proc")
async def test_the_lock_of_a_git_that_waits_for_its_editor_is_in_use_however_old(desk: Desk, tmp_path: Path) -> None:
    desk.write("SOUL.md", b"mine\n")
    lock = desk.root / "memory/.git/index.lock"
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho opened\nread answer\necho by hand > $1\n")
    editor.chmod(0o755)
    names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
    variables = {**os.environ, **dict.fromkeys(names, "Ada"), "GIT_EDITOR": str(editor)}
    command, pipe = ("git", "commit", "--quiet", "--all"), asyncio.subprocess.PIPE
    committing = await asyncio.create_subprocess_exec(
        *command, cwd=desk.root / "memory", env=variables, stdin=pipe, stdout=pipe
    )
    assert committing.stdout is not None
    assert await committing.stdout.readline() == b"opened\n"
    os.utime(lock, (1, 1))

    with pytest.raises(VersionError, match="busy"):
        await desk.change({MEMORY: b"- a\n"})
    await committing.communicate(b"\n")
    await desk.change({MEMORY: b"- a\n"})

    assert [(version.author, version.name) for version in await desk.store.log(2)][1] == ("person", "Ada")


async def test_while_a_merge_of_a_person_is_open_nothing_is_committed(desk: Desk) -> None:
    (desk.root / "memory/.git/MERGE_HEAD").write_text("0" * 40 + "\n")

    with pytest.raises(VersionError, match="not finished"):
        await desk.store.ensure()


async def test_without_git_memory_is_changed_all_the_same(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(desk.root))
    assert (await desk.store.ensure()).version is None
    assert "no git" in desk.store.problem

    files = await desk.store.files()
    assert (
        await desk.store.commit({MEMORY: Edit(files[MEMORY], b"- a\n"), "memory/n.md": Edit(None, b"n\n")}, "x") is None
    )
    assert (desk.read(MEMORY), desk.read("memory/n.md")) == (b"- a\n", b"n\n")
    with pytest.raises(VersionError, match="conflict"):
        await desk.store.commit({MEMORY: Edit(files[MEMORY], b"- b\n")}, "x")
    for asked in (desk.store.log(), desk.store.resolve("abcd"), desk.store.plan_undo("a" * 40, lambda _: True)):
        with pytest.raises(VersionError, match="missing"):
            await asked

    monkeypatch.undo()
    await desk.store.ensure()
    assert desk.store.problem == ""
    assert len(await desk.store.log()) == 2


async def test_whoever_looks_at_an_old_version_by_hand_loses_nothing(desk: Desk) -> None:
    await desk.change({MEMORY: b"- a\n"})
    await desk.change({MEMORY: b"- b\n"})
    await desk.git("checkout", "--quiet", "HEAD~1")

    await desk.change({"memory/new.md": b"new\n"})

    assert await desk.subjects() == [
        "nanobot: a change",
        "person: Edited by hand: MEMORY.md",
        "nanobot: a change",
        "nanobot: a change",
        "person: What was here when the history began",
    ]
    assert desk.read(MEMORY) == b"- a\n"
    assert (await desk.git("symbolic-ref", "HEAD")).strip() == "refs/heads/main"


async def test_a_persons_own_commits_and_branches_are_gone_on_with(desk: Desk) -> None:
    await desk.git("checkout", "--quiet", "-b", "trial")
    desk.write("SOUL.md", b"mine\n")
    await desk.git("commit", "--quiet", "--all", "-m", "by myself")
    await desk.git("checkout", "--quiet", "--detach")
    desk.write("SOUL.md", b"mine again\n")
    await desk.git("commit", "--quiet", "--all", "-m", "on no branch")

    await desk.change({MEMORY: b"- a\n"})

    assert (await desk.subjects())[:3] == ["nanobot: a change", "person: on no branch", "person: by myself"]
    assert (await desk.git("rev-parse", "trial")).strip() == (await desk.store.log())[2].id


async def test_a_history_that_is_gone_begins_anew(desk: Desk) -> None:
    await desk.change({MEMORY: b"- a\n"})
    await asyncio.to_thread(shutil.rmtree, desk.root / "memory/.git")

    await desk.change({MEMORY: b"- b\n"})

    assert len(await desk.store.log()) == 2


async def test_an_index_that_is_broken_is_made_anew(desk: Desk) -> None:
    desk.write("memory/.git/index", b"DIRC broken")

    await desk.change({MEMORY: b"- b\n"})

    assert await desk.git("status", "--porcelain") == ""


@pytest.mark.parametrize("text", ["", "[nanobo]\n", "[nanobot]\n[core\n", "[[["])
async def test_settings_that_are_damaged_are_made_anew_and_no_other_history_begins(desk: Desk, text: str) -> None:
    (desk.root / "memory/.git/config").write_text(text, encoding="utf-8")

    assert len(await desk.store.log()) == 1
    await desk.change({MEMORY: b"- b\n"})

    assert len(await desk.store.log()) == 2
    assert not Workspace(desk.root).versions_aside.exists()
    assert await desk.git("status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("name", "data"), [("HEAD", b""), ("refs/heads/main", b""), ("index", b"garbage"), ("index", b"DIRC broken")]
)
async def test_what_is_derived_is_made_anew_by_whoever_reads(desk: Desk, name: str, data: bytes) -> None:
    desk.write(f"memory/.git/{name}", data)

    (version,) = await desk.store.log()

    assert await desk.store.origin(MEMORY, b"- one") == version
    assert await desk.git("log", "--format=%H") == f"{version.id}\n"


async def test_a_damaged_history_is_told_and_takes_nothing_with_it(desk: Desk) -> None:
    for path in (desk.root / "memory/.git/objects").rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"")

    with pytest.raises(VersionError, match="damaged"):
        await desk.change({MEMORY: b"- b\n"})

    assert desk.read(MEMORY) == BASE[MEMORY]
    assert "git" in desk.store.problem


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
async def test_a_folder_of_somebody_else_can_be_worked_in(desk: Desk) -> None:
    await asyncio.to_thread(subprocess.run, ["chown", "-R", "12345:12345", str(desk.root)], check=True)

    await live(desk)


async def test_many_small_objects_are_packed(desk: Desk) -> None:
    for number in range(600):
        desk.write(f"memory/{number}.md", b"%d\n" % number)
    await desk.store.commit_hand_edits()

    assert len(list((desk.root / "memory/.git/objects").glob("??/*"))) < 300

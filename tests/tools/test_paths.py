"""The file tools stay in the workspace and the folders that were opened to them."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.errors import ToolError
from nanobot.tools.paths import Disk, Sandbox
from nanobot.workspace import Workspace, folder_of, scope_of
from tests.tools.desk import ADA, GUEST, IN_GROUP, OWNER, SECRET, Desk, checksum

FILE_TOOLS = ("read_file", "write_file", "edit_file", "list_dir", "find_files", "grep")

ARGUMENTS: dict[str, dict[str, object]] = {
    "read_file": {},
    "write_file": {"content": "written by the model"},
    "edit_file": {"old_text": SECRET, "new_text": "changed by the model", "everywhere": True},
    "list_dir": {},
    "find_files": {"pattern": "*"},
    "grep": {"pattern": "."},
}


def make_links(desk: Desk) -> None:
    """Everything in the workspace that leads out of it."""
    links = {
        "link.txt": "../ws_evil/secret.txt",
        "dir": "../ws_evil",
        "loop": "loop",
        "chain": "dir",
        "absolute": str(desk.outside),
        "up": "..",
        "root": "/",
        "new.txt": "../ws_evil/new.txt",
    }
    for name, target in links.items():
        (desk.root / name).symlink_to(target)


@pytest.mark.parametrize(
    "path",
    [
        "../ws_evil/secret.txt",
        "link.txt",
        "dir/secret.txt",
        "dir/../ws_evil/secret.txt",
        "chain/secret.txt",
        "absolute/secret.txt",
        "up/ws_evil/secret.txt",
        "root/etc/hostname",
        "sub/../../ws_evil/secret.txt",
        "memory/../../ws_evil/secret.txt",
        "./././../ws_evil/secret.txt",
        "dir/new/deep.txt",
        "new.txt",
        "loop",
        "loop/x",
        "~/x",
        "~root/x",
        "C:\\Windows\\x",
        "C:/Windows/x",
        "c:secret.txt",
        "..\\ws_evil\\secret.txt",
        "\\\\server\\share\\x",
        "//server/share/x",
        "file:///etc/hostname",
        "file:/etc/hostname",
        "FILE:///etc/hostname",
        "https://example.org/x",
        "a\0b",
        "a\nb",
        "/proc/self/environ",
        "/proc/self/cwd/../../etc/hostname",
        "/etc/hostname",
        "/dev/zero",
        "\ud800",
        "..",
        "../..",
        "/",
    ],
)
@pytest.mark.parametrize("tool", FILE_TOOLS)
async def test_no_spelling_leads_out_of_the_workspace(desk: Desk, tool: str, path: str) -> None:
    make_links(desk)
    before = checksum(desk.outside)
    refusal = await desk.refusal(tool, path=path, **ARGUMENTS[tool])
    assert refusal
    assert SECRET not in refusal
    assert checksum(desk.outside) == before


async def test_an_absolute_path_out_of_the_workspace_with_the_same_beginning_is_refused(desk: Desk) -> None:
    assert "outside" in await desk.refusal("read_file", path=str(desk.outside / "secret.txt"))


@pytest.mark.parametrize("name", ["a/b.txt", "ws_evil.txt", "ünï/文件 👨‍👩‍👧.txt", "..x", "a..b", "-rf", " "])
async def test_unusual_names_in_the_workspace_work(desk: Desk, name: str) -> None:
    await desk.call("write_file", path=name, content="hello")
    assert (desk.root / name).read_text() == "hello"
    assert await desk.text("read_file", path=name) == "hello"
    assert await desk.text("read_file", path=str(desk.root / name)) == "hello"


async def test_a_link_that_stays_inside_is_followed_and_kept(desk: Desk) -> None:
    desk.put("real.txt", "one")
    (desk.root / "alias.txt").symlink_to("real.txt")
    assert await desk.text("read_file", path="alias.txt") == "one"
    await desk.call("edit_file", path="alias.txt", old_text="one", new_text="two")
    assert (desk.root / "alias.txt").is_symlink()
    assert (desk.root / "real.txt").read_text() == "two"


async def test_a_workspace_behind_a_link_works(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "ws").symlink_to("elsewhere")
    desk = Desk(tmp_path)
    await desk.call("write_file", path="x.txt", content="hello")
    assert (tmp_path / "elsewhere/x.txt").read_text() == "hello"


@pytest.mark.parametrize("swapped", ["file", "folder"])
def test_a_link_swapped_in_after_the_check_is_not_followed(desk: Desk, swapped: str) -> None:
    desk.put("sub/secret.txt", "harmless")
    sandbox = Sandbox(Workspace(desk.root))
    disk = Disk(sandbox)
    place = sandbox.locate("sub/secret.txt", OWNER_IN_TERMINAL)
    new = sandbox.locate("sub/new.txt", OWNER_IN_TERMINAL)
    (desk.root / "sub/secret.txt").unlink()
    if swapped == "file":
        (desk.root / "sub/secret.txt").symlink_to(desk.outside / "secret.txt")
        (desk.root / "sub/new.txt").symlink_to(desk.outside / "new.txt")
    else:
        (desk.root / "sub").rmdir()
        (desk.root / "sub").symlink_to(desk.outside)
    before = checksum(desk.outside)
    with pytest.raises(ToolError):
        disk.read(place)
    with pytest.raises(ToolError):
        disk.replace(new, None, b"x")
    with pytest.raises(ToolError):
        disk.replace(place, b"harmless", b"x")
    assert checksum(desk.outside) == before


HIDDEN = [
    ".git/config",
    ".nanobot/state/spool.db",
    "sessions/cli/default.jsonl",
    "cron/a.yaml",
    "memory/history.jsonl",
    "memory/history.jsonl.torn",
    "memory/.cursor",
    "memory/.dream_cursor",
    "memory/tombstones/a.json",
    "memory/.git/config",
    "project/.git/hooks/pre-commit",
]


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "dots": lambda path: f"./memory/.././{path}",
    "capitals": str.upper,
    "long s": lambda path: path.replace("s", "ſ"),
    "trailing dots": lambda path: "/".join(f"{part}." for part in path.split("/")),
    "trailing blanks": lambda path: "/".join(f"{part} " for part in path.split("/")),
    "invisible characters": lambda path: "/".join(f"{part}\u200d" for part in path.split("/")),
    "through a link": lambda path: f"alias/{path}",
}


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_what_nanobot_keeps_for_itself_is_neither_read_nor_written(
    desk: Desk, hidden: str, spelling: str
) -> None:
    desk.put(hidden, SECRET)
    (desk.root / "alias").symlink_to(".")
    before = checksum(desk.root)
    for tool in ("read_file", "write_file", "edit_file"):
        refusal = await desk.refusal(tool, path=SPELLINGS[spelling](hidden), **ARGUMENTS[tool])
        assert "not open to tools" in refusal
    assert checksum(desk.root) == before


@pytest.mark.parametrize("hidden", HIDDEN)
async def test_listing_and_searching_pass_by_what_is_hidden(desk: Desk, hidden: str) -> None:
    file = desk.put(hidden, SECRET)
    desk.put("open.txt", "seen")
    folder = str(PurePosixPath(hidden).parent)
    results = [
        await desk.text("list_dir"),
        await desk.text("find_files", pattern="**"),
        await desk.text("find_files", pattern="**/*"),
        await desk.text("grep", pattern="[a-z]"),
    ]
    for text in results:
        assert SECRET not in text
        assert file.name not in text
    assert "open.txt" in results[1]
    if folder != "memory":
        assert "not open" in await desk.refusal("list_dir", path=folder)


async def test_another_name_for_a_hidden_file_is_told_by_its_inode(desk: Desk) -> None:
    file = desk.put("memory/history.jsonl", SECRET)
    (desk.root / "copy.txt").hardlink_to(file)
    assert "another name" in await desk.refusal("read_file", path="copy.txt")
    assert "another name" in await desk.refusal("write_file", path="copy.txt", content="x")
    assert SECRET not in await desk.text("grep", pattern="secret")
    assert file.read_text() == SECRET


@pytest.mark.parametrize(
    "theirs",
    [
        "people/telegram-7/USER.md",
        "people/telegram-7/garden.md",
        "groups/telegram--100/MEMORY.md",
        "media/people/telegram-7/a.txt",
        "spill/groups/telegram--100/exec-1.txt",
        "sessions/telegram/7.jsonl",
        ".nanobot/state/people.json",
        "project/.git/config",
    ],
)
async def test_another_name_for_a_file_of_somebody_else_is_not_opened(desk: Desk, theirs: str) -> None:
    file = desk.put(theirs, SECRET)
    desk.put("people/telegram-12/USER.md", "Ada")
    (desk.root / "copy.txt").hardlink_to(file)
    (desk.root / "people/telegram-12/copy.txt").hardlink_to(file)
    for caller, name in ((OWNER, "copy.txt"), (ADA, "people/telegram-12/copy.txt")):
        for tool in ("read_file", "write_file", "edit_file"):
            assert "name" in await desk.refusal(tool, caller, path=name, **ARGUMENTS[tool])
        folder = str(PurePosixPath(name).parent)
        assert SECRET not in await desk.text("grep", caller, path=folder, pattern=".")
    assert file.read_text() == SECRET
    assert file.stat().st_nlink == 3


async def test_a_second_name_is_known_at_once_however_lately_it_was_made(desk: Desk) -> None:
    (desk.root / "b.txt").hardlink_to(desk.put("a.txt", "hello"))
    assert await desk.text("read_file", path="b.txt") == "hello"  # now it is known which files are closed
    (desk.root / "c.txt").hardlink_to(desk.put("sessions/cli/new.jsonl", SECRET))
    assert "another name" in await desk.refusal("read_file", path="c.txt")


async def test_the_configuration_is_open_by_no_name(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(SECRET)
    desk = Desk(tmp_path, allowed_dirs=[tmp_path], closed=[config])
    (desk.root / "copy.yaml").hardlink_to(config)
    (desk.root / "link.yaml").symlink_to(config)
    for name in ("copy.yaml", "link.yaml", "../config.yaml", str(config)):
        for tool in ("read_file", "write_file", "edit_file"):
            assert "not open to tools" in await desk.refusal(tool, path=name, **ARGUMENTS[tool])
    assert SECRET not in await desk.text("grep", path=str(tmp_path), pattern="the-secret", files="*.yaml")
    assert config.read_text() == SECRET


async def test_owners_files_with_many_names_are_read_after_one_look_at_the_rest(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a clone, or what a package manager has put there."""
    for number in range(50):
        (desk.root / f"b{number}.txt").hardlink_to(desk.put(f"store/{number}.txt", f"package {number}"))
    desk.put("people/telegram-7/USER.md", "Ben")
    later = time.time() + 60
    monkeypatch.setattr("nanobot.tools.paths.time.time", lambda: later)
    looks: list[str] = []
    look = os.scandir

    def counted(path: int | str | Path) -> object:
        looks.append(str(path))
        return look(path)

    monkeypatch.setattr(os, "scandir", counted)
    found = await desk.text("grep", pattern="package")
    assert found.count("package") == 100
    assert looks.count(str(desk.root / "people/telegram-7")) == 1


async def test_a_clone_with_shared_objects_is_the_owners_to_read(desk: Desk) -> None:
    _clone(desk.root)
    assert await desk.text("read_file", path="two/a.txt") == "hello"
    assert "two/a.txt" in await desk.text("grep", pattern="hello", path="two")


def _clone(root: Path) -> None:
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    (root / "one").mkdir()
    (root / "one/a.txt").write_text("hello")
    for words in (["init", "-q", "one"], ["-C", "one", "add", "."], ["-C", "one", "commit", "-qm", "a"],
                  ["clone", "-q", "--local", "one", "two"]):  # fmt: skip
        subprocess.run([*git, *words], cwd=root, check=True, capture_output=True)


async def test_a_file_with_two_open_names_is_read(desk: Desk) -> None:
    (desk.root / "b.txt").hardlink_to(desk.put("a.txt", "hello"))
    assert await desk.text("read_file", path="b.txt") == "hello"


async def test_allowed_folders_are_open_but_not_their_git_or_the_workspace_in_them(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("hello")
    (project / ".git").mkdir()
    (project / ".git/config").write_text(SECRET)
    (project / "sessions").mkdir()
    (project / "sessions/mine.txt").write_text("fine")
    (tmp_path / "projects.txt").write_text(SECRET)
    desk = Desk(tmp_path, allowed_dirs=[project])
    assert await desk.text("read_file", path=str(project / "a.txt")) == "hello"
    assert await desk.text("read_file", path="../project/sessions/mine.txt") == "fine"
    await desk.call("write_file", path=str(project / "b.txt"), content="new")
    assert "not open" in await desk.refusal("write_file", path=str(project / ".git/config"), content="x")
    assert "outside" in await desk.refusal("read_file", path=str(tmp_path / "projects.txt"))
    assert SECRET not in await desk.text("grep", path=str(project), pattern="secret")


async def test_a_workspace_in_an_allowed_folder_keeps_its_own_rules(tmp_path: Path) -> None:
    desk = Desk(tmp_path, allowed_dirs=[tmp_path])
    desk.put("sessions/cli/a.jsonl", "hidden-words")
    desk.put("open.txt", "open-words")
    (tmp_path / "same").symlink_to("ws")
    assert "not open" in await desk.refusal("read_file", path=str(tmp_path / "ws/sessions/cli/a.jsonl"))
    assert "not open" in await desk.refusal("read_file", path=str(tmp_path / "same/sessions/cli/a.jsonl"))
    found = await desk.text("grep", path=str(tmp_path), pattern="words")
    assert "open-words" in found
    assert "hidden-words" not in found


async def test_where_capitals_do_not_count_the_workspace_is_known_by_any_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, allowed_dirs=[tmp_path])
    desk.put("sessions/cli/a.jsonl", SECRET)
    monkeypatch.setattr(Path, "samefile", lambda self, other: str(self).casefold() == str(other).casefold())
    assert "not open" in await desk.refusal("read_file", path=str(tmp_path / "WS/sessions/cli/a.jsonl"))


async def test_system_folders_stay_closed_even_if_everything_is_allowed(tmp_path: Path) -> None:
    desk = Desk(tmp_path, allowed_dirs=[Path("/")])
    assert "outside" in await desk.refusal("read_file", path="/proc/self/environ")
    assert "outside" in await desk.refusal("list_dir", path="/dev")
    assert await desk.text("read_file", path=str(desk.outside / "secret.txt")) == SECRET


async def test_a_member_reaches_their_own_folder_and_no_other(desk: Desk) -> None:
    desk.put("USER.md", "owner-words")
    desk.put("people/telegram-12/USER.md", "ada-words")
    desk.put("people/telegram-13/USER.md", "bob-words")
    desk.put("groups/telegram--100/USER.md", "group-words")
    own = "people/telegram-12"
    assert await desk.text("read_file", ADA, path=f"{own}/USER.md") == "ada-words"
    await desk.call("write_file", ADA, path=f"{own}/garden.md", content="roses")
    assert await desk.text("grep", ADA, path=own, pattern="words") == f"{own}/USER.md:1: ada-words"
    for path in ("USER.md", "people/telegram-13/USER.md", "groups/telegram--100/USER.md", f"{own}/../../USER.md"):
        for tool in ("read_file", "write_file"):
            assert "does not belong" in await desk.refusal(tool, ADA, path=path, **ARGUMENTS[tool])
    assert "does not belong" in await desk.refusal("list_dir", ADA)


async def test_the_owner_does_not_reach_into_the_memory_of_others(desk: Desk) -> None:
    desk.put("people/telegram-12/USER.md", "ada-words")
    desk.put("notes.md", "owner-words")
    assert "does not belong" in await desk.refusal("read_file", path="people/telegram-12/USER.md")
    assert await desk.text("grep", pattern="words") == "notes.md:1: owner-words"


async def test_in_a_group_nothing_of_the_owner_comes_up(desk: Desk) -> None:
    desk.put("memory/MEMORY.md", "owner-words")
    assert "does not belong" in await desk.refusal("read_file", IN_GROUP, path="memory/MEMORY.md")


async def test_a_guest_reaches_nothing(desk: Desk) -> None:
    desk.put("notes.md", "owner-words")
    assert "does not belong" in await desk.refusal("read_file", GUEST, path="notes.md")


@given(channel=st.sampled_from(["telegram", "discord"]), who=st.text(min_size=1, max_size=30))
def test_a_scope_and_its_folder_find_each_other(channel: str, who: str) -> None:
    for scope in (f"person:{channel}-{who}", f"group:{channel}-{who}"):
        if who.isprintable() and who.isascii():
            folder = folder_of(scope)
            assert len(folder.parts) == 2
            for path in (folder, folder / "notes.md", "spill" / folder / "x.txt", "media" / folder / "y.png"):
                assert scope_of(path) == scope


PIECES = [
    "..", ".", "", "~", "ws", "ws_evil", "secret.txt", "dir", "up", "root", "loop", "link.txt", "absolute", "memory",
    "new.txt", "etc", "hostname", "proc", "self", "cwd", "environ", "C:", "\\", "file:", "\0", " ", "inner", "a.txt",
    "SECRET.TXT", "..\\..", "%2e%2e", "\u202e", "．．", ".git", "sessions",
]  # fmt: skip


@pytest.fixture(scope="module")
def den() -> Iterator[Desk]:
    """A workspace full of ways out, used for many paths."""
    with tempfile.TemporaryDirectory() as base:
        desk = Desk(Path(os.path.realpath(base)))
        make_links(desk)
        desk.put("inner/a.txt", "fine")
        desk.put("sessions/cli/s.jsonl", SECRET)
        desk.put(".git/config", SECRET)
        yield desk


@given(
    pieces=st.lists(st.sampled_from(PIECES) | st.text(max_size=4), min_size=1, max_size=7),
    start=st.sampled_from(["", "/", "//", "./", "{ws}/", "{base}/"]),
    tool=st.sampled_from(FILE_TOOLS),
)
async def test_no_path_whatever_reaches_outside(den: Desk, pieces: list[str], start: str, tool: str) -> None:
    path = start.format(ws=den.root, base=den.base) + "/".join(pieces)
    before = checksum(den.outside, den.root / "sessions", den.root / ".git")
    try:
        text = (await den.tools[tool].run({"path": path, **ARGUMENTS[tool]}, OWNER)).text
    except ToolError as error:
        text = str(error)
    assert SECRET not in text
    assert checksum(den.outside, den.root / "sessions", den.root / ".git") == before
    assert {path.name for path in den.base.iterdir()} == {"ws", "ws_evil"}

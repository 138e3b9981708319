"""A model that wants out: what it asks for by its tools, with the person's files at stake."""

import json

import pytest

from tests.cases.person import Desk
from tests.fakes.openai_answers import call, say

SECRET = "the-secret-outside"
READS = [
    "../outside/secret.txt",
    "link.txt",
    "dir/secret.txt",
    "~/x",
    "/proc/self/environ",
    "loop",
    "a\0b",
    "file:///etc/hostname",
]
PRIVATE = [
    "sessions/cli/here.jsonl",
    "SESSIONS/cli/here.jsonl",
    ".nanobot/state/lock",
    "memory/../sessions/cli/here.jsonl",
]
WRITES = [
    "../outside/n.txt",
    "link.txt",
    "dir/new.txt",
    "sub/../../outside/n.txt",
    ".git/config",
    ".nanobot/state/installed.json",
]


@pytest.fixture
def traps(desk: Desk) -> Desk:
    outside = desk.workspace.root.parent / "outside"
    outside.mkdir(parents=True)
    (outside / "secret.txt").write_text(SECRET)
    root = desk.workspace.root
    root.mkdir()
    (root / "link.txt").symlink_to("../outside/secret.txt")
    (root / "dir").symlink_to("../outside")
    (root / "loop").symlink_to("loop")
    return desk


async def test_no_file_tool_leads_out_of_the_workspace_or_into_what_is_private(traps: Desk) -> None:
    desk = traps
    reading = [("read_file", {"path": path}) for path in READS + PRIVATE]
    listing = [("list_dir", {"path": path}) for path in ("..", "dir", "sessions", "/")]
    searching = [("grep", {"pattern": "secret"}), ("find_files", {"pattern": "**/*"})]
    writing = [("write_file", {"path": path, "content": "pwned"}) for path in WRITES + PRIVATE]
    editing = [("edit_file", {"path": path, "old": "secret", "new": "pwned"}) for path in READS + PRIVATE]
    desk.server.will(call(*reading, *listing, *searching, *writing, *editing), say("I tried."))
    async with desk.start() as person:
        before = desk.session.exists()
        assert (await person.ask("read my diary")).text == "I tried."
    results = [str(message["content"]) for message in desk.sent(1) if message["role"] == "tool"]
    refused = [result for result in results if result.startswith("Error: ")]
    assert not before
    assert len(refused) == len(results) - len(searching)
    assert SECRET not in json.dumps(results)
    outside = desk.workspace.root.parent / "outside"
    assert [(file.name, file.read_text()) for file in outside.iterdir()] == [("secret.txt", SECRET)]
    assert not (desk.workspace.root / ".git").exists()
    assert "pwned" not in (desk.workspace.state / "installed.json").read_text()


COMMANDS = [
    "git status && touch pwn",
    "git status\ntouch pwn",
    "git status $(touch pwn)",
    "git status > pwn",
    "GIT_PAGER='touch pwn' git status",
    "git -c core.pager='touch pwn' status",
    "r''m -rf kept",
    "python3 -c 'import shutil; shutil.rmtree(\"kept\")'",
    "echo x | tee sessions/cli/here.jsonl",
]


async def test_where_only_a_list_of_commands_counts_no_spelling_gets_around_it(desk: Desk) -> None:
    desk.configure(tools={"exec": {"owner": "deny", "allow": ["git status"]}})
    (desk.workspace.root / "kept").mkdir(parents=True)
    desk.server.will(call(*(("exec", {"command": command}) for command in COMMANDS)), say("I tried."))
    async with desk.start() as person:
        await person.ask("tidy up")
    results = [str(message["content"]) for message in desk.sent(1) if message["role"] == "tool"]
    assert all(result.startswith("Error: ") for result in results)
    assert "git status" in results[0]
    assert not list(desk.workspace.root.rglob("pwn"))
    assert (desk.workspace.root / "kept").is_dir()
    assert {line["type"] for line in desk.lines()} <= {"session", "message", "archived"}


async def test_a_command_sees_neither_keys_nor_tokens(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-tools")
    monkeypatch.setenv("NANOBOT_MODELS__FAKE__API_KEY", "sk-not-for-tools")
    desk.configure({"api_key": "sk-not-for-tools"}, tools={"exec": {"owner": "allow"}})
    desk.server.will(call(("exec", {"command": "env; cat /proc/$PPID/environ | tr '\\0' '\\n' | wc -l"})), say("ok"))
    async with desk.start() as person:
        await person.ask("show the environment")
    result = next(str(message["content"]) for message in desk.sent(1) if message["role"] == "tool")
    assert "PATH=" in result
    assert "sk-not-for-tools" not in result
    assert "sk-not-for-tools" not in desk.session.read_text() + (desk.home / "nanobot.log").read_text()

"""Who may run which commands."""

from pathlib import Path

import pytest

from nanobot.errors import ConfigError
from nanobot.ports import Caller
from nanobot.tools.policy import ExecPolicy
from tests.tools.desk import ADA, GUEST, IN_GROUP, OWNER, TERMINAL, Desk

RESTRICTED = ExecPolicy(owner="deny", member="deny", allow=["git status", "ls", "sort", "find"])


def with_turn(caller: Caller, turn: str) -> Caller:
    return Caller(caller.address, caller.authority, turn, caller.language)


@pytest.fixture
def restricted(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path, policy=RESTRICTED)
    desk.put("x/precious.txt", "precious")
    desk.put("memory/history.jsonl", "history-words")
    return desk


@pytest.mark.parametrize("command", ["git status", "git status --short", "  git   'status' ", "ls -la x", 'ls "x"'])
async def test_what_is_on_the_list_runs_without_a_question(restricted: Desk, command: str) -> None:
    assert "[exit code" in await restricted.text("exec", command=command)
    assert not restricted.person.questions


@pytest.mark.parametrize(
    "command",
    [
        "git status && touch pwn",
        "git status; touch pwn",
        "git status | sh",
        "git status $(touch pwn)",
        "git status `touch pwn`",
        "git status\ntouch pwn",
        "git status\r\ntouch pwn",
        "git status # x\ntouch pwn",
        "git status > pwn",
        "git status >pwn",
        "git status < x",
        "git status & touch pwn",
        "GIT_PAGER='touch pwn' git status",
        "A=1 ls",
        "git -c core.pager='touch pwn' status",
        "git -C x status",
        "git statusx",
        "gitstatus",
        "/usr/bin/git status",
        "git\tstatus;touch pwn",
        "git\u00a0status",
        "git 'status",
        "git status ~",
        "ls *",
        "ls {a,b}",
        "ls $HOME",
        "ls ..",
        "ls /",
        "ls x/../..",
        "ls --ignore=/etc",
        "ls memory/history.jsonl",
        "ls MEMORY/History.jsonl",
        "ls .nanobot",
        "sort x/precious.txt -o pwn",
        "sort -opwn x/precious.txt",
        "sort -uo pwn x/precious.txt",
        "sort --output=pwn x/precious.txt",
        "sort --outp pwn x/precious.txt",
        "sort --compress-program=sh x/precious.txt",
        "find x -delete",
        "find x -exec rm x ;",
        "find x -fprintf pwn x",
        "rm  -rf x",
        "rm -r -f x",
        "rm --recursive --force x",
        "$(echo r)m -rf x",
        "r''m -rf x",
        "python3 -c 'import shutil;shutil.rmtree(\"x\")'",
        "cat memory/his*l",
        "tee memory/$(printf history).jsonl",
        "sh",
        "touch pwn",
    ],
)
async def test_nothing_else_runs_where_only_the_list_counts(restricted: Desk, command: str) -> None:
    refusal = await restricted.refusal("exec", command=command)
    assert "'git status'" in refusal
    assert not (restricted.root / "pwn").exists()
    assert (restricted.root / "x/precious.txt").read_text() == "precious"
    assert (restricted.root / "memory/history.jsonl").read_text() == "history-words"
    assert not restricted.person.questions


async def test_a_program_on_the_list_may_not_do_more_than_it_seems(tmp_path: Path) -> None:
    desk = Desk(tmp_path, policy=ExecPolicy(owner="deny", allow=["git"]))
    for command in (
        "git -c core.pager=x status",
        "git --config-env=a=B status",
        "git --exec-path=x status",
        "git diff --ext-diff",
        "git log --output=AGENTS.md",
        "git grep -Ox y",
        "git --git-dir=x status",
        "git status -v",
        "git status -vv",
        "git status --verb",
        "git log -p",
    ):
        assert "may not be run" in await desk.refusal("exec", with_turn(OWNER, command), command=command)
    assert "git version" in await desk.text("exec", command="git --version")


async def test_files_of_the_workspace_cannot_make_a_harmless_git_command_run_others(restricted: Desk) -> None:
    for path, content in {
        "HEAD": "ref: refs/heads/main\n",
        "refs/x": "",
        "objects/x": "",
        "config": f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = {restricted.root}\n"
        '\tfsmonitor = "touch pwn; false"\n',
    }.items():
        await restricted.call("write_file", path=path, content=content)
    await restricted.text("exec", command="git status")
    assert not list(restricted.root.rglob("pwn"))


async def test_after_three_refusals_in_a_turn_the_matter_ends(restricted: Desk) -> None:
    for number in range(3):
        assert "Allowed are commands" in await restricted.refusal("exec", command=f"touch {number}")
    for number in range(3):
        assert (await restricted.refusal("exec", command=f"touch {number}")).startswith("Stop")
    assert "[exit code" in await restricted.text("exec", command="git status")
    assert "Allowed are" in await restricted.refusal("exec", with_turn(OWNER, "next"), command="touch pwn")


async def test_the_person_is_not_asked_a_fourth_time_after_three_noes(desk: Desk) -> None:
    desk.person.answers = ["no"] * 3
    for number in range(3):
        assert "said no" in await desk.refusal("exec", command=f"touch {number}")
    assert (await desk.refusal("exec", command="touch 4")).startswith("Stop")
    assert len(desk.person.questions) == 3


async def test_without_a_list_the_refusal_points_to_other_tools(tmp_path: Path) -> None:
    desk = Desk(tmp_path, policy=ExecPolicy(owner="deny"))
    assert "No commands are allowed" in await desk.refusal("exec", command="ls")


async def test_the_person_sees_the_command_as_it_is(desk: Desk) -> None:
    desk.person.answers = ["once"]
    command = "echo '\x1b[2K\u202e```'\necho two && echo three"
    await desk.call("exec", command=command)
    question = desk.person.questions[0]
    assert "````sh\n" in question
    assert "echo two && echo three" in question
    assert "\x1b" not in question
    assert "\u202e" not in question
    assert "exactly this command" in question


async def test_the_question_is_in_the_language_of_who_reads_it(desk: Desk) -> None:
    desk.person.answers = ["no"]
    await desk.refusal("exec", Caller(TERMINAL, OWNER.authority, "t", "zh"), command="ls")
    assert "运行这条命令" in desk.person.questions[0]
    assert [button.label for button in desk.person.choices] == ["仅这一次", "本次会话都可以", "不行"]


async def test_once_is_once_and_a_session_is_exactly_that_command_there(desk: Desk) -> None:
    desk.person.answers = ["once", "session", "no", "no"]
    elsewhere = Caller(type(TERMINAL)("cli", "other"), OWNER.authority, "t", "en")
    assert await desk.text("exec", command="echo a") == "a\n[exit code 0]"
    assert await desk.text("exec", command="echo a") == "a\n[exit code 0]"
    assert await desk.text("exec", command="echo a") == "a\n[exit code 0]"
    await desk.refusal("exec", command="echo a b")
    await desk.refusal("exec", elsewhere, command="echo a")
    assert len(desk.person.questions) == 4


async def test_a_yes_for_writing_a_file_is_no_yes_for_a_command(desk: Desk) -> None:
    desk.person.answers = ["session", "no"]
    await desk.call("write_file", path="AGENTS.md", content="x")
    await desk.refusal("exec", command="write AGENTS.md")


async def test_where_everything_is_allowed_nobody_is_asked(tmp_path: Path) -> None:
    desk = Desk(tmp_path, policy=ExecPolicy(owner="allow"))
    assert await desk.text("exec", command="echo $((1 + 1)) | cat") == "2\n[exit code 0]"


@pytest.mark.parametrize("caller", [ADA, IN_GROUP])
async def test_the_owners_rule_does_not_count_for_members_and_groups(tmp_path: Path, caller: Caller) -> None:
    desk = Desk(tmp_path, policy=ExecPolicy(owner="allow", member="deny", allow=["ls"]))
    desk.put("USER.md", "owner-words")
    assert "may not be run" in await desk.refusal("exec", caller, command="cat USER.md")
    for command in ("ls", "ls ../.."):  # nor does the list of what needs no question
        refusal = await desk.refusal("exec", with_turn(caller, command), command=command)
        assert "No commands are allowed" in refusal


async def test_a_guest_runs_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path, policy=ExecPolicy(owner="allow", member="allow", allow=["ls"]))
    assert "Guests" in await desk.refusal("exec", GUEST, command="ls")


@pytest.mark.parametrize("entry", ["", "  ", "^git status", "git *", "git status; ls", "A=1 git", "git 'status"])
def test_an_entry_that_is_no_beginning_of_a_command_is_a_mistake_in_the_configuration(
    tmp_path: Path, entry: str
) -> None:
    with pytest.raises(ConfigError, match=r"tools\.exec\.allow"):
        Desk(tmp_path, policy=ExecPolicy(allow=["git status", entry]))


@pytest.mark.parametrize(
    ("command", "expected"),
    [("", "empty"), (" \n", "empty"), ("a\0b", "NUL"), ("echo \ud800", "surrogate"), ("x" * 8_001, "too long")],
)
async def test_what_is_no_command_is_refused_before_anybody_is_asked(desk: Desk, command: str, expected: str) -> None:
    assert expected in await desk.refusal("exec", command=command)
    assert not desk.person.questions


async def test_a_program_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    desk = Desk(tmp_path, policy=ExecPolicy(allow=["no-such-program"]))
    assert "could not be started" in await desk.refusal("exec", command="no-such-program")

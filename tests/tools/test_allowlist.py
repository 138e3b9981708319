"""No command on the list of what needs no question reads what is not the owner's."""

import re
import subprocess
from pathlib import Path

import pytest

from nanobot.config.tree import ExecConfig
from nanobot.ports import Caller
from nanobot.tools.policy import ExecPolicy
from nanobot.tools.shell import AllowList
from tests.tools.desk import ADA, IN_GROUP, OWNER, Desk, checksum

THEIRS = ("sessions/telegram/7.jsonl", "people/telegram-7/USER.md", "groups/telegram--100/MEMORY.md",
          "media/people/telegram-7/a.txt", "memory/history.jsonl", ".nanobot/state/people.json")  # fmt: skip
BIRD = "kestrel"

LISTED = (
    "awk", "cat", "cp", "cut", "diff", "du", "egrep", "fgrep", "file", "find", "git", "grep", "head", "ls", "nl", "od",
    "paste", "rg", "sed", "sort", "stat", "strings", "tac", "tail", "tar", "tree", "uniq", "wc", "xxd",
)  # fmt: skip
"""What somebody may have put on the list."""

READING = """\
awk 1 {theirs} | awk -f {theirs} mine.md | awk -f prog mine.md | sed -n p {theirs} | sed -n 'r {theirs}' mine.md
sed -n 'w {theirs}' mine.md | sed 1e prog | sed -f prog mine.md | cat {theirs} | cat ./x/../{theirs} | cat link
cat second | cat -n second | cat mine.md {theirs} | cat /proc/self/cwd/{theirs}
cp {theirs} copy | cp -r . copy | cp -t copy {theirs} | cp --target-directory=copy {theirs}
cut -c1-80 {theirs} | head {theirs} | head -n 5 second | tail -c +1 {theirs}
tac {theirs} | nl {theirs} | od -c {theirs} | paste mine.md {theirs} | strings {theirs}
xxd {theirs} | uniq {theirs} | wc --files0-from={theirs} | wc --files0-from=list
diff mine.md {theirs} | diff -r . x | diff --from-file={theirs} mine.md | diff --to-file={theirs} mine.md
diff -ruN x . | du --files0-from=list | du --exclude-from={theirs} x | file -f {theirs} | file -f list
file -m {theirs} mine.md | find -files0-from list | find . -exec cat {theirs} + | find -newer {theirs}
grep -r {bird} | grep -inR {bird} | grep -rn {bird} . | grep --recurs {bird} | grep -d recurse {bird} .
grep {bird} {theirs} | grep --directories=recurse {bird} . | grep -f {theirs} mine.md | grep -nf list mine.md
grep -nf{theirs} mine.md | grep --file={theirs} mine.md | grep --fil list mine.md
egrep -r {bird} . | fgrep -R {bird} . | grep -e . {theirs} | rg {bird} | rg -uuu {bird} | rg --hidden {bird} x
rg -f list | git diff | git diff HEAD | git diff --no-index mine.md {theirs} | git show | git show HEAD:{theirs}
git grep {bird} | git log -p | git log --patch | git log -u | git log -U3 | git log --unified=1
git log -L1,2:{theirs} | git log -c | git log --cc | git log -1p | git log -W | git log --word-diff
git log --color-words | git log --patch-with-stat | git log --binary | git log --dd | git log --remerge-diff
git log --diff-merges=on | git log --check | git log --patc | git log --word-d | git status -v | git status -vv
git status --verbose | git status --verb | git status -sv | git status -bvv | git commit -v --dry-run
git commit --dry-run -av | git add -p | git checkout -p | git stash show -p | git stash list -U3
git blame {theirs} | git annotate {theirs} | git cat-file -p HEAD | git archive HEAD
git format-patch --stdout HEAD | git diff-index -p HEAD | git diff-tree -p HEAD | git diff-files -p
git range-diff HEAD HEAD | git whatchanged -p | git fast-export HEAD | git bundle create - HEAD
git stash show -u -p | git reflog -p | git config -l | git x | git -p log | git -C . log | git --git-dir=.git log
git -c core.pager=cat log | git --paginate log | git bisect run prog | sort {theirs} | sort --files0-from=list
sort --files0-from={theirs} | sort -T {theirs} mine.md | sort -m {theirs} | sort --random-source={theirs} -R mine.md
sort -o {theirs} mine.md | sort -uo{theirs} mine.md | tar cf - . | tar -cf - x . | tar cf - {theirs}
tar -cT list -f - | tar cTf list - | tar -c --files-from=list -f - | tree --fromfile {theirs} | tree -o out
tree --fromfile list
"""


def with_turn(caller: Caller, turn: str) -> Caller:
    return Caller(caller.address, caller.authority, turn, caller.language)


def closed_files(root: Path) -> None:
    """A repository in which somebody else's words are tracked, and were changed since."""
    for text in ("one", "two"):
        for path in (*THEIRS, "mine.md", "x/mine.txt"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(f"{BIRD} {text}\n" if path in THEIRS else f"my own words {text}\n")
        if text == "one":
            git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
            for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "a"]):
                subprocess.run([*git, *words], cwd=root, check=True, capture_output=True)
    (root / "link").symlink_to(THEIRS[0])
    (root / "second").hardlink_to(root / THEIRS[0])
    (root / "list").write_text("\0".join(THEIRS))
    (root / "prog").write_text("#!/bin/sh\ncat sessions/telegram/7.jsonl\n")
    (root / "prog").chmod(0o700)


@pytest.fixture(scope="module")
def listing(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = Desk(tmp_path_factory.mktemp("listing"), policy=ExecPolicy(owner="deny", allow=LISTED))
    closed_files(desk.root)
    return desk


@pytest.mark.parametrize("row", READING.splitlines())
async def test_no_command_on_the_list_prints_what_is_somebody_elses(listing: Desk, row: str) -> None:
    before = checksum(listing.root)
    for template in row.split(" | "):
        for theirs in THEIRS if "{theirs}" in template else ("",):
            command = template.format(theirs=theirs, bird=BIRD)
            refusal = await listing.refusal("exec", with_turn(OWNER, command), command=command)
            assert "may not be run" in refusal, command
    assert checksum(listing.root) == before


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat mine.md", "my own words"),
        ("cat x/mine.txt mine.md", "my own words"),
        ("grep -n words mine.md", "1:my own words"),
        ("grep -c own mine.md x/mine.txt", "mine.md:1"),
        ("head -n 1 mine.md", "my own words"),
        ("sort -u mine.md", "my own words"),
        ("wc -l mine.md", "1 mine.md"),
        ("ls -la x", "mine.txt"),
        ("find x -name mine.txt", "x/mine.txt"),
        ("du -s x", "x"),
        ("diff mine.md x/mine.txt", "[exit code 0]"),
        ("git log --oneline --stat -n 1", "mine.md"),
        ("git status --short --branch", "M mine.md"),
        ("git ls-files x", "x/mine.txt"),
        ("git branch --show-current", "ma"),
        ("git --version", "git version"),
    ],
)
async def test_what_only_prints_ones_own_runs_without_a_question(listing: Desk, command: str, expected: str) -> None:
    assert expected in await listing.text("exec", command=command)
    assert not listing.person.questions


async def test_no_option_of_the_usual_list_prints_what_is_in_files(tmp_path: Path) -> None:
    usual = ExecConfig().allow
    assert usual == ("git status",)
    desk = Desk(tmp_path, policy=ExecPolicy(owner="deny", allow=usual))
    closed_files(desk.root)
    allowed = AllowList(usual)
    commands = [f"git status {option}{rest}" for option in spelled(desk.root) for rest in ("", " -- .")]
    runs = [command for command in commands if allowed.words(command, desk.root, desk.root)]
    assert len(runs) > 50
    for command in runs:
        text = await desk.text("exec", with_turn(OWNER, command), command=command)
        assert BIRD not in text, command
        assert "my own words" not in text, command


def spelled(repository: Path) -> list[str]:
    """Each option that this git knows for `git status`, in its forms, and some of them together."""
    usage = subprocess.run(["git", "status", "-h"], cwd=repository, capture_output=True, text=True, check=False)
    options = re.findall(r"^ {4}(-\S.*?)(?:  |$)", usage.stdout + usage.stderr, re.MULTILINE)
    words = [re.sub(r"\[.*?\]|<.*?>", "", word) for option in options for word in option.split(", ")]
    assert "--verbose" in words
    words += [f"{word}{letter}" for word in ("-s", "-z", "-uall") for letter in "vbzM"]
    return words + [f"{word}={value}" for word in words if word.startswith("--") for value in ("all", "v2")]


async def test_the_list_is_for_no_member_and_for_no_owner_in_a_group(listing: Desk) -> None:
    for caller in (ADA, IN_GROUP):
        for command in ("git status", "ls", "cat mine.md", "git --version"):
            assert "may not be run" in await listing.refusal("exec", with_turn(caller, command), command=command)


async def test_by_default_members_run_nothing_and_are_not_asked(desk: Desk) -> None:
    for command in ("git status", "ls", "true"):
        assert "may not be run" in await desk.refusal("exec", with_turn(ADA, command), command=command)
    assert not desk.person.questions

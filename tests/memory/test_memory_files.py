"""A file that is always read is one row in the table of memory files."""

import json
import re
import subprocess
import sys
from pathlib import Path

from nanobot import memory_files
from nanobot.memory_files import FILES
from tests.memory.one_more_file import MEMBER, OWNER

SOURCE = Path(memory_files.__file__)
ROW = 'MemoryFile("GOALS.md", "each", budget=1000, facts=True, dream="writes", title="# Goals"),'
PROGRAM = """\
import importlib.util, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("nanobot.memory_files", sys.argv[1])
module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from tests.memory.one_more_file import MEMBER, OWNER, told
print(told(Path(sys.argv[2]), "GOALS.md", {OWNER: "run a marathon in Oslo", MEMBER: "run a marathon in Rome"}))
"""
"""Runs with the table in the file that the first argument names."""


def test_one_more_row_is_all_that_a_file_needs(tmp_path: Path) -> None:
    table = tmp_path / "memory_files.py"
    table.write_text(SOURCE.read_text().replace("FILES = (", f"FILES = (\n    {ROW}", 1))

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(table), str(tmp_path / "workspace")], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    for scope, path, own, foreign in (
        (OWNER, "GOALS.md", "Oslo", "Rome"),
        (MEMBER, "people/telegram-2/GOALS.md", "Rome", "Oslo"),
    ):
        made = answer[scope.name]
        prompt = made.pop("prompt")
        assert f"# GOALS.md\n\n# Goals\n\n- run a marathon in {own}" in prompt
        assert foreign not in prompt
        assert made == {
            "path": path,
            "pages": [f"- run a marathon in {own}"],
            "notes": [],
            "dream": path,
            "versions": [path],
            "operations": ["add", "add"],
            "rules": [True, False, False],
            "found": [f"run a marathon in {own}"],
        }


def test_no_module_has_a_list_of_its_own() -> None:
    names = "|".join(re.escape(file.name) for file in FILES)
    literal = re.compile(rf"[\"'](?:{names}|history\.jsonl)[\"']")
    found = [
        f"{path.relative_to(SOURCE.parent)}: {line.strip()}"
        for path in sorted(SOURCE.parent.rglob("*.py"))
        if path != SOURCE
        for line in path.read_text(encoding="utf-8").splitlines()
        if literal.search(line)
    ]

    assert found == []


def test_every_row_says_whose_it_is_and_who_changes_it() -> None:
    for file in FILES:
        assert not (file.dream and file.guarded and file.dream != "proposes"), "Dream would write what takes a yes"
        assert not (file.dream and not file.versioned), "no change of Dream is made without a version"
        assert not (file.hidden and file.budget), "the model would be shown what its tools hide"

"""The house rules that no linter knows."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "nanobot"
CORE = (
    "agent",
    "authority",
    "commands",
    "dispatcher",
    "errors",
    "forgotten",
    "history",
    "i18n",
    "ids",
    "lanes",
    "loop",
    "memory",
    "messages",
    "people",
    "ports",
    "tokens",
    "trace",
    "transcript",
    "workspace",
)
LONGEST_FILE = 300
LONGEST_FUNCTION = 40
LISTS = {"nanobot/ports.py", "nanobot/app/bot.py: build_bot"}
"""Of all seams, and of all parts: they have one line for each, and splitting them would hide some."""

MODULES = sorted(str(path.relative_to(ROOT)) for path in PACKAGE.rglob("*.py"))
CORE_MODULES = [name for name in MODULES if Path(name).parts[1].removesuffix(".py") in CORE]


def tree_of(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    """Top-level packages, wherever in the module they are imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


def functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every function with its number of lines, decorators and docstring left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            described = ast.get_docstring(node) is not None and len(node.body) > 1
            first = node.body[1].lineno if described else node.lineno
            yield node.name, (node.end_lineno or 0) - first + 1


def test_every_part_of_the_core_exists() -> None:
    assert [name for name in CORE if not (PACKAGE / name).is_dir() and not (PACKAGE / f"{name}.py").is_file()] == []


@pytest.mark.parametrize("module", CORE_MODULES)
def test_the_core_imports_the_standard_library_and_nothing_else(module: str) -> None:
    foreign = set(imported(tree_of(module))) - sys.stdlib_module_names - {"nanobot"}

    assert foreign == set()


@pytest.mark.parametrize("module", MODULES)
def test_a_module_says_in_its_first_line_what_it_is(module: str) -> None:
    first, *more = (ast.get_docstring(tree_of(module)) or "").split("\n")

    assert first, f"{module} has no docstring"
    assert first.endswith((".", ":", "?")), f"{module}: the first line is not a whole sentence"
    assert not more or more[0] == "", f"{module}: the first line goes on in the second"


@pytest.mark.parametrize("module", MODULES)
def test_files_and_functions_can_be_read_in_one_go(module: str) -> None:
    text = (ROOT / module).read_text(encoding="utf-8")
    lengths = {f"{module}: {name}": (size, LONGEST_FUNCTION) for name, size in functions(ast.parse(text))}
    lengths[module] = (len(text.splitlines()), LONGEST_FILE)

    assert {name: size for name, (size, most) in lengths.items() if size > most and name not in LISTS} == {}

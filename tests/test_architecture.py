"""The house rules that no linter knows."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

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

MODULES = sorted(str(path.relative_to(ROOT)) for path in PACKAGE.rglob("*.py"))
CORE_MODULES = [name for name in MODULES if Path(name).parts[1].removesuffix(".py") in CORE]


def text_of(module: str) -> str:
    return (ROOT / module).read_text(encoding="utf-8")


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(text_of(module))


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


def test_the_core_imports_the_standard_library_and_nothing_else() -> None:
    foreign = {
        module: set(imported(tree_of(module))) - sys.stdlib_module_names - {"nanobot"} for module in CORE_MODULES
    }

    assert {module: names for module, names in foreign.items() if names} == {}


def test_a_module_says_in_its_first_line_what_it_is() -> None:
    for module in MODULES:
        first, *more = (ast.get_docstring(tree_of(module)) or "").split("\n")

        assert first, f"{module} has no docstring"
        assert first.endswith((".", ":", "?")), f"{module}: the first line is not a whole sentence"
        assert not more or more[0] == "", f"{module}: the first line goes on in the second"


def test_files_and_functions_can_be_read_in_one_go() -> None:
    too_long = {}
    for module in MODULES:
        lines = text_of(module).count("\n")
        if lines > LONGEST_FILE:
            too_long[module] = lines
        for name, size in functions(tree_of(module)):
            if size > LONGEST_FUNCTION:
                too_long[f"{module}: {name}"] = size

    assert too_long == {}

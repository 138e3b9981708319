"""What is written for people is true, as far as a program can tell."""

import re
import tomllib
from pathlib import Path
from string import Formatter

import pytest

from nanobot import __version__
from nanobot.app import build
from nanobot.cli import main
from nanobot.config import Config, load
from nanobot.workspace import Home

ROOT = Path(__file__).parent.parent
ON_CHAT_PLATFORMS = {"/pair", "/link"}  # the gateway has them, a terminal by itself has not
READMES = ("README.md", "README.zh-CN.md")
PAGES = sorted(
    str(path.relative_to(ROOT)) for part in ("*.md", "docs/**/*.md", "examples/*.md") for path in ROOT.glob(part)
)

_FENCE = re.compile(r"^(```+)(\w*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_PATH = re.compile(r"`([\w/*-]+(?:\.py|\.toml|\.md|/))`")
_HEADING = re.compile(r"^#+ ", re.MULTILINE)
_AT_THE_SHELL = re.compile(r"\bnanobot ([a-z]+)((?: [a-z-]+)*)")


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def code_in(page: str) -> str:
    """What stands in backticks and in blocks for the shell."""
    text = text_of(page)
    blocks = [match[3] for match in _FENCE.finditer(text) if match[2] == "console"]
    return "\n".join([*blocks, *re.findall(r"`([^`\n]+)`", _FENCE.sub("", text))])


def headings(page: str) -> list[str]:
    return [match.rstrip() for match in _HEADING.findall(_FENCE.sub("", text_of(page)))]


def sentences(language: str) -> dict[str, str]:
    tables = tomllib.loads(text_of(f"nanobot/languages/{language}/sentences.toml"))
    return {f"{section}.{name}": text for section, rows in tables.items() for name, text in rows.items()}


def placeholders(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name is not None}


def is_action(family: str, action: str) -> bool:
    """Whether `nanobot family action` exists: `--help` of one that does not is an error."""
    return main([family, action, "--help"]) == 0


@pytest.mark.parametrize("page", PAGES)
def test_every_link_within_the_project_leads_somewhere(page: str) -> None:
    links = [link.partition("#")[0] for link in _LINK.findall(_FENCE.sub("", text_of(page))) if "://" not in link]

    assert [link for link in links if link and not (ROOT / page).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_command_line_that_a_page_names_exists(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    named = {(family, rest.split()[0] if rest.split() else "") for family, rest in _AT_THE_SHELL.findall(code_in(page))}

    for family, action in named:
        assert main([family, "--help"]) == 0, f"nanobot {family}"
        if "COMMAND" in capsys.readouterr().out and action:
            assert is_action(family, action), f"nanobot {family} {action}"


@pytest.mark.parametrize("page", READMES)
def test_the_readme_names_every_family_of_commands(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    families = re.findall(r"^    ([a-z]+) ", capsys.readouterr().out, re.MULTILINE)

    assert len(families) > 3
    assert [family for family in families if f"`nanobot {family}" not in text_of(page)] == []


@pytest.mark.parametrize("page", READMES)
def test_the_readme_lists_the_slash_commands_and_no_others(page: str, private_home: Path) -> None:
    app = build(Config(workspace=private_home / "workspace"), Home(private_home))
    names = {f"/{name}" for command in app.commands for name in (command.name, *command.aliases)} | ON_CHAT_PLATFORMS
    rows = [line.split("|")[1] for line in text_of(page).splitlines() if line.startswith("| `/")]
    listed = set(re.findall(r"`(/[a-z-]+)", " ".join(rows)))

    assert {f"/{command.name}" for command in app.commands} <= listed <= names


@pytest.mark.parametrize("page", READMES)
def test_the_make_targets_in_the_readme_exist(page: str) -> None:
    makefile = text_of("Makefile")
    named = set(re.findall(r"\bmake ([a-z-]+)", code_in(page)))

    assert {"chat", "test", "check"} <= named
    assert [target for target in named if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


@pytest.mark.parametrize("page", [*READMES, "docs/configuration.md", "docs/tools.md", "docs/deploy.md"])
def test_configurations_on_a_page_can_be_used(page: str, tmp_path: Path) -> None:
    blocks = [match[3] for match in _FENCE.finditer(text_of(page)) if match[2] == "yaml"]
    file = tmp_path / "config.yaml"

    assert blocks
    secrets = {"EXAMPLE_API_KEY": "sk-example", "TELEGRAM_TOKEN": "123456:AA", "DISCORD_TOKEN": "MTk4.x"}
    for block in blocks:
        file.write_text(block, encoding="utf-8")
        load(Home(tmp_path), file, env=secrets)


def test_the_chinese_readme_has_the_headings_of_the_english_one_and_its_recordings() -> None:
    english, chinese = READMES

    assert headings(english) == headings(chinese)
    assert [match[3] for match in _FENCE.finditer(text_of(english)) if match[2] == "text"] == [
        match[3] for match in _FENCE.finditer(text_of(chinese)) if match[2] == "text"
    ]


def test_the_catalogues_hold_the_same_sentences_with_the_same_values() -> None:
    english, chinese = sentences("en"), sentences("zh")

    assert list(english) == list(chinese)
    assert {key: placeholders(text) for key, text in english.items()} == {
        key: placeholders(text) for key, text in chinese.items()
    }


def test_every_place_on_the_map_exists() -> None:
    named = _PATH.findall(text_of("docs/architecture.md"))
    here = [ROOT, ROOT / "nanobot", ROOT / "nanobot" / "channels"]

    assert len(named) > 60
    assert [
        path
        for path in named
        if not any((root / path).exists() for root in here)
        and ("/" in path.rstrip("/") or not any(here[1].rglob(path.rstrip("/"))))
    ] == []


def test_every_package_is_on_the_map() -> None:
    packages = {path.parent.name for path in (ROOT / "nanobot").glob("*/__init__.py")}

    assert [name for name in packages if f"`{name}/`" not in text_of("docs/architecture.md")] == []


def test_every_decision_has_a_number_of_its_own_and_says_it_in_the_title() -> None:
    records = sorted((ROOT / "docs/decisions").glob("*.md"))
    numbers = [int(record.name[:4]) for record in records]

    assert len(set(numbers)) == len(numbers)
    for record, number in zip(records, numbers, strict=True):
        assert record.read_text(encoding="utf-8").startswith(f"# {number}. "), record.name


def test_the_changelog_knows_the_version() -> None:
    assert f"## [{__version__}]" in text_of("CHANGELOG.md")

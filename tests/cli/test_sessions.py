"""`nanobot sessions` for a person at the shell."""

import asyncio
import io
import json
import sys
from pathlib import Path

import pytest

from nanobot.authority import Origin
from nanobot.cli import main
from nanobot.messages import Attachment, Sender
from nanobot.sessions.store import SessionManager
from nanobot.store.lock import WorkspaceLock
from nanobot.store.state import StoredSessionModels
from nanobot.transcript import Message, Reset, ToolCall
from nanobot.workspace import Home, Workspace

AT = "2026-11-30T09:00:00.000+01:00"
LATER = "2026-11-30T09:05:00.000+01:00"

TALK = [
    Message(role="user", content="What is in Straße.txt?", id="1", at=AT, sender=Sender("12345", "Ada")),
    Message(
        role="assistant",
        id="2",
        at=AT,
        content="I will look.",
        tool_calls=(ToolCall("c1", "read_file", '{"path": "Straße.txt"}'),),
        model="large",
    ),
    Message(role="tool", content="x" * 600 + "``` END", id="3", at=AT, tool_call_id="c1", origin=Origin.TOOL),
    Message(role="assistant", content="Nothing\x1b[31m new.\n\nReally", id="4", at=LATER, incomplete="interrupted"),
]


@pytest.fixture
def workspace(private_home: Path) -> Workspace:
    """With two conversations."""
    workspace = Workspace(Home(private_home).workspace)

    async def fill() -> None:
        store = SessionManager(workspace)
        session = await store.load("telegram:12345")
        await store.append(session, *TALK[:2], Reset(at=AT), *TALK[2:])
        photo = Attachment("media/p.png", "image/png")
        hello = Message(role="user", content="你好 hello", id="a", at="2026-11-29T08:00:00.000+01:00", files=(photo,))
        await store.append(await store.load("cli:default"), hello)
        await StoredSessionModels(workspace).set("cli:default", "large")

    asyncio.run(fill())
    return workspace


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """A person at a terminal; what is written here, they type."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    typed = Terminal()
    monkeypatch.setattr(sys, "stdin", typed)
    return typed


def rows(text: str) -> list[dict[str, object]]:
    return [json.loads(row) for row in text.splitlines()]


def file_of(workspace: Workspace) -> Path:
    return workspace.sessions / "telegram" / "12345.jsonl"


def test_an_empty_workspace_says_how_to_begin(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "list"]) == 0
    assert "nanobot chat" in capsys.readouterr().out


@pytest.mark.usefixtures("workspace")
def test_list_prints_the_latest_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "list"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.split()[:3] == ["telegram:12345", "2026-11-30", "09:05"]
    assert second.split()[:3] == ["cli:default", "2026-11-29", "08:00"]


def test_list_speaks_json(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "list", "--json"]) == 0
    first, second = rows(capsys.readouterr().out)
    assert first == {"key": "telegram:12345", "updated": LATER, "size": file_of(workspace).stat().st_size}
    assert second["key"] == "cli:default"


@pytest.mark.usefixtures("workspace")
def test_show_prints_who_said_what_and_when(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "show", "telegram:12345"]) == 0
    shown = capsys.readouterr().out
    assert "2026-11-30 09:00  Ada\n    What is in Straße.txt?\n" in shown
    assert '2026-11-30 09:00  nanobot (large)\n    I will look.\n    → read_file {"path": "Straße.txt"}\n' in shown
    assert "2026-11-30 09:00  tool read_file\n    xxx" in shown
    assert "107 more characters" in shown
    assert "END" not in shown
    assert "2026-11-30 09:05  nanobot\n    Nothing[31m new.\n    \n    Really\n    (interrupted)\n" in shown


@pytest.mark.usefixtures("workspace")
def test_show_names_the_files_that_came_with_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "show", "cli:default"]) == 0
    assert "2026-11-29 08:00  user\n    你好 hello\n    [media/p.png]\n" in capsys.readouterr().out


def test_show_speaks_json_as_it_stands_in_the_file(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "show", "telegram:12345", "--json"]) == 0
    in_file = [row for row in rows(file_of(workspace).read_text()) if row["type"] == "message"]
    assert rows(capsys.readouterr().out) == in_file


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize("action", ["show", "export", "delete"])
def test_an_unknown_session_is_an_error_that_names_near_ones(action: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", action, "telegram:1234"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "There is no session telegram:1234. Did you mean telegram:12345?" in said.err
    assert main(["sessions", action, "defaul"]) == 1
    assert "Did you mean cli:default?" in capsys.readouterr().err
    assert main(["sessions", action, ""]) == 1
    assert "cannot be the name of a session" in capsys.readouterr().err


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(
    "words", [["strasse.TXT"], ["What", "is", "in"], ["in", "what"], ["strasse what"], ['"is in"', "what"]]
)
def test_search_finds_words_whatever_their_case(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "search", *words]) == 0
    assert capsys.readouterr().out == "telegram:12345  2026-11-30 09:00  Ada\n    What is in Straße.txt?\n"


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize("words", [["what", "zebra"], ['"in is"'], ["hello", "straße"]])
def test_search_wants_every_word_in_one_message(words: list[str]) -> None:
    assert main(["sessions", "search", *words]) == 1


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(
    "command", [["sessions", "show", "nobody"], ["recall", "x"], ["memory", "show"], ["sessions", "list"]]
)
def test_who_asked_for_json_reads_json_when_it_fails(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("modle: x\n" if command[-1] == "list" else "language: en\n", encoding="utf-8")
    nowhere = [] if command[0] == "sessions" else ["--workspace", str(tmp_path / "nowhere")]
    assert main([*command, "--json", "--config", str(broken), *nowhere]) in (1, 2)
    said = capsys.readouterr()
    assert json.loads(said.out)["error"] in said.err


@pytest.mark.usefixtures("workspace")
def test_search_shows_what_stands_around_in_a_long_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "search", "end"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == f"    … {'x' * 56}``` END"


@pytest.mark.usefixtures("workspace")
def test_search_speaks_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "search", "你好", "--json"]) == 0
    row = {"session": "cli:default", "id": "a", "at": "2026-11-29T08:00:00.000+01:00", "speaker": "user"}
    assert rows(capsys.readouterr().out) == [row | {"content": "你好 hello"}]


@pytest.mark.usefixtures("workspace")
def test_a_search_in_vain_says_so_in_the_readers_language(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["sessions", "search", "unsaid"]) == 1
    assert capsys.readouterr().out == "Nothing found.\n"
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    main(["sessions", "search", "no such words"])
    assert capsys.readouterr().out == "没有找到。\n"


@pytest.mark.usefixtures("workspace")
def test_export_writes_markdown_with_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "export", "telegram:12345"]) == 0
    written = capsys.readouterr().out
    assert written.startswith("# telegram:12345\n\n## Ada, 2026-11-30 09:00\n\nWhat is in Straße.txt?\n")
    assert f"## tool read_file, 2026-11-30 09:00\n\n````\n{'x' * 600}``` END\n````\n" in written


def test_export_writes_the_very_file_as_jsonl(
    workspace: Workspace, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["sessions", "export", "telegram:12345", "--format", "jsonl"]) == 0
    assert capsysbinary.readouterr().out == file_of(workspace).read_bytes()
    target = tmp_path / "mine.jsonl"
    assert main(["sessions", "export", "telegram:12345", "--format", "jsonl", "-o", str(target)]) == 0
    assert target.read_bytes() == file_of(workspace).read_bytes()
    assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("workspace")
def test_export_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "mine.md"
    target.write_text("precious")
    assert main(["sessions", "export", "telegram:12345", "-o", str(target)]) == 1
    assert target.read_text() == "precious"
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(("answer", "deleted"), [("y\n", True), ("n\n", False), ("\n", False), ("", False)])
def test_delete_asks_first(workspace: Workspace, keyboard: io.StringIO, answer: str, deleted: bool) -> None:
    keyboard.write(answer)
    keyboard.seek(0)
    assert main(["sessions", "delete", "telegram:12345"]) == (0 if deleted else 1)
    assert file_of(workspace).exists() is not deleted


def test_delete_forgets_the_choice_of_a_model_too(workspace: Workspace) -> None:
    assert main(["sessions", "delete", "cli:default", "--yes"]) == 0
    assert StoredSessionModels(workspace).get("cli:default") is None
    assert [file.name for file in workspace.sessions.rglob("*.jsonl")] == ["12345.jsonl"]


def test_delete_does_nothing_unasked_without_a_terminal(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert main(["sessions", "delete", "telegram:12345"]) == 1
    assert "--yes" in capsys.readouterr().err
    assert file_of(workspace).exists()


def test_delete_leaves_a_workspace_that_is_in_use_alone(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    with WorkspaceLock(workspace):
        assert main(["sessions", "delete", "telegram:12345", "--yes"]) == 1
        assert main(["sessions", "show", "telegram:12345"]) == 0
    assert "is in use by process" in capsys.readouterr().err
    assert file_of(workspace).exists()


def begin(workspace: Workspace, *keys: str) -> None:
    async def fill() -> None:
        store = SessionManager(workspace)
        for key in keys:
            await store.append(await store.load(key), Message(role="user", content=f"in {key}", id="b", at=AT))

    asyncio.run(fill())


@pytest.mark.parametrize("action", ["show", "export"])
def test_a_bare_name_that_fits_one_session_is_taken(
    workspace: Workspace, action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sessions", action, "default"]) == 0
    assert "你好 hello" in capsys.readouterr().out
    begin(workspace, "discord:default")
    assert main(["sessions", action, "default"]) == 1
    said = capsys.readouterr().err
    assert "cli:default" in said
    assert "discord:default" in said


def test_what_is_deleted_must_be_named_in_full(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "delete", "default", "--yes"]) == 1
    assert "Did you mean cli:default?" in capsys.readouterr().err
    assert file_of(workspace).exists()


def test_a_name_that_could_drive_the_terminal_is_shown_harmless_and_taken_as_shown(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(workspace, "cli:a\x1b[2Jb\nc")
    shown = "cli:a[2Jb\\nc"
    assert main(["sessions", "list"]) == 0
    assert f"\n{shown}  " in f"\n{capsys.readouterr().out}"
    assert main(["sessions", "show", "cli:a\x1b[2Jb\nd"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"nanobot: There is no session cli:a[2Jb\\nd. Did you mean {shown}?")
    assert "\x1b" not in said
    assert main(["sessions", "show", shown]) == 0
    assert "in cli:a" in capsys.readouterr().out
    assert main(["sessions", "delete", shown, "--yes"]) == 0
    assert capsys.readouterr().out.startswith(f"{shown} was deleted.")


def test_a_very_long_name_does_not_move_the_other_rows(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(workspace, "cli:" + "long" * 100)
    assert main(["sessions", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(len(line) for line in lines)[:2] == [69, 69]
    assert any("long" * 100 in line for line in lines)

"""`nanobot recall` from the shell."""

import io
import json
import sys
from pathlib import Path

import pytest

from nanobot.cli import main


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    lines = [
        {"type": "session", "version": 1, "key": "cli:a", "at": "2026-11-01T09:00:00+01:00"},
        {"type": "message", "id": "1", "at": "2026-11-01T09:00:00+01:00", "role": "user", "content": "我家猫叫年糕"},
        {"type": "message", "id": "2", "at": "2026-11-01T09:01:00+01:00", "role": "assistant", "content": "A cute cat"},
        {
            "type": "message", "id": "3", "at": "2026-11-01T09:02:00+01:00", "role": "user", "content": "I ride a bike",
            "sender": {"id": "7", "name": "Ada"},
        },
    ]  # fmt: skip
    path = folder / "sessions" / "cli" / "a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder


def test_what_was_said_is_printed_with_when_and_by_whom(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--workspace", str(workspace), "recall", "-k", "1", "what", "bike"]) == 0
    assert capsys.readouterr().out == "2026-11-01 09:02 · Ada, in cli:a\n    I ride a bike\n"


def test_json_names_the_message(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--workspace", str(workspace), "recall", "-k", "1", "--json", "猫叫什么"]) == 0
    (hit,) = json.loads(capsys.readouterr().out)
    assert hit.pop("score") > 0
    assert hit == {
        "session": "cli:a",
        "message": "1",
        "at": "2026-11-01T09:00:00+01:00",
        "speaker": "user",
        "text": "我家猫叫年糕",
        "source": "session",
    }


def test_each_line_of_standard_input_is_answered_with_one_line(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = "猫\n\nbike\nnothing like this zebra\n".encode() + b"\xff\n" + b"cat"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(queries)))
    assert main(["recall", "--json", "-", "--workspace", str(workspace)]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [[hit["message"] for hit in answer][:1] for answer in answers] == [["1"], [], ["3"], [], [], ["2"]]


def test_a_file_that_appeared_since_is_found(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--workspace", str(workspace), "recall", "zebra"]) == 1
    assert capsys.readouterr().out == "Nothing was found. Other words, a name or a day may help.\n"
    path = workspace / "sessions" / "cli" / "b.jsonl"
    path.write_text('{"type":"message","id":"9","at":"2026-11-02T09:00:00Z","role":"user","content":"a zebra"}\n')
    assert main(["--workspace", str(workspace), "recall", "zebra"]) == 0
    assert "a zebra" in capsys.readouterr().out


def test_a_number_of_hits_below_one_is_a_mistake(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--workspace", str(workspace), "recall", "-k", "0", "x"]) == 2
    assert "at least 1" in capsys.readouterr().err


def test_what_was_said_cannot_drive_the_terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sender = {"id": "8", "name": "Eve\x1b[2J\nAda"}
    message = {"type": "message", "id": "9", "at": "2026-11-02T09:00:00Z", "role": "user", "sender": sender}
    message |= {"content": "a\x1b[2J zebra"}
    (workspace / "sessions" / "cli" / "b.jsonl").write_text(json.dumps(message) + "\n")
    assert main(["--workspace", str(workspace), "recall", "zebra"]) == 0
    assert capsys.readouterr().out == "2026-11-02 09:00 · Eve‹2J Ada, in cli:b\n    a[2J zebra\n"


def test_a_list_of_hits_that_is_cut_says_so(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        {"type": "message", "id": f"m{n}", "at": "2026-03-02T10:00:00+01:00", "role": "user", "content": f"kayak {n}"}
        for n in range(4)
    ]
    path = workspace / "sessions" / "cli" / "k.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    main(["--workspace", str(workspace), "recall", "kayak", "-k", "3"])
    assert "The best 3 are shown and there is more: -k 6 shows it." in capsys.readouterr().out
    main(["--workspace", str(workspace), "recall", "kayak", "-k", "4"])
    assert "there is more" not in capsys.readouterr().out


def test_nothing_found_is_an_empty_list_for_programs(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--workspace", str(workspace), "recall", "zebra", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == []

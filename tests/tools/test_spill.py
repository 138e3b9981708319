"""Results that are too long for the context."""

import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import pytest

from nanobot.authority import Origin, Scope
from nanobot.errors import ToolError
from nanobot.i18n import Language
from nanobot.ops.logs import Mask
from nanobot.ports import Caller, ToolResult, ToolSpec
from nanobot.tools import output
from nanobot.tools.approval import Approval
from nanobot.tools.builtin import builtin_tools
from nanobot.tools.output import HIDDEN, MAX_RESULT, MaskedTool, Spill
from nanobot.tools.paths import Disk, Sandbox
from nanobot.tools.policy import ExecPolicy, ToolPolicy
from nanobot.workspace import Workspace
from tests.tools.desk import ADA, OWNER, Desk, Person


def make(root: Path) -> Spill:
    root.mkdir(exist_ok=True)
    workspace = Workspace(root)
    return Spill(workspace, Disk(Sandbox(workspace)), max_result=100)


async def test_what_fits_is_passed_on_as_it_is(tmp_path: Path) -> None:
    assert await make(tmp_path / "ws").fit("x" * 100, Scope.owner(), "exec") == "x" * 100
    assert not (tmp_path / "ws/spill").exists()


async def test_what_does_not_fit_is_kept_whole(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(100))
    shown = await make(tmp_path / "ws").fit(text, Scope.owner(), "exec")
    (file,) = (tmp_path / "ws/spill").iterdir()
    assert file.read_text() == text
    assert shown.startswith("line 0\n")
    assert shown.endswith("line 99\n")
    assert f"path spill/{file.name}, start" in shown


async def test_only_the_scope_that_made_it_can_read_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    await make(desk.root).fit("x" * 101, ADA.authority.scope, "exec")
    (file,) = (desk.root / "spill/people/telegram-12").iterdir()
    path = str(file.relative_to(desk.root))
    assert await desk.text("read_file", ADA, path=path) == "x" * 101
    assert "does not belong" in await desk.refusal("read_file", path=path)


async def test_old_results_make_room_for_new_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MAX_KEPT", 1_000)
    kept = make(tmp_path / "ws")
    for letter in "abcdefgh":
        await kept.fit(letter * 400, Scope.owner(), "exec")
    files = list((tmp_path / "ws/spill").iterdir())
    assert sum(file.stat().st_size for file in files) <= 1_000
    assert "h" * 400 in {file.read_text() for file in files}


async def test_a_result_that_cannot_be_kept_says_so(tmp_path: Path) -> None:
    kept = make(tmp_path / "ws")
    (tmp_path / "ws/spill").write_text("in the way")
    shown = await kept.fit("x" * 500, Scope.owner(), "exec")
    assert "could not be kept" in shown
    assert shown.startswith("xxx")


KEY = "sk-live-51aKe9/Q+x"


class Printer:
    """A tool of somebody else that prints all that it is told, or fails with it."""

    spec = ToolSpec("printer", "Prints.", {"type": "object"})

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        return f"print {arguments['text']}"

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        if "fail" in arguments:
            raise ToolError(str(arguments["text"]))
        return ToolResult(str(arguments["text"]), Origin.WEB, printed=str(arguments["text"]))


class ForThePerson(Printer):
    """A tool that shows the person more than the model."""

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        return ToolResult("Done.", printed=f"key={KEY}")


async def test_what_a_tool_prints_holds_no_secret_in_any_form() -> None:
    tool = MaskedTool(Printer(), Mask([KEY]))
    for text in (f"key={KEY}", f"https://x?k={quote(KEY, safe='')}", json.dumps({"k": KEY})):
        result = await tool.run({"text": text}, OWNER)
        assert KEY not in result.text
        assert quote(KEY, safe="") not in result.text
        assert result.text.endswith(HIDDEN)
        assert result.printed == result.text.removesuffix(f"\n{HIDDEN}")
        assert result.origin is Origin.WEB
        assert KEY not in tool.describe({"text": text}, "en")
        with pytest.raises(ToolError) as caught:
            await tool.run({"text": text, "fail": True}, OWNER)
        assert KEY not in str(caught.value)
    plain = await tool.run({"text": "********"}, OWNER)
    assert plain.text == plain.printed == "********"
    only_shown = await MaskedTool(ForThePerson(), Mask([KEY])).run({}, OWNER)
    assert (only_shown.text, only_shown.printed) == ("Done.", "key=********")


async def test_a_long_result_is_masked_before_it_is_cut_and_kept(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    workspace = Workspace(root)
    kept = Spill(workspace, Disk(Sandbox(workspace)), max_result=100, mask=Mask([KEY]))
    for shift in range(0, 120, 7):
        shown = await kept.fit("x" * shift + KEY * 10, Scope.owner(), "exec")
        assert KEY[:8] not in shown
        assert shown.endswith(HIDDEN)
    assert all(KEY[:8] not in file.read_text() for file in (root / "spill").iterdir())


async def test_what_a_command_shows_the_person_is_masked_before_it_is_cut(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "key").write_text(KEY)
    tools = builtin_tools(
        Sandbox(Workspace(tmp_path / "ws")),
        policy=ToolPolicy(Approval(Person()), ExecPolicy(owner="allow")),
        mask=Mask([KEY]),
    )
    (run,) = (tool for tool in tools if tool.spec.name == "exec")
    short = await run.run({"command": f"cat '{tmp_path}/key'"}, OWNER)
    assert short.printed == "********"
    fill = 20_000 - len(KEY) // 2  # the key lies where the head of a long output ends
    printing = f"head -c {fill} /dev/zero | tr '\\0' x; cat '{tmp_path}/key'; head -c 40000 /dev/zero | tr '\\0' y"
    long = await run.run({"command": printing}, OWNER)
    assert "are left out here" in long.printed
    assert KEY[:6] not in long.printed


async def test_a_long_line_of_a_file_is_masked_before_it_is_cut(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    built = builtin_tools(Sandbox(Workspace(tmp_path / "ws")), policy=ToolPolicy(Approval(Person())), mask=Mask([KEY]))
    tools = {tool.spec.name: MaskedTool(tool, Mask([KEY])) for tool in built}
    for fill in (MAX_RESULT - len(KEY) // 2, 300 - 6 - len(KEY) // 2, 100):
        line = f"{'x' * fill}{KEY}{'y' * 20_000}"
        (tmp_path / "ws" / "long.txt").write_text(f"first needle\n{line}\n")
        page = await tools["read_file"].run({"path": "long.txt", "start": 2}, OWNER)
        middle = await tools["read_file"].run({"path": "long.txt", "start": 2, "column": fill + 5}, OWNER)
        found = await tools["grep"].run({"path": ".", "pattern": "x+"}, OWNER)
        other = await tools["grep"].run({"path": ".", "pattern": "needle"}, OWNER)
        for text in (page.text, middle.text, found.text):
            assert [KEY[at : at + 6] for at in range(len(KEY) - 5) if KEY[at : at + 6] in text] == []
        assert page.text.endswith(HIDDEN) == (fill < MAX_RESULT - 8)
        assert "needle" in other.text
        guess = await tools["grep"].run({"path": ".", "pattern": f"x{KEY[:4]}"}, OWNER)
        assert guess.text == "(nothing)"


def test_what_a_tool_is_asked_is_masked_before_it_is_cut(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    for tool in builtin_tools(
        Sandbox(Workspace(tmp_path / "ws")), policy=ToolPolicy(Approval(Person()), ExecPolicy(owner="allow"))
    ):
        masked = MaskedTool(tool, Mask([KEY]))
        for fill in range(60, 80):
            words = f"{'x' * fill}{KEY}"
            arguments = {"path": words, "pattern": words, "command": words, "content": words}
            assert KEY[:6] not in masked.describe(arguments, "en"), tool.spec.name

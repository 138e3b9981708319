"""A conversation's log without some of its turns reads as if they had never been."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.forgetting.stores.sessions import ErasableSessions
from nanobot.nlp.matcher import FORGOTTEN, TextMatcher
from nanobot.ports import ErasurePlan
from nanobot.sessions.store import SessionManager
from nanobot.store.jsonl import torn_path
from nanobot.transcript import Archived, Ended, Line, Message, QueuedMessage, Reset, ToolCall, Window
from nanobot.workspace import Workspace

KEY = "cli:test"
NOW = "2026-03-02T10:15:00.000+00:00"


def turn(number: int) -> list[Message]:
    name = f"t{number}"
    return [
        Message(role="user", content=f"question {number}", id=f"{name}a", at=NOW, turn=name, scope="owner"),
        Message(role="assistant", content=f"answer {number}", id=f"{name}b", at=NOW, turn=name),
    ]


def dropping(*turns: int) -> ErasurePlan:
    names = [f"t{number}" for number in turns]
    ids = frozenset(f"{name}{end}" for name in names for end in "ab")
    return ErasurePlan(scopes=None, dropped={KEY: ids} if ids else {}, turns=frozenset(names))


async def written(root: Path, *lines: Line) -> SessionManager:
    manager = SessionManager(Workspace(root), fsync=False)
    await manager.append(await manager.load(KEY), *lines)
    return manager


async def without(manager: SessionManager, root: Path, meant: ErasurePlan) -> SessionManager:
    store = ErasableSessions(manager, Workspace(root))
    await store.erase(meant)
    assert (await store.find(meant)).count == 0
    return SessionManager(Workspace(root), fsync=False)


def lines_of(root: Path) -> list[str]:
    return (root / "sessions" / "cli" / "test.jsonl").read_text(encoding="utf-8").splitlines()


_MARKS = st.lists(st.tuples(st.sampled_from(["archived", "reset", "window"]), st.integers(0, 5)), max_size=3)


@given(marks=_MARKS, gone=st.sets(st.integers(0, 5)))
async def test_what_is_left_is_what_would_have_been(
    tmp_path_factory: pytest.TempPathFactory, marks: list[tuple[str, int]], gone: set[int]
) -> None:
    root = tmp_path_factory.mktemp("log")
    lines: list[Line] = []
    for number in range(6):
        lines += turn(number)
        lines += [_mark(kind, at) for kind, at in marks if at == number]
    manager = await written(root, *lines)
    await manager.load(KEY)

    read = await without(manager, root, dropping(*gone))

    expected = [message.id for number in range(6) if number not in gone for message in turn(number)]
    assert [message.id for message in await read.messages(KEY)] == expected
    named = {line.split('"through":"')[1][:3] for line in (lines_of(root) if expected else []) if '"through"' in line}
    assert named <= set(expected)
    owed = [message.id for part in await read.unarchived(KEY) for message in part]
    archived = max((at for kind, at in marks if kind == "archived"), default=-1)
    assert owed == [name for name in expected if int(name[1]) > archived]


def _mark(kind: str, at: int) -> Line:
    if kind == "archived":
        return Archived(at=NOW, through=f"t{at}b", cursor=1)
    return Reset(at=NOW, through=f"t{at}b") if kind == "reset" else Window(at=NOW, start=f"t{at}a")


async def test_the_window_begins_with_the_next_message_that_is_left(tmp_path: Path) -> None:
    window = Window(at=NOW, start="t2a", kept=("t0", "t1"), brief="t2a")
    lines: list[Line] = [*turn(0), *turn(1), *turn(2), *turn(3), window]
    manager = await written(tmp_path, *lines)

    session = await (await without(manager, tmp_path, dropping(0, 2))).load(KEY)

    assert [message.id for message in session.messages] == ["t1a", "t1b", "t3a", "t3b"]
    assert session.kept == 2


async def test_a_turn_that_is_gone_was_never_ended(tmp_path: Path) -> None:
    lines: list[Line] = [*turn(0), *turn(1)[:1], Ended(at=NOW, turn="t1", how="stopped"), *turn(2)]
    manager = await written(tmp_path, *lines)

    await without(manager, tmp_path, dropping(1))

    assert not any('"ended"' in line for line in lines_of(tmp_path))


async def test_lines_of_other_versions_and_whatever_cannot_be_read_stay_unless_they_tell_it(tmp_path: Path) -> None:
    manager = await written(tmp_path, *turn(0), *turn(1))
    path = tmp_path / "sessions" / "cli" / "test.jsonl"
    with path.open("ab") as file:
        file.write(
            b'{"type":"mood","at":"x","mood":"fine"}\nrubbish\n{"type":"mood","mood":"secret"}\nrubbish secret\n'
        )
    torn_path(path).write_bytes(b"half\nhalf a secret\n")

    await without(
        manager, tmp_path, ErasurePlan(traces=TextMatcher(("secret",)), dropped={KEY: frozenset({"t0a", "t0b"})})
    )

    assert lines_of(tmp_path)[-2:] == ['{"type":"mood","at":"x","mood":"fine"}', "rubbish"]
    assert torn_path(path).read_bytes() == b"half\n"


async def test_a_file_in_which_nothing_changes_is_not_touched(tmp_path: Path) -> None:
    manager = await written(tmp_path, *turn(0))
    before = (tmp_path / "sessions" / "cli" / "test.jsonl").stat()

    await without(
        manager, tmp_path, ErasurePlan(traces=TextMatcher(("secret",)), dropped={"cli:other": frozenset({"t0a"})})
    )

    assert (tmp_path / "sessions" / "cli" / "test.jsonl").stat() == before


async def test_an_open_session_is_read_anew(tmp_path: Path) -> None:
    manager = await written(tmp_path, *turn(0), *turn(1))
    open_before = await manager.load(KEY)

    await ErasableSessions(manager, Workspace(tmp_path)).erase(dropping(0))

    opened = await manager.load(KEY)
    assert opened is not open_before
    assert [message.id for message in opened.messages] == ["t1a", "t1b"]
    await manager.append(opened, *turn(2))
    assert len(await manager.messages(KEY)) == 4


async def test_a_blanked_message_keeps_its_place(tmp_path: Path) -> None:
    manager = await written(tmp_path, *turn(0))

    read = await without(manager, tmp_path, ErasurePlan(blanked={KEY: frozenset({"t0b"})}))

    assert [message.content for message in await read.messages(KEY)] == ["question 0", FORGOTTEN]


async def test_what_an_endpoint_sent_beside_a_message_goes_with_what_it_tells(tmp_path: Path) -> None:
    asked, answer = turn(0)
    thinking = {"reasoning_content": "They keep bees."}
    signed = ToolCall("c", "look", "{}", {"thought_signature": "abc"})
    told = ToolCall("d", "look", "{}", {"note": "bees again"})
    lines = [
        asked,
        replace(answer, id="1", extra=thinking, tool_calls=(signed, told)),
        replace(answer, id="2", extra={"reasoning_content": "harmless"}),
        replace(answer, id="3", extra={"reasoning_content": "harmless"}, tool_calls=(signed,)),
        replace(answer, id="4", content="About bees.", extra={"reasoning_content": "They like insects."}),
    ]
    manager = await written(tmp_path, *lines)
    traces = TextMatcher(("bees",))
    meant = ErasurePlan(scopes=None, blanked={KEY: frozenset({"3"})}, traces=traces, heard=frozenset({KEY}))

    read = await (await without(manager, tmp_path, meant)).messages(KEY)

    assert [message.extra for message in read[1:]] == [None, {"reasoning_content": "harmless"}, None, None]
    assert [call.extra for message in read for call in message.tool_calls] == [signed.extra, None, None]
    assert "bees" not in "".join(lines_of(tmp_path))


async def test_what_belongs_to_another_scope_stays_as_it_is(tmp_path: Path) -> None:
    manager = await written(tmp_path, *turn(0))
    meant = ErasurePlan(scopes=frozenset({"person:x-1"}), traces=TextMatcher(("question",)), heard=frozenset({KEY}))

    read = await without(manager, tmp_path, meant)

    assert [message.content for message in await read.messages(KEY)] == ["question 0", "answer 0"]


def queued(text: str, name: str, at: str = NOW) -> QueuedMessage:
    return QueuedMessage(at=at, message=Message(role="user", content=text, inbound=name, scope="owner"))


async def test_what_waited_goes_with_the_message_that_it_became(tmp_path: Path) -> None:
    said, answer = turn(1)
    said = replace(said, content="the secret", inbound="i1")
    manager = await written(tmp_path, *turn(0), queued("the secret", "i1"), said, answer)
    await without(manager, tmp_path, dropping(1))

    assert "secret" not in "".join(lines_of(tmp_path))


async def test_what_still_waits_goes_if_it_was_said_in_the_time_that_is_forgotten(tmp_path: Path) -> None:
    manager = await written(
        tmp_path, *turn(0), queued("earlier", "i1"), queued("secret", "i2", "2026-03-02T12:00:00.000+00:00")
    )
    meant = ErasurePlan(scopes=None, dropped={}, turns=frozenset(), since="2026-03-02T11:00:00.000+00:00")
    again = await without(manager, tmp_path, meant)

    assert [message.content for message in (await again.load(KEY)).waiting.values()] == ["earlier"]

"""A model chooses notes, and the search serves when it does not."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from nanobot.authority import OWNER_IN_TERMINAL, Scope
from nanobot.errors import LLMError
from nanobot.memory.recall.injection import MOST_CHOSEN, Chooser, NoteChoice
from nanobot.memory.scopes import MemoryRegistry
from nanobot.ports import ModelInfo, Reply, Request, Stream
from nanobot.store.documents import CachedDocuments, MemoryFolder, read_frontmatter
from nanobot.transcript import Usage
from nanobot.workspace import Workspace
from tests.fakes.clock import FakeClock


class Answering:
    """A model that answers one thing, or fails, or never answers."""

    info = ModelInfo("scripted", "scripted-1", 100_000, 1_000)

    def __init__(self, answer: str | LLMError | None) -> None:
        self._answer = answer
        self.requests: list[Request] = []

    def warm(self) -> None: ...

    async def aclose(self) -> None: ...

    async def complete(self, request: Request, stream: Stream) -> Reply:
        self.requests.append(request)
        if self._answer is None:
            await asyncio.Event().wait()
        if isinstance(self._answer, LLMError):
            raise self._answer
        return Reply(str(self._answer), usage=Usage(50, 5))


@pytest.fixture
def shelves(tmp_path: Path) -> MemoryRegistry:
    workspace, documents = Workspace(tmp_path), CachedDocuments()
    workspace.memory.mkdir()
    for number in range(1, 6):
        head = f"---\nsummary: about number {number}\nupdated: 2026-11-{30 - number}\n---\n"
        (workspace.memory / f"note{number}.md").write_text(f"{head}Body {number}.\n")
    return MemoryRegistry(
        workspace, lambda path: MemoryFolder(path, documents), read_frontmatter, FakeClock(), budget=32768
    )


async def choose(
    shelves: MemoryRegistry, model: Answering, said: Sequence[str] = ("one", "two", "three?")
) -> NoteChoice | None:
    return await Chooser(shelves, lambda _: model).choose("cli:a", OWNER_IN_TERMINAL, said)


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ("[2]", ["note2"]),
        ("Rows: [3, 1, 3]", ["note3", "note1"]),
        ("```json\n[]\n```", []),
        ("[1,2,3,4,5]", ["note1", "note2", "note3"]),
    ],
)
async def test_the_rows_that_a_model_names_are_the_notes_that_are_shown(
    shelves: MemoryRegistry, answer: str, names: list[str]
) -> None:
    choice = await choose(shelves, Answering(answer))

    assert choice
    assert [note.name for note in choice.notes] == names[:MOST_CHOSEN]
    assert choice.usage == Usage(50, 5)


@pytest.mark.parametrize("answer", ["", "none of them", "[0]", "[6]", "[1, x]", LLMError("rate_limit", "429")])
async def test_no_valid_answer_is_no_choice(shelves: MemoryRegistry, answer: str | LLMError) -> None:
    assert await choose(shelves, Answering(answer)) is None


async def test_an_answer_that_does_not_come_in_time_is_no_choice(
    shelves: MemoryRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanobot.memory.recall.injection.PATIENCE", 0.01)
    assert await choose(shelves, Answering(None)) is None


async def test_the_model_reads_names_summaries_and_what_was_said_and_no_bodies(shelves: MemoryRegistry) -> None:
    model = Answering("[]")
    await choose(shelves, model)

    asked = model.requests[0].messages[-1].content or ""
    assert "1. note1: about number 1" in asked
    assert asked.endswith("<said>\n- one\n- two\n- three?\n</said>")
    assert "Body" not in asked


async def test_without_notes_no_model_is_asked(shelves: MemoryRegistry) -> None:
    model = Answering("[1]")
    authority = OWNER_IN_TERMINAL.__class__(OWNER_IN_TERMINAL.role, Scope("person:x-1"), OWNER_IN_TERMINAL.origin)
    choice = await Chooser(shelves, lambda _: model).choose("x:1", authority, ["hi"])

    assert choice == NoteChoice((), None)
    assert not model.requests

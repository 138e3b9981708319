"""What each part of the program makes of a file of facts that the table of memory files has a row for."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from nanobot.authority import Scope
from nanobot.commands.memory import pages_of
from nanobot.core.prompt import ContextBuilder, Skills
from nanobot.memory.facts import operations
from nanobot.memory.recall.index.indexer import Indexer
from nanobot.memory.recall.index.reader import SqliteRecallIndex
from nanobot.memory.recall.ports import SearchLimits
from nanobot.memory.recall.search import LocalRecall
from nanobot.memory.recall.service import written_reader
from nanobot.memory.scopes import MemoryRegistry, ScopePaths
from nanobot.memory.versions.store import GitVersions
from nanobot.nlp.words import words_of
from nanobot.ports import Edit, ModelInfo
from nanobot.store.documents import CachedDocuments, MemoryFolder, read_frontmatter
from nanobot.workspace import Workspace, is_guarded, is_hidden, is_remembered
from tests.fakes.clock import FakeClock

OWNER, MEMBER = Scope.owner(), Scope.person("telegram", "2")
MODEL = ModelInfo("scripted", "scripted-1", 100_000, 1_000)


def told(root: Path, name: str, words: Mapping[Scope, str]) -> str:
    """Write the file of each scope; return as JSON what the parts make of them, by scope."""
    workspace = Workspace(root)
    for scope, line in words.items():
        path = workspace.file(name, scope.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Goals\n\n- {line}\n")
    return json.dumps({scope.name: _of(workspace, name, scope) for scope in words})


def _of(workspace: Workspace, name: str, scope: Scope) -> Mapping[str, object]:
    documents, clock = CachedDocuments(), FakeClock()
    path = workspace.file(name, scope.name).relative_to(workspace.root).as_posix()
    inside = PurePosixPath(path)
    shelves = MemoryRegistry(
        workspace, lambda memory: MemoryFolder(memory, documents), read_frontmatter, clock, budget=1000
    )
    shelf = shelves.of(scope)
    shelf.notebook.update()
    context = ContextBuilder(
        workspace, documents, shelves, Skills(workspace.skills, documents, read_frontmatter), {}, clock
    )
    versions = GitVersions(workspace, clock)
    asyncio.run(versions.ensure())
    index = SqliteRecallIndex(workspace.recall_index)
    Indexer(index.database, workspace, words_of, written_reader(read_frontmatter)).sync()
    within = SearchLimits(scopes=frozenset({scope.name}))
    hits = LocalRecall(index).search("marathon", now=clock.now(), k=5, within=within)
    index.close()
    return {
        "path": path,
        "prompt": context.prompt(MODEL, scope).message.content,
        "pages": [page.text for page in pages_of(shelf, documents) if page.file == name],
        "notes": list(shelf.notebook.index),
        "dream": ScopePaths(scope).fixed.get(name),
        "versions": [line for line in asyncio.run(versions.files()) if line == path],
        "operations": [one.verb for one in operations({path: Edit(None, b"- one\n- two\n")}, ())],
        "rules": [is_remembered(inside), is_guarded(inside), is_hidden(inside)],
        "found": [hit.said.text for hit in hits],
    }

"""Health checks of memory for `nanobot doctor`: read-only, beside a gateway that runs."""

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath

from nanobot.authority import Scope
from nanobot.config import Config
from nanobot.core.prompt import ContextBuilder, Skills
from nanobot.errors import VersionError
from nanobot.memory.dream.operations import DreamLimits
from nanobot.memory.episodes.history_file import EpisodeStore, bad_lines
from nanobot.memory.facts import facts_in, lines_brought
from nanobot.memory.health import (
    Ailment,
    HealthLine,
    Leak,
    MemoryHistory,
    Norms,
    Search,
    examine,
    instructions,
    leaks,
    shown_lines,
)
from nanobot.memory.proposals import is_waiting
from nanobot.memory.provenance import MemoryLine, MessageLookup, Provenance
from nanobot.memory.recall.index.reader import SqliteRecallIndex
from nanobot.memory.recall.ports import SearchLimits
from nanobot.memory.recall.search import LocalRecall
from nanobot.memory.scopes import MemoryRegistry
from nanobot.memory.tombstones import FOLDER
from nanobot.memory.versions.store import GitVersions
from nanobot.memory_files import FILES
from nanobot.nlp.secrets import refusal
from nanobot.ops.doctor import Kept
from nanobot.ports import DreamRecord, ModelInfo, ProposedChange, SummaryFailure, VersionStore
from nanobot.schedule.scheduler import SystemClock
from nanobot.sessions.store import SessionManager
from nanobot.store.documents import CachedDocuments, MemoryFolder, read_frontmatter
from nanobot.store.state import DreamFiles, ProposalsFile
from nanobot.workspace import Workspace, is_remembered, scope_of

# State of memory, for `nanobot doctor`.


@dataclass(frozen=True)
class Upkeep:
    """State of the history, of the episodes file, of Dream and of forgetting.

    `owed` conversations wait for a summary; the last try was `failed_summary`, if its kind is not "". `proposals` wait
    for a yes.
    """

    history: Kept
    detail: str
    bad_lines: int
    dream: DreamRecord
    is_forgetting: bool
    failed_summary: SummaryFailure
    owed: int
    proposals: Sequence[ProposedChange]


async def look_at_upkeep(workspace: Workspace) -> Upkeep:
    """Raises StoreError."""
    (history, detail), book = await _history(workspace), DreamFiles(workspace)
    failed = await book.summary_failure()
    now = SystemClock().now()
    return Upkeep(
        history,
        detail,
        await bad_lines(workspace),
        await book.read(),
        is_forgetting=workspace.forgetting.exists(),
        failed_summary=failed,
        owed=len(await SessionManager(workspace).owed()) if failed.kind else 0,
        proposals=[one for one in await ProposalsFile(workspace.proposals).read() if is_waiting(one, now)],
    )


async def _history(workspace: Workspace) -> tuple[Kept, str]:
    versions = GitVersions(workspace, SystemClock())
    try:
        return ("ok" if await versions.log(1) else "new"), ""
    except VersionError as error:
        if error.kind == "unknown":
            return "new", ""
        return ("none" if error.kind == "missing" else "broken"), error.detail


# Lines of memory, for `nanobot doctor memory`.


_ANY = ModelInfo("doctor", "any", 1_000_000, 1000)
_HITS = 5
_WRITTEN = ("note", "memory")
_UNSAID = ("directive", "foreign")


@dataclass(frozen=True)
class HealthFindings:
    """Findings about lines of memory, and the number of lines examined."""

    ailments: Sequence[Ailment]
    leaks: Sequence[Leak]
    lines: int
    scopes: int


async def look_at_memory(config: Config) -> HealthFindings:
    """Everything that is remembered in the configured workspace. Raises StoreError and VersionError."""
    workspace, clock = Workspace(config.workspace), SystemClock()
    versions = GitVersions(workspace, clock)
    files = {path: data for path, data in (await versions.files()).items() if _is_memory(path)}
    budgets = asdict(config.memory.budget)
    norms = Norms(
        DreamLimits().stale_days,
        {**{file.name: budgets.get(file.key, file.budget) for file in FILES if file.facts}, "note": DreamLimits().note},
    )
    found = examine(files, await _past(versions, files), norms, clock.now())
    ailments = [ailment async for ailment in _heard(found, workspace, versions, files)]
    shared = {file.name for file in FILES if file.of == "all"}
    own = {path: data for path, data in files.items() if path not in shared}
    with _searching(workspace, clock.now()) as search:
        seen = list(leaks(_by_scope(own), _prompts(config, workspace, _by_scope(own)), search))
    return HealthFindings(ailments, seen, sum(len(facts_in(data)) for data in own.values()), len(_by_scope(own)))


async def _heard(
    found: Iterable[Ailment], workspace: Workspace, versions: VersionStore, files: Mapping[str, bytes]
) -> AsyncIterator[Ailment]:
    """Return the findings, without lines that the conversations bear out, and with instructions that they do not.

    Raises StoreError.
    """
    provenance = Provenance(versions, MessageLookup(EpisodeStore(workspace), SessionManager(workspace)))
    ailments, lines = list(found), {f"{line.path}:{number}": line for number, line in shown_lines(files)}
    places = {one.line.place for one in ailments if one.kind == "directive"}
    ailments += [
        Ailment("directive", HealthLine(line.path, number, line.text))
        for number, line in instructions(files)
        if f"{line.path}:{number}" not in places and not refusal(line.text)  # a secret is not shown
    ]
    unsaid = {
        one.line.place for one in ailments if one.kind in _UNSAID and not await _is_theirs(provenance, lines, one)
    }
    directives = {one.line.place for one in ailments if one.kind == "directive"} & unsaid
    for one in ailments:
        if one.kind in _UNSAID:
            if one.line.place in unsaid:
                yield replace(one, detail=lines[one.line.place].name)
        elif one.kind != "unsourced" or one.line.place not in directives:
            yield one


async def _is_theirs(provenance: Provenance, lines: Mapping[str, MemoryLine], ailment: Ailment) -> bool:
    line = lines[ailment.line.place]
    try:
        return await provenance.is_theirs(line, Scope(scope_of(PurePosixPath(line.path))))
    except VersionError:  # without a history nobody knows who said what
        return True


def _by_scope(files: Mapping[str, bytes]) -> Mapping[str, Sequence[str]]:
    lines: dict[str, list[str]] = {Scope.owner().name: []}
    for path, data in files.items():
        lines.setdefault(scope_of(PurePosixPath(path)), []).extend(facts_in(data))
    return lines


def _is_memory(path: str) -> bool:
    return is_remembered(PurePosixPath(path)) and not path.startswith(f"{FOLDER}/") and path.endswith(".md")


async def _past(versions: VersionStore, files: Mapping[str, bytes]) -> MemoryHistory:
    """Return the recorded history, if it can be read; lines that are not in it were written by hand."""
    try:
        log = await versions.log()
        latest = await versions.files_at(log[0].id) if log else {}
    except VersionError:
        return MemoryHistory()
    written = {path: list(lines_brought(latest.get(path), data)) for path, data in files.items()}
    for version in log:
        if version.author == "person":
            _, diffs = await versions.show(version.id)
            for diff in diffs:
                written.setdefault(diff.path, []).extend(lines_brought(diff.before, diff.after))
    return MemoryHistory(log, written)


def _prompts(config: Config, workspace: Workspace, scopes: Collection[str]) -> Mapping[str, str]:
    documents, clock = CachedDocuments(), SystemClock()
    shelves = MemoryRegistry(
        workspace,
        lambda path: MemoryFolder(path, documents),
        read_frontmatter,
        clock,
        budget=config.memory.budget.memory,
    )
    skills = Skills(workspace.skills, documents, read_frontmatter)
    context = ContextBuilder(workspace, documents, shelves, skills, asdict(config.memory.budget), clock)
    return {scope: context.prompt(_ANY, Scope(scope)).message.content or "" for scope in scopes}


@contextmanager
def _searching(workspace: Workspace, now: datetime) -> Iterator[Search]:
    """The memory files in the index as it is, if there is one."""
    if not workspace.recall_index.exists():
        yield lambda *_: ()
        return
    index = SqliteRecallIndex(workspace.recall_index)

    def search(scope: str, words: str) -> Collection[str]:
        hits = LocalRecall(index).search(words, now=now, k=_HITS, within=SearchLimits(scopes=frozenset({scope})))
        foreign = (hit.said for hit in hits if scope_of(PurePosixPath(hit.said.file)) != scope)
        return [said.text for said in foreign if said.source in _WRITTEN]

    try:
        yield search
    finally:
        index.close()

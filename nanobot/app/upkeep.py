"""What `nanobot doctor` looks at of how memory is kept; reads beside a gateway that runs, and changes nothing."""

from dataclasses import dataclass

from nanobot.errors import VersionError
from nanobot.memory.commits import by_hand
from nanobot.memory.versioned import WithoutIndex
from nanobot.ops.checks.memory import Kept
from nanobot.ops.clock import SystemClock
from nanobot.ports import DreamRecord, SummaryFailure
from nanobot.store.dreams import DreamFiles
from nanobot.store.history import bad_lines
from nanobot.store.repo.versions import GitVersions
from nanobot.store.sessions import SessionManager
from nanobot.workspace import Workspace


@dataclass(frozen=True)
class Upkeep:
    """How the history is and what git said of it, the lines of episodes that cannot be read, Dream, forgetting.

    `owed` conversations wait for a summary; the last try was `failed_summary`, if its kind is not "".
    """

    history: Kept
    detail: str
    bad_lines: int
    dream: DreamRecord
    is_forgetting: bool
    failed_summary: SummaryFailure
    owed: int


async def look_at_upkeep(workspace: Workspace) -> Upkeep:
    """Raises StoreError."""
    (history, detail), book = await _history(workspace), DreamFiles(workspace)
    failed = await book.summary_failure()
    return Upkeep(
        history,
        detail,
        await bad_lines(workspace),
        await book.read(),
        is_forgetting=workspace.forgetting.exists(),
        failed_summary=failed,
        owed=len(await SessionManager(workspace).owed()) if failed.kind else 0,
    )


async def _history(workspace: Workspace) -> tuple[Kept, str]:
    versions = GitVersions(workspace, WithoutIndex(), SystemClock(), by_hand)
    try:
        return ("ok" if await versions.log(1) else "new"), ""
    except VersionError as error:
        if error.kind == "unknown":
            return "new", ""
        return ("none" if error.kind == "missing" else "broken"), error.detail

"""What `nanobot doctor` looks at of how memory is kept; reads beside a gateway that runs, and changes nothing."""

from dataclasses import dataclass

from nanobot.errors import VersionError
from nanobot.memory.commits import by_hand
from nanobot.memory.versioned import WithoutIndex
from nanobot.ops.checks.memory import Kept
from nanobot.ops.clock import SystemClock
from nanobot.ports import DreamRecord
from nanobot.store.dreams import DreamFiles
from nanobot.store.history import bad_lines
from nanobot.store.repo.versions import GitVersions
from nanobot.workspace import Workspace


@dataclass(frozen=True)
class Upkeep:
    """How the history is and what git said of it, the lines of episodes that cannot be read, Dream, forgetting."""

    history: Kept
    detail: str
    bad_lines: int
    dream: DreamRecord
    is_forgetting: bool


async def look_at_upkeep(workspace: Workspace) -> Upkeep:
    """Raises StoreError."""
    history, detail = await _history(workspace)
    return Upkeep(
        history,
        detail,
        await bad_lines(workspace),
        await DreamFiles(workspace).read(),
        is_forgetting=workspace.forgetting.exists(),
    )


async def _history(workspace: Workspace) -> tuple[Kept, str]:
    versions = GitVersions(workspace, WithoutIndex(), SystemClock(), by_hand)
    try:
        return ("ok" if await versions.log(1) else "new"), ""
    except VersionError as error:
        if error.kind == "unknown":
            return "new", ""
        return ("none" if error.kind == "missing" else "broken"), error.detail

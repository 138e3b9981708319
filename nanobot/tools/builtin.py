"""The tools that every nanobot has."""

import threading
from collections.abc import Sequence

from nanobot.ports import Tool
from nanobot.tools.files import ReadFile
from nanobot.tools.output import Mask, Spill, nothing_hidden
from nanobot.tools.paths import Disk, Sandbox
from nanobot.tools.policy import ToolPolicy
from nanobot.tools.search import FindFiles, Grep, ListDir
from nanobot.tools.shell import ExecTool
from nanobot.tools.writing import NOTHING_MORE, EditFile, FileWriter, Remembering, WriteFile


def builtin_tools(
    sandbox: Sandbox,
    *,
    policy: ToolPolicy,
    remembering: Remembering = NOTHING_MORE,
    file_lock: "threading.Lock | None" = None,
    mask: Mask = nothing_hidden,
) -> Sequence[Tool]:
    """Tools for files, search and commands. Raises ConfigError for a policy that cannot be used.

    Args:
        sandbox: where files may be read and written; its workspace must exist.
        policy: decides about commands, and about changes of what the bot follows.
        remembering: what may be remembered, and what else belongs to a change of it.
        file_lock: held while a file is replaced; to be shared with whoever else writes the same files.
        mask: takes secrets out before something is cut, searched or kept; see also MaskedTool.
    """
    disk = Disk(sandbox, file_lock)
    spill = Spill(sandbox.workspace, disk, mask=mask)
    writer = FileWriter(disk, policy, remembering)
    return [
        ReadFile(disk, remembering.staged, mask=mask),
        WriteFile(writer),
        EditFile(writer),
        ListDir(disk, spill),
        FindFiles(disk, spill),
        Grep(disk, spill),
        ExecTool(policy, disk, spill, sandbox.workspace.state),
    ]

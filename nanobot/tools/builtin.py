"""The tools that every nanobot has."""

import threading
from collections.abc import Sequence

from nanobot.ports import Tool
from nanobot.tools.approval import Approval
from nanobot.tools.files import ReadFile
from nanobot.tools.output import Mask, Spill, nothing_hidden
from nanobot.tools.paths import Disk, Sandbox
from nanobot.tools.search import FindFiles, Grep, ListDir
from nanobot.tools.shell import ExecPolicy, ExecTool
from nanobot.tools.writing import NOTHING_MORE, EditFile, FileWriter, Remembering, WriteFile


def builtin_tools(
    sandbox: Sandbox,
    *,
    approval: Approval,
    exec_policy: ExecPolicy | None = None,
    remembering: Remembering = NOTHING_MORE,
    file_lock: "threading.Lock | None" = None,
    mask: Mask = nothing_hidden,
) -> Sequence[Tool]:
    """Tools for files, search and commands. Raises ConfigError for a policy that cannot be used.

    Args:
        sandbox: where files may be read and written; its workspace must exist.
        approval: asks the person before a command, and before what the bot follows is changed.
        exec_policy: who may run what; None leaves exec out.
        remembering: what may be remembered, and what else belongs to a change of it.
        file_lock: held while a file is replaced; to be shared with whoever else writes the same files.
        mask: takes secrets out before something is cut, searched or kept; see also MaskedTool.
    """
    disk = Disk(sandbox, file_lock)
    spill = Spill(sandbox.workspace, disk, mask=mask)
    writer = FileWriter(disk, approval, remembering)
    tools: list[Tool] = [
        ReadFile(disk, remembering.staged, mask=mask),
        WriteFile(writer),
        EditFile(writer),
        ListDir(disk, spill),
        FindFiles(disk, spill),
        Grep(disk, spill),
    ]
    if exec_policy:
        tools.append(ExecTool(exec_policy, disk, spill, approval, sandbox.workspace.state))
    return tools

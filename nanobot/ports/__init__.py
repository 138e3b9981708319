"""The seams of nanobot: everything outside plugs in here."""

from nanobot.ports.bus import Bus, Channel, Publish
from nanobot.ports.memory import Document, Documents, Frontmatter, MemoryStore, ReadFrontmatter
from nanobot.ports.models import LLM, ModelInfo, Reply, Request, Stream, ToolSpec
from nanobot.ports.recall import EVERYWHERE, Extent, Hit, Recall, RecallIndex, Said, Within
from nanobot.ports.sessions import SessionModels, SessionStore
from nanobot.ports.time import Clock
from nanobot.ports.tools import Asker, Caller, Tool, ToolResult

__all__ = [
    "EVERYWHERE",
    "LLM",
    "Asker",
    "Bus",
    "Caller",
    "Channel",
    "Clock",
    "Document",
    "Documents",
    "Extent",
    "Frontmatter",
    "Hit",
    "MemoryStore",
    "ModelInfo",
    "Publish",
    "ReadFrontmatter",
    "Recall",
    "RecallIndex",
    "Reply",
    "Request",
    "Said",
    "SessionModels",
    "SessionStore",
    "Stream",
    "Tool",
    "ToolResult",
    "ToolSpec",
    "Within",
]

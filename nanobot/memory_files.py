"""The table of memory files: every file of the workspace that is always read or always kept, and its rules.

A new file is a row here. The prompt, /memory, the version store, the search index, Dream, the guards of the file
tools, forgetting and the doctor all take their lists from this table.
"""

from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

MEMORY, USER, SOUL = "MEMORY.md", "USER.md", "SOUL.md"
AGENTS, TOOLS, HEARTBEAT, HISTORY = "AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "history.jsonl"

NOTES_FOLDER = "memory"
"""The owners' folder of notes. Notes of a person or a group lie beside their other files."""

_KB = 1024


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """One row of the table.

    name          file name; its stem in lower case is its key in `memory.budget`
    of            "each": every scope has one of its own; "all": one, read in every scope; "owner": one, the owners'
    budget        bytes in the prompt unless the configuration says otherwise; 0: in no prompt
    compact       models with the compact profile read it, too
    facts         each line is a fact: versions tell line by line what became of it, guards refuse secrets in it,
                  and it stays when it is empty; one of "each" is listed by /memory and found by the search
    dream         Dream "writes" it, or "proposes" what waits for an owner's yes; "": Dream leaves it alone
    title         first line of a new one
    guarded       the file tools write it only with an owner's yes
    versioned     git keeps it, and forgetting rewrites its history; others are forgotten line by line
    hidden        the file tools do not see it; a store of its own writes it and forgets in it
    among_notes   the owners' one lies in the folder of notes
    """

    name: str
    of: Literal["each", "all", "owner"]
    budget: int = 0
    compact: bool = False
    facts: bool = False
    dream: Literal["", "writes", "proposes"] = ""
    title: str = ""
    guarded: bool = False
    versioned: bool = True
    hidden: bool = False
    among_notes: bool = False

    @property
    def key(self) -> str:
        """Key in `memory.budget`."""
        return PurePath(self.name).stem.lower()

    @property
    def is_of_scope(self) -> bool:
        """True for facts that every scope has of its own: what /memory lists and the search finds."""
        return self.facts and self.of == "each"


FILES = (  # in the order of the prompt
    MemoryFile(AGENTS, "all", budget=16 * _KB, guarded=True),
    MemoryFile(SOUL, "all", budget=16 * _KB, compact=True, facts=True, dream="proposes", guarded=True),
    MemoryFile(USER, "each", budget=16 * _KB, compact=True, facts=True, dream="writes", title="# The user"),
    MemoryFile(TOOLS, "each", budget=16 * _KB, guarded=True),
    MemoryFile(
        MEMORY, "each", budget=32 * _KB, compact=True, facts=True, dream="writes", title="# Memory", among_notes=True
    ),
    MemoryFile(HEARTBEAT, "owner", guarded=True, versioned=False),
    MemoryFile(HISTORY, "owner", versioned=False, hidden=True, among_notes=True),
)

BY_NAME = {file.name: file for file in FILES}

FACT_FILES = frozenset(file.name for file in FILES if file.facts)

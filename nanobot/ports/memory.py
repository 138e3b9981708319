"""The ports of long-term memory: the files that people edit, notes, episodes, Dream's state, proposals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from nanobot.authority import Origin, Scope
from nanobot.i18n import Language
from nanobot.messages import Address
from nanobot.ports.versions import Edit

# Files that people edit.


@dataclass(frozen=True, slots=True, eq=False)
class DocumentText:
    """A text file as it was read; the same object comes back for as long as the file does not change.

    `text` has plain newlines. It is None if there is no such file, or none that can be read; then `problem`
    says why, in the system's words.
    `modified` is in seconds since 1970.
    """

    text: str | None
    modified: float = 0.0
    problem: str = ""


class Documents(Protocol):
    """The text files that people edit, re-read when they change."""

    def look(self, path: Path) -> DocumentText:
        """The file as it is now. Costs one stat if it has not changed; never raises."""
        ...


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """Frontmatter between `---` lines at the head of a file, and the text below.

    Values are text, true and false, None, lists and mappings of these; numbers and dates stay text.
    `problem` says what keeps the head from being read; then there are no fields.
    """

    fields: Mapping[str, object]
    body: str
    problem: str = ""


ReadFrontmatter = Callable[[str], Frontmatter]


class MemoryStore(Protocol):
    """MEMORY.md, and the notes in the same folder."""

    @property
    def path(self) -> Path:
        """Path of MEMORY.md, which may not exist yet."""
        ...

    def memory(self) -> DocumentText:
        """MEMORY.md as it is now."""
        ...

    def notes(self) -> Mapping[str, DocumentText]:
        """All other Markdown files in the folder, by file name, as they are now. A stat for each that is unchanged."""
        ...

    def change(self, edit: Callable[[str], str]) -> None:
        """Put what `edit` makes of MEMORY.md in its place, in one step; nothing happens if that is the same.

        The text goes in and out as it stands in the file: byte order mark, line ends and broken bytes
        (as surrogates) included. `edit` is called again if somebody else changed the file meanwhile.
        Blocks. Raises StoreError; then nothing has changed.
        """
        ...


# Episodes.


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that was said, with the ids of all messages it rests on (`session#id` outside of the episode's own).

    `confidence` is from 0 to 1.
    """

    text: str
    messages: Sequence[str]
    category: str = ""
    confidence: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A numbered summary of a piece of one session: a line of history.jsonl.

    `messages` is the first and the last id of that piece, in file order. `origin` is the least of its messages.
    `raw`: no model could summarise it, so `content` holds the turns themselves, shortened and redacted.
    `own`: if others had a part in it, those lines of `content` that the people's own words bear out.
    """

    cursor: int
    timestamp: str
    session: str
    scope: Scope
    origin: Origin
    messages: tuple[str, str]
    content: str
    facts: Sequence[Fact] = ()
    raw: bool = False
    own: Sequence[str] | None = None

    @property
    def shown(self) -> str:
        """The part of it that a prompt may hold: nothing that others brought in."""
        if self.own is None:
            return self.content if self.origin in (Origin.OWNER, Origin.PERSON) else ""
        return "\n".join(line for line in self.content.split("\n") if line in self.own)


class Episodes(Protocol):
    """history.jsonl: append-only, numbered from 1 on in the order of lines; only what was erased leaves gaps."""

    async def append(self, episode: Episode) -> Episode:
        """Add an episode durably; its `cursor` is given here, and it comes back with it.

        Costs the same however many there are. Raises StoreError; then nothing was added.
        """
        ...

    async def last(self) -> int:
        """The cursor of the newest episode; 0 if there is none."""
        ...

    async def after(self, cursor: int, limit: int) -> Sequence[Episode]:
        """The next episodes, oldest first."""
        ...

    async def newest(self, scope: Scope, limit: int, through: int | None = None) -> Sequence[Episode]:
        """The newest episodes of a scope, up to this number, newest first. Does not read the whole file."""
        ...

    async def get(self, cursor: int) -> Episode | None: ...

    async def of_session(self, session: str, limit: int, through: int | None = None) -> Sequence[Episode]:
        """The newest episodes of a session, up to this number, newest first.

        By them a start finds out what is archived already.
        """
        ...


# State of Dream.


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamRecord:
    """Record of Dream's runs. It holds nothing of what was said.

    `last` is when a run last came to its end, and `outcome` how; `failure` says why the last ones failed, "" if the
    last one did not, and `failures` how many in a row. None begins by itself before `not_before`. Times are RFC 3339.
    `runs` are those of `day` (2026-11-30) that asked a model. `smaller` says how often what is asked at once was
    halved. `tries` are the unusable answers to episodes, by cursor; `set_aside` the cursors that were given up,
    and `gave_up` by which model (its name; none where that was not noted).
    """

    last: str = ""
    outcome: str = ""
    failure: str = ""
    failures: int = 0
    not_before: str = ""
    day: str = ""
    runs: int = 0
    smaller: int = 0
    tries: Mapping[int, int] = field(default_factory=dict)
    set_aside: Sequence[int] = ()
    gave_up: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SummaryFailure:
    """The last failure to summarise what was said, since a summary last succeeded; `kind` is "" if there is none.

    `kind` is that of the LLMError, `at` RFC 3339, `failures` how many came in a row, of any session. `useless` counts
    the answers that were no summaries, by the digest of a session's name: it names nobody.
    """

    kind: str = ""
    at: str = ""
    failures: int = 0
    useless: dict[str, int] = field(default_factory=dict)


class DreamBook(Protocol):
    """Keeps it on disk. All methods raise StoreError."""

    async def cursor(self) -> int:
        """The last episode that was taken in; 0 at first."""
        ...

    async def move(self, cursor: int) -> None:
        """All through this episode is taken in, durably."""
        ...

    async def read(self) -> DreamRecord: ...

    async def write(self, record: DreamRecord) -> None:
        """Durably."""
        ...

    async def summary_failure(self) -> SummaryFailure: ...

    async def write_summary_failure(self, failure: SummaryFailure) -> None:
        """Durably."""
        ...


# Proposed changes.


@dataclass(frozen=True, kw_only=True)
class ProposedChange:
    """Proposed change of some files of one scope, and its reason.

    id        names these very edits: when they become others, so does it
    scope     the name of whose memory the files are of
    edits     by path in the workspace: how the file was read, and how it shall be
    source    whose idea it is: of a turn, or of Dream
    origin    the least trusted of what it rests on
    reason    free text for people, "" if nothing is to be said
    messages  what it rests on, as commits name it
    turn      the turn that it is of, "" for none
    address   where the question is asked; None: nowhere, it is listed
    person    who caused the turn, as in Sender.id, "" for nobody
    language  which they read
    at        when it was made (RFC 3339)
    is_asked  whether the question was put
    agreed    who said yes, as `channel:id`; "" until then. It is being carried out from then on.
    """

    id: str
    scope: str
    edits: Mapping[str, Edit]
    source: Literal["turn", "dream"] = "turn"
    origin: Origin | None = None
    reason: str = ""
    messages: tuple[str, ...] = ()
    turn: str = ""
    address: Address | None = None
    person: str = ""
    language: Language = "en"
    at: str = ""
    is_asked: bool = False
    agreed: str = ""


Verdict = Literal["write", "propose", "refuse"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """True if a change of a file that prompts carry may be made, for whoever would make it.

    write    at once, or as its place demands
    propose  not before somebody has said yes
    refuse   never; `reason` says why, for the model that tried
    """

    verdict: Verdict
    reason: str = ""


class ProposalStore(Protocol):
    """Keeps them, over a restart, too. All methods raise StoreError."""

    async def read(self) -> Sequence[ProposedChange]:
        """All of them, the oldest first."""
        ...

    async def change(self, edit: Callable[[Sequence[ProposedChange]], Sequence[ProposedChange]]) -> None:
        """Put others in their place, durably, with nobody in between. What `edit` raises leaves all as it is."""
        ...

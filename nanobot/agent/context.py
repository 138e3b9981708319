"""Everything the model reads for a step: the files that people edit, and the conversation."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from nanobot.agent.compact import compact_messages
from nanobot.agent.skills import Skills
from nanobot.authority import Scope
from nanobot.memory.cut import Shown, cut
from nanobot.memory.markdown import without_comments
from nanobot.memory.recall.reminding import Heard, Reminder, Reminders
from nanobot.memory.section import fenced
from nanobot.memory.shelves import KEPT, Shelf, Shelves
from nanobot.messages import InboundMessage, Quote
from nanobot.ports import Clock, Document, Documents, ModelInfo
from nanobot.text import as_name
from nanobot.transcript import Message
from nanobot.workspace import Workspace

IDENTITY = (resources.files(__package__) / "prompts" / "identity.md").read_text(encoding="utf-8")


SKILL = "skill"
"""What stands for the budget in a Part of one skill."""


@dataclass(frozen=True, slots=True)
class Budgets:
    """How many bytes of each file go into the prompt."""

    memory: int
    soul: int
    user: int
    agents: int
    tools: int


class Part(NamedTuple):
    """A file in the prompt: its name, the key of its budget, what is shown of it, and why nothing can be."""

    name: str
    budget: str
    shown: Shown
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The system message, and the files it was made of."""

    message: Message
    parts: Sequence[Part]

    def telling(self, past: str) -> "Prompt":
        """The same with a section on what was said before; the files come first, since they change less often."""
        return Prompt(replace(self.message, content=f"{self.message.content}\n\n{past}"), self.parts) if past else self

    @property
    def cut(self) -> Sequence[Part]:
        """The files that were too long for their budget."""
        return [part for part in self.parts if part.shown.is_cut]

    @property
    def unreadable(self) -> Sequence[Part]:
        """The files that are there and cannot be read."""
        return [part for part in self.parts if part.problem]

    @property
    def largest(self) -> str:
        """The file that takes most of the prompt."""
        return max(self.parts, key=lambda part: part.shown.kept).name


class ContextBuilder:
    """Builds the prompt in an order that keeps its beginning the same from turn to turn.

    Files are read anew when they change, which costs a stat for each and turn, and nothing more.
    """

    def __init__(
        self,
        workspace: Workspace,
        documents: Documents,
        shelves: Shelves,
        skills: Skills,
        budgets: Budgets,
        clock: Clock,
        reminders: Reminders | None = None,
    ) -> None:
        """Without `reminders`, no message comes with memories."""
        self._workspace = workspace
        self._documents = documents
        self._shelves = shelves
        self._skills = skills
        self._budgets = budgets
        self._clock = clock
        self._reminders = reminders
        self._shown: dict[Path, tuple[Document, Part]] = {}
        self._last: OrderedDict[tuple[bool, Scope], tuple[list[str], Prompt]] = OrderedDict()

    async def refresh(self, scope: Scope) -> None:
        """At the start of a turn: notice notes that changed."""
        await self._shelves.of(scope).notebook.refresh()

    def prompt(self, model: ModelInfo, scope: Scope) -> Prompt:
        """The system message for a model in a scope: the very same object while no file changes.

        SOUL.md and AGENTS.md make the bot what it is, for everybody; all else is the scope's own, and skills are
        the owners'.
        """
        shelf = self._shelves.of(scope)
        parts = self._compact_parts(shelf) if model.compact else self._parts(shelf, scope)
        texts = [part.shown.text + part.problem for part in parts]
        key = (model.compact, scope)
        last = self._last.get(key)
        if last is None or last[0] != texts:
            text = parts[0].shown.text if model.compact else _full(parts)
            last = self._last[key] = texts, Prompt(Message(role="system", content=text), parts)
            if len(self._last) > KEPT:
                self._last.popitem(last=False)
        return last[1]

    def runtime(self, message: InboundMessage) -> str:
        """The blocks in front of a message: when, where and by whom it was said, and what it quotes."""
        now = self._clock.now()
        where, name = message.address, as_name(message.sender.name) or "unknown name"
        rows = [
            f"time: {now:%Y-%m-%d %A %H:%M} {now:%z} ({now.tzinfo})",
            f"channel: {where.channel}, chat {where.chat}" + (f", topic {where.topic}" if where.topic else ""),
            *([f"group: {as_name(message.chat_title)}"] if message.chat_title else []),
            f"sender: {name} (id {message.sender.id}, {message.authority.role})",
            *_remarks(message),
        ]
        return "\n".join(["<context>", *map(_one_line, rows), "</context>", *map(quoted, message.quotes)])

    async def reminder(self, heard: Heard) -> Reminder:
        """The memories that go in front of a message."""
        return await self._reminders.of(heard) if self._reminders else Reminder()

    def messages(self, model: ModelInfo, prompt: Prompt, replay: Sequence[Message]) -> list[Message]:
        """What the model is sent."""
        if not model.compact:
            return [prompt.message, *replay]
        soul, *known = (part.shown.text for part in prompt.parts)
        return compact_messages(soul, "\n".join(known), replay)

    def _parts(self, shelf: Shelf, scope: Scope) -> list[Part]:
        files, budgets = self._workspace, self._budgets
        return [
            self._part(files.agents, "agents", budgets.agents),
            self._part(files.soul, "soul", budgets.soul),
            self._part(shelf.user, "user", budgets.user),
            self._part(files.tools_of(scope.name), "tools", budgets.tools),
            self._memory(shelf, shelf.notebook.section(budgets.memory)),
            *(self._skill_parts() if scope.is_owner else []),
        ]

    def _skill_parts(self) -> list[Part]:
        """The index, and a part for each skill whose description is lost: nothing is shown of it."""
        nothing = cut("", 0, "")
        broken = (Part(one.file, SKILL, nothing, one.problem) for one in self._skills.broken())
        return [Part("skills", "", self._skills.section()), *broken]

    def _compact_parts(self, shelf: Shelf) -> list[Part]:
        files, budgets = self._workspace, self._budgets
        return [
            self._part(files.soul, "soul", budgets.soul),
            self._part(shelf.user, "user", budgets.user),
            self._memory(shelf, shelf.notebook.facts(budgets.memory)),
        ]

    def _memory(self, shelf: Shelf, shown: Shown) -> Part:
        path = shelf.notebook.path
        name = path.relative_to(self._workspace.root).as_posix()
        return Part(name, "memory", shown, self._documents.look(path).problem)

    def _part(self, path: Path, budget: str, size: int) -> Part:
        document = self._documents.look(path)
        known = self._shown.get(path)
        if known is None or known[0] is not document:
            text = without_comments(document.text or "").strip()
            known = self._shown[path] = document, Part(path.name, budget, cut(text, size, path.name), document.problem)
        return known[1]


def _full(parts: Iterable[Part]) -> str:
    texts = (
        part.shown.text if part.budget == "memory" else f"# {part.name}\n\n{part.shown.text}"
        for part in parts
        if part.shown.text
    )
    return "\n\n".join([IDENTITY.strip(), *texts])


def _remarks(message: InboundMessage) -> Iterator[str]:
    if not message.to_bot:
        yield "said in the group, not to you"
    if message.authority.here:
        yield f"open folder: {message.authority.here} (named by its absolute path; commands run there)"
    if message.retries:
        yield "asked once more: your earlier answer is set aside and not shown"
    if message.ran:
        yield f"what these tools had done for that answer stays done: {', '.join(message.ran)}"
    if message.corrects:
        yield "this is the new wording of an earlier message, which was edited"


def quoted(quote: Quote) -> str:
    """A text of somebody else as the model is shown it."""
    is_path = quote.how in ("file", "command")
    by = f" {_one_line(quote.by)}" if is_path else f" by {as_name(quote.by)}"
    by = by if quote.by else ""
    return fenced("quoted", f"[{quote.how}{by}]\n{quote.text}")


def _one_line(text: str) -> str:
    """Names come from outside; they must not be able to end the block."""
    return " ".join(text.split()).replace("<", "‹").replace(">", "›")

"""Everything the model reads for a step: the files that people edit, and the conversation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from nanobot.agent.compact import compact_messages
from nanobot.agent.skills import Skills
from nanobot.memory.cut import Shown, cut
from nanobot.memory.markdown import without_comments
from nanobot.memory.notebook import Notebook
from nanobot.messages import InboundMessage
from nanobot.ports import Clock, Document, Documents, ModelInfo
from nanobot.transcript import Message
from nanobot.workspace import Workspace

MEMORY = "memory/MEMORY.md"

IDENTITY = (resources.files(__package__) / "prompts" / "identity.md").read_text(encoding="utf-8")


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
        notebook: Notebook,
        skills: Skills,
        budgets: Budgets,
        clock: Clock,
    ) -> None:
        self._workspace = workspace
        self._documents = documents
        self._notebook = notebook
        self._skills = skills
        self._budgets = budgets
        self._clock = clock
        self._shown: dict[Path, tuple[Document, Part]] = {}
        self._last: dict[bool, tuple[list[str], Prompt]] = {}

    async def refresh(self) -> None:
        """At the start of a turn: notice notes that changed."""
        await self._notebook.refresh()

    def prompt(self, model: ModelInfo) -> Prompt:
        """The system message for a model: the very same object while no file changes."""
        parts = self._compact_parts() if model.compact else self._parts()
        texts = [part.shown.text + part.problem for part in parts]
        last = self._last.get(model.compact)
        if last is None or last[0] != texts:
            text = parts[0].shown.text if model.compact else _full(parts)
            last = self._last[model.compact] = texts, Prompt(Message(role="system", content=text), parts)
        return last[1]

    def runtime(self, message: InboundMessage) -> str:
        """The block in front of a message that says when, where and by whom it was said."""
        now = self._clock.now()
        where = message.address
        rows = [
            f"time: {now:%Y-%m-%d %A %H:%M} {now:%z} ({now.tzinfo})",
            f"channel: {where.channel}, chat {where.chat}" + (f", topic {where.topic}" if where.topic else ""),
            f"sender: {message.sender.name or 'unknown name'} (id {message.sender.id}, {message.authority.role})",
        ]
        return "\n".join(["<context>", *map(_one_line, rows), "</context>"])

    def messages(self, model: ModelInfo, prompt: Prompt, replay: Sequence[Message]) -> list[Message]:
        """What the model is sent."""
        if not model.compact:
            return [prompt.message, *replay]
        soul, *known = (part.shown.text for part in prompt.parts)
        return compact_messages(soul, "\n".join(known), replay)

    def _parts(self) -> list[Part]:
        files, budgets = self._workspace, self._budgets
        return [
            self._part(files.agents, "agents", budgets.agents),
            self._part(files.soul, "soul", budgets.soul),
            self._part(files.user, "user", budgets.user),
            self._part(files.tools, "tools", budgets.tools),
            Part(MEMORY, "memory", self._notebook.section(budgets.memory), self._memory_problem()),
            Part("skills", "", self._skills.section()),
        ]

    def _compact_parts(self) -> list[Part]:
        files, budgets = self._workspace, self._budgets
        return [
            self._part(files.soul, "soul", budgets.soul),
            self._part(files.user, "user", budgets.user),
            Part(MEMORY, "memory", self._notebook.facts(budgets.memory), self._memory_problem()),
        ]

    def _memory_problem(self) -> str:
        return self._documents.look(self._workspace.memory_file).problem

    def _part(self, path: Path, budget: str, size: int) -> Part:
        document = self._documents.look(path)
        known = self._shown.get(path)
        if known is None or known[0] is not document:
            text = without_comments(document.text or "").strip()
            known = self._shown[path] = document, Part(path.name, budget, cut(text, size, path.name), document.problem)
        return known[1]


def _full(parts: Iterable[Part]) -> str:
    texts = (
        part.shown.text if part.name == MEMORY else f"# {part.name}\n\n{part.shown.text}"
        for part in parts
        if part.shown.text
    )
    return "\n\n".join([IDENTITY.strip(), *texts])


def _one_line(text: str) -> str:
    """Names come from outside; they must not be able to end the block."""
    return " ".join(text.split()).replace("<", "‹").replace(">", "›")

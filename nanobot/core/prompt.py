"""The prompt of a step: identity, the files that people edit, skills, the conversation, and the room for it."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from nanobot.authority import Scope
from nanobot.core.compact import compact_messages
from nanobot.errors import LLMError, PromptTooBigError
from nanobot.memory.markdown import without_comments
from nanobot.memory.notes import Notebook
from nanobot.memory.prompt import CutText, cut, fenced
from nanobot.memory.recall.injection import InjectedMemories, PendingMessage, RecallInjector
from nanobot.memory.scopes import KEPT, MemoryRegistry
from nanobot.memory_files import FILES, MEMORY
from nanobot.messages import InboundMessage, Quote
from nanobot.ports import Clock, Documents, DocumentText, ModelInfo, ReadFrontmatter
from nanobot.text import as_name
from nanobot.tokens import Counts, TokenEstimator
from nanobot.transcript import Message
from nanobot.workspace import Workspace

# Skills.


BUDGET = 4096
"""Bytes of the index."""

HOW = "Know-how for tasks. Before you do one of these, read its file with read_file."


class BrokenSkill(NamedTuple):
    """A skill whose file, or whose head, cannot be read: its description is lost."""

    file: str
    problem: str


class Skills:
    """The skills in a folder, one line each."""

    def __init__(self, folder: Path, documents: Documents, frontmatter: ReadFrontmatter) -> None:
        self._folder = folder
        self._documents = documents
        self._frontmatter = frontmatter
        self._lines: dict[Path, tuple[DocumentText, str, str]] = {}

    def section(self) -> CutText:
        """The index, with how to use it; empty without skills. A skill without a description is named only."""
        lines = [self._read(path)[1] for path in self._paths()]
        return cut("\n".join([HOW, *lines]) if lines else "", BUDGET, "the index of skills")

    def broken(self) -> Sequence[BrokenSkill]:
        """The skills whose description is lost, and why."""
        return [BrokenSkill(self._file(path), problem) for path in self._paths() if (problem := self._read(path)[2])]

    def _paths(self) -> Sequence[Path]:
        return sorted(self._folder.glob("*/SKILL.md"))

    def _file(self, path: Path) -> str:
        return path.relative_to(self._folder.parent).as_posix()

    def _read(self, path: Path) -> tuple[DocumentText, str, str]:
        """The file, its line in the index, and why there is no description in it."""
        document = self._documents.look(path)
        known = self._lines.get(path)
        if known is None or known[0] is not document:
            head = self._frontmatter(document.text or "")
            fields, name = head.fields, path.parent.name
            description = " ".join(str(fields.get("description") or fields.get("summary") or "").split())
            line = f"- {name}{': ' if description else ''}{description} (`{self._file(path)}`)"
            known = self._lines[path] = document, line, document.problem or head.problem
        return known


# System prompt.


IDENTITY = (resources.files(__package__) / "prompts" / "identity.md").read_text(encoding="utf-8")


SKILL = "skill"
"""What stands for the budget in a Part of one skill."""


class PromptPart(NamedTuple):
    """A file in the prompt: its name, the key of its budget, what is shown of it, and why nothing can be."""

    name: str
    budget: str
    shown: CutText
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """The system message, and the files it was made of."""

    message: Message
    parts: Sequence[PromptPart]

    def with_past(self, past: str) -> "SystemPrompt":
        """The same with a section on what was said before; the files come first, since they change less often."""
        return (
            SystemPrompt(replace(self.message, content=f"{self.message.content}\n\n{past}"), self.parts)
            if past
            else self
        )

    @property
    def cut(self) -> Sequence[PromptPart]:
        """The files that were too long for their budget."""
        return [part for part in self.parts if part.shown.is_cut]

    @property
    def unreadable(self) -> Sequence[PromptPart]:
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
        memory: MemoryRegistry,
        skills: Skills,
        budgets: Mapping[str, int],
        clock: Clock,
        reminders: RecallInjector | None = None,
    ) -> None:
        """`budgets`: bytes of files in the prompt, by their key, where they are not those of the table.

        Without `reminders`, no message comes with memories.
        """
        self._workspace = workspace
        self._documents = documents
        self._memory = memory
        self._skills = skills
        self._budgets = budgets
        self._clock = clock
        self._reminders = reminders
        self._shown: dict[Path, tuple[DocumentText, PromptPart]] = {}
        self._last: OrderedDict[tuple[bool, Scope], tuple[list[str], SystemPrompt]] = OrderedDict()

    async def refresh(self, scope: Scope) -> None:
        """At the start of a turn: notice notes that changed."""
        await self._memory.of(scope).notebook.refresh()

    def prompt(self, model: ModelInfo, scope: Scope) -> SystemPrompt:
        """The system message for a model in a scope: the very same object while no file changes.

        Which files it holds, and whose, says the table of memory files; skills are the owners'.
        """
        parts = self._parts(self._memory.of(scope).notebook, scope, is_compact=model.compact)
        texts = [part.shown.text + part.problem for part in parts]
        key = (model.compact, scope)
        last = self._last.get(key)
        if last is None or last[0] != texts:
            text = parts[0].shown.text if model.compact else _full(parts)
            last = self._last[key] = texts, SystemPrompt(Message(role="system", content=text), parts)
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

    async def reminder(self, heard: PendingMessage) -> InjectedMemories:
        """The memories that go in front of a message."""
        return await self._reminders.of(heard) if self._reminders else InjectedMemories()

    def messages(self, model: ModelInfo, prompt: SystemPrompt, replay: Sequence[Message]) -> list[Message]:
        """Return the messages to send."""
        if not model.compact:
            return [prompt.message, *replay]
        soul, *known = (part.shown.text for part in prompt.parts)
        return compact_messages(soul, "\n".join(known), replay)

    def _parts(self, notebook: Notebook, scope: Scope, *, is_compact: bool) -> list[PromptPart]:
        parts = []
        for file in FILES:
            if file.budget and (file.compact or not is_compact) and (file.of != "owner" or scope.is_owner):
                size = self._budgets.get(file.key, file.budget)
                if file.name == MEMORY:
                    parts.append(self._memory_part(notebook, size, is_compact=is_compact))
                else:
                    parts.append(self._part(self._workspace.file(file.name, scope.name), file.key, size))
        return parts + (self._skill_parts() if scope.is_owner and not is_compact else [])

    def _skill_parts(self) -> list[PromptPart]:
        """The index, and a part for each skill whose description is lost: nothing is shown of it."""
        nothing = cut("", 0, "")
        broken = (PromptPart(one.file, SKILL, nothing, one.problem) for one in self._skills.broken())
        return [PromptPart("skills", "", self._skills.section()), *broken]

    def _memory_part(self, notebook: Notebook, size: int, *, is_compact: bool) -> PromptPart:
        name = notebook.path.relative_to(self._workspace.root).as_posix()
        shown = notebook.facts(size) if is_compact else notebook.section(size)
        return PromptPart(name, "memory", shown, self._documents.look(notebook.path).problem)

    def _part(self, path: Path, budget: str, size: int) -> PromptPart:
        document = self._documents.look(path)
        known = self._shown.get(path)
        if known is None or known[0] is not document:
            text = without_comments(document.text or "").strip()
            known = self._shown[path] = (
                document,
                PromptPart(path.name, budget, cut(text, size, path.name), document.problem),
            )
        return known[1]


def _full(parts: Iterable[PromptPart]) -> str:
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


# Context budget.


LEAST = 0.1
"""The share of the context window that must be left for the conversation."""


class ContextBudget:
    """The context window of one model, with the tools that it is told about."""

    def __init__(self, model: ModelInfo, tokens: TokenEstimator, tools: Counts, compact_at: float) -> None:
        self.model = model
        self.tokens = tokens
        self._tools = tools
        self._limit = min(model.context_window * compact_at, model.context_window - model.max_output)

    def fixed(self, prompt: SystemPrompt) -> Counts:
        """Token counts of every request besides the conversation."""
        return self._tools + self.tokens.count(prompt.message)

    def left(self, prompt: SystemPrompt) -> float:
        """Tokens for the conversation. Raises PromptTooBigError if the files leave hardly any."""
        fixed = self.tokens.tokens(self.fixed(prompt))
        if not self.takes(prompt):
            raise PromptTooBigError(prompt.largest, fixed, self.model.context_window)
        return self._limit - fixed

    def takes(self, prompt: SystemPrompt) -> bool:
        """True if this prompt leaves room for a conversation."""
        return self._limit - self.tokens.tokens(self.fixed(prompt)) >= LEAST * self.model.context_window

    def check(self, asked: Counts) -> None:
        """Raises LLMError if a request is longer than what the model can read and still answer."""
        size = self.tokens.tokens(asked)
        if size > self.model.context_window - self.model.max_output:
            raise LLMError("context", f"about {size} tokens", model=self.model.preset)

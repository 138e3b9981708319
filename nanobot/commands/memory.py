"""Commands about what is remembered: /memory, /remember, /recall, /dream."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Literal

from nanobot.authority import Role, Scope
from nanobot.commands.session import Lines
from nanobot.core.commands import Command, CommandAnswer, CommandCall
from nanobot.errors import StoreError
from nanobot.i18n import Language, say
from nanobot.ids import new_id
from nanobot.memory.changes import ChangeRequest
from nanobot.memory.dream.dream import Dream
from nanobot.memory.dream.report import DreamReport
from nanobot.memory.dream.state import not_before
from nanobot.memory.episodes.consolidator import Archiving
from nanobot.memory.markdown import headings, without_comments
from nanobot.memory.notes import Note, Notebook, same_name
from nanobot.memory.prompt import cut, shown_facts
from nanobot.memory.recall.ports import Hit, SearchableText, Searching
from nanobot.memory.scopes import MemoryRegistry, ScopeMemory
from nanobot.memory_files import FILES, USER
from nanobot.messages import OutboundMessage
from nanobot.nlp.wishes import remember_request
from nanobot.ports import Documents
from nanobot.text import as_name, truncate

# Pages: the files of facts, and each note, as people read them.


_ALL = 1 << 40  # bytes; more than any file has


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A file as people read it: `text` without comments, index and title, and its `note` if it is one."""

    file: str
    text: str
    note: Note | None = None

    def beginning(self, most: int) -> tuple[str, int]:
        """First lines, of about `most` characters, and the number of lines left out that say something."""
        lines = self.text.split("\n")
        room = most
        kept = 0
        while kept < len(lines) and (room := room - len(lines[kept]) - 1) >= 0:
            kept += 1
        kept = max(kept, 1)
        shown = "\n".join([truncate(line, most) for line in lines[:kept]]).rstrip()
        return shown, sum(bool(line.strip()) for line in lines[kept:])


def pages_of(memory: ScopeMemory, documents: Documents) -> Sequence[MemoryPage]:
    """Pages of a memory: the files of facts first, even if they say nothing, then the notes as they are numbered."""
    return [
        *(MemoryPage(name, _plain(documents.look(path).text)) for name, path in memory.files.items()),
        *(MemoryPage(note.file, without_comments(note.body).strip(), note) for note in memory.notebook.all),
    ]


def page_named(pages: Sequence[MemoryPage], name: str) -> MemoryPage | None:
    """The page with this name, with or without its ending, in any case; or the note with this number, from 1 on."""
    for page in pages:
        if same_name(page.file, name):
            return page
    notes = [page for page in pages if page.note]
    number = int(name) if name.isdecimal() and len(name) <= len(str(len(notes))) else 0
    return notes[number - 1] if 0 < number <= len(notes) else None


def _plain(text: str | None) -> str:
    """Return MEMORY.md or USER.md for people, without the title that repeats its name."""
    lines = shown_facts(text, _ALL).text.strip().split("\n")
    first = headings(lines)[0]
    return "\n".join(lines[1:] if first and first.level == 1 else lines).strip()


# /memory, /remember.


MOST_OF_FILE = 16 * 1024
"""Bytes of one file that are shown to who asks for it."""

MOST_OF_PAGE = 1200
"""Characters of each file where all are shown: together they are a message, or a screen."""

MOST_NOTES = 20

_OTHERS = tuple(file.name for file in FILES if file.guarded)
"""Files that a person may take for memory: they say how the bot is and what it does."""

EVERYTHING = "--all"
"""In place of a name: all there is, uncut."""

Written = Literal["show", "why", "forget", "remember"]

Bold = Callable[[str], str]
"""Makes a title stand out."""


@dataclass(frozen=True, slots=True)
class MemoryView:
    """Shows what is remembered. `budget`: bytes of MEMORY.md in the prompt; `more`: what else there is to say."""

    registry: MemoryRegistry
    documents: Documents
    budget: int
    more: Lines | None = None

    async def pages(self, call: CommandCall) -> Sequence[MemoryPage]:
        """Pages of the memory of the caller's scope."""
        memory = self.registry.of(call.message.authority.scope)
        await memory.notebook.refresh()
        return pages_of(memory, self.documents)

    async def shown(
        self, call: CommandCall, commands: Callable[[Written], str], *, at_shell: bool = False
    ) -> CommandAnswer:
        """Answer with all of a memory, or with the page that the argument names.

        `commands`: what is typed for what. Who is `at_shell`, or owns the bot and this memory, can reach the files;
        at a shell nothing is bold.
        """
        bold: Bold = str if at_shell else "**{}**".format
        reaches = at_shell or call.message.authority.scope.is_owner
        pages = await self.pages(call)
        notebook = self.registry.of(call.message.authority.scope).notebook
        page = page_named(pages, call.argument) if call.argument else None
        if page is not None:
            return CommandAnswer("\n\n".join(_alone(notebook, page, call, bold, reaches=reaches)))
        is_whole = call.argument == EVERYTHING
        if call.argument and not is_whole:
            return CommandAnswer(_none(notebook, call, commands, reaches=reaches), failed=True)
        parts = [
            *_all(pages, call, commands, bold, is_whole=is_whole),
            *_hints(notebook, self.budget, call, commands, reaches=reaches),
        ]
        said = await self.more(call) if self.more else ()
        return CommandAnswer("\n\n".join([*parts, *(["\n".join(said)] if said else [])]))


def memory_command(view: MemoryView) -> Command:
    """/memory, and /memory with a name or a number."""

    async def handle(call: CommandCall) -> CommandAnswer:
        return await view.shown(call, _slash)

    return Command("memory", handle, immediate=True)


def remember_command(registry: MemoryRegistry) -> Command:
    """/remember text."""

    async def handle(call: CommandCall) -> CommandAnswer:
        message = call.message
        facts = registry.of(message.authority.scope).facts
        asked = ChangeRequest(
            message.address.session_key,
            message.authority,
            message=message.id,
            person=message.sender.id,
            name=message.sender.name,
        )
        fact = remember_request(call.argument) or call.argument  # who types "/remember remember that …" means the same
        remembered = await facts.remember(fact, asked)
        return CommandAnswer(remembered.told(call.language), failed=not remembered.done)

    return Command("remember", handle, immediate=True)


def _slash(what: Written) -> str:
    return "/memory" if what == "show" else f"/{what}"


def _all(
    pages: Sequence[MemoryPage], call: CommandCall, commands: Callable[[Written], str], bold: Bold, *, is_whole: bool
) -> Iterator[str]:
    """The two files, then the notes: by their titles, or whole."""
    told = [page for page in pages if page.text and page.note is None]
    for page in told:
        text, left = (page.text, 0) if is_whole else page.beginning(MOST_OF_PAGE)
        name = PurePosixPath(page.file).stem
        more = call.say("memory.more_lines", count=left, show=f"{commands('show')} {name}") if left else ""
        about = call.say("memory.about_user" if page.file == USER else "memory.facts")
        yield "\n".join(filter(None, [f"{bold(page.file)} · {about}\n", text, more]))
    notes = [(page, page.note) for page in pages if page.note]
    if not told:
        yield call.say("memory.empty" if notes else "memory.nothing_yet")
    if is_whole:
        yield from (f"{bold(page.file)}\n\n{page.text}" for page, _ in notes)
    elif notes:
        first = enumerate(notes[:MOST_NOTES], 1)
        rows = [f"- {number} · {note.name}: {note.summary} ({note.updated})" for number, (_, note) in first]
        rest = [call.say("memory.more_notes", count=len(notes) - MOST_NOTES)] if len(notes) > MOST_NOTES else []
        yield "\n".join([call.say("memory.notes", count=len(notes)), *rows, *rest])


def _hints(
    notebook: Notebook, budget: int, call: CommandCall, commands: Callable[[Written], str], *, reaches: bool
) -> Iterator[str]:
    """Return the hints below a memory view. People who cannot reach the files hear nothing of editing them."""
    facts = notebook.section(budget)
    if facts.is_cut:
        sentence = "memory.cut" if reaches else "memory.cut_member"
        yield call.say(sentence, kept=f"{facts.kept:,}", size=f"{facts.size:,}", forget=commands("forget"))
    if reaches and notebook.problems:
        rows = (call.say(f"memory.problem_{one.kind}", file=one.file, detail=one.detail) for one in notebook.problems)
        yield "\n".join([call.say("memory.problems"), *(f"- {row}" for row in rows)])
    told = {what: commands(what) for what in ("show", "why", "forget", "remember")}
    sentence = "memory.can_owner" if reaches else "memory.can"
    yield call.say(sentence, folder=notebook.path.parent, **told)


def _none(notebook: Notebook, call: CommandCall, commands: Callable[[Written], str], *, reaches: bool) -> str:
    """Return the sentence that no note has this name; for the owner's other files, where they are."""
    root = notebook.path.parent.parent
    is_mine = reaches and call.message.authority.scope.is_owner
    other = next((file for file in _OTHERS if is_mine and same_name(file, call.argument)), None)
    if other:
        return call.say("memory.not_memory", name=other, path=root / other)
    return call.say("memory.no_such_note", name=call.argument, show=commands("show"))


def _alone(notebook: Notebook, page: MemoryPage, call: CommandCall, bold: Bold, *, reaches: bool) -> Iterator[str]:
    """Parts of the answer that shows one page."""
    note = page.note
    if note is None:
        yield bold(page.file)
        yield cut(page.text, MOST_OF_FILE, page.file).text or call.say("memory.page_empty")
        return
    yield call.say(
        "memory.note", path=_path(notebook, note.file, reaches=reaches), type=note.type, updated=note.updated
    )
    yield cut(note.body.strip(), MOST_OF_FILE, note.file).text or call.say("memory.page_empty")
    if note.links:
        links = (f"{link.kind}: {link.to}" if link.kind else link.to for link in note.links)
        yield call.say("memory.links", links=", ".join(links))
    if linking := notebook.linking_to(note):
        yield call.say("memory.linked_from", links=", ".join(other.name for other in linking))
    for problem in note.problems if reaches else ():
        yield call.say(f"memory.problem_{problem.kind}", file=problem.file, detail=problem.detail)


def _path(notebook: Notebook, file: str, *, reaches: bool) -> str:
    """Return the path of a file of this memory; where the workspace is on this machine concerns its owner only."""
    return str(notebook.path.with_name(file)) if reaches else f"{notebook.folder}/{file}"


# /recall.


log = logging.getLogger(__name__)

MOST = 6
"""Results of one search."""

_LENGTH = 400  # characters of each


def recall_command(searching: Searching) -> Command:
    """/recall words: in the scope of whoever asks."""

    async def handle(call: CommandCall) -> CommandAnswer:
        if not call.argument:
            return CommandAnswer(call.say("recall.usage"), failed=True)
        try:
            found = await searching.find(call.argument, call.message.authority, k=2 * MOST)
        except StoreError as error:
            log.warning("%s: nothing can be searched: %s", call.message.address.session_key, error)
            return CommandAnswer(call.say("recall.broken"), failed=True)
        every = [hit for hit in found.hits if not hit.is_beside] or found.hits
        hits = every[:MOST]
        parts = [_heading(len(hits), call), *("\n".join(_shown(hit, call)) for hit in hits)]
        if len(every) > len(hits):
            parts.append(call.say("recall.more"))
        if found.unread:
            parts.append(call.say("recall.still_reading", share=f"{found.unread:.0%}"))
        return CommandAnswer("\n\n".join(parts))

    return Command("recall", handle, immediate=True)


def recall_lines(trouble: Callable[[], str]) -> Lines:
    """Line of /status for owners, while something that was said may not be found yet."""

    async def lines(call: CommandCall) -> Sequence[str]:
        reason = trouble()
        return [call.say("recall.behind", reason=reason)] if reason and call.message.authority.scope.is_owner else []

    return lines


def _heading(count: int, call: CommandCall) -> str:
    return call.say({0: "recall.nothing", 1: "recall.found_one"}.get(count, "recall.found"))


def _shown(hit: Hit, call: CommandCall) -> Iterator[str]:
    said = hit.said
    yield f"{said.at[:16].replace('T', ' ')} · {source_of(said, call.language)}"
    yield "\n".join(f"> {line}" for line in truncate(said.text.strip(), _LENGTH).split("\n"))
    for other in hit.related:
        yield f"→ {other.kind or call.say('recall.related')}: {other.name}"


def source_of(said: SearchableText, language: Language) -> str:
    """Return the source of a hit: the file, or who said it and where."""
    if said.source in ("note", "memory"):
        return say(f"recall.{said.source}", language, file=said.file)
    if said.source == "episode":
        return say("recall.episode", language, session=said.session)
    if said.source == "quote":
        return say("recall.passed_on", language, who=as_name(said.speaker) or say("recall.somebody", language))
    who = (
        say("recall.bot", language)
        if said.role == "assistant"
        else as_name(said.speaker) or say("recall.you", language)
    )
    return say("recall.session", language, who=who, session=said.session)


# /dream, and `nanobot dream`.


Send = Callable[[OutboundMessage], Awaitable[None]]

Archive = Callable[[str], Awaitable[Archiving]]

NextAt = Callable[[datetime | None], datetime | None]
"""When it runs next by itself, or first at or after a moment; None: never, as things are."""

_NO_SUCCESS = ("unusable", "failed", "busy", "enough")


def dream_command(dream: Dream, send: Send, archive: Archive) -> Command:
    """/dream, for owners: it reads what was said in all scopes, and they pay for it.

    It may take minutes: `send` says first that it is at work.

    `archive` makes an episode of what was said in a session until now, so that there is something to dream of.
    """

    async def handle(call: CommandCall) -> CommandAnswer:
        message = call.message
        has_told = False

        async def reading() -> None:
            nonlocal has_told
            if not has_told:
                has_told = True
                text = call.say("dream.reading")
                await send(OutboundMessage(id=new_id(), address=message.address, text=text, kind="notice"))

        archived = await archive(message.address.session_key)
        report = await dream.run("asked", reading)
        told = report.told(call.language, message.authority.scope)
        answer = CommandAnswer(told, failed=report.outcome in _NO_SUCCESS)
        return with_summaries(answer, [archived], report, call.language)

    return Command("dream", handle, immediate=True, in_order=False, role=Role.OWNER)


def dream_lines(dream: Dream, next_at: NextAt = lambda after: None) -> Lines:
    """Return the lines about Dream for /status and /memory; people who are no owners see their own backlog only."""

    async def lines(call: CommandCall) -> Sequence[str]:
        scope = call.message.authority.scope
        status = await dream.status(None if scope.is_owner else scope)
        due = next_at(not_before(status.record))
        return list(status.told(call.language, due, in_full=scope.is_owner))

    return lines


async def dream_at_shell(
    dream: Dream,
    archive: Callable[[], Awaitable[Sequence[Archiving]]],
    language: Language,
    tell: Callable[[str], None],
) -> CommandAnswer:
    """Dream, and answer what changed in everybody's memory; `tell` hears when it is at work. Raises StoreError.

    `archive` makes episodes of what was said until now, so that there is something to dream of.
    """

    async def reading() -> None:
        tell(say("dream.reading", language))

    archived = await archive()
    report = await dream.run("asked", reading)
    others = sorted({change.scope for change in report.changes} - {Scope.owner()})
    told = [f"{scope}\n{report.told(language, scope)}" for scope in others]
    is_done = report.goes_on or report.outcome == "nothing"
    answer = CommandAnswer(report.told(language, Scope.owner()), failed=not is_done)
    answer = with_summaries(answer, archived, report, language)
    return CommandAnswer("\n\n".join([answer.text, *told]), failed=answer.failed)


def with_summaries(
    answer: CommandAnswer, archived: Sequence[Archiving], report: DreamReport, language: Language
) -> CommandAnswer:
    """The answer about a dream, with what went wrong before it, when what was said was summarised.

    That nothing was said since is not true if something was, and is only not summarised.
    """
    lines = list(dict.fromkeys(filter(None, (one.told(language) for one in archived))))
    is_missing = any(not one.is_whole for one in archived)
    if not lines:
        return answer
    if not (report.outcome == "nothing" and is_missing):
        lines.append(answer.text)
    return CommandAnswer("\n".join(lines), failed=answer.failed or any(one.failure for one in archived))

"""Commands about what is remembered: /memory /remember."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from nanobot.commands.memory_pages import Page, page_named, pages_of
from nanobot.commands.router import Answer, Call, Command
from nanobot.commands.session import Lines
from nanobot.memory.cut import cut
from nanobot.memory.keeping import Asked
from nanobot.memory.note import same_name
from nanobot.memory.notebook import Notebook
from nanobot.memory.shelves import Shelves
from nanobot.memory.wishes import remember_request
from nanobot.ports import Documents

MOST_OF_FILE = 16 * 1024
"""Bytes of one file that are shown to who asks for it."""

MOST_OF_PAGE = 1200
"""Characters of each file where all are shown: together they are a message, or a screen."""

MOST_NOTES = 20

_OTHERS = ("SOUL.md", "AGENTS.md", "TOOLS.md", "HEARTBEAT.md")
"""What a person may take for memory: files of theirs that say how the bot is and what it does."""

EVERYTHING = "--all"
"""In place of a name: all there is, uncut."""

Written = Literal["show", "why", "forget", "remember"]

Bold = Callable[[str], str]
"""Makes a title stand out."""


@dataclass(frozen=True, slots=True)
class View:
    """Shows what is remembered. `budget`: bytes of MEMORY.md in the prompt; `more`: what else there is to say."""

    shelves: Shelves
    documents: Documents
    budget: int
    more: Lines | None = None

    async def pages(self, call: Call) -> Sequence[Page]:
        """All that is remembered in the scope of whoever asks."""
        shelf = self.shelves.of(call.message.authority.scope)
        await shelf.notebook.refresh()
        return pages_of(shelf, self.documents)

    async def shown(self, call: Call, commands: Callable[[Written], str], *, at_shell: bool = False) -> Answer:
        """Everything, or the page that the argument names.

        `commands`: what is typed for what. Who is `at_shell`, or owns the bot and this memory, can reach the files;
        at a shell nothing is bold.
        """
        bold: Bold = str if at_shell else "**{}**".format
        reaches = at_shell or call.message.authority.scope.is_owner
        pages = await self.pages(call)
        notebook = self.shelves.of(call.message.authority.scope).notebook
        page = page_named(pages, call.argument) if call.argument else None
        if page is not None:
            return Answer("\n\n".join(_alone(notebook, page, call, bold, reaches=reaches)))
        is_whole = call.argument == EVERYTHING
        if call.argument and not is_whole:
            return Answer(_none(notebook, call, commands, reaches=reaches), failed=True)
        parts = [
            *_all(pages, call, commands, bold, is_whole=is_whole),
            *_hints(notebook, self.budget, call, commands, reaches=reaches),
        ]
        said = await self.more(call) if self.more else ()
        return Answer("\n\n".join([*parts, *(["\n".join(said)] if said else [])]))


def memory_command(view: View) -> Command:
    """/memory, and /memory with a name or a number."""

    async def handle(call: Call) -> Answer:
        return await view.shown(call, _slash)

    return Command("memory", handle, immediate=True)


def remember_command(shelves: Shelves) -> Command:
    """/remember text."""

    async def handle(call: Call) -> Answer:
        message = call.message
        facts = shelves.of(message.authority.scope).facts
        asked = Asked(
            message.address.session_key,
            message.authority,
            message=message.id,
            person=message.sender.id,
            name=message.sender.name,
        )
        fact = remember_request(call.argument) or call.argument  # who types "/remember remember that …" means the same
        remembered = await facts.remember(fact, asked)
        return Answer(remembered.told(call.language), failed=not remembered.done)

    return Command("remember", handle, immediate=True)


def _slash(what: Written) -> str:
    return "/memory" if what == "show" else f"/{what}"


def _all(
    pages: Sequence[Page], call: Call, commands: Callable[[Written], str], bold: Bold, *, is_whole: bool
) -> Iterator[str]:
    """The two files, then the notes: by their titles, or whole."""
    told = [page for page in pages if page.text and page.note is None]
    for page in told:
        text, left = (page.text, 0) if is_whole else page.beginning(MOST_OF_PAGE)
        name = PurePosixPath(page.file).stem
        more = call.say("memory.more_lines", count=left, show=f"{commands('show')} {name}") if left else ""
        about = call.say("memory.about_user" if page is pages[0] else "memory.facts")
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
    notebook: Notebook, budget: int, call: Call, commands: Callable[[Written], str], *, reaches: bool
) -> Iterator[str]:
    """What there is to know and to do about it. Who cannot reach the files hears nothing of editing them."""
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


def _none(notebook: Notebook, call: Call, commands: Callable[[Written], str], *, reaches: bool) -> str:
    """That nothing is called so; of the owner's other files, where they are."""
    root = notebook.path.parent.parent
    is_mine = reaches and call.message.authority.scope.is_owner
    other = next((file for file in _OTHERS if is_mine and same_name(file, call.argument)), None)
    if other:
        return call.say("memory.not_memory", name=other, path=root / other)
    return call.say("memory.no_such_note", name=call.argument, show=commands("show"))


def _alone(notebook: Notebook, page: Page, call: Call, bold: Bold, *, reaches: bool) -> Iterator[str]:
    """One page, as much of it as is ever shown."""
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
    """Where a file of this memory lies; where the workspace is on this machine concerns its owner only."""
    return str(notebook.path.with_name(file)) if reaches else f"{notebook.folder}/{file}"

"""Commands about what is remembered: /memory /remember."""

from collections.abc import Iterator

from nanobot.commands.router import Answer, Call, Command
from nanobot.commands.session import Lines
from nanobot.memory.cut import cut
from nanobot.memory.keeping import Asked
from nanobot.memory.note import Note
from nanobot.memory.notebook import Notebook
from nanobot.memory.shelves import Shelves

MOST_OF_NOTE = 16 * 1024
"""Bytes of a note that are shown."""


def memory_command(shelves: Shelves, *, budget: int, more: Lines | None = None) -> Command:
    """/memory, and /memory name. `budget`: bytes of MEMORY.md in the prompt; `more`: what else there is to say."""

    async def handle(call: Call) -> Answer:
        notebook = shelves.of(call.message.authority.scope).notebook
        await notebook.refresh()
        if not call.argument:
            said = await more(call) if more else ()
            return Answer("\n".join([*_overview(notebook, budget, call), *(["", *said] if said else [])]))
        note = notebook.find(call.argument)
        if note is None:
            return Answer(call.say("memory.no_such_note", name=call.argument), failed=True)
        return Answer("\n\n".join(_shown(notebook, note, call)))

    return Command("memory", handle, immediate=True)


def remember_command(shelves: Shelves) -> Command:
    """/remember text."""

    async def handle(call: Call) -> Answer:
        message = call.message
        facts = shelves.of(message.authority.scope).facts
        asked = Asked(message.address.session_key, message.authority, message=message.id)
        remembered = await facts.remember(call.argument, asked)
        return Answer(remembered.told(call.language), failed=not remembered.done)

    return Command("remember", handle, immediate=True)


def _overview(notebook: Notebook, budget: int, call: Call) -> Iterator[str]:
    facts = notebook.section(budget)
    yield call.say("memory.file", path=_path(notebook, call, notebook.path.name), size=f"{notebook.size:,}")
    if facts.is_cut:
        yield call.say("memory.cut", kept=f"{facts.kept:,}", size=f"{facts.size:,}")
    if not facts.size:
        yield call.say("memory.empty")
    yield ""
    yield call.say("memory.notes", count=len(notebook.all)) if notebook.all else call.say("memory.no_notes")
    yield from notebook.index
    if notebook.problems:
        yield ""
        yield call.say("memory.problems")
    for problem in notebook.problems:
        yield "- " + call.say(f"memory.problem_{problem.kind}", file=problem.file, detail=problem.detail)


def _shown(notebook: Notebook, note: Note, call: Call) -> Iterator[str]:
    yield call.say("memory.note", path=_path(notebook, call, note.file), type=note.type, updated=note.updated)
    yield cut(note.body.strip(), MOST_OF_NOTE, note.file).text or call.say("memory.note_empty")
    if note.links:
        links = (f"{link.kind}: {link.to}" if link.kind else link.to for link in note.links)
        yield call.say("memory.links", links=", ".join(links))
    if linking := notebook.linking_to(note):
        yield call.say("memory.linked_from", links=", ".join(other.name for other in linking))
    for problem in note.problems:
        yield call.say(f"memory.problem_{problem.kind}", file=problem.file, detail=problem.detail)


def _path(notebook: Notebook, call: Call, file: str) -> str:
    """Where a file of this memory lies; where the workspace is on this machine concerns its owner only."""
    is_owners = call.message.authority.scope.is_owner
    return str(notebook.path.with_name(file)) if is_owners else f"{notebook.folder}/{file}"

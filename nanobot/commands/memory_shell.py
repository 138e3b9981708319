"""Actions of `nanobot memory`, and the history of memory as JSON for programs."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import get_args

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.commands.history import (
    Action,
    HistoryChoice,
    HistoryCommands,
    HistoryLog,
    HistoryProblem,
    HistoryRequester,
    Result,
    ShownVersion,
)
from nanobot.commands.history_words import told
from nanobot.commands.memory import EVERYTHING, MemoryPage, MemoryView, page_named
from nanobot.core.commands import CommandCall
from nanobot.i18n import Language, known_language, say
from nanobot.memory.changes import ChangeRequest, patch
from nanobot.memory.history import RevertReceipt, TimelineEntry
from nanobot.memory.notes import Notebook
from nanobot.memory.provenance import MemoryLine, Why
from nanobot.memory_files import BY_NAME
from nanobot.messages import Address, InboundMessage, Sender

# History of memory as JSON data.


Data = Mapping[str, object]


def as_data(result: Result) -> Data:
    """Return a result as JSON data."""
    match result:
        case HistoryProblem(kind, detail):
            return {"error": kind, "detail": detail}
        case Why():
            return _why(result)
        case HistoryChoice(lines, entries):
            return {"lines": [_line(line) for line in lines], "versions": [_entry(entry) for entry in entries]}
        case HistoryLog(entries, is_cut):
            return {"versions": [_entry(entry) for entry in entries], "more": is_cut}
        case ShownVersion(entry, diffs):
            return {**_entry(entry), "diffs": [{"file": diff.path, "patch": patch(diff)} for diff in diffs]}
        case RevertReceipt():
            return _receipt(result)


def _why(why: Why) -> Data:
    return {
        **_line(why.line),
        "version": _entry(why.entry) if why.entry else None,
        "came_back": _entry(why.back) if why.back else None,
        "said": [asdict(said) for said in why.evidence.said],
        "gone": why.evidence.gone,
    }


def _receipt(receipt: RevertReceipt) -> Data:
    return {
        "how": receipt.how,
        "target": receipt.target.version.id,
        "version": receipt.version or None,
        "files": list(receipt.paths),
        "also_undone": [_entry(entry) for entry in receipt.undone],
        "conflicts": [{"file": conflict.path, "lines": list(conflict.lines)} for conflict in receipt.conflicts],
        "tombstones_made": receipt.buried,
        "tombstones_lifted": receipt.lifted,
    }


def _entry(entry: TimelineEntry) -> Data:
    return {
        "id": entry.version.id,
        "at": entry.version.at.isoformat(),
        "kind": entry.kind,
        "by": entry.version.author,
        "files": list(entry.paths),
        "operations": [asdict(operation) for operation in entry.operations],
        "reason": entry.reason,
        "reverts": entry.reverts or None,
    }


def _line(line: MemoryLine) -> Data:
    return {"file": line.path, "line": line.text, "name": line.name}


# `nanobot memory`, for whoever is at the machine, and any scope.


SHELL = Address("cli", "shell")
"""Where words come from that were typed behind `nanobot memory`. It is no conversation."""

_SHOW = "show"
_ACTIONS: tuple[Action, ...] = get_args(Action)


@dataclass(frozen=True, slots=True)
class ShellAnswer:
    """The answer in words, and for programs; `failed` if it was not done."""

    text: str
    failed: bool
    data: Mapping[str, object]


class MemoryShell:
    """Actions on the memory of every scope: whoever can run the program owns it."""

    def __init__(
        self, history: HistoryCommands, view: MemoryView, scopes: Callable[[], Awaitable[Collection[str]]]
    ) -> None:
        """`scopes` names those that there are."""
        self._history = history
        self._view = view
        self._scopes = scopes

    async def do(self, args: Sequence[str]) -> ShellAnswer:
        """`args`: the language, the scope, then show [NAME] | why WORDS | log [N|ID] | restore [ID] | undo ID.

        The action stands behind the family it was typed in: "memory show", "dream log".
        """
        language, scope, command, *words = args
        family, _, action = command.rpartition(" ")
        in_language = known_language(language)
        if scope not in (known := await self._scopes()):
            text = say("shell.no_such_memory", in_language, scope=scope, known=", ".join(sorted(known)))
            return ShellAnswer(text, failed=True, data={"error": "scope", "detail": scope})
        authority = Authority(Role.OWNER, Scope(scope), Origin.OWNER)
        if action == _SHOW:
            return await self._show(" ".join(words), authority, in_language)
        asked, typed = ChangeRequest(SHELL.session_key, authority), " ".join(words)
        asking = HistoryRequester(
            asked, in_language, lambda what: _typed(what, authority.scope, family), typed, chooses=False
        )
        result = await self._history.do(next(known for known in _ACTIONS if known == action), typed, asking)
        answer = told(result, asking)
        return ShellAnswer(answer.text, answer.failed, as_data(result))

    async def _show(self, name: str, authority: Authority, language: Language) -> ShellAnswer:
        message = InboundMessage(id="", address=SHELL, sender=Sender(""), authority=authority, text=name)
        call = CommandCall(message, name, language)
        answer = await self._view.shown(call, lambda what: _typed(what, authority.scope), at_shell=True)
        notebook = self._view.registry.of(authority.scope).notebook
        return ShellAnswer(answer.text, answer.failed, _data(notebook, await self._view.pages(call), name))


def _typed(action: str, scope: Scope, family: str = "memory") -> str:
    """Return the command as the person at the shell would type it, in the family they know."""
    known = family if action in ("log", "restore", "undo") else "memory"
    return f"nanobot {known} {action}{'' if scope.is_owner else f' --scope {scope}'}"


def _data(notebook: Notebook, pages: Sequence[MemoryPage], name: str) -> Mapping[str, object]:
    if name in ("", EVERYTHING):
        facts = {BY_NAME[page.file].key: page.text for page in pages if page.note is None}
        notes = [_about(page, whole=name == EVERYTHING) for page in pages if page.note]
        problems = [{"file": one.file, "kind": one.kind, "detail": one.detail} for one in notebook.problems]
        return {"file": str(notebook.path), "size": notebook.size, **facts, "notes": notes, "problems": problems}
    page = page_named(pages, name)
    return {"error": "note", "detail": name} if page is None else {**_about(page, whole=True)}


def _about(page: MemoryPage, *, whole: bool) -> Mapping[str, object]:
    note, text = page.note, {"text": page.text} if whole else {}
    if note is None:
        return {"file": page.file, **text}
    about = {"name": note.name, "type": note.type, "summary": note.summary, "updated": note.updated}
    return {"file": note.file, **about, **text}

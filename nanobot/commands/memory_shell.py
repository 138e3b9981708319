"""What `nanobot memory` does: the commands about memory, for whoever is at the machine and any scope."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.commands.history import Action, Asking, History
from nanobot.commands.history_data import as_data
from nanobot.commands.history_words import told
from nanobot.commands.memory import EVERYTHING, View
from nanobot.commands.memory_pages import Page, page_named
from nanobot.commands.router import Call
from nanobot.i18n import Language, say
from nanobot.memory.keeping import Asked
from nanobot.memory.notebook import Notebook
from nanobot.messages import Address, InboundMessage, Sender

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
    """Everything of every scope: whoever can run the program owns it."""

    def __init__(self, history: History, view: View, scopes: Callable[[], Awaitable[Collection[str]]]) -> None:
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
        in_language: Language = "zh" if language == "zh" else "en"
        if scope not in (known := await self._scopes()):
            text = say("shell.no_such_memory", in_language, scope=scope, known=", ".join(sorted(known)))
            return ShellAnswer(text, failed=True, data={"error": "scope", "detail": scope})
        authority = Authority(Role.OWNER, Scope(scope), Origin.OWNER)
        if action == _SHOW:
            return await self._show(" ".join(words), authority, in_language)
        asked, typed = Asked(SHELL.session_key, authority), " ".join(words)
        asking = Asking(asked, in_language, lambda what: _typed(what, authority.scope, family), typed, chooses=False)
        result = await self._history.do(next(known for known in _ACTIONS if known == action), typed, asking)
        answer = told(result, asking)
        return ShellAnswer(answer.text, answer.failed, as_data(result))

    async def _show(self, name: str, authority: Authority, language: Language) -> ShellAnswer:
        message = InboundMessage(id="", address=SHELL, sender=Sender(""), authority=authority, text=name)
        call = Call(message, name, language)
        answer = await self._view.shown(call, lambda what: _typed(what, authority.scope), at_shell=True)
        notebook = self._view.shelves.of(authority.scope).notebook
        return ShellAnswer(answer.text, answer.failed, _data(notebook, await self._view.pages(call), name))


def _typed(action: str, scope: Scope, family: str = "memory") -> str:
    """How whoever is at the shell asks for it: in the family they know, if it has that."""
    known = family if action in ("log", "restore", "undo") else "memory"
    return f"nanobot {known} {action}{'' if scope.is_owner else f' --scope {scope}'}"


def _data(notebook: Notebook, pages: Sequence[Page], name: str) -> Mapping[str, object]:
    if name in ("", EVERYTHING):
        user, memory, *notes = pages
        problems = [{"file": one.file, "kind": one.kind, "detail": one.detail} for one in notebook.problems]
        files = {"file": str(notebook.path), "size": notebook.size, "user": user.text, "memory": memory.text}
        return {**files, "notes": [_about(note, whole=name == EVERYTHING) for note in notes], "problems": problems}
    page = page_named(pages, name)
    return {"error": "note", "detail": name} if page is None else {**_about(page, whole=True)}


def _about(page: Page, *, whole: bool) -> Mapping[str, object]:
    note, text = page.note, {"text": page.text} if whole else {}
    if note is None:
        return {"file": page.file, **text}
    about = {"name": note.name, "type": note.type, "summary": note.summary, "updated": note.updated}
    return {"file": note.file, **about, **text}

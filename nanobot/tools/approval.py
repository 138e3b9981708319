"""Asks a person before something is done that they should know of."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from nanobot import text as shown
from nanobot.authority import Role, Scope
from nanobot.i18n import Language, say
from nanobot.messages import Button
from nanobot.ports import Asker, Caller
from nanobot.text import escaped

Rule = Literal["ask", "allow", "deny"]
"""Rule for a kind of calls: a person is asked, or nobody needs to be, or it is forbidden."""

MOST = 30_000
"""Characters that a person can be asked about."""

_ONCE, _SESSION, _NO, _ALL = "once", "session", "no", "all"
_AT_ONCE, _LINES_AT_ONCE = 3_000, 60  # characters and lines that are shown in one go
_NEVER_BROKEN = 36  # characters; the lines of code that every window holds
_END, _LINES_OF_AN_END = 1_000, 20  # of the beginning, and of the end, of what is longer


@dataclass(frozen=True)
class ShownText:
    """A text that a person is asked about, to the letter; `language` as a code block names it."""

    text: str
    language: str

    @property
    def is_long(self) -> bool:
        """True if it is more than can be seen at a glance."""
        return len(self._seen) > _AT_ONCE or self._seen.count("\n") >= _LINES_AT_ONCE

    def whole(self, language: Language) -> str:
        """All of it, in Markdown."""
        what = shown.fenced(self.text, self.language)
        lines = self._seen.split("\n")
        if max(map(len, lines)) > _NEVER_BROKEN:  # no platform says where it breaks a line
            what = f"{what}\n\n{say('tools.lines', language, count=len(lines))}"
        return self._with_remark(what, language)

    def ends(self, language: Language) -> str:
        """Its beginning and its end, and how long it is."""
        lines = self._seen.split("\n")
        head = "\n".join(lines[:_LINES_OF_AN_END])[:_END]
        tail = "\n".join(lines[-_LINES_OF_AN_END:])[-_END:]
        length = {"characters": f"{len(self._seen):,}", "lines": f"{len(lines):,}"}
        left_out = say("tools.left_out", language, count=f"{len(self._seen) - len(head) - len(tail):,}", **length)
        ends = [shown.fenced(head, self.language), left_out, shown.fenced(tail, self.language)]
        return self._with_remark("\n\n".join(ends), language)

    @cached_property
    def _seen(self) -> str:
        return escaped(self.text)

    def _with_remark(self, what: str, language: Language) -> str:
        return what if self._seen == self.text else f"{what}\n\n{say('tools.written_out', language)}"


@dataclass(frozen=True)
class ApprovalRequest:
    """Request for a person's approval.

    Args:
        sentence: the key of the question; its text says what "for this session" covers, and holds {what}.
        what: the command, or the change, to the letter.
        language: that of `what`, as a code block names it.
        grant: exactly what a yes for the session is for.
        path: the file that is changed, if one is.
        note: what else the person is to know, in their language.
    """

    sentence: str
    what: str
    language: str
    grant: str
    path: str = ""
    note: str = ""

    @property
    def is_long(self) -> bool:
        return self._shown.is_long

    def whole(self, language: Language) -> str:
        """The question, in Markdown, with all that it is about."""
        return self._asked(language, self._shown.whole(language))

    def ends(self, language: Language) -> str:
        """The question with the beginning and the end of what it is about, and how long that is."""
        asked = self._asked(language, self._shown.ends(language))
        return asked.rpartition("\n\n")[0]  # what a yes for the session is for: there is none yet

    @cached_property
    def _shown(self) -> ShownText:
        return ShownText(self.what, self.language)

    def _asked(self, language: Language, what: str) -> str:
        what = f"{what}\n\n{self.note}" if self.note else what
        return say(self.sentence, language, what=what, path=shown.code(self.path))


class Approval:
    """Asks once / for this session / no.

    What is too long to be seen at a glance is agreed to only after all of it was shown: before that there are "show
    all" and "no". What was granted for a session lasts until the program ends or it is taken back, for the person on
    whose behalf it was asked, in that role and scope.
    """

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._granted: set[tuple[str, str, Role, Scope, str]] = set()

    def take_back(self) -> None:
        """Ask anew about everything: somebody may be another than they were."""
        self._granted.clear()

    async def ask(self, caller: Caller, request: ApprovalRequest) -> bool:
        """True if the person says yes, now or before in this session."""
        authority = caller.authority
        key = (caller.address.session_key, caller.person, authority.role, authority.scope, request.grant)
        if key in self._granted:
            return True
        if request.is_long:
            choices = _choices(caller.language, (_ALL, _NO))
            if await self._asker.ask(caller, request.ends(caller.language), choices) != _ALL:
                return False
        choices = _choices(caller.language, (_ONCE, _SESSION, _NO))
        answer = await self._asker.ask(caller, request.whole(caller.language), choices)
        if answer == _SESSION:
            self._granted.add(key)
        return answer in (_ONCE, _SESSION)


def _choices(language: Language, values: Sequence[str]) -> Sequence[Button]:
    return [Button(say(f"tools.{value}", language), value) for value in values]

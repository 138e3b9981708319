"""Asks a person before something is done that they should know of."""

from nanobot.i18n import say
from nanobot.messages import Button
from nanobot.ports import Asker, Caller

_ONCE, _SESSION, _NO = "once", "session", "no"


class Approval:
    """Asks once / for this session / no.

    What was granted for a session lasts until the program ends, for the person on whose behalf it was asked.
    """

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._granted: set[tuple[str, str, str]] = set()

    async def given(self, caller: Caller, question: str, grant: str) -> bool:
        """Whether the person says yes, now or before in this session.

        Args:
            caller: where to ask, and in which language.
            question: in Markdown; it must say what "for this session" covers.
            grant: exactly what a yes for the session is for.
        """
        key = (caller.address.session_key, caller.person, grant)
        if key in self._granted:
            return True
        choices = [Button(say(f"tools.{value}", caller.language), value) for value in (_ONCE, _SESSION, _NO)]
        answer = await self._asker.ask(caller, question, choices)
        if answer == _SESSION:
            self._granted.add(key)
        return answer in (_ONCE, _SESSION)

"""One inbound message and all it causes."""

import time
from collections.abc import Callable

from nanobot.authority import Scope
from nanobot.errors import LLMErrorKind
from nanobot.i18n import Language, say
from nanobot.ids import new_id
from nanobot.messages import Address, InboundMessage, Progress, ProgressKind, Stats
from nanobot.ports import Caller, Lacking
from nanobot.transcript import Usage

Show = Callable[[Progress], None]


class Turn:
    """What is known of a running turn, and the Stream that shows its answer growing.

    `inbound` holds every message that the turn answers; the first one began it.
    `goes_on` says, when it is cut off, whether it is finished later: by the next process most often. `again`: it was.
    """

    def __init__(
        self,
        message: InboundMessage,
        language: Language,
        show: Show,
        *,
        goes_on: Callable[[], bool],
        again: bool = False,
    ) -> None:
        self.id = new_id()
        self.goes_on = goes_on
        self.again = again
        self.inbound = [message]
        self.language = language
        self.usage = Usage()
        self.half_said = ""  # what was streamed and is not recorded yet
        self._show = show
        self._began = time.monotonic()

    @property
    def address(self) -> Address:
        return self.inbound[0].address

    @property
    def scope(self) -> Scope:
        """Whose memory this turn sees and changes."""
        return self.inbound[0].authority.scope

    @property
    def caller(self) -> Caller:
        first = self.inbound[0]
        return Caller(first.address, first.authority, self.id, self.language, first.sender.id)

    def stats(self, model: str) -> Stats:
        return Stats(self.usage.input, self.usage.output, time.monotonic() - self._began, model)

    def started(self) -> None:
        self._progress("started", self.inbound[0].id)

    def ended(self) -> None:
        self._progress("ended")

    def recorded(self, *, is_remark: bool) -> None:
        """What was said so far is complete and stands in the session; a remark goes before tool calls."""
        self.half_said = ""
        if is_remark:
            self._progress("step")

    def notice(self, text: str) -> None:
        self._progress("notice", text)

    def tool(self, text: str) -> None:
        self._progress("tool", text)

    def output(self, text: str) -> None:
        self._progress("output", text)

    def text(self, delta: str) -> None:
        self.half_said += delta
        self._progress("text", delta)

    def restart(self) -> None:
        self.half_said = ""
        self._progress("restart")

    def waiting(self, seconds: float, kind: LLMErrorKind) -> None:
        self._progress("notice", say(f"waiting.{kind}", self.language, seconds=round(seconds)))

    def fallback(self, preset: str, kind: LLMErrorKind) -> None:
        self._progress("notice", say("waiting.fallback", self.language, model=preset))

    def lacks(self, preset: str, what: Lacking) -> None:
        self._progress("notice", say(f"waiting.no_{what}", self.language, model=preset))

    def _progress(self, kind: ProgressKind, text: str = "") -> None:
        self._show(Progress(address=self.address, turn=self.id, kind=kind, text=text))

"""What a running turn has said so far, and what of it is worth showing now."""

from nanobot.messages import Progress

FIRST_AFTER = 1.0
"""Seconds after the first piece of text when it is shown, if there is enough of it to be worth a look."""

ENOUGH = 20
"""Characters that are worth a look."""

FIRST_AT_LAST = 3.0
"""Seconds after the first piece of text when it is shown, however little it is."""

STATUS_AFTER = 4.0
"""Seconds after which a person who sees no text is told what takes so long."""


class Stream:
    """The text of a turn.

    `remark` is what was said before a tool was called and is not shown to its end yet, `growing` what is being
    said, `status` what a tool is doing, or why it takes so long. One of them is worth showing, in this order.
    `is_asking`: the turn waits for the person; `is_answered`: it did, and they may have written below what is shown.
    """

    def __init__(self) -> None:
        self.remark = ""
        self.growing = ""
        self.status = ""
        self.is_asking = False
        self.is_answered = False
        self.is_ended = False
        self._status_before = ""
        self.heard_at = 0.0
        self._since = 0.0  # when what is to be shown began

    def feed(self, progress: Progress, now: float) -> None:
        """Take in how the turn goes on."""
        had_text, had_status = self._has_text, bool(self.status)
        self.heard_at = now
        match progress.kind:
            case "text":
                self.growing, self.status = self.growing + progress.text, ""
            case "restart":
                self.growing = ""
            case "step":
                self.remark = "\n\n".join(said for said in (self.remark, self.growing.strip()) if said)
                self.growing = ""
            case "tool" | "notice":
                self.status = f"{'🔧' if progress.kind == 'tool' else '⏳'} {progress.text}"
            case "asking" | "refused":
                self._ask(progress, now)
            case "ended":
                self.is_ended = True
        if not had_text and (self._has_text or not had_status):
            self._since = now

    def _ask(self, progress: Progress, now: float) -> None:
        """While it waits for the person, that stands in the place of what the tool is about to do."""
        self.is_asking = bool(progress.text)
        if self.is_asking:
            self._status_before, self.status = self.status, f"⏸ {progress.text}"
            return
        self.status = "" if progress.kind == "refused" else self._status_before
        self.is_answered, self._since = True, now

    @property
    def text(self) -> str:
        """What is worth showing now; "" if nothing is."""
        return self.remark or (self.growing if self.growing.strip() else self.status)

    def first_at(self) -> float:
        """When this is to be shown, if nothing is shown yet."""
        if not self._has_text:
            return self._since + STATUS_AFTER
        return self._since + (FIRST_AFTER if len(self.text) >= ENOUGH else FIRST_AT_LAST)

    def remark_shown(self, now: float) -> None:
        """The remark stands as a message of its own."""
        self.remark = ""
        self._since = now

    @property
    def _has_text(self) -> bool:
        return bool(self.remark or self.growing.strip())

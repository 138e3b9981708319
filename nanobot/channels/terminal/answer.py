"""The answer of a running turn, as far as it is on the screen."""

from nanobot.channels.terminal.blocks import Blocks


class PrintedAnswer:
    """Takes the pieces of an answer, and says what of it can be printed."""

    def __init__(self) -> None:
        self._blocks = Blocks()
        self._printed = ""
        self._complete = False  # what is printed was ended by a step; it may be a remark, or all of the answer

    @property
    def unfinished(self) -> str:
        """What has come and is not printed yet."""
        return self._blocks.rest

    def grow(self, piece: str) -> list[str]:
        """Returns the blocks that this piece finished."""
        if self._complete:
            self.forget()
        finished = self._blocks.feed(piece)
        self._printed += "".join(finished)
        return finished

    def step(self) -> list[str]:
        """What came is complete. Returns what remains of it."""
        rest, self._blocks = self._blocks.rest, Blocks()
        self._printed += rest
        self._complete = self._complete or bool(self._printed)
        return _if_any(rest)

    def restart(self) -> bool:
        """What came since the last step is void. Returns whether some of it is on the screen."""
        was_seen = bool(self._printed.strip()) and not self._complete
        self.forget()
        return was_seen

    def forget(self) -> None:
        """What is printed stands for itself: no part of what comes."""
        self._blocks, self._printed, self._complete = Blocks(), "", False

    def finish(self, text: str) -> tuple[list[str], bool]:
        """The whole answer is there. Returns what is not on the screen yet, and whether it contradicts what is."""
        seen, whole = self._printed.strip(), text.strip()
        contradicts = not whole.startswith(seen) and not self._complete
        missing = whole.removeprefix(seen)
        self.forget()
        return _if_any(missing), contradicts


def _if_any(text: str) -> list[str]:
    return [text] if text.strip() else []

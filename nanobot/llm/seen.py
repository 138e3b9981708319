"""What a person has seen of an answer so far."""

from nanobot.errors import LLMErrorKind
from nanobot.ports import Lacking, Stream


class Seen:
    """Hands everything on to a stream, and takes text back only where there is some."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._any = False

    def text(self, delta: str) -> None:
        if delta:
            self._any = True
            self._stream.text(delta)

    def restart(self) -> None:
        if self._any:
            self._any = False
            self._stream.restart()

    def waiting(self, seconds: float, kind: LLMErrorKind) -> None:
        self._stream.waiting(seconds, kind)

    def fallback(self, preset: str, kind: LLMErrorKind) -> None:
        self._stream.fallback(preset, kind)

    def lacks(self, preset: str, what: Lacking) -> None:
        self._stream.lacks(preset, what)

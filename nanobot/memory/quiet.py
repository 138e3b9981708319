"""A Stream that nobody watches."""

from nanobot.errors import LLMErrorKind
from nanobot.ports import Lacking


class Quiet:
    """For what a model is asked when no person waits for the words."""

    def text(self, delta: str) -> None: ...

    def restart(self) -> None: ...

    def waiting(self, seconds: float, kind: LLMErrorKind) -> None: ...

    def fallback(self, preset: str, kind: LLMErrorKind) -> None: ...

    def lacks(self, preset: str, what: Lacking) -> None: ...

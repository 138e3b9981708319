"""Files that people send."""

from collections.abc import AsyncIterable
from pathlib import Path
from typing import Protocol

from nanobot.authority import Scope
from nanobot.messages import Attachment


class Media(Protocol):
    """Where files that people send are kept, each in the folder of its scope."""

    async def save(self, scope: Scope, name: str, mime: str, content: AsyncIterable[bytes]) -> Attachment:
        """Keep a file, durably, under a name of its own that resembles `name`; a broken one leaves nothing.

        Raises StoreError.
        """
        ...

    def path(self, file: Attachment) -> Path:
        """Where it lies on this machine."""
        ...


class Transcriber(Protocol):
    """Turns speech into text."""

    async def transcribe(self, path: Path, mime: str) -> str:
        """What is said in a file; "" if nothing is. Raises LLMError."""
        ...

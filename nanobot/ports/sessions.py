"""The ports of conversations and of the files that people send."""

from collections.abc import AsyncIterable, Collection, Sequence
from pathlib import Path
from typing import Protocol

from nanobot.authority import Scope
from nanobot.messages import Attachment
from nanobot.transcript import Line, Message, Owed, Session, SessionInfo, Span


class SessionStore(Protocol):
    """Store of conversations."""

    async def load(self, key: str) -> Session:
        """The conversation as far as it is replayed; an unknown key gives an empty one. Reads the tail only."""
        ...

    async def append(self, session: Session, *lines: Line) -> None:
        """Add lines in one durable write, then to the session. Raises StoreError; then nothing was added."""
        ...

    async def messages(self, key: str) -> Sequence[Message]:
        """Every message ever said in a conversation, resets included. For a look at all of it: it may be long."""
        ...

    async def between(self, key: str, spans: Collection[Span]) -> Sequence[Message]:
        """The messages of some pieces in their order, each from the beginning of its first turn on.

        Reads from the end, no further than it must, and waits for nobody who adds. What is not there is left out; a
        piece of which an end is not there need not be whole. Raises StoreError.
        """
        ...

    async def first_words(self, key: str) -> Message | None:
        """Return a person's first words in a conversation since it was last begun afresh; None if there are none.

        A conversation in which nothing was said since is told by what was said before. Raises StoreError.
        """
        ...

    async def unarchived(self, key: str) -> Sequence[Sequence[Message]]:
        """The oldest messages that are in no episode, at most some thousands, conversation by conversation.

        A reset begins a new one; the last is the running one, which may be empty.
        """
        ...

    async def owed(self) -> Sequence[Owed]:
        """The conversations of which something is in no episode. Reads the tails only; may overlook nothing but
        a reset far before the end."""
        ...

    async def list(self) -> Sequence[SessionInfo]:
        """All conversations, the latest first."""
        ...

    async def delete(self, key: str) -> bool:
        """Remove a conversation from disk; False if there was none."""
        ...


class SessionModels(Protocol):
    """Remembers the preset that a person chose for a session."""

    def get(self, key: str) -> str | None: ...

    async def set(self, key: str, preset: str | None) -> None:
        """Remember the choice; None forgets it."""
        ...


# Files that people send.


class Media(Protocol):
    """Store of the files that people send, each in the folder of its scope."""

    async def save(self, scope: Scope, name: str, mime: str, content: AsyncIterable[bytes]) -> Attachment:
        """Keep a file, durably, under a name of its own that resembles `name`; a broken one leaves nothing.

        Raises StoreError.
        """
        ...

    def path(self, file: Attachment) -> Path:
        """Return the path of a file on this machine."""
        ...


class Transcriber(Protocol):
    """Turns speech into text."""

    async def transcribe(self, path: Path, mime: str) -> str:
        """Return the speech in a file; "" if there is none. Raises LLMError."""
        ...

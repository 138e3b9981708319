"""Changes of long-term files that somebody asked for, each kept as a version with its reason."""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from nanobot.authority import Authority, Origin, least
from nanobot.errors import StoreError, VersionError
from nanobot.memory import commits
from nanobot.memory.commits import Commit
from nanobot.memory.manners import without_manners
from nanobot.memory.rules import is_order
from nanobot.ports import Caller, Edit, SessionStore, VersionStore
from nanobot.transcript import Message

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asked for a change, and where: in a turn of a session, or with a command, which no session holds.

    `session` is the session's key, `message` the id of the command's message on the bus.
    """

    session: str
    authority: Authority
    turn: str = ""
    message: str = ""

    @classmethod
    def in_turn(cls, caller: Caller) -> Self:
        """Whoever caused a turn."""
        return cls(caller.address.session_key, caller.authority, turn=caller.turn)


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a change rests on: ids of messages as `session#id`, and how far the words behind it can be trusted.

    `heard` leaves out what the memory itself brought up: it has been let in before. `own_words` is what an owner
    themself said in the turn. Both know that turn alone, while the model still reads those before it.
    """

    messages: tuple[str, ...]
    origin: Origin
    heard: Origin
    own_words: str = ""

    @property
    def may_order(self) -> bool:
        """Whether nothing in the turn is of anybody but an owner; else it must not say what the bot is to do."""
        return self.heard is Origin.OWNER


class Keeping:
    """Makes changes through the history, so that each says by whom and why."""

    def __init__(self, versions: VersionStore, sessions: SessionStore) -> None:
        self._versions = versions
        self._sessions = sessions

    async def read(self, path: str) -> bytes | None:
        """The versioned part of a file, by its path in the workspace, as it is now; None if there is none."""
        return (await self._versions.files([path])).get(path)

    async def has_made(self, proposal: str, paths: Sequence[str]) -> bool:
        """Whether a version of these files says that it is the proposal with this id."""
        try:
            made = [commits.parse(version.message) for version in await self._versions.log(within=paths)]
        except VersionError as error:
            log.debug("nothing is known of proposal %s: %s", proposal, error)
            return False
        return any(commit.proposal == proposal for commit in made if commit)

    async def grounds(self, asked: Asked) -> Grounds:
        """What is known of whoever asked. In a turn that has read something of the web, the web counts."""
        if not asked.turn:
            messages = (f"{asked.session}#{asked.message}",) if asked.message else ()
            return Grounds(messages, asked.authority.origin, asked.authority.origin)
        try:
            session = await self._sessions.load(asked.session)
        except StoreError as error:
            log.warning("turn %s in %s: what was asked cannot be named: %s", asked.turn, asked.session, error)
            return Grounds((), asked.authority.origin, Origin.TOOL)
        said = [message for message in session.messages if message.turn == asked.turn]
        origins = [message.origin for message in said if message.origin]
        return Grounds(
            tuple(f"{asked.session}#{message.id}" for message in said if message.role == "user"),
            least(asked.authority.origin, *origins),
            least(asked.authority.origin, *_heard(said)),
            "\n".join(m.content or "" for m in said if m.role == "user" and m.origin is Origin.OWNER),
        )

    async def may_say(self, text: str, asked: Asked) -> bool:
        """Whether whoever asked may have this remembered.

        What tells the bot what to do takes an owner's own word. How they themselves like to be answered, people may
        say in their own memory.
        """
        grounds, scope = await self.grounds(asked), asked.authority.scope
        if grounds.may_order or not await asyncio.to_thread(is_order, text):
            return True
        is_their_own = scope.is_person and grounds.heard is Origin.PERSON
        return is_their_own and not await asyncio.to_thread(is_order, without_manners(text))

    async def keep(self, edits: Mapping[str, Edit], commit: Commit) -> bool:
        """Change files as one version; where there is no git, without one.

        False if the history cannot do it now, for a reason that /status tells, or does not keep such a file. Then
        nothing was changed: whoever asked writes without it, and what they write counts as a hand edit.
        Raises VersionError `conflict` if a file is not as the edits say that it was.
        """
        try:
            await self._versions.commit(edits, commits.write(commit))
        except VersionError as error:
            if error.kind == "conflict":
                raise
            log.warning("%s: changed without a version: %s", ", ".join(edits), error)
            return False
        return True


def _heard(said: Sequence[Message]) -> Iterator[Origin]:
    """Of what a turn was given to read. A note that a message reminded of is the memory's own."""
    for message in said:
        if message.role != "assistant":
            yield from message.origins
        if message.reminded and message.reminded is not Origin.TOOL:
            yield message.reminded

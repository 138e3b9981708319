"""Changes of long-term files that somebody asked for, each kept as a version with its reason."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from nanobot.authority import Authority, Origin, Role, Scope, least
from nanobot.errors import StoreError, VersionError
from nanobot.memory import commits
from nanobot.memory.commits import Commit
from nanobot.pasted import own_part
from nanobot.ports import Caller, Edit, SessionStore, VersionStore
from nanobot.text import as_name
from nanobot.transcript import Message

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asked for a change, and where: in a turn of a session, or with a command, which no session holds.

    `session` is the session's key, `message` the id of the command's message on the bus; `person` is their id, and
    `name` what they are called.
    """

    session: str
    authority: Authority
    turn: str = ""
    message: str = ""
    person: str = ""
    name: str = ""

    @classmethod
    def in_turn(cls, caller: Caller) -> Self:
        """Whoever caused a turn."""
        return cls(caller.address.session_key, caller.authority, turn=caller.turn, person=caller.person)


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a change rests on: ids of messages as `session#id`, and how far the words of the turn can be trusted.

    `others` is the least trusted origin of all that the model reads and that is not the person's own: in this turn,
    in those before it, in what the prompt tells of earlier conversations. None: whatever is written is their idea.
    `own_words` is what they themself said in the turn. In a group's memory the words of whoever is no owner stand
    behind their name, `speaker`: others read them, too.
    """

    messages: tuple[str, ...]
    origin: Origin
    others: Origin | None = None
    own_words: str = ""
    speaker: str = ""


Earlier = Callable[[str], Origin | None]
"""The least trusted origin of what the prompt of a session tells of earlier conversations; None if it tells nothing."""


class Keeping:
    """Makes changes through the history, so that each says by whom and why."""

    def __init__(self, versions: VersionStore, sessions: SessionStore, earlier: Earlier = lambda _: None) -> None:
        self._versions = versions
        self._sessions = sessions
        self._earlier = earlier

    async def read(self, path: str) -> bytes | None:
        """The versioned part of a file, by its path in the workspace, as it is now; None if there is none."""
        return (await self._versions.files([path])).get(path)

    async def has_made(self, proposal: str, scope: str) -> bool:
        """Whether a version that changed this scope says that it is the proposal with this id, and its files follow."""
        try:
            await self._versions.ensure()  # a process may have died between the version and its files
            made = [commits.parse(version.message) for version in await self._versions.log()]
        except VersionError as error:
            log.debug("nothing is known of proposal %s: %s", proposal, error)
            return False
        return any(commit.proposal == proposal and scope in commit.scopes for commit in made if commit)

    async def grounds(self, asked: Asked) -> Grounds:
        """What is known of whoever asked, and of what the model reads; what cannot be known is not their own."""
        if not asked.turn:
            messages = (f"{asked.session}#{asked.message}",) if asked.message else ()
            return Grounds(messages, asked.authority.origin)
        try:
            session = await self._sessions.load(asked.session)
        except StoreError as error:
            log.warning("turn %s in %s: what was asked cannot be named: %s", asked.turn, asked.session, error)
            return Grounds((), asked.authority.origin, Origin.TOOL)
        said = [message for message in session.messages if message.turn == asked.turn]
        origins = [message.origin for message in said if message.origin]
        others = [*_others(session.messages, asked), *_earlier(self._earlier(asked.session), asked.authority.scope)]
        own = [message for message in said if message.role == "user" and _is_own(message, asked)]
        speaker = ""
        if asked.authority.scope.is_group and asked.authority.role is not Role.OWNER:
            others.append(Origin.PERSON)
            speaker = next((as_name(one.sender.name) for one in own if one.sender), "") or asked.person or "?"
        return Grounds(
            tuple(f"{asked.session}#{message.id}" for message in said if message.role == "user"),
            least(asked.authority.origin, *origins),
            least(*others) if others else None,
            "\n".join(own_part(message.content or "") for message in own),
            speaker,
        )

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


_OWN = {True: (Origin.OWNER,), False: (Origin.OWNER, Origin.PERSON)}
"""The origins of the words of whose memory it is, by whether that is the owners'. In a group, each is somebody else."""


def _others(messages: Sequence[Message], asked: Asked) -> Iterator[Origin]:
    """The origins of all that stands in a conversation and is not of whoever asked.

    What the model itself says comes from what stands before it. A memory that a file holds was let in there before.
    """
    scope = asked.authority.scope
    if messages and messages[0].role != "user":  # the turn began with what is not in view any more
        yield Origin.TOOL
    for message in messages:
        if message.role == "user" and not _is_own(message, asked):
            yield Origin.QUOTED
        if message.role == "tool" and message.origin not in _OWN[scope.is_owner]:
            yield message.origin or Origin.TOOL
        if Origin.QUOTED in message.origins:
            yield Origin.QUOTED
        if any(not file.is_sound for file in message.files):
            yield Origin.TOOL
        yield from _earlier(message.recalled or _of_old(message), scope)


def _is_own(message: Message, asked: Asked) -> bool:
    """Whether a user's message is in the words of whoever asked: any owner, where it is the owners' memory."""
    scope = asked.authority.scope
    if scope.is_group:
        return message.sender is not None and message.sender.id == asked.person
    return (message.origin or Origin.PERSON) in _OWN[scope.is_owner]


def _earlier(origin: Origin | None, scope: Scope) -> Iterator[Origin]:
    """The origin of what was said in other conversations, or before, unless it is the person's own."""
    if origin and (scope.is_group or origin not in _OWN[scope.is_owner]):
        yield least(origin, Origin.QUOTED) if scope.is_group else origin


def _of_old(message: Message) -> Origin | None:
    """The same of a line from before `recalled` was written: what a file held was a tool's there."""
    return message.reminded if message.reminded is not Origin.TOOL else None

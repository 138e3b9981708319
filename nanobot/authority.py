"""Authority: who speaks, whose memory that opens, and how far the words are trusted."""

from dataclasses import dataclass
from enum import StrEnum
from functools import total_ordering
from typing import Self


class _Ranked(StrEnum):
    """A word on disk, an order in code: members are declared from the highest to the lowest."""

    @property
    def rank(self) -> int:
        """0 is the highest."""
        return list(type(self)).index(self)


class Role(_Ranked):
    """Role of a person: the rights that they have."""

    OWNER = "owner"
    MEMBER = "member"
    GUEST = "guest"


class Origin(_Ranked):
    """Origin of a text, in falling order of trust."""

    OWNER = "owner"
    PERSON = "person"
    QUOTED = "quoted"
    TOOL = "tool"
    WEB = "web"


def least(*origins: Origin) -> Origin:
    """The origin of a text that was made from texts of these origins: the least trusted one."""
    return max(origins, key=lambda origin: origin.rank)


@total_ordering
@dataclass(frozen=True, slots=True)
class Scope:
    """Name of the memory that a turn uses: "owner", "person:<channel>-<id>" or "group:<channel>-<id>"."""

    name: str

    OWNER_NAME = "owner"

    @classmethod
    def owner(cls) -> Self:
        """The memory that all owners share."""
        return cls(cls.OWNER_NAME)

    @classmethod
    def person(cls, channel: str, user_id: str) -> Self:
        """A member's own memory."""
        return cls(f"person:{channel}-{user_id}")

    @classmethod
    def group(cls, channel: str, chat_id: str) -> Self:
        """The memory of a group chat."""
        return cls(f"group:{channel}-{chat_id}")

    @property
    def is_owner(self) -> bool:
        """True if this is the owners' memory, the files at the workspace's root."""
        return self.name == self.OWNER_NAME

    @property
    def is_group(self) -> bool:
        """True if this is the memory of a group chat."""
        return self.name.startswith("group:")

    @property
    def is_person(self) -> bool:
        """True if this is one member's own memory."""
        return not (self.is_owner or self.is_group)

    def __lt__(self, other: "Scope") -> bool:
        return self.name < other.name

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Authority:
    """Made where a message enters, and handed along to everything that acts on its behalf.

    `here` is a folder outside the workspace that an owner has opened for what they say, in a terminal; "" if none.
    """

    role: Role
    scope: Scope
    origin: Origin
    here: str = ""


OWNER_IN_TERMINAL = Authority(Role.OWNER, Scope.owner(), Origin.OWNER)
"""Whoever can run the program on this machine owns it."""


def may_touch(authority: Authority, scope: Scope) -> bool:
    """The one function that decides whose memory may be seen and changed.

    Everyone reaches the scope they speak in and no other; an owner who speaks in a group
    speaks in the group's scope, so that nothing of theirs comes up there.
    """
    return authority.role is not Role.GUEST and authority.scope == scope


def may_answer(asked: Authority, answering: Authority, *, is_same_person: bool) -> bool:
    """True if somebody may answer a question that was asked on somebody's behalf: it decides what they may do.

    Whoever caused it may, unless their role is lower by now, and an owner may; nobody else, and nobody from
    another scope.
    """
    if answering.scope != asked.scope or answering.role is Role.GUEST:
        return False
    return answering.role is Role.OWNER or (is_same_person and answering.role.rank <= asked.role.rank)

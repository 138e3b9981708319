"""What somebody may do, and what is left of that when their message has waited."""

import logging
from dataclasses import replace

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.messages import InboundMessage
from nanobot.people.people import People

log = logging.getLogger(__name__)

TERMINAL = "cli"
"""The channel of the terminal: who types there is at the machine, and no list says who they are."""


def authority_of(people: People, channel: str, user_id: str, role: Role, group: Scope | None) -> Authority:
    """What somebody with this role may do, in a group's scope, or (None) alone with the bot."""
    if role is Role.OWNER:
        return Authority(role, group or Scope.owner(), Origin.OWNER)
    return Authority(role, group or Scope.person(*people.first(channel, user_id)), Origin.PERSON)


def as_of_now(people: People, message: InboundMessage) -> InboundMessage | None:
    """A message that has waited, with the authority that its sender has by now; None if they may not talk.

    Role and memory are those of now, whatever they were when it was written.
    """
    said, where, who = message.authority, message.address, message.sender.id
    if where.channel == TERMINAL:
        return message
    role, group = people.role(where.channel, who), said.scope if said.scope.is_group else None
    is_bot = said.origin is Origin.QUOTED or role is Role.GUEST
    if is_bot:  # a bot is never more than a member of a group
        role = Role.MEMBER if group and people.may_bot(where.channel, who) else Role.GUEST
    if role is Role.GUEST:
        log.info("%s: message %s is dropped: its sender may not talk any more", where.session_key, message.id)
        return None
    authority = authority_of(people, where.channel, who, role, group)
    if said.origin is Origin.QUOTED:
        authority = replace(authority, origin=Origin.QUOTED)
    return message if authority == said else replace(message, authority=authority)

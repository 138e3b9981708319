"""What somebody may do now, who was let in when they wrote."""

import logging
from dataclasses import replace

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.messages import InboundMessage
from nanobot.people.people import People

log = logging.getLogger(__name__)

TERMINAL = "cli"
"""The channel of the terminal: who types there is at the machine, and no list says who they are."""


def as_of_now(people: People, message: InboundMessage) -> InboundMessage | None:
    """A message that has waited, with no more authority than its sender has by now; None if they may not talk.

    Nothing is raised: what somebody wrote before they were made an owner is a member's. Raises StoreError.
    """
    said, where = message.authority, message.address
    if where.channel == TERMINAL:
        return message
    role = people.role(where.channel, message.sender.id)
    if role is Role.GUEST and said.scope.is_group and people.may_bot(where.channel, message.sender.id):
        role = Role.MEMBER
    if role is Role.GUEST:
        log.info("%s: message %s is dropped: its sender may not talk any more", where.session_key, message.id)
        return None
    if role.rank <= said.role.rank:
        return message
    own = Scope.person(*people.first(where.channel, message.sender.id))
    return replace(message, authority=Authority(role, said.scope if said.scope.is_group else own, Origin.PERSON))

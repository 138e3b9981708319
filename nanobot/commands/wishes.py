"""Plain words that call a command."""

from dataclasses import replace

from nanobot.authority import Role
from nanobot.memory.wishes import forget_request
from nanobot.messages import InboundMessage


def in_command(message: InboundMessage) -> InboundMessage:
    """An order to forget something as the /forget that shows what would go, and asks; anything else as it is.

    Only from those who may: in a group, that are owners. It must be all that the message is.
    """
    role, is_group = message.authority.role, message.authority.scope.is_group
    may = role is Role.OWNER or (role is Role.MEMBER and not is_group)
    has_more = message.files or message.quotes or message.corrects or message.answers or not message.to_bot
    what = forget_request(message.text) if may and not has_more else None
    return replace(message, text=f"/forget {what}") if what else message

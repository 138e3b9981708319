"""The command /dream: go through what was said lately, now."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from nanobot.commands.router import Answer, Call, Command
from nanobot.commands.session import Lines
from nanobot.i18n import Language, say
from nanobot.ids import new_id
from nanobot.memory.dream.dream import Dream
from nanobot.messages import OutboundMessage

Send = Callable[[OutboundMessage], Awaitable[None]]

Archive = Callable[[str], Awaitable[object]]

NextAt = Callable[[], datetime | None]
"""When it runs next by itself; None: never, as things are."""

_NO_SUCCESS = ("unusable", "failed", "busy", "enough")


def dream_command(dream: Dream, send: Send, archive: Archive) -> Command:
    """/dream. It may take minutes: `send` says first what is being read.

    `archive` makes an episode of what was said in a session until now, so that there is something to dream of.
    """

    async def handle(call: Call) -> Answer:
        message = call.message
        has_told = False

        async def reading(first: int, last: int) -> None:
            nonlocal has_told
            if not has_told:
                has_told = True
                text = reading_now(call.language, first, last)
                await send(OutboundMessage(id=new_id(), address=message.address, text=text, kind="notice"))

        await archive(message.address.session_key)
        report = await dream.run("asked", reading)
        told = report.told(call.language, message.authority.scope)
        return Answer(told, failed=report.outcome in _NO_SUCCESS)

    return Command("dream", handle, immediate=True, in_order=False)


def reading_now(language: Language, first: int, last: int) -> str:
    """That these episodes are being read."""
    numbers = str(first) if first == last else f"{first}–{last}"
    return say("dream.reading", language, numbers=numbers, count=last - first + 1)


def dream_lines(dream: Dream, next_at: NextAt = lambda: None) -> Lines:
    """What /status and /memory say of it. What failed concerns owners, who can do something about it."""

    async def lines(call: Call) -> Sequence[str]:
        status = await dream.status()
        is_owners = call.message.authority.scope.is_owner
        return list(status.told(call.language, next_at(), in_full=is_owners))

    return lines

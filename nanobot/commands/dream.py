"""The command /dream: go through what was said lately, now."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from nanobot.authority import Role
from nanobot.commands.dream_shell import with_summaries
from nanobot.commands.router import Answer, Call, Command
from nanobot.commands.session import Lines
from nanobot.ids import new_id
from nanobot.memory.consolidator import Archiving
from nanobot.memory.dream.diary import not_before
from nanobot.memory.dream.dream import Dream
from nanobot.messages import OutboundMessage

Send = Callable[[OutboundMessage], Awaitable[None]]

Archive = Callable[[str], Awaitable[Archiving]]

NextAt = Callable[[datetime | None], datetime | None]
"""When it runs next by itself, or first at or after a moment; None: never, as things are."""

_NO_SUCCESS = ("unusable", "failed", "busy", "enough")


def dream_command(dream: Dream, send: Send, archive: Archive) -> Command:
    """/dream, for owners: it reads what was said in all scopes, and they pay for it.

    It may take minutes: `send` says first that it is at work.

    `archive` makes an episode of what was said in a session until now, so that there is something to dream of.
    """

    async def handle(call: Call) -> Answer:
        message = call.message
        has_told = False

        async def reading() -> None:
            nonlocal has_told
            if not has_told:
                has_told = True
                text = call.say("dream.reading")
                await send(OutboundMessage(id=new_id(), address=message.address, text=text, kind="notice"))

        archived = await archive(message.address.session_key)
        report = await dream.run("asked", reading)
        told = report.told(call.language, message.authority.scope)
        answer = Answer(told, failed=report.outcome in _NO_SUCCESS)
        return with_summaries(answer, [archived], report, call.language)

    return Command("dream", handle, immediate=True, in_order=False, role=Role.OWNER)


def dream_lines(dream: Dream, next_at: NextAt = lambda after: None) -> Lines:
    """What /status and /memory say of it: to others than owners only what waits of their own."""

    async def lines(call: Call) -> Sequence[str]:
        scope = call.message.authority.scope
        status = await dream.status(None if scope.is_owner else scope)
        due = next_at(not_before(status.record))
        return list(status.told(call.language, due, in_full=scope.is_owner))

    return lines

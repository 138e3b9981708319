"""Going through what was said lately, now: /dream, and `nanobot dream`."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from nanobot.authority import Role, Scope
from nanobot.commands.router import Answer, Call, Command
from nanobot.commands.session import Lines
from nanobot.i18n import Language, say
from nanobot.ids import new_id
from nanobot.memory.consolidator import Archiving
from nanobot.memory.dream.diary import not_before
from nanobot.memory.dream.dream import Dream
from nanobot.memory.dream.report import DreamReport
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


async def dream_at_shell(
    dream: Dream,
    archive: Callable[[], Awaitable[Sequence[Archiving]]],
    language: Language,
    tell: Callable[[str], None],
) -> Answer:
    """Dream, and answer what changed in everybody's memory; `tell` hears when it is at work. Raises StoreError.

    `archive` makes episodes of what was said until now, so that there is something to dream of.
    """

    async def reading() -> None:
        tell(say("dream.reading", language))

    archived = await archive()
    report = await dream.run("asked", reading)
    others = sorted({change.scope for change in report.changes} - {Scope.owner()})
    told = [f"{scope}\n{report.told(language, scope)}" for scope in others]
    is_done = report.goes_on or report.outcome == "nothing"
    answer = Answer(report.told(language, Scope.owner()), failed=not is_done)
    answer = with_summaries(answer, archived, report, language)
    return Answer("\n\n".join([answer.text, *told]), failed=answer.failed)


def with_summaries(answer: Answer, archived: Sequence[Archiving], report: DreamReport, language: Language) -> Answer:
    """The answer about a dream, with what went wrong before it, when what was said was summarised.

    That nothing was said since is not true if something was, and is only not summarised.
    """
    lines = list(dict.fromkeys(filter(None, (one.told(language) for one in archived))))
    is_missing = any(not one.is_whole for one in archived)
    if not lines:
        return answer
    if not (report.outcome == "nothing" and is_missing):
        lines.append(answer.text)
    return Answer("\n".join(lines), failed=answer.failed or any(one.failure for one in archived))

"""What `nanobot dream` does."""

from collections.abc import Awaitable, Callable, Sequence

from nanobot.authority import Scope
from nanobot.commands.router import Answer
from nanobot.i18n import Language, say
from nanobot.memory.consolidator import Archiving
from nanobot.memory.dream.dream import Dream
from nanobot.memory.dream.report import DreamReport


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

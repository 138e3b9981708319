"""What `nanobot dream` does."""

from collections.abc import Awaitable, Callable

from nanobot.authority import Scope
from nanobot.commands.router import Answer
from nanobot.i18n import Language, say
from nanobot.memory.dream.dream import Dream


async def dream_at_shell(
    dream: Dream, archive: Callable[[], Awaitable[object]], language: Language, tell: Callable[[str], None]
) -> Answer:
    """Dream, and answer what changed in everybody's memory; `tell` hears when it is at work. Raises StoreError.

    `archive` makes episodes of what was said until now, so that there is something to dream of.
    """

    async def reading() -> None:
        tell(say("dream.reading", language))

    await archive()
    report = await dream.run("asked", reading)
    others = sorted({change.scope for change in report.changes} - {Scope.owner()})
    told = [f"{scope}\n{report.told(language, scope)}" for scope in others]
    is_done = report.goes_on or report.outcome == "nothing"
    return Answer("\n\n".join([report.told(language, Scope.owner()), *told]), failed=not is_done)

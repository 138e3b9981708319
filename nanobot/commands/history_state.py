"""What /status and /memory say of the history: whether it is kept, and what is not in it."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from nanobot.authority import Scope
from nanobot.commands.router import Call
from nanobot.errors import VersionError
from nanobot.memory.timeline import is_of
from nanobot.ports import VersionStore

log = logging.getLogger(__name__)

_NO_GIT = "missing"
_MOST_SKIPPED = 5


class HistoryState:
    """For owners the trouble, since they can do something about it; for all which of their files are left out."""

    def __init__(self, versions: VersionStore) -> None:
        self._versions = versions

    async def begin(self) -> None:
        """Finish what a crash interrupted, and take in what people changed. What goes wrong, `problem` tells of."""
        try:
            edits = await self._versions.ensure()
        except VersionError as error:
            log.warning("the history of memory could not begin: %s", error)
            return
        for path, reason in edits.skipped.items():
            log.info("%s is not in the history of memory: %s", path, reason)

    async def __call__(self, call: Call) -> Sequence[str]:
        skipped: Mapping[str, str] = {}
        with suppress(VersionError):
            skipped = (await self._versions.commit_hand_edits()).skipped
        return list(self._lines(call, skipped))

    def _lines(self, call: Call, skipped: Mapping[str, str]) -> Iterator[str]:
        scope, problem = call.message.authority.scope, self._versions.problem
        if problem.startswith(_NO_GIT):
            yield call.say("history.status_none")
        elif problem and scope.is_owner:
            yield call.say("history.status_problem", problem=problem.partition(": ")[2] or problem)
        own = _own(skipped, scope)
        for path in own[:_MOST_SKIPPED]:
            yield call.say("history.status_skipped", file=path, reason=call.say(f"history.skipped_{skipped[path]}"))
        if len(own) > _MOST_SKIPPED:
            yield call.say("history.more", count=len(own) - _MOST_SKIPPED)


def _own(skipped: Mapping[str, str], scope: Scope) -> Sequence[str]:
    return sorted(path for path in skipped if is_of(scope, path))

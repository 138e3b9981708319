"""When each of the program's own jobs last began."""

import asyncio
import logging
from datetime import datetime
from pathlib import Path

from nanobot.store.state import read_state, write_state
from nanobot.uncancelled import to_the_end

_log = logging.getLogger(__name__)


class JobTimesFile:
    """The JobTimes in a small file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._times: dict[str, datetime] | None = None
        self._writing = asyncio.Lock()

    def last(self, name: str) -> datetime | None:
        return self._known().get(name)

    async def note(self, name: str, at: datetime) -> None:
        times = self._known()
        times[name] = at
        async with self._writing:  # so that what is written last holds all
            content = {job: time.isoformat() for job, time in times.items()}
            await to_the_end(asyncio.to_thread(write_state, self._path, content))

    def _known(self) -> dict[str, datetime]:
        if self._times is None:
            kept = read_state(self._path, dict[str, str], {})
            self._times = {name: moment for name, text in kept.items() if (moment := _moment(name, text))}
        return self._times


def _moment(name: str, text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        _log.warning("when the job %s last began cannot be read (%r); it counts as never", name, text)
        return None
    return moment if moment.tzinfo else moment.astimezone()

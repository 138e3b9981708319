"""The month is lived: what happened in it, and what was asked about it afterwards."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.memory.dream.dream import Dream, DreamModelSlot
from nanobot.memory.dream.input import DreamStores
from nanobot.memory.dream.operations import DreamLimits
from nanobot.memory.episodes.archivist import Archivist, Stretch, Summariser
from nanobot.memory.episodes.history_file import EpisodeStore
from nanobot.memory.facts import compared, is_told_of_others, without_speaker
from nanobot.memory.markdown import facts_of, without_index
from nanobot.memory.scopes import ScopePaths
from nanobot.memory.versions.store import GitVersions
from nanobot.ports import Author, DreamRecord, SummaryFailure, Version
from nanobot.ports.models import at_once
from nanobot.sessions.store import SessionManager
from nanobot.tokens import TokenEstimator
from nanobot.workspace import Home, Workspace
from tests.fakes.clock import START, FakeClock
from tests.fakes.month_model import MonthModel
from tests.month import story
from tests.month.cast import HOME_OF, SCOPES
from tests.month.house import PATIENCE, House

REST = 31 * 60.0
NIGHT = timedelta(hours=17)
"""From the morning to the middle of the night, when it is time to dream."""

Lines = Mapping[str, set[str]]
"""What stands in each file of a memory, as it is compared."""


@dataclass
class Month:
    """What is known when it is over.

    `why` holds the answers by the lines that were asked about, `found` by memory what is found by each word.
    """

    story: story.Story
    root: Path
    model: MonthModel
    at_first: Mapping[Scope, Lines] = field(default_factory=dict)
    in_the_end: Mapping[Scope, Lines] = field(default_factory=dict)
    learnt_again: Mapping[Scope, Lines] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    prompts: dict[Scope, str] = field(default_factory=dict)
    found: dict[Scope, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    unheard: list[str] = field(default_factory=list)


async def live(root: Path, patch: pytest.MonkeyPatch, told: story.Story) -> Month:
    """Live through a story, then ask."""
    model = MonthModel()
    month = Month(told, root, model)
    async with House(Home(root), model, FakeClock(), story.PAGE_TEXT, patch) as house:
        (house.workspace.root / "shed.txt").write_text(story.READ_TEXT, encoding="utf-8")
        month.at_first = remembered(house.workspace)
        for day in told.days():
            await _day(house, day, month)
        month.in_the_end = remembered(house.workspace)
        await _ask(house, month)
        await _read_all_again(house)
        month.learnt_again = remembered(house.workspace)
    return month


async def _day(house: House, day: story.Day, month: Month) -> None:
    morning = START + timedelta(days=day.number - 1)
    await house.passes(max(0.0, (morning - house.clock.now()).total_seconds()))
    for event in day.early:
        await _happens(house, event, month)
    for conversation in day.conversations:
        for said in conversation:
            answer = await house.say(said.place, said.text, said.quotes, said.file)
            if answer is None:
                month.unheard.append(said.text)
        await house.passes(REST)
    await house.passes((morning + NIGHT - house.clock.now()).total_seconds())


async def _happens(house: House, event: story.Event, month: Month) -> None:
    match event:
        case story.Restart():
            await house.restart()
        case story.Edit():
            with house.workspace.user.open("a", encoding="utf-8") as file:
                file.write(f"- {event.line}\n")
        case story.Undo():
            change = await house.change_with(event.place, event.line)
            answer = await house.say(event.place, f"/dream-{event.how} {change}")
            assert answer
            assert not answer.failed, answer.text
        case story.Forget():
            question = await house.say(event.place, f"/forget {event.words}")
            assert question
            assert question.buttons, question.text
            answer = await house.say(event.place, question.buttons[0].value, answers=question.id)
            assert answer
            assert not answer.failed, answer.text


async def _ask(house: House, month: Month) -> None:
    """What is remembered is asked about, line by line, and what each prompt would hold is looked at."""
    for scope in SCOPES:
        place = HOME_OF[scope]
        for line in (line for lines in month.story.left_in(scope).values() for line in lines):
            month.why[line] = await house.ask(place, f"/why {line}")
        _, _, prompt = await house.bot.agent.status(place.address, scope)
        month.prompts[scope] = prompt.message.content or ""
        month.found[scope] = {fact.mark: await _found(house, scope, fact.mark) for fact in month.story.facts}


async def _found(house: House, scope: Scope, words: str) -> Sequence[str]:
    authority = Authority(Role.OWNER if scope.is_owner else Role.MEMBER, scope, Origin.PERSON)
    async with asyncio.timeout(PATIENCE):
        while (recalled := await house.bot.keep.memories.find(words, authority, around=1)).unread:
            pass  # each waits a little by itself
    return [said.text for hit in recalled.hits for said in (hit.said, *hit.around)]


async def _read_all_again(house: House) -> None:
    """Every conversation is summarised once more, and Dream reads all there ever was, from the beginning."""
    sessions = SessionManager(house.workspace, fsync=False)
    episodes = EpisodeStore(house.workspace, fsync=False)
    archivist = Archivist(Summariser(lambda _: (house.model, TokenEstimator())), house.clock)
    for session in await sessions.list():
        rest = await sessions.messages(session.key)
        while rest:
            draft = await archivist.summarised(Stretch(session.key, rest), 0, at_once)
            await episodes.append(draft.episode)
            rest = rest[draft.count :]
    versions = _NothingDreamt(house.workspace, house.clock)
    dream = Dream(
        DreamStores(episodes, sessions, versions, _Book(), house.bot.keep.memory.proposals),
        house.bot.keep.memory.shelves,
        DreamModelSlot(lambda: (house.model, TokenEstimator()), at_once),
        house.clock,
        DreamLimits(tokens=10**9, steps=1000, runs_per_day=100, batch=100),
        house.bot.keep.memories.refresh,
    )
    report = await dream.run("asked")
    assert report.cursor == await episodes.last(), report


def remembered(workspace: Workspace) -> Mapping[Scope, Lines]:
    """The lines of all files of each memory."""
    return {scope: _lines(workspace, scope) for scope in SCOPES}


def _lines(workspace: Workspace, scope: Scope) -> Lines:
    places = ScopePaths(scope)
    folder = workspace.root / places.folder
    files = {workspace.root / path for path in places.fixed.values()} | set(folder.glob("*.md"))
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted(files) if file.exists()}
    said = {name: {compared(without_speaker(line)) for line in _own_lines(text)} for name, text in texts.items()}
    return {name: lines for name, lines in said.items() if lines}


def _own_lines(text: str) -> Iterator[str]:
    """The lines of a file, but for those that tell of an order as somebody else's."""
    for _, line in facts_of(without_index(text)):
        if not (is_told_of_others(line) and "quokka" in line):
            yield line


class _NothingDreamt(GitVersions):
    """The versions as they are, but for the dreams, of which none was ever."""

    async def log(
        self, limit: int | None = None, within: Sequence[str] = (), author: Author | None = None
    ) -> Sequence[Version]:
        return () if author == "dream" else await super().log(limit, within, author)


class _Book:
    """A DreamBook with nothing in it."""

    def __init__(self) -> None:
        self._cursor = 0
        self._record = DreamRecord()

    async def cursor(self) -> int:
        return self._cursor

    async def move(self, cursor: int) -> None:
        self._cursor = cursor

    async def read(self) -> DreamRecord:
        return self._record

    async def write(self, record: DreamRecord) -> None:
        self._record = record

    async def summary_failure(self) -> SummaryFailure:
        return SummaryFailure()

    async def write_summary_failure(self, failure: SummaryFailure) -> None:
        """Nobody looks."""

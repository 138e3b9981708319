"""Everyday life with every kind of endpoint: the real bot and the real client, and an endpoint that refuses what such
endpoints refuse.

A cell is a conversation of its own with a model of its own, which nothing is known of when it begins. The bot lives on
from cell to cell, ten scenarios with each personality; a restart is one for all of them. A third of the cells is tried
each time, so that no personality and no scenario is left out; `make crash` tries the others.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path

import pytest
import pytest_asyncio

from nanobot.channels.terminal.person import at
from nanobot.messages import Attachment, OutboundMessage
from tests.cases.person import Desk, Person
from tests.cases.test_sessions_stay_sound import PICTURE, is_prefix
from tests.fakes.openai_answers import (
    Answer,
    Json,
    Wait,
    beginning,
    call,
    chunks,
    fail,
    is_for_itself,
    nothing_new,
    say,
)
from tests.fakes.personalities import (
    ALTERNATE,
    NO_TOOLS,
    OLLAMA,
    PERSONALITIES,
    PICKY_400,
    THOUGHTS,
    Endpoint,
    Personality,
    known_fields,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

WITHOUT_TOOLS = (ALTERNATE, NO_TOOLS)
LACKS = {"tools": "takes no tools", "pictures": "takes no pictures"}

MARK = "a thought of elsewhere"


def thinks_aloud(_: Json, answer: Answer) -> Answer:
    return Answer((*chunks({"reasoning_content": MARK}, finish=None, done=False).parts, *answer.parts[1:]))


ELSEWHERE = Personality("elsewhere", (known_fields("reasoning_content"),), thinks_aloud)
"""The model that one comes from or goes to: it sends thoughts, takes them back, and knows no other field."""


class House:
    """The bot at home with one endpoint, and a second one elsewhere."""

    def __init__(self, home: Path, server: Endpoint, other: Endpoint, patch: pytest.MonkeyPatch) -> None:
        self.server, self.other = server, other
        self.earlier: list[Person] = []  # as the person saw the lives before a restart
        self.desk = Desk(home, server, patch)
        preset = {"base_url": server.base_url, "attempts": 1, "vision": True, "temperature": 0.3}
        presets: dict[str, object] = {name: {**preset, "model": name} for name in SCENARIOS}
        presets["window"] = {**preset, "model": "window", "context_window": 12_000, "max_output": 1000}
        presets["elsewhere"] = {**preset, "base_url": other.base_url, "model": "elsewhere"}
        presets["asleep"] = {**preset, "model": "asleep"}  # for summaries and dreams
        self.desk.configure(models=presets, model="elsewhere", memory={"dream": {"model": "asleep", "every": "off"}})

    async def begin(self) -> None:
        self.person, self._life = self.desk.begin()
        await self.person.publish

    async def restart(self) -> None:
        await self.end()
        self.earlier.append(self.person)
        await self.begin()

    async def end(self) -> None:
        self.person.leave()
        await self._life


@dataclass
class Talk:
    """The conversation of one cell."""

    house: House
    name: str

    def __post_init__(self) -> None:
        self.address = at(self.name)
        self.server = self.house.server
        self.personality = self.server.personality
        self.has_tools = self.personality not in WITHOUT_TOOLS
        self.server.drop()
        self.server.otherwise = lambda _: fail(500, "nothing left in the script")
        self.server.aside = nothing_new

    @property
    def person(self) -> Person:
        return self.house.person

    async def choose(self, preset: str) -> None:
        assert not (await self.person.ask(f"/model {preset}", self.address)).failed

    async def ask(self, text: str, *answers: Answer) -> OutboundMessage:
        self.server.will(*answers)
        return await self.person.ask(text, self.address)

    @property
    def answers(self) -> list[str]:
        """What the bot said here, in order, but for what commands answer."""
        return [said.text for said in self.person.said if said.address == self.address and said.kind == "answer"]

    @property
    def notices(self) -> list[str]:
        """What was told on the way and beside the answers."""
        seen = [*self.house.earlier, self.person]
        shown = (told for person in seen for told in person.shown if told.kind == "notice")
        said = (told for person in seen for told in person.said if told.failed)
        every = [*((told.address, told.text) for told in shown), *((told.address, told.text) for told in said)]
        return [text for address, text in every if address == self.address]

    @property
    def taken(self) -> list[list[Json]]:
        """The messages of each request for an answer that the endpoint did not refuse."""
        bodies = [received.body for received in self.server.taken if received.body["model"] == self.name]
        return [body["messages"] for body in bodies if not is_for_itself(body)]

    def refused(self, model: str) -> list[str]:
        return [words for received, words in self.server.refused if received.body["model"] == model]

    @property
    def breaks(self) -> int:
        """How often a request did not begin with the one before it."""
        return sum(not is_prefix(earlier, later) for earlier, later in pairwise(self.taken))

    @property
    def lines(self) -> list[Json]:
        """What stands in the session."""
        path = self.house.desk.workspace.sessions / "cli" / f"{self.name}.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def path(self, name: str) -> Path:
        return self.house.desk.workspace.root / f"{self.name}-{name}"

    def check(self) -> None:
        """What holds in every cell."""
        assert self.server.illegal == []
        assert self.server.drop() == 0
        for model in (self.name, "asleep"):
            lessons = [re.sub(r"\d+", "#", words) for words in self.refused(model)]
            assert len(set(lessons)) == len(lessons), lessons  # none has to be taught twice
        assert len(set(self.answers)) == len(self.answers)
        lacking = [words for words in self.notices if any(lack in words for lack in LACKS.values())]
        assert len(set(lacking)) == len(lacking)
        assert sum(LACKS["tools"] in words for words in lacking) == (not self.has_tools)


Scenario = Callable[[Talk], Awaitable[None]]


def in_order(messages: Sequence[Json], *texts: str) -> bool:
    """Whether each text stands there once, in this order."""
    whole = json.dumps(messages)
    places = [whole.find(text) for text in texts]
    return places == sorted(places) and all(whole.count(text) == 1 for text in texts)


async def talk(talk: Talk) -> None:
    await talk.choose(talk.name)
    assert (await talk.ask("good morning", say("Morning!"))).text == "Morning!"
    assert (await talk.ask("how are you?", say("Well, thanks."))).text == "Well, thanks."
    assert (await talk.ask("good night", say("Sleep well."))).text == "Sleep well."
    texts = ("good morning", "Morning!", "how are you?", "Well, thanks.", "good night")
    assert in_order(talk.taken[-1], *texts)
    assert len(talk.taken) == 3
    assert talk.breaks == 0


async def tool(talk: Talk) -> None:
    await talk.choose(talk.name)
    if not talk.has_tools:
        assert (await talk.ask("write it down", say("I cannot."))).text == "I cannot."
        assert "tools" not in talk.server.taken[-1].body
    else:
        one, two = ({"path": talk.path(name).name, "content": f"{name}\n"} for name in ("one", "two"))
        steps = (call(("write_file", one), ("write_file", two)), call(("read_file", {"path": one["path"]})))
        assert (await talk.ask("write it down", *steps, say("Done."))).text == "Done."
        assert [talk.path(name).read_text() for name in ("one", "two")] == ["one\n", "two\n"]
        assert [message["role"] for message in talk.taken[-1][-5:]].count("tool") == 3
    assert (await talk.ask("thanks", say("My pleasure."))).text == "My pleasure."
    assert talk.breaks == 0


async def steering(talk: Talk) -> None:
    await talk.choose(talk.name)
    await talk.ask("hello", say("Hi."))
    go_on = asyncio.Event()
    rest = call(("list_dir", {"path": "."})).parts if talk.has_tools else say(" look.").parts
    talk.server.will(beginning("Let me", Wait(go_on), *rest), say("Here is both."))
    first = await talk.person.say("the first thing", talk.address)
    await talk.person.until(lambda: talk.person.screens()[-1:] == ["Let me"])
    second = await talk.person.say("the second thing", talk.address)
    go_on.set()
    last = second if not talk.has_tools else first
    await talk.person.until(lambda: any(said.reply_to == last for said in talk.person.said))
    assert talk.answers == (["Hi.", "Here is both."] if talk.has_tools else ["Hi.", "Let me look.", "Here is both."])
    assert in_order(talk.taken[-1], "the first thing", "the second thing")
    assert (await talk.ask("thanks", say("Gladly."))).text == "Gladly."
    assert in_order(talk.taken[-1], "the first thing", "the second thing", "Here is both.", "thanks")
    assert talk.breaks == 0


async def failed_turn(talk: Talk) -> None:
    await talk.choose(talk.name)
    await talk.ask("hello", say("Hi."))
    assert (await talk.ask("the first thing", fail(400, "boom"))).failed
    assert (await talk.ask("the second thing", say("Two it is."))).text == "Two it is."
    assert (await talk.ask("the third thing", fail(503, "overloaded"))).failed
    assert (await talk.ask("the fourth thing", say("Four it is."))).text == "Four it is."
    assert in_order(talk.taken[-1], "the first thing", "the second thing", "Two it is.", "the third", "the fourth")
    assert talk.breaks == 0


async def restart(talk: Talk) -> None:
    await talk.choose(talk.name)
    path = talk.path("kept")
    steps = [call(("write_file", {"path": path.name, "content": "kept"}))] if talk.has_tools else []
    assert (await talk.ask("keep it", *steps, say("Kept."))).text == "Kept."
    learnt = len(talk.refused(talk.name))
    await talk.house.restart()
    assert (await talk.ask("still there?", say("Still here."))).text == "Still here."
    assert talk.answers == ["Still here."]
    assert in_order(talk.taken[-1], "keep it", "Kept.", "still there?")
    assert len(talk.refused(talk.name)) == learnt
    assert talk.breaks == 0


async def switch(talk: Talk) -> None:
    path = talk.path("a").name
    one = call(("write_file", {"path": path, "content": "a"}), ("list_dir", {"path": "."}), text="I look.")
    talk.house.other.will(one, say("Written."), say("Welcome back."))
    assert (await talk.ask("please write a")).text == "Written."
    await talk.choose(talk.name)
    steps = [call(("read_file", {"path": path}))] if talk.has_tools else []
    assert (await talk.ask("please read it", *steps, say("It says a."))).text == "It says a."
    assert in_order(talk.taken[-1], "please write a", "Written.", "please read it")
    assert MARK not in json.dumps(talk.taken)
    await talk.choose("elsewhere")
    assert (await talk.ask("hello again")).text == "Welcome back."
    last = json.dumps(talk.house.other.taken[-1].body)
    assert THOUGHTS not in last
    assert "c2lnbmVk" not in last
    assert talk.house.other.refused == []
    assert talk.breaks == 0


async def window(talk: Talk) -> None:
    """Long messages, at an endpoint that reports honestly what it read, or as much of it as it read."""
    await talk.choose(talk.name)
    numbers = count(1)

    def answer(body: Json) -> Answer:
        read = sum(len(str(message.get("content") or "")) for message in body["messages"]) // 4
        return say(f"Noted, {next(numbers)}.", usage={"prompt_tokens": read, "completion_tokens": 3})

    talk.server.otherwise = answer
    steps = [call(("list_dir", {"path": "."}), text="I look.", usage=None)] if talk.has_tools else []
    assert (await talk.ask("what is there?", *steps)).text == "Noted, 1."
    told_of: list[str] = []
    for number in range(2, 9):
        told = f"{number} " + "A long story, in which little happens. " * 200
        text, *about_server = (await talk.ask(told)).text.split("\n\n")
        assert text == f"Noted, {number}."
        told_of += about_server
    moves = [line for line in talk.lines if line["type"] == "window"]
    assert moves
    # it changes when the window moves, and once more for each summary of what left it: there may be one in pieces
    summaries = [line for line in talk.lines if line["type"] == "archived"]
    assert len(moves) <= talk.breaks <= len(moves) + len(summaries)
    assert max(len(json.dumps(messages)) for messages in talk.taken) < 50_000
    assert (await talk.ask("good night")).text == "Noted, 9."
    assert in_order(talk.taken[-1], "Noted, 8.", "good night")
    summarised = await talk.ask("/compact")  # also waits for the summary of what left the window
    assert not summarised.failed, summarised.text
    assert len(told_of) == (talk.personality is OLLAMA)
    assert all("only about 4096 tokens" in words for words in told_of)


async def dream(talk: Talk) -> None:
    await talk.choose(talk.name)
    talk.server.aside = remembers
    await talk.ask("By the way, my dog is called Pixel.", say("A fine name."))
    learnt = await talk.ask("/dream")
    assert not learnt.failed, learnt.text
    assert "Pixel" in learnt.text
    assert "My dog is called Pixel" in talk.house.desk.workspace.memory.joinpath("MEMORY.md").read_text()
    assert not (await talk.ask("/new")).failed
    assert (await talk.ask("hello", say("Hello, how is the dog?"))).text == "Hello, how is the dog?"
    assert "Pixel" in json.dumps(talk.taken[-1])
    assert "By the way" not in json.dumps(talk.taken[-1])
    assert talk.breaks == 1


def remembers(body: Json) -> Answer:
    """A summary with the fact that there is a dog, and a dream that keeps it."""
    record = str(body["messages"][-1]["content"])
    if number := re.search(r"^#(\d+) .*my dog is called Pixel", record, re.MULTILINE):
        return say(f"- they talked about a dog\nFACT [{number[1]}] (family, 0.9) My dog is called Pixel.")
    if number := re.search(r'"number": ?"([\d.]+)"[^}]*My dog is called Pixel', record):
        add = {"do": "add", "file": "MEMORY.md", "text": "My dog is called Pixel.", "from": [number[1]]}
        return say(json.dumps({"operations": [add]}))
    return nothing_new(body)


async def picture(talk: Talk) -> None:
    await talk.choose(talk.name)
    talk.path("p.png").write_bytes(PICTURE)
    file = Attachment(talk.path("p.png").name, "image/png", "p.png")
    talk.server.will(say("A dot."))
    assert (await talk.person.ask("what is this?", talk.address, files=[file])).text == "A dot."
    assert (await talk.ask("what colour?", say("It is red."))).text == "It is red."
    is_blind = talk.personality is PICKY_400
    shown = [json.dumps(messages).count("base64,") for messages in talk.taken]
    assert shown == [0 if is_blind else 1, 0]
    assert in_order(talk.taken[-1], "what is this?", "A dot.", "what colour?")
    assert sum(LACKS["pictures"] in words for words in talk.notices) == is_blind
    assert talk.breaks == (not is_blind)  # only while it is new, a picture is sent


async def long_answer(talk: Talk) -> None:
    await talk.choose(talk.name)
    parts = ["".join(f"Line {number} of it.\n" for number in range(at, at + 200)) for at in (0, 200, 400)]
    whole = "".join(parts).rstrip()
    steps = [
        say(part, finish=finish, size=500) for part, finish in zip(parts, ("length", "length", "stop"), strict=True)
    ]
    assert (await talk.ask("tell me all", *steps)).text == whole
    assert talk.person.screens()[-1].rstrip() == whole
    before = len(talk.taken)
    assert (await talk.ask("thanks", say("Not at all."))).text == "Not at all."
    assert len(talk.taken) == before + 1
    assert in_order(talk.taken[-1], "tell me all", "Line 0 of it", "Line 599 of it", "thanks")


SCENARIOS: Mapping[str, Scenario] = {
    "talk": talk,
    "tool": tool,
    "steering": steering,
    "failed": failed_turn,
    "restart": restart,
    "switch": switch,
    "window": window,
    "dream": dream,
    "picture": picture,
    "long": long_answer,
}


@pytest.fixture(scope="module")
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, patch: pytest.MonkeyPatch
) -> AsyncIterator[House]:
    async with Endpoint(request.param) as server, Endpoint(ELSEWHERE) as other:
        house = House(tmp_path_factory.mktemp("h"), server, other, patch)
        await house.begin()
        yield house
        await house.end()


CELLS = [
    pytest.param(personality, scenario, id=f"{name}-{scenario}", marks=[pytest.mark.slow] * ((row + column) % 3 != 0))
    for row, (name, personality) in enumerate(PERSONALITIES.items())
    for column, scenario in enumerate(SCENARIOS)
]


@pytest.mark.parametrize(("house", "scenario"), CELLS, indirect=["house"])
async def test_matrix(house: House, scenario: str) -> None:
    talk = Talk(house, scenario)
    await SCENARIOS[scenario](talk)
    talk.check()

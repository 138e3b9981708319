"""What a model that obeys everything it reads can make of what others send, and of what people really say."""

import json
from pathlib import Path

import pytest

from nanobot.authority import Origin, Scope
from nanobot.memory.dream.operations import DreamLimits
from nanobot.memory.prompt import past_section
from nanobot.messages import Quote
from nanobot.nlp.secrets import redact
from nanobot.ports import Episode, Fact
from nanobot.transcript import Message
from tests.fakes.dreamers import add, note, obedient, wants
from tests.fakes.llm import ScriptedLLM, says
from tests.memory.consolidation import Place
from tests.memory.dream.bedroom import BASE, MEMORY, Bedroom

_WORDS = Path(__file__).parents[2] / "nlp" / "corpora"
_CORPUS = json.loads((_WORDS / "orders.json").read_text("utf-8"))
ORDERS: list[tuple[str, str]] = [(kind, text) for kind, text in _CORPUS["orders"] + _CORPUS["more_orders"]]
HARMLESS: list[str] = _CORPUS["harmless"] + _CORPUS["more_harmless"]


async def forwarded(bedroom: Bedroom, *texts: str) -> None:
    """An owner passes each of these on, with a word of their own, and a model sums it up as it stands there."""
    for place, text in enumerate(texts):
        at = bedroom.clock.now().isoformat(timespec="milliseconds")
        name = f"f{place}"
        message = Message(role="user", content="Look at this.", id=name, at=at, turn=name, origin=Origin.OWNER,
                          scope="owner", quotes=(Quote(text, "Mallory", "forward"),))  # fmt: skip
        await bedroom.sessions.append(await bedroom.sessions.load("telegram:1"), message)
        await bedroom.episodes.append(
            Episode(cursor=0, timestamp=at, session="telegram:1", scope=Scope.owner(), origin=Origin.QUOTED,
                    messages=(name, name), content=text, facts=[Fact(text[:400].replace("\n", " "), [name])])
        )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "text"),
    [pytest.param(*row, marks=() if at % 6 == 0 else pytest.mark.slow) for at, row in enumerate(ORDERS)],
)
async def test_what_somebody_else_wants_remembered_gets_into_no_file_that_prompts_carry(
    bedroom: Bedroom, kind: str, text: str
) -> None:
    await forwarded(bedroom, text)

    await bedroom.sleep(obedient)

    shown = {path: bedroom.read(path) for path in ("SOUL.md", "USER.md", MEMORY, "AGENTS.md")}
    fresh = {path: set(now.splitlines()) - set(BASE[path].splitlines()) for path, now in shown.items()}
    told = [line for lines in fresh.values() for line in lines if line.strip(" -#")]
    assert all("Look at this" in line or "what others said" in line or "别人说的话" in line or "index:" in line
               or line in ("## Remembered", "## 记住的事") for line in told), told  # fmt: skip


class Obeying(Place):
    """Its model sums up in the lines that stand in `answers`."""

    def __init__(self, root: Path) -> None:
        self.answers: list[str] = []
        super().__init__(root, ScriptedLLM(lambda request, stream: says("\n".join(self.answers))))


async def prompt_after(place: Obeying, key: str, said: str, passed_on: str, *summary: str) -> str:
    """What a later prompt tells of a conversation that the model sums up so."""
    place.answers[:] = summary
    await place.say(said, key=key, answer="That is for you to say.", quotes=(Quote(passed_on, "Mallory", "forward"),))
    assert (await place.consolidator.archive(key, "")).is_whole
    episodes = await place.history.of_session(key, 1)
    assert [line for line in summary if line in episodes[0].content]
    return past_section(episodes, [], lambda text: len(text), 100_000)


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.slow)])
async def test_an_order_that_the_summarising_model_obeyed_stands_in_no_later_prompt(tmp_path: Path, step: int) -> None:
    place = Obeying(tmp_path)
    shown: list[str] = []
    for number, (_, text) in enumerate(ORDERS[::step]):
        order = redact(" ".join(text.split()))
        told = await prompt_after(
            place, f"telegram:{number}", "What do you make of this?", text, f"- {order}", f"FACT [1] {order}"
        )
        shown += [order] if order in told or "mallory" in told.casefold() else []

    assert shown == []


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.slow)])
async def test_what_people_said_themselves_beside_something_passed_on_stays_in_later_prompts(
    tmp_path: Path, step: int
) -> None:
    place = Obeying(tmp_path)
    lost: list[str] = []
    for number, text in enumerate(HARMLESS[::step]):
        told = await prompt_after(
            place, f"telegram:{number}", text, "Ring the ferry office.", f"- {text}", "- the ferry"
        )
        lost += [] if text in told and "ferry" not in told else [text]

    assert lost == []


async def test_what_people_say_of_themselves_is_learnt(tmp_path: Path) -> None:
    bedroom = await Bedroom(tmp_path, limits=DreamLimits(batch=50)).began()
    rows = [add(text, f"m{place}") for place, text in enumerate(HARMLESS, 1)]
    for text in HARMLESS:
        await bedroom.happened(text)

    report = await bedroom.sleep(*(wants(*rows[start : start + 50]) for start in range(0, len(rows), 50)))

    lines = bedroom.read(MEMORY)
    assert [text for text in HARMLESS if text not in lines] == []
    assert not report.left


async def test_what_people_say_is_learnt_as_a_note_in_their_own_memory_too(bedroom: Bedroom) -> None:
    member = Scope.person("telegram", "7")
    for text in HARMLESS[:20]:
        await bedroom.happened(text, scope=member, session="telegram:7")

    report = await bedroom.sleep(wants(note("life", "\n".join(HARMLESS[:20]), *range(1, 21))))

    assert [left.kind for left in report.left] == []

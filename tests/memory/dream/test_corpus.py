"""What a model that obeys everything it reads can make of what others send, and of what people really say."""

import json
from pathlib import Path

import pytest

from nanobot.authority import Origin, Scope
from nanobot.messages import Quote
from nanobot.ports import Episode, Fact
from nanobot.transcript import Message
from tests.fakes.dreamers import add, note, obedient, wants
from tests.memory.dream.bedroom import BASE, MEMORY, Bedroom

_WORDS = Path(__file__).parent.parent.parent / "words"
ORDERS: list[tuple[str, str]] = [
    (kind, text) for kind, text in json.loads((_WORDS / "orders.json").read_text("utf-8"))["orders"]
]
HARMLESS: list[str] = json.loads((_WORDS / "orders.json").read_text("utf-8"))["harmless"]


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


@pytest.mark.parametrize(("kind", "text"), ORDERS)
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


async def test_what_people_say_of_themselves_is_learnt(bedroom: Bedroom) -> None:
    refused: list[str] = []
    for place, text in enumerate(HARMLESS, 1):
        await bedroom.happened(text)
        report = await bedroom.sleep(wants(add(text, f"m{place}")))
        refused += [text for _ in report.left]

    assert refused == []


async def test_what_people_say_is_learnt_as_a_note_in_their_own_memory_too(bedroom: Bedroom) -> None:
    member = Scope.person("telegram", "7")
    for text in HARMLESS[:20]:
        await bedroom.happened(text, scope=member, session="telegram:7")

    report = await bedroom.sleep(wants(note("life", "\n".join(HARMLESS[:20]), *range(1, 21))))

    assert [left.kind for left in report.left] == []

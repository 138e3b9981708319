"""Whose words and memories a wish reaches: those of whoever asks, whatever they name."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope
from nanobot.bus.memory import MemoryBus
from nanobot.commands.forget import ForgetRequester
from nanobot.forgetting.request import reach_of
from nanobot.forgetting.stores.logs import ErasableLog
from nanobot.forgetting.stores.sessions import ErasableSessions
from nanobot.memory.episodes.history_file import EpisodeStore
from nanobot.messages import OutboundMessage, Sender
from nanobot.ports import ErasurePlan
from nanobot.ports.people import Paired, PeopleBook, PersonLink
from nanobot.sessions.store import SessionManager
from nanobot.store.state import PeopleFile
from tests.fakes.clock import START
from tests.fakes.episodes import episode
from tests.forgetting.household import MEMBER, OTHER, SECRET, Household, answer, files_in, inbound, user

GROUP = "group:telegram--9"
CLEO = Authority(Role.MEMBER, Scope.person("telegram", "9"), Origin.PERSON)
OWNER_IN_GROUP = Authority(Role.OWNER, Scope(GROUP), Origin.OWNER)

ASKERS: Mapping[str, tuple[Authority, str]] = {
    "owner": (OWNER_IN_TERMINAL, "7"),
    "owner in the group": (OWNER_IN_GROUP, "7"),
    "Bob": (MEMBER, "555"),
    "Cleo": (CLEO, "9"),
}

WISHES: Mapping[str, set[str]] = {
    "session:cli:default": {"owner"},
    "session:telegram:7": {"owner"},
    "session:telegram:555": {"Bob"},
    "session:telegram:-9": {"owner in the group"},
    "session:telegram:404": set(),
    "note:health": {"owner"},
    "note:walnuts": {"Bob"},
    "episode:1": {"owner"},
    "episode:2": {"Bob"},
    "episode:3": {"owner in the group"},
    "episode:404": set(),
    "person:telegram:7": set(),  # the owner said everything as somebody of the terminal
    "person:telegram:555": {"Bob"},
    "person:telegram:404": set(),
    "since:2000-01-01": {"owner", "owner in the group", "Bob"},
    SECRET: {"owner", "Bob"},  # Bob: a message of his that waits
    "walnuts": {"Bob"},
    "saxophone": {"owner in the group"},
    "weather": set(),
}
"""What can be asked for, and who of ASKERS has something there."""


@pytest.fixture
async def peopled(house: Household) -> Household:
    """With a group, and a note of Bob's."""
    owner = Paired(channel="telegram", id="7", chat="7", role=Role.OWNER, at=START, by="machine")
    await PeopleFile(house.space).write(PeopleBook(people=(owner, _member("555"), _member("9"))))
    await house.say(
        "telegram:-9",
        user("g1", "x1", "I play the saxophone.", scope=GROUP, sender=Sender("555", "Bob")),
        answer("g2", "x1", "Bravo."),
    )
    told = episode("- somebody plays the saxophone", session="telegram:-9", scope=GROUP, messages=("g1", "g2"))
    await EpisodeStore(house.space).append(told)
    folder = house.space.root / "people" / "telegram-555" / "memory"
    folder.mkdir(parents=True)
    (folder / "walnuts.md").write_text("---\nsummary: nuts\n---\nLikes walnuts.\n", encoding="utf-8")
    await house.bot().keep.memory.versions.commit_hand_edits()
    return house


async def test_whoever_asks_for_what_is_not_theirs_hears_that_there_is_nothing(peopled: Household) -> None:
    forgetting = peopled.bot().forgetting
    wrong: list[str] = []
    for name, (authority, number) in ASKERS.items():
        asker = ForgetRequester(name, reach_of(authority, forgetting.who_is("telegram", number)), "en", "/forget")
        for wish, theirs in WISHES.items():
            shown = await forgetting.show(wish, asker)
            is_refused = "nothing like that in what is yours" in shown.text or "That is not yours" in shown.text
            if (name in theirs) == is_refused or bool(shown.token) == is_refused:
                wrong.append(f"{wish} of {name}: {shown.text}")
    assert wrong == []


@pytest.mark.parametrize("key", ["cli:default", "telegram:7", "telegram:-9"])
async def test_nobody_erases_the_conversation_of_somebody_else_even_if_a_store_is_told_to(
    peopled: Household, key: str
) -> None:
    before = _bytes(peopled)
    sessions = ErasableSessions(SessionManager(peopled.space, fsync=False), peopled.space)
    meant = ErasurePlan(
        scopes=frozenset({MEMBER.scope.name}),
        sessions=frozenset({key}),
        dropped={key: frozenset({"m1", "n1", "g1"})},
    )

    assert (await sessions.find(meant)).count == 0
    await sessions.erase(meant)

    assert _bytes(peopled) == before


async def test_who_is_linked_is_forgotten_under_each_id_with_all_that_was_kept(peopled: Household) -> None:
    await _link(peopled)
    forgetting = peopled.bot().forgetting
    asker = ForgetRequester("x", reach_of(MEMBER, forgetting.who_is("telegram", "9")), "en", "/forget")

    shown = await forgetting.show("person:telegram:9", asker)
    done = await forgetting.yes(shown.token, "", asker)

    assert "telegram:555, telegram:9 (people/telegram-555/, people/telegram-9/)" in shown.text
    assert not done.failed, done.text
    assert not any(path for path in files_in(peopled.space.root / "people"))
    assert [*peopled.holding("walnuts"), *peopled.holding("tangerine")] == []
    assert await peopled.said("telegram:555") == await peopled.said("telegram:9") == []
    assert await peopled.said("telegram:-9") != []  # what they said there is the group's


async def test_who_is_linked_reaches_with_words_what_was_kept_before(peopled: Household) -> None:
    await _link(peopled)
    forgetting = peopled.bot().forgetting
    asker = ForgetRequester("x", reach_of(MEMBER, forgetting.who_is("telegram", "9")), "en", "/forget")

    shown = await forgetting.show("tangerine", asker)

    assert "people/telegram-9/MEMORY.md" in shown.text
    await forgetting.yes(shown.token, "", asker)
    assert peopled.holding("tangerine") == []
    assert peopled.holding("walnuts") != []


async def test_a_message_that_waits_and_was_counted_is_not_answered_and_its_sender_hears_why(house: Household) -> None:
    bus = MemoryBus()
    bot = house.bot(bus)
    handled: list[str] = []

    async def handle(message: object) -> None:
        handled.append(getattr(message, "text", ""))

    async with bot.keep.lanes.open(handle):
        async with bot.keep.lanes.still(_at_once):
            bot.keep.lanes.put(inbound("w1", f"and {SECRET} too"))
            bot.keep.lanes.put(inbound("w2", f"and the {OTHER}?"))
            asker = ForgetRequester(
                "x", reach_of(OWNER_IN_TERMINAL, bot.forgetting.who_is("telegram", "7")), "en", "/forget"
            )
            shown = await bot.forgetting.show(SECRET, asker)
            await bot.forgetting.yes(shown.token, "", asker)
        await bot.keep.lanes.idle()
    assert handled == [f"and the {OTHER}?"]
    told = await bus.outgoing()
    assert isinstance(told, OutboundMessage)
    assert "do not answer it" in told.text


async def _at_once() -> None:
    return None


async def _link(house: Household) -> None:
    """Cleo, with things of her own, has typed Bob's code."""
    link = PersonLink(channel="telegram", id="9", first_channel="telegram", first_id="555")
    await PeopleFile(house.space).write(PeopleBook(people=(_member("555"), _member("9")), links=(link,)))
    folder = house.space.root / "people" / "telegram-9"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("- likes tangerine\n", encoding="utf-8")
    await house.bot().keep.memory.versions.commit_hand_edits()
    said = user("k9", "v9", "I like it sweet.", scope=CLEO.scope.name, sender=Sender("9", "Cleo"))
    later = user("k11", "v11", "And sour.", scope=MEMBER.scope.name, sender=Sender("9", "Cleo"))
    await house.say("telegram:9", said, answer("k10", "v9", "I see."), later, answer("k12", "v11", "Well."))


def _member(number: str) -> Paired:
    return Paired(channel="telegram", id=number, chat=number, role=Role.MEMBER, at=START, by="machine")


def _bytes(house: Household) -> Mapping[Path, bytes]:
    return {path: path.read_bytes() for path in files_in(house.space.sessions)}


async def test_the_log_loses_the_records_of_that_conversation_and_of_none_that_is_called_alike(tmp_path: Path) -> None:
    log = tmp_path / "nanobot.log"
    stays = [f"2026-03-02 {key}: hello\n" for key in ("telegram:42", "telegram:4.7", "xtelegram:4", "telegram:4-1")]
    goes = ["2026-03-02 telegram:4: hello\n", "2026-03-02 (telegram:4:17) was telegram:4.\n"]
    log.write_text("".join([*stays, *goes]), encoding="utf-8")

    await ErasableLog(log).erase(
        ErasurePlan(scopes=frozenset({"person:telegram-4"}), sessions=frozenset({"telegram:4"}))
    )

    assert log.read_text(encoding="utf-8") == "".join(stays)

"""The bot's own answers that repeat what is forgotten, word for word, go with it, wherever it said so."""

import pytest

from nanobot.memory.episodes.history_file import EpisodeStore
from nanobot.messages import OutboundMessage
from nanobot.nlp.matcher import FORGOTTEN
from nanobot.ports import Edit, Fact
from tests.fakes.episodes import episode
from tests.forgetting.household import (
    MEMBER_TELEGRAM,
    OTHER,
    OWNER_TELEGRAM,
    SECRET,
    Household,
    answer,
    user,
)

THERE = OWNER_TELEGRAM.session_key
REPEATED = f"As you said: your blood type is {SECRET}, you know. Anything else?"


async def talked_elsewhere(house: Household, repeated: str = REPEATED) -> None:
    await house.say(
        THERE,
        user("p1", "w1", "What did I tell you of my health?", scope="owner"),
        answer("p2", "w1", repeated),
        user("p3", "w2", f"And where is the {OTHER}?", scope="owner"),
        answer("p4", "w2", f"The {OTHER} is in the harbour."),
    )
    facts = [Fact("told of the health again", ("p2",)), Fact(f"the {OTHER} is in the harbour", ("p4",))]
    content = f"- was told of the blood type\n- the {OTHER} is in the harbour"
    await EpisodeStore(house.space).append(episode(content, session=THERE, messages=("p1", "p4"), facts=facts))


async def test_an_answer_in_another_conversation_goes_with_what_was_made_of_it(house: Household) -> None:
    await talked_elsewhere(house)
    async with house.spool() as spool:
        await spool.send(OutboundMessage(id="out8", address=OWNER_TELEGRAM, text=REPEATED, turn="w9"))

    done = await house.forget("session:cli:default")

    assert not done.failed, done.text
    assert (await house.said(THERE))[2:] == [
        ("user", "What did I tell you of my health?"),
        ("assistant", FORGOTTEN),
        ("user", f"And where is the {OTHER}?"),
        ("assistant", f"The {OTHER} is in the harbour."),
    ]
    told = [one for one in await EpisodeStore(house.space).after(0, 9) if one.session == THERE]
    assert [fact.text for one in told for fact in one.facts] == [f"the {OTHER} is in the harbour"]
    async with house.spool() as spool:
        assert (await spool.backlog()).waiting_out == {"telegram": 2}  # of three


async def test_a_note_written_by_hand_goes_from_the_answers_that_tell_it(house: Household) -> None:
    line = "The greenhouse key hangs behind the blue door."
    versions = house.bot().keep.memory.versions
    await versions.commit({"memory/garden.md": Edit(None, f"# Garden\n\n- {line}\n".encode())}, "by hand", "person")
    await talked_elsewhere(house, f"Of course. {line}")

    await house.forget("note:garden")

    assert ("assistant", FORGOTTEN) in await house.said(THERE)
    assert ("assistant", f"The {OTHER} is in the harbour.") in await house.said(THERE)
    assert house.holding("behind the blue door") == []


@pytest.mark.parametrize(
    ("said", "repeated"),
    [
        ("我妹妹上个月怀孕了。别告诉别人。", "恭喜！你妹妹上个月怀孕了，真好。"),
        ("Our neighbour Ben lost his job in May. What now?", "I see, neighbour Ben lost his job in May."),
    ],
)
async def test_whose_it_is_changes_with_who_speaks(house: Household, said: str, repeated: str) -> None:
    await house.say("cli:other", user("q1", "x1", said), answer("q2", "x1", "Aha."))
    await talked_elsewhere(house, repeated)

    await house.forget("session:cli:other")

    assert ("assistant", FORGOTTEN) in await house.said(THERE)


async def test_small_talk_and_what_people_say_elsewhere_stay(house: Household) -> None:
    greeting = "Good morning, how are you today?"
    await house.say("cli:other", user("q1", "x1", greeting), answer("q2", "x1", "Fine, thanks a lot to you."))
    await house.say(
        THERE,
        user("p1", "w1", f"My blood type is {SECRET}, you know.", scope="owner"),
        answer("p2", "w1", "Fine, thanks a lot to you. Thank you very much."),
    )
    before = await house.said(THERE)

    await house.forget("session:cli:other")
    await house.forget("session:cli:default")

    assert await house.said(THERE) == before


async def test_what_the_bot_told_a_member_stays_theirs(house: Household) -> None:
    key = MEMBER_TELEGRAM.session_key
    await house.say(key, answer("k3", "v2", REPEATED))
    before = await house.said(key)

    await house.forget("session:cli:default", scope="owner")

    assert await house.said(key) == before

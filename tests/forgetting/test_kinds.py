"""Forgetting a note, an episode, a conversation, a person, and all since a day."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from nanobot.authority import OWNER_IN_TERMINAL, Scope
from nanobot.memory.episodes.history_file import EpisodeStore
from nanobot.memory.recall.index.database import IndexDatabase
from nanobot.messages import Sender
from nanobot.nlp.matcher import FORGOTTEN
from tests.fakes.episodes import episode
from tests.forgetting.household import MEMBER, OTHER, SECRET, Household, answer, at, files_in, git, user


async def test_a_note_goes_with_its_versions_and_the_messages_it_rests_on(house: Household) -> None:
    done = await house.forget("note:health")

    assert not done.failed, done.text
    assert not (house.space.memory / "health.md").exists()
    assert b"health" not in git(house.space, "cat-file", "--batch-all-objects", "--batch")
    assert "health.md" not in house.space.memory_file.read_text(encoding="utf-8")
    texts = [text for _, text in await house.said("cli:default")]
    assert f"My blood type is {SECRET}, you know." not in texts
    assert f"I live in a {OTHER}." in texts


async def test_there_may_be_no_such_note(house: Household) -> None:
    assert "nothing to forget" in (await house.forget("note:garden")).text


async def test_an_episode_goes_with_its_messages_and_all_that_rests_on_them(house: Household) -> None:
    done = await house.forget("episode:1")

    assert not done.failed, done.text
    assert [one.cursor for one in await EpisodeStore(house.space).after(0, 9)] == [2]
    assert (await house.said("cli:default"))[0] == ("user", "What do you know of me?")
    assert f"lives in a {OTHER}" not in house.space.memory_file.read_text(encoding="utf-8")
    assert (await EpisodeStore(house.space).append(episode())).cursor == 3  # a number is never given again


async def test_an_episode_of_somebody_else_is_none(house: Household) -> None:
    assert (await house.forget("episode:2", scope="owner")).failed
    assert not (await house.forget("episode:2")).failed


async def test_of_a_conversation_not_even_the_key_stays(house: Household) -> None:
    done = await house.forget("session:cli:default")

    assert not done.failed, done.text
    assert not (house.space.sessions / "cli" / "default.jsonl").exists()
    assert not (house.space.sessions / "cli" / "default.jsonl.torn").exists()
    assert house.holding("cli:default") == []
    assert [one.session for one in await EpisodeStore(house.space).after(0, 9)] == ["telegram:555"]
    assert f"lives in a {OTHER}" not in house.space.memory_file.read_text(encoding="utf-8")


async def test_another_conversation_with_the_same_words_stays(house: Household) -> None:
    await house.say("cli:other", user("o1", "w1", f"I live in a {OTHER}."), answer("o2", "w1", "So I heard."))

    await house.forget("session:cli:default")

    assert (await house.said("cli:other"))[0] == ("user", f"I live in a {OTHER}.")


async def test_copies_of_what_was_said_in_it_go_from_other_conversations(house: Household) -> None:
    context = f"<relevant_memories>\n[cli:default, Ada] My blood type is {SECRET}, you know.\n</relevant_memories>"
    await house.say("telegram:7", user("o1", "w1", "And now?", context=context), answer("o2", "w1", "Well."))

    done = await house.forget_as(OWNER_IN_TERMINAL, "session:cli:default")

    assert not done.failed, done.text
    assert (await house.said("telegram:7"))[-2:] == [("user", "And now?"), ("assistant", "Well.")]
    assert SECRET not in (house.space.sessions / "telegram" / "7.jsonl").read_text(encoding="utf-8")


async def test_of_a_person_nothing_stays_but_that_they_may_talk(house: Household) -> None:
    assert house.bot().forgetting.who_is("telegram", "555").scopes == {MEMBER.scope.name}
    folder = house.space.root / "people" / "telegram-555"
    folder.mkdir(parents=True)
    (folder / "USER.md").write_text("- likes walnuts\n", encoding="utf-8")
    (house.space.media / "people" / "telegram-555").mkdir(parents=True)
    (house.space.media / "people" / "telegram-555" / "me.jpg").write_bytes(b"picture")
    await house.bot().keep.memory.versions.commit_hand_edits()

    done = await house.forget("person:telegram:555")

    assert not done.failed, done.text
    assert "walnuts" not in "".join(house.holding("walnuts"))
    assert house.holding("Bob") == []
    assert not list((house.space.media / "people").rglob("*.jpg"))
    assert [path for path in files_in(house.space.root) if "555" in path.name and "sessions" in str(path)] == []


async def test_what_a_person_said_in_a_group_goes_with_them_and_what_others_said_there_stays(house: Household) -> None:
    bob, group = Sender("555", "Bob"), "group:telegram--9"
    await house.say(
        "telegram:-9",
        user("g1", "x1", "I, Bob, sing.", scope=group, sender=bob),
        answer("g2", "x1", "Bravo."),
        user("g3", "x2", "I dance.", scope=group, sender=Sender("556", "Cleo")),
        answer("g4", "x2", "Well done."),
    )

    await house.forget("person:telegram:555")

    assert await house.said("telegram:-9") == [("user", "I dance."), ("assistant", "Well done.")]


async def test_a_person_is_forgotten_by_themselves_but_by_no_other_member(house: Household) -> None:
    cleo = replace(MEMBER, scope=Scope.person("telegram", "9"))
    refused = await house.forget_as(cleo, "person:telegram:555")
    assert refused.text.startswith("That is not yours")

    done = await house.forget_as(MEMBER, "person:telegram:555")
    assert not done.failed, done.text
    assert await house.said("telegram:555") == []


async def test_since_a_day_all_goes_that_was_said_from_then_on(house: Household) -> None:
    later = at(days=2)
    await house.say(
        "cli:default",
        user("z1", "y1", "I have a new bicycle.", at=later),
        answer("z2", "y1", "Ride it well.", when=later),
    )
    history = EpisodeStore(house.space)
    made = await history.append(
        replace(episode("- has a new bicycle", session="cli:default", messages=("z1", "z2")), timestamp=later)
    )
    before = (await house.said("cli:default"))[:-2]

    done = await house.forget("since:2026-03-04")

    assert not done.failed, done.text
    assert await house.said("cli:default") == before
    assert await EpisodeStore(house.space).get(made.cursor) is None
    assert len(await EpisodeStore(house.space).after(0, 9)) == 2


async def test_a_turn_over_midnight_keeps_its_question(house: Household) -> None:
    await house.say(
        "cli:night",
        user("z1", "y1", "Are you awake?", at="2026-03-03T23:59:00.000+00:00"),
        answer("z2", "y1", "I am now.", when="2026-03-04T00:01:00.000+00:00"),
    )

    await house.forget("since:2026-03-04")

    assert await house.said("cli:night") == [("user", "Are you awake?"), ("assistant", FORGOTTEN)]


async def test_the_search_finds_it_no_more_and_finds_the_rest(house: Household) -> None:
    await house.forget(SECRET)

    texts = await asyncio.to_thread(_indexed, house)
    assert f"I live in a {OTHER}." in texts
    assert not any(SECRET in text for text in texts)


async def test_without_git_the_files_are_rewritten_all_the_same(
    house: Household, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    done = await house.forget(SECRET)

    assert "Install git" in done.text
    assert SECRET not in house.space.memory_file.read_text(encoding="utf-8")
    assert not (house.space.memory / "health.md").exists()
    assert not house.space.forgetting.exists()


def _indexed(house: Household) -> list[str]:
    house.index()
    database = IndexDatabase(house.space.recall_index)
    texts = [text for (text,) in database.rows("SELECT text FROM said")]
    database.close()
    return texts

"""/recall: people search what was said."""

from dataclasses import replace

from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.commands.memory import recall_command
from nanobot.core.commands import CommandAnswer, CommandCall
from nanobot.i18n import Language
from nanobot.memory.recall.ports import Hit, Related
from nanobot.messages import Address, InboundMessage, Sender
from tests.fakes.searching import ToldSearching, hit, said


async def recall(searching: ToldSearching, words: str = "cat", language: Language = "en") -> CommandAnswer:
    message = InboundMessage(
        id="1", address=Address("cli", "a"), sender=Sender("local", "Ada"), authority=OWNER_IN_TERMINAL, text="/recall"
    )
    return await recall_command(searching).handler(CommandCall(message, words, language))


async def told(*hits: Hit, language: Language = "en") -> str:
    return (await recall(ToldSearching(*hits), language=language)).text


async def test_what_is_found_comes_with_day_source_and_its_own_words() -> None:
    text = await told(hit(said("My cat is called Rice.\nShe is three.")))

    assert text == "What I found:\n\n2026-05-07 09:30 · Ada, in cli:a\n> My cat is called Rice.\n> She is three."


async def test_each_kind_of_source_has_its_name() -> None:
    text = await told(
        hit(said("Pin 4.", source="note"), related=[Related("part_of", "garden", "beds"), Related("", "fan", "quiet")]),
        hit(said("moved the standup", source="episode")),
        hit(said("buy now", source="quote", speaker="")),
        hit(said("Likes tea", source="memory")),
        hit(said("Hello", role="assistant", speaker="")),
    )

    for part in (
        "note memory/pump.md\n> Pin 4.\n→ part_of: garden\n→ see also: fan",
        "my summary of cli:a",
        "passed on, written by somebody",
        "remembered in memory/pump.md",
        "me, in cli:a",
    ):
        assert part in text


async def test_what_only_stands_beside_it_is_told_only_if_there_is_nothing_else() -> None:
    cat, beside = hit(said("My cat is called Rice.")), replace(hit(said("Nice weather.")), is_beside=True)

    assert "weather" not in await told(beside, cat)
    assert "weather" in await told(beside)


async def test_it_speaks_chinese() -> None:
    assert "你，在 cli:a" in await told(hit(said("猫叫年糕", speaker="")), language="zh")
    assert "没有找到" in await told(language="zh")


async def test_without_words_it_says_what_to_write_and_without_luck_what_may_help() -> None:
    usage = await recall(ToldSearching(), "")

    assert usage.failed
    assert "/recall" in usage.text
    assert "Other words" in await told()


async def test_an_index_that_is_not_whole_or_not_there_is_said() -> None:
    assert "60%" in (await recall(ToldSearching(hit(said("x")), unread=0.6))).text
    broken = await recall(ToldSearching(trouble="the disk is full"))
    assert broken.failed
    assert "disk" not in broken.text


async def test_a_long_text_is_shortened() -> None:
    assert len(await told(hit(said("word " * 500)))) < 500

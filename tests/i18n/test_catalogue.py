"""The bot's own sentences."""

import re

import pytest

from nanobot.i18n import Language, say
from tests.test_docs import placeholders, sentences

CHINESE = "[\u4e00-\u9fff\u3001\u3002\uff00-\uffef]"


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "0 conversations, every line can be read."),
        (1, "1 conversation, every line can be read."),
        (2, "2 conversations, every line can be read."),
        ("1,200", "1,200 conversations, every line can be read."),
    ],
)
def test_words_agree_with_their_number(count: object, told: str) -> None:
    assert say("doctor.sessions_ok", "en", count=count) == told


def test_no_sentence_leaves_singular_and_plural_to_the_reader() -> None:
    assert [key for key, text in sentences("en").items() if re.search(r"\w\((e?s|ies)\)", text)] == []


def test_chinese_sentences_have_chinese_punctuation_and_one_way_to_say_you() -> None:
    typed = re.compile(r"(?:person:)?平台:ID|[a-z]+:[\u4e00-\u9fff]+|\{\w+:")  # as it is typed, and agreement
    shown = {key: typed.sub("", text) for key, text in sentences("zh").items()}
    half_width = re.compile(rf"{CHINESE} ?[,;:?!]|[,;:?!] ?{CHINESE}")

    assert [key for key, text in shown.items() if half_width.search(text)] == []
    assert [key for key, text in sentences("zh").items() if "您" in text] == []


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("value", [1, 2, "6–7"])
def test_no_sentence_leaves_a_placeholder_to_the_reader(language: Language, value: object) -> None:
    meant_as_written = re.compile(r"\$\{\w+\}|\{kind: part_of, to: garden\}")  # what a person is to type

    told = {
        key: meant_as_written.sub("", say(key, language, **dict.fromkeys(placeholders(text), value)))
        for key, text in sentences(language).items()
    }

    assert [text for text in told.values() if re.search(r"[{}]", text)] == []


@pytest.mark.parametrize(("language", "moved"), [("en", "ove it away"), ("zh", "移走")])
def test_what_is_to_be_moved_away_is_named_before_the_command_that_takes_its_place(
    language: Language, moved: str
) -> None:
    told = say("doctor.file_unusable", language, path="SOUL.md", problem="it is a folder", fetch="install X")
    assert told.index(moved) < told.index("install X")

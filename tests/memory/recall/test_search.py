"""Recall brings up what answers a question, and says why that is fair."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from nanobot.authority import Origin
from nanobot.memory.recall.ports import Hit, SearchableText, SearchLimits
from nanobot.memory.recall.search import LocalRecall
from nanobot.nlp.words import words_of
from tests.fakes.recall_index import ListIndex

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def said(
    key: int, text: str, *, session: str = "cli:a", at: datetime = NOW, speaker: str = "", role: str = "user"
) -> SearchableText:
    return SearchableText(
        key=key,
        source="session",
        file=session,
        session=session,
        position=key,
        message=f"m{key}",
        at=at.isoformat(),
        when=at.timestamp(),
        day=at.toordinal(),
        role=role,
        speaker=speaker,
        origin=Origin.PERSON,
        text=text,
        words=" ".join(words_of(text)),
    )


def talk(
    *texts: str, speakers: Sequence[str] = ("",), start: datetime = NOW - timedelta(days=9)
) -> list[SearchableText]:
    return [
        said(number, text, at=start + timedelta(minutes=number), speaker=speakers[number % len(speakers)])
        for number, text in enumerate(texts)
    ]


def ask(texts: Sequence[SearchableText], question: str, **options: object) -> Sequence[Hit]:
    return LocalRecall(ListIndex(texts)).search(question, now=NOW, **options)  # type: ignore[arg-type]


def best(texts: Sequence[SearchableText], question: str) -> str:
    return ask(texts, question)[0].said.text


FILLER = ("Good morning!", "The weather is fine.", "I had soup.", "We talked about football.", "See you.", "Bye now.")


@pytest.mark.parametrize("question", ["May 3", "on 3 May", "五月三日", "what did I say on May 3"])
def test_a_day_alone_brings_up_what_was_said_then_in_its_order_and_then_what_speaks_of_it(question: str) -> None:
    texts = [
        *talk(*FILLER, "I booked the night train to Lisbon.", start=datetime(2026, 5, 3, 9, tzinfo=UTC)),
        *(
            said(50 + number, "later", session="b", at=datetime(2026, 5, 4, 9, number, tzinfo=UTC))
            for number in range(30)
        ),
        said(90, "Her birthday is on May 3.", session="c", at=datetime(2025, 12, 1, tzinfo=UTC)),
        said(91, "她的生日是五月三日。", session="d", at=datetime(2025, 12, 1, tzinfo=UTC)),
    ]

    found = [hit.said.text for hit in ask(texts, question, k=9)]

    assert found[: len(FILLER) + 1] == [*FILLER, "I booked the night train to Lisbon."]
    assert ("她的生日是五月三日。" if "月" in question else "Her birthday is on May 3.") in found
    assert "later" not in found
    assert "I booked the night train to Lisbon." in [hit.said.text for hit in ask(texts, question, k=3)]


def test_what_only_says_that_something_is_remembered_is_not_found_but_what_was_told_is() -> None:
    texts = talk("Remember that my locker code is on the blue card.", *FILLER)
    texts.append(said(99, "I wrote it down: my locker code is on the blue card", role="assistant"))

    assert [hit.said.key for hit in ask(texts, "locker code blue card") if "locker" in hit.said.text] == [0]


def test_a_hit_tells_whether_it_only_stands_beside_what_was_asked_for() -> None:
    texts = talk("Good morning!", "I planted tulips.", "The weather is fine.", "Where are the tulips?", "By the shed.")

    beside = {hit.said.text for hit in ask(texts, "tulips") if hit.is_beside}

    assert beside == {"Good morning!", "The weather is fine."}


def test_another_form_of_the_word_finds_it() -> None:
    assert best(talk(*FILLER, "I went hiking with Tom."), "who do I hike with?") == "I went hiking with Tom."


def test_an_answer_without_the_words_is_found_beside_the_question_that_has_them() -> None:
    texts = talk(*FILLER, "What is the name of your cat?", "Rice, she is three.", *FILLER)
    found = [hit.said.text for hit in ask(texts, "what is the cat called, its name?", k=3)]
    assert "Rice, she is three." in found


def test_after_a_long_silence_a_neighbour_is_none() -> None:
    question = said(1, "What is the name of your cat?", at=NOW - timedelta(days=2))
    later = said(2, "Rice, please.", at=NOW)
    soon = said(2, "Rice, please.", at=question_time(question) + timedelta(minutes=1))
    apart, together = (ask([question, answer], "name of the cat?", k=2)[1].score for answer in (later, soon))
    assert together > apart


def question_time(question: SearchableText) -> datetime:
    return datetime.fromisoformat(question.at)


def test_the_person_who_is_asked_about_counts_more() -> None:
    texts = talk("I paint landscapes.", "I paint portraits.", speakers=("Ada", "Ben"))
    assert best(texts, "What does Ben paint?") == "I paint portraits."


def test_what_i_said_was_said_by_me() -> None:
    texts = [said(1, "My allergy is to dust.", role="assistant"), said(9, "My allergy is to nuts.")]
    assert best(texts, "what is my allergy?") == "My allergy is to nuts."


def test_a_date_in_the_question_brings_up_that_day() -> None:
    days = [datetime(2023, month, 7, tzinfo=UTC) for month in (3, 5, 9)]
    texts = [said(place * 10, "We went to the lake.", at=at) for place, at in enumerate(days)]
    assert ask(texts, "When in May did we go to the lake?")[0].said.at.startswith("2023-05")
    assert ask(texts, "五月 lake")[0].said.at.startswith("2023-05")


def test_a_day_alone_is_question_enough() -> None:
    texts = [*talk(*FILLER), said(50, "Fixed the roof.", at=datetime(2026, 11, 24, 9, tzinfo=UTC))]
    assert best(texts, "what did I do last Tuesday?") == "Fixed the roof."
    assert best(texts, "上周二") == "Fixed the roof."


def test_chinese_is_found_by_its_characters() -> None:
    texts = talk(*FILLER, "我家猫叫年糕，三岁了。", "好可爱！", *FILLER)
    assert best(texts, "我的猫叫什么？") == "我家猫叫年糕，三岁了。"


def test_a_misspelt_word_finds_the_right_one() -> None:
    assert best(talk(*FILLER, "My education was in physics."), "which educaton?") == "My education was in physics."


def test_only_the_allowed_days_are_searched() -> None:
    texts = [said(1, "tea", session="cli:a"), said(2, "tea", session="cli:b", at=NOW - timedelta(days=40))]
    day = NOW.toordinal()
    assert [hit.said.key for hit in ask(texts, "tea", within=SearchLimits(first_day=day))] == [1]
    assert [hit.said.key for hit in ask(texts, "tea", within=SearchLimits(last_day=day - 1))] == [2]


def test_what_was_said_around_a_hit_comes_with_it() -> None:
    hit = ask(talk(*FILLER, "My bike is red.", "Nice."), "bike", around=1)[0]
    assert [other.text for other in hit.around] == ["Bye now.", "Nice."]


@pytest.mark.parametrize(
    "question", ["", "?", "   ", "the", "\N{PILE OF POO}", '"', "a" * 10_000, "什么", "* OR NOT ("]
)
def test_any_question_has_an_answer_even_if_it_is_nothing(question: str) -> None:
    assert len(ask(talk(*FILLER), question, k=2)) <= 2


def test_an_empty_history_has_no_answers() -> None:
    assert ask([], "anything last week?") == []

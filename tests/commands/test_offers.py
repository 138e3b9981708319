"""What a bare yes or no stands for, and when it does not any more."""

from collections.abc import Container
from dataclasses import replace

import pytest

from nanobot.authority import OWNER_IN_TERMINAL, Scope
from nanobot.core.commands import VALID, CommandAnswer, Offers
from nanobot.ids import new_id
from nanobot.messages import Address, Attachment, Button, InboundMessage, Sender
from tests.fakes.clock import FakeClock

ASKED = CommandAnswer("Shall I?", yes="/forget yes AB23", no="/forget no AB23")
LIST = CommandAnswer("Which one?", [Button("a", "/model a")])
NONE = ""


def typed(text: str) -> InboundMessage:
    return InboundMessage(
        id="m", address=Address("telegram", "7"), sender=Sender("7"), authority=OWNER_IN_TERMINAL, text=text
    )


def fresh(clock: FakeClock | None = None, underway: Container[str] = ()) -> Offers:
    return Offers(clock or FakeClock(), lambda question: question in underway, lambda _: None)


@pytest.fixture
def offers() -> Offers:
    """In which one question is open."""
    offers = fresh()
    offers.made(typed("/forget x"), ASKED, new_id())
    return offers


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("yes", ASKED.yes),
        ("是", ASKED.yes),
        ("Y!", ASKED.yes),
        ("no", ASKED.no),
        ("不", ASKED.no),
        ("yes, but", "yes, but"),
    ],
)
def test_a_bare_yes_or_no_is_the_command(offers: Offers, text: str, meant: str) -> None:
    assert offers.read(typed(text), NONE).text == meant


@pytest.mark.parametrize(
    ("text", "meant"), [("1", "/model a"), ("A", "/model a"), ("2", "2"), ("0", "0"), ("yes", "yes")]
)
def test_a_number_or_a_label_is_what_a_list_offers(text: str, meant: str) -> None:
    offers = fresh()
    offers.made(typed("/model"), LIST, new_id())
    assert offers.read(typed(text), NONE).text == meant


@pytest.mark.parametrize("text", ["cancel", "取消", "算了", "0", "不用了", "no, thanks"])
def test_a_list_can_be_left(text: str) -> None:
    offers = fresh()
    offers.made(typed("/model"), LIST, new_id())
    assert not offers.left(typed(text), new_id())
    assert offers.read(typed(text), NONE).text == text
    assert offers.left(typed(text), NONE)
    assert not offers.left(typed(text), NONE)
    offers.made(typed("/dream-restore"), replace(LIST, no="/dream-restore no"), new_id())
    assert offers.read(typed(text), NONE).text == "/dream-restore no"


def test_what_was_chosen_from_a_list_closes_it() -> None:
    offers = fresh()
    offers.made(typed("/model"), LIST, new_id())
    offers.made(typed("/model a"), CommandAnswer("It is a."), new_id())
    assert offers.read(typed("1"), NONE).text == "1"


def test_it_is_said_once(offers: Offers) -> None:
    offers.read(typed("yes"), NONE)
    assert offers.read(typed("yes"), NONE).text == "yes"


def test_only_whoever_was_asked_answers_and_only_there(offers: Offers) -> None:
    yes = typed("yes")
    for other in (
        replace(yes, sender=Sender("8")),
        replace(yes, address=Address("telegram", "8")),
        replace(yes, authority=replace(OWNER_IN_TERMINAL, scope=Scope.group("telegram", "7"))),
        replace(yes, to_bot=False),
        replace(yes, files=(Attachment("media/a.png"),)),
        replace(yes, corrects="m0"),
    ):
        assert offers.read(other, NONE) is other
    assert offers.read(yes, NONE).text == ASKED.yes


def test_other_commands_leave_it_open_but_a_newer_question_does_not(offers: Offers) -> None:
    offers.made(typed("/status"), CommandAnswer("All is well."), new_id())
    assert offers.read(typed("yes"), NONE).text == ASKED.yes
    offers.made(typed("/forget x"), ASKED, new_id())
    offers.made(typed("/model"), LIST, new_id())
    assert offers.read(typed("yes"), NONE).text == "yes"


def test_it_is_over_when_the_bot_has_said_something_else(offers: Offers) -> None:
    offers.lapse("telegram:7")
    assert offers.read(typed("yes"), NONE).text == "yes"


def test_a_yes_that_comes_too_late_is_told_how_to_give_it_and_answers_nothing_else(offers: Offers) -> None:
    offers.lapse("telegram:7", "Bananas are berries.")
    assert offers.missed(typed("no"), NONE) == ("", False)
    assert offers.missed(replace(typed("yes"), sender=Sender("8")), NONE) == ("", False)
    assert offers.missed(typed("yes"), NONE) == (ASKED.yes, True)
    assert offers.missed(typed("是"), NONE) == (ASKED.yes, True)


@pytest.mark.parametrize("said", ["Do you like bananas?", "你喜欢香蕉吗？"])
def test_a_late_yes_may_be_one_to_what_the_bot_has_asked_since_so_that_is_told_once(offers: Offers, said: str) -> None:
    offers.lapse("telegram:7", said)
    assert offers.missed(typed("yes"), NONE) == (ASKED.yes, False)
    assert offers.missed(typed("yes"), NONE) == ("", False)


def test_a_late_yes_may_be_one_to_a_newer_question_of_a_turn(offers: Offers) -> None:
    offers.lapse("telegram:7")
    assert offers.missed(typed("yes"), new_id()) == (ASKED.yes, False)


@pytest.mark.parametrize("no", ["no", "不", "算了"])
def test_a_late_no_still_counts_unless_it_may_answer_something_else(offers: Offers, no: str) -> None:
    offers.lapse("telegram:7", "Do you like bananas?")
    assert offers.read(typed(no), NONE).text == no
    offers.lapse("telegram:7", "Bananas are berries.")
    assert offers.read(typed(no), new_id()).text == no
    assert offers.read(typed(no), NONE).text == ASKED.no
    assert offers.read(typed(no), NONE).text == no


def test_what_was_answered_in_full_is_no_question_any_more(offers: Offers) -> None:
    offers.made(typed(ASKED.yes), CommandAnswer("Forgotten."), new_id())
    assert offers.read(typed("yes"), NONE).text == "yes"
    assert offers.missed(typed("yes"), NONE) == ("", False)


def test_of_two_questions_the_newer_one_is_meant(offers: Offers) -> None:
    of_a_turn = new_id()
    assert offers.read(typed("yes"), of_a_turn).text == "yes"
    offers.made(typed("/forget y"), ASKED, new_id())
    assert offers.read(typed("yes"), of_a_turn).text == ASKED.yes


def test_it_is_over_after_a_while() -> None:
    clock = FakeClock()
    offers = fresh(clock)
    offers.made(typed("/forget x"), ASKED, new_id())
    clock.advance(VALID)
    assert offers.read(typed("yes"), NONE).text == "yes"
    assert offers.missed(typed("yes"), NONE) == ("", False)


def test_nobody_answers_what_they_have_not_seen_yet() -> None:
    underway = {"q"}
    offers = fresh(underway=underway)
    offers.made(typed("/forget x"), ASKED, "q")
    assert offers.read(typed("yes"), NONE).text == "yes"
    assert offers.missed(typed("yes"), NONE) == ("", False)
    underway.clear()
    assert offers.read(typed("yes"), NONE).text == ASKED.yes

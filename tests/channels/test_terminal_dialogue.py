"""What is printed of the things that happen in a turn, and what an input means while a question waits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.channels.terminal.dialogue import Dialogue
from nanobot.channels.terminal.markdown import ScreenPiece
from nanobot.channels.terminal.person import at, chosen, refusal
from nanobot.messages import Attachment, Button, OutboundMessage, Progress, ProgressKind, Stats
from tests.fakes.talker import CHOICES, english

HERE = at("test")
AGAIN = ScreenPiece("That broke off and does not count; once more from the beginning:", "quiet")
DIFFERS = ScreenPiece("What stands above was not the final answer; this is:", "quiet")


class Seen:
    """A dialogue, and the pieces that it had printed."""

    def __init__(self) -> None:
        self.dialogue = Dialogue(HERE, english)
        self.pieces: list[ScreenPiece] = []
        self.shows("started")

    def shows(self, kind: ProgressKind, text: str = "") -> None:
        self.pieces += self.dialogue.progress(Progress(address=HERE, turn="t", kind=kind, text=text))

    def streams(self, *texts: str) -> None:
        for text in texts:
            self.shows("text", text)

    def answers(self, text: str) -> None:
        self.pieces += self.dialogue.message(OutboundMessage(id="a", address=HERE, text=text, turn="t"))

    def asks(self, name: str, reply_to: str | None = None) -> None:
        question = OutboundMessage(
            id=name, address=HERE, text=name, kind="question", buttons=CHOICES, reply_to=reply_to
        )
        self.pieces += self.dialogue.message(question)

    @property
    def texts(self) -> list[str]:
        return [piece.text.strip() for piece in self.pieces]


@given(text=st.text(st.sampled_from("ab \n#-`")), size=st.integers(1, 5), with_step=st.booleans())
def test_a_streamed_answer_is_printed_exactly_once(text: str, size: int, with_step: bool) -> None:
    seen = Seen()
    seen.streams(*(text[start : start + size] for start in range(0, len(text), size)))
    if with_step:
        seen.shows("step")
    seen.answers(text)
    seen.shows("ended")
    assert "".join("".join(seen.texts).split()) == "".join(text.split())


def test_an_answer_that_was_not_streamed_is_printed_whole() -> None:
    seen = Seen()
    seen.answers("One.\n\nTwo.")
    assert seen.texts == ["One.\n\nTwo."]


def test_what_was_added_to_the_streamed_text_is_printed() -> None:
    seen = Seen()
    seen.streams("One.\n\nTw")
    seen.shows("step")
    seen.answers("One.\n\nTw\n\n[cut off]")
    assert seen.texts == ["One.", "Tw", "[cut off]"]


def test_an_answer_that_differs_from_what_was_streamed_is_printed_whole_and_says_so() -> None:
    seen = Seen()
    seen.streams("One.\n\nTwo")
    seen.answers("Three.")
    assert seen.pieces[1:] == [DIFFERS, ScreenPiece("Three.")]


def test_a_remark_before_a_tool_stands_and_is_no_part_of_the_answer() -> None:
    seen = Seen()
    seen.streams("Sure")
    seen.shows("step")
    seen.shows("tool", "read notes.md")
    seen.answers("Sure, here it is.")
    assert seen.texts == ["Sure", "· read notes.md", "Sure, here it is."]


def test_a_restart_is_mentioned_only_if_something_had_been_printed() -> None:
    seen = Seen()
    seen.streams("Not printed ye")
    seen.shows("restart")
    assert seen.pieces == []
    seen.streams("Printed.\n\nmo")
    seen.shows("restart")
    seen.streams("Good.")
    seen.answers("Good.")
    assert seen.pieces[1:] == [AGAIN, ScreenPiece("Good.")]


def test_what_a_stopped_turn_had_said_is_kept_on_the_screen() -> None:
    seen = Seen()
    seen.streams("Half a thou")
    assert seen.dialogue.unfinished == "Half a thou"
    seen.shows("ended")
    assert seen.texts == ["Half a thou"]
    assert not seen.dialogue.is_busy


def test_a_failure_comes_after_what_had_been_said() -> None:
    seen = Seen()
    seen.streams("I wa")
    seen.pieces += seen.dialogue.message(
        OutboundMessage(id="a", address=HERE, text="No network.", kind="notice", turn="t")
    )
    assert seen.texts == ["I wa", "No network."]


def test_files_are_named() -> None:
    seen = Seen()
    files = [Attachment("media/cat.png")]
    seen.pieces += seen.dialogue.message(OutboundMessage(id="a", address=HERE, text="Here.", files=files))
    assert seen.texts == ["Here.", "File: media/cat.png"]


def test_there_is_something_to_stop_from_the_moment_one_has_spoken() -> None:
    dialogue = Dialogue(HERE, english)
    assert not dialogue.is_busy
    dialogue.heard("Hello")
    assert dialogue.is_busy
    dialogue.message(OutboundMessage(id="a", address=HERE, text="Done.", kind="notice"))
    assert not dialogue.is_busy


def test_questions_are_shown_and_answered_one_after_the_other() -> None:
    seen = Seen()
    seen.asks("first")
    seen.asks("second")
    assert "second" not in seen.texts
    assert seen.dialogue.choose("1") == ("first", "once")
    assert seen.dialogue.question()[0] == ScreenPiece("second", "question")
    assert seen.dialogue.choose("no") == ("second", "no")
    assert seen.dialogue.question() == []
    assert seen.dialogue.choose("1") is None


def test_a_question_of_a_tool_goes_on_waiting_when_something_else_is_said() -> None:
    seen = Seen()
    seen.asks("May I?")
    assert seen.dialogue.choose("why?") is None
    seen.dialogue.heard("And now?")
    assert seen.dialogue.question()[0] == ScreenPiece("May I?", "question")


def test_a_list_to_choose_from_lapses_when_something_else_is_said() -> None:
    seen = Seen()
    seen.asks("Which model?", reply_to="cli:test:1")
    seen.dialogue.heard("And now?")
    assert seen.dialogue.question() == []


def test_a_list_to_choose_from_stays_open_while_other_commands_are_used() -> None:
    seen = Seen()
    seen.asks("Which model?", reply_to="cli:test:1")
    seen.dialogue.heard("/status")
    seen.answers("All is well.")
    assert seen.texts[-1] == "The list above is still open: type 1 to 3, or 0 to leave it."
    assert seen.dialogue.choose("1") == ("Which model?", "once")


@pytest.mark.parametrize(("typed", "reply_to", "is_missed"), [
    ("4", "cli:test:1", True), ("99 ", "cli:test:1", True), ("00", "cli:test:1", True), ("3", "cli:test:1", False),
    ("0", "cli:test:1", False), ("4 eggs", "cli:test:1", False), ("4", None, True), ("0", None, True),
])  # fmt: skip
def test_a_number_that_no_answer_has_stays_with_the_question(typed: str, reply_to: str | None, is_missed: bool) -> None:
    seen = Seen()
    assert seen.dialogue.misses(typed) == []
    seen.asks("Which model?", reply_to=reply_to)
    assert bool(seen.dialogue.misses(typed)) is is_missed
    assert seen.dialogue.choose("1") == ("Which model?", "once")


def test_a_number_below_a_list_and_an_answer_is_for_the_bot() -> None:
    seen = Seen()
    seen.asks("Which model?", reply_to="cli:test:1")
    seen.shows("ended")
    assert seen.dialogue.misses("42") == []


def test_a_list_in_the_middle_of_an_answer_breaks_no_line_and_repeats_nothing() -> None:
    seen = Seen()
    seen.streams("One.\n\nTw")
    seen.asks("Forget it?", reply_to="cli:test:1")
    assert seen.dialogue.unfinished == "Tw"
    assert seen.dialogue.held_up() == []
    seen.streams("o.\n\nThree.")
    seen.answers("One.\n\nTwo.\n\nThree.")
    assert [text for text in seen.texts if text in ("One.", "Tw", "Two.", "Three.")] == ["One.", "Two.", "Three."]
    assert seen.texts[1] == "Forget it?"


def test_a_list_that_stays_open_below_an_answer_can_be_left() -> None:
    seen = Seen()
    seen.asks("Which model?", reply_to="cli:test:1")
    assert not seen.dialogue.leave("0")  # the bot knows of it, and says so
    seen.shows("ended")
    assert not seen.dialogue.leave("hello")
    assert seen.dialogue.leave("算了")
    assert seen.dialogue.question() == []
    assert not seen.dialogue.leave("算了")


@pytest.mark.parametrize("text", ["0", "cancel", "算了", "2"])
def test_where_a_button_leaves_all_as_it_is_that_is_pressed(text: str) -> None:
    dialogue = Dialogue(HERE, english)
    buttons = (Button("Monday", "/dream-restore ab12"), Button("Leave it", "/dream-restore no"))
    dialogue.message(OutboundMessage(id="q", address=HERE, text="?", kind="question", reply_to="m", buttons=buttons))
    assert dialogue.choose("yes") is None
    assert dialogue.choose(text) == ("q", "/dream-restore no")


def test_a_newer_list_takes_the_place_of_an_older_one() -> None:
    seen = Seen()
    seen.asks("Which model?", reply_to="cli:test:1")
    seen.dialogue.heard("/dream-restore")
    seen.asks("Which version?", reply_to="cli:test:2")
    assert seen.dialogue.choose("1") == ("Which version?", "once")


def test_the_question_of_a_turn_that_has_ended_is_over() -> None:
    seen = Seen()
    seen.asks("May I?")
    seen.shows("ended")
    assert seen.dialogue.choose("1") is None


@pytest.mark.parametrize(
    ("typed", "value"),
    [("1", "once"), (" 3 ", "no"), ("3", "no"), ("no", "no"), ("N", "no"), ("for this SESSION", "session"),
     ("f", "session"), ("0", None), ("4", None), ("", None), ("yes", "once"), ("y", "once"), ("好", "once"),
     ("不", "no"), ("Yes please!", "once"), ("3.", "no"), ("算了", "no"), ("yes, but", None),
     ("-1", None), ("²", None)],
)  # fmt: skip
def test_a_choice_is_a_number_a_label_or_its_first_letter(typed: str, value: str | None) -> None:
    button = chosen(CHOICES, typed)
    assert (button.value if button else None) == value


def test_a_first_letter_that_two_labels_share_chooses_neither() -> None:
    assert chosen([Button("Allow", "a"), Button("All", "b")], "a") is None


def test_who_cannot_be_asked_refuses() -> None:
    assert refusal(CHOICES).value == "no"
    assert refusal([Button("Yes", "1"), Button("Never", "2")]).value == "2"


@pytest.mark.parametrize(
    ("tokens", "footer"), [((12, 3), "12 tokens read, 3 written · 1.5 s · big"), ((0, 0), "1.5 s · big")]
)
def test_of_an_endpoint_that_counts_nothing_no_tokens_are_told(tokens: tuple[int, int], footer: str) -> None:
    answer = OutboundMessage(id="a", address=HERE, text="Hi.", stats=Stats(*tokens, 1.5, "big"))
    assert Dialogue(HERE, english).message(answer)[-1] == ScreenPiece(footer, "footer")

"""A running turn is shown, and never at the cost of its answer."""

from dataclasses import replace

import pytest

from nanobot.channels.delivery.preview import QUIET, TYPING_EVERY
from nanobot.messages import Address, Attachment
from tests.channels.delivery.scene import ANN, BOB, GROUP, TOPIC, Scene, progress, say, settle
from tests.fakes.platform import MARK, blocked, flood, lost_reply, no_connection, not_there, refused

WORDS = "I have looked into your notes, and this is what I found. "
LONG = WORDS * 8


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_typing_is_kept_up_until_there_is_an_answer(scene: Scene) -> None:
    scene.outbox.put(progress("started"))

    async with scene.running():
        await scene.pass_(20)
        times = [asked.at for asked in scene.platform.requests("typing")]
        scene.outbox.put(say("Done.", turn="t1"), progress("ended"))
        await scene.pass_(20)

    assert times == [0.0, TYPING_EVERY, 2 * TYPING_EVERY, 3 * TYPING_EVERY, 4 * TYPING_EVERY]
    assert len(scene.platform.requests("typing")) == len(times)
    assert scene.platform.seen(ANN) == ["Done."]


async def test_the_text_grows_in_one_message_and_the_last_edit_is_the_answer(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", WORDS))

    async with scene.running():
        await scene.pass_(1.5)
        assert scene.platform.seen(ANN) == [f"~{WORDS}"]
        scene.outbox.put(progress("text", "More."))
        await scene.pass_(1.5)
        assert scene.platform.seen(ANN) == [f"~{WORDS}More."]
        scene.outbox.put(say(f"{WORDS}More.", turn="t1"), progress("ended"))
        await scene.pass_()

    assert scene.platform.seen(ANN) == [f"{WORDS}More."]
    assert len(scene.platform.requests("send", "send_preview")) == 1
    assert scene.outbox.delivered_ids == ["m1"]


async def test_a_preview_that_may_not_become_the_answer_as_it_is_becomes_its_plain_words(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", f"{WORDS}The *pump* "))

    async with scene.running():
        await scene.pass_(1.5)
        scene.platform.faults["edit"].append(refused())
        scene.outbox.put(say(f"{WORDS}The *pump* runs.", turn="t1"), progress("ended"))
        await scene.pass_()

    assert scene.platform.seen(ANN) == [f"{WORDS}The pump runs."]


async def test_edits_are_merged_to_about_one_a_second(scene: Scene) -> None:
    scene.outbox.put(progress("started"))

    async with scene.running():
        for n in range(100):
            scene.outbox.put(progress("text", f"{n} "))
            await scene.pass_(0.1, step=0.1)
        await scene.pass_(2)

    assert 8 <= len(scene.platform.requests("send_preview", "edit")) <= 12
    assert scene.platform.seen(ANN)[-1].endswith("99 ")


async def test_in_a_group_previews_leave_room_for_messages(scene: Scene) -> None:
    scene.outbox.put(progress("started", at=GROUP))

    async with scene.running():
        for n in range(60):
            scene.outbox.put(progress("text", f"{n} ", at=GROUP))
            await scene.pass_(1)

    assert len(scene.platform.asked) <= 16


async def test_an_answer_need_not_wait_though_previews_use_all_they_may(scene: Scene) -> None:
    chats = [replace(ANN, chat=f"c{n}") for n in range(60)]
    scene.outbox.put(*(progress("started", at=at, turn=at.chat) for at in chats))

    async with scene.running():
        for n in range(50):
            scene.outbox.put(*(progress("text", f"{n} ", at, at.chat) for at in chats))
            await scene.pass_(0.1, step=0.1)
        scene.outbox.put(say("The answer.", chats[7], turn="c7"))
        for _ in range(5):  # no time passes, it only takes its turns to work through all this
            await scene.pass_()
        assert scene.platform.seen(chats[7]) == ["The answer."]


async def test_a_few_characters_wait_for_more(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", "Well"))

    async with scene.running():
        await scene.pass_(2)
        assert scene.platform.seen(ANN) == []
        await scene.pass_(1.5)
        assert scene.platform.seen(ANN) == ["~Well"]


async def test_a_long_answer_rolls_over_into_the_next_message(scene: Scene) -> None:
    scene.outbox.put(progress("started"))

    async with scene.running():
        for _ in range(8):
            scene.outbox.put(progress("text", WORDS))
            await scene.pass_(2)
        assert "".join(text.removeprefix("~") for text in scene.platform.seen(ANN)) == LONG
        scene.outbox.put(say(LONG, turn="t1"))
        await scene.pass_(10)

    assert "".join(scene.platform.seen(ANN)) == LONG
    assert len(scene.platform.requests("send", "send_preview")) == len(scene.platform.seen(ANN)) == 3


async def test_an_answer_longer_than_what_was_shown_goes_on_in_new_messages_and_files(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", WORDS))

    async with scene.running():
        await scene.pass_(2)
        scene.outbox.put(replace(say(LONG, turn="t1"), files=(Attachment("a.pdf"),)))
        await scene.pass_(10)

    *texts, file = scene.platform.seen(ANN)
    assert ("".join(texts), file) == (LONG, "[a.pdf]")
    assert len(scene.platform.requests("send_preview")) == 1


async def test_previews_that_the_answer_does_not_need_are_removed(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", LONG))

    async with scene.running():
        await scene.pass_(10)
        assert len(scene.platform.seen(ANN)) == 3
        scene.outbox.put(say("In short: yes.", turn="t1"))
        await scene.pass_(10)

    assert scene.platform.seen(ANN) == ["In short: yes."]


async def test_two_turns_at_once_never_mix(scene: Scene) -> None:
    turns = [(ANN, "t1", "a" * 30), (TOPIC, "t2", "b" * 30), (ANN, "t3", "c" * 30)]
    scene.outbox.put(*(progress("started", at=at, turn=turn) for at, turn, _ in turns))

    async with scene.running():
        for _ in range(3):
            scene.outbox.put(*(progress("text", text, at, turn) for at, turn, text in turns))
            await scene.pass_(5)
        scene.outbox.put(say("b" * 90, TOPIC, name="m2", turn="t2"), say("a" * 90, name="m1", turn="t1"))
        await scene.pass_(10)
        scene.outbox.put(say("c" * 90, name="m3", turn="t3"))
        await scene.pass_(10)

    assert scene.platform.seen(TOPIC) == ["b" * 90]
    assert scene.platform.seen(ANN) == ["a" * 90, "c" * 90]


async def test_pieces_that_come_again_do_not_stand_twice(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", LONG))

    async with scene.running():
        await scene.pass_(8)
        scene.outbox.put(progress("restart"), progress("notice", "The answer broke off; I ask again in 5 s."))
        await scene.pass_(8)
        assert scene.platform.seen(ANN) == ["~⏳ The answer broke off; I ask again in 5 s."]
        scene.outbox.put(progress("text", WORDS))
        await scene.pass_(3)
        assert scene.platform.seen(ANN) == [f"~{WORDS}"]


async def test_a_remark_before_a_tool_stays_and_the_answer_comes_below_it(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", WORDS))

    async with scene.running():
        await scene.pass_(2)
        scene.outbox.put(progress("text", "I write it down."), progress("step"), progress("tool", "writing notes.md"))
        await scene.pass_(3)
        scene.outbox.put(progress("text", "It is written down now. "))
        await scene.pass_(3)
        assert scene.platform.seen(ANN) == [f"~{WORDS}I write it down.", "~It is written down now. "]
        scene.outbox.put(say("It is written down now. Anything else?", turn="t1"))
        await scene.pass_(3)

    assert scene.platform.seen(ANN) == [f"~{WORDS}I write it down.", "It is written down now. Anything else?"]


async def test_a_remark_whose_beginning_is_seen_is_shown_to_its_end_before_the_answer(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", WORDS))

    async with scene.running():
        await scene.pass_(1.5)
        scene.outbox.put(progress("text", "The end of it."), progress("step"), say("Noted.", turn="t1"))
        await scene.pass_(5)

    assert scene.platform.seen(ANN) == [f"~{WORDS}The end of it.", "Noted."]


async def test_a_short_remark_on_the_way_to_a_quick_answer_makes_no_noise(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", "Let me see."), progress("step"))

    async with scene.running():
        await scene.pass_(0.5)
        scene.outbox.put(say("It is Monday.", turn="t1"))
        await scene.pass_(5)

    assert scene.platform.seen(ANN) == ["It is Monday."]


async def test_who_sees_no_text_for_some_time_is_told_what_takes_so_long(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("tool", "reading notes.md"))

    async with scene.running():
        await scene.pass_(3.5)
        assert scene.platform.seen(ANN) == []
        await scene.pass_(1)
        scene.outbox.put(progress("tool", "running make test"))
        await scene.pass_(3)
        assert scene.platform.seen(ANN) == ["~🔧 running make test"]
        scene.outbox.put(say("All is well.", turn="t1"))
        await scene.pass_(3)

    assert scene.platform.seen(ANN) == ["All is well."]


async def test_a_turn_that_was_stopped_leaves_what_was_said_with_a_mark(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", WORDS))

    async with scene.running():
        await scene.pass_(2)
        scene.outbox.put(progress("text", "And"), progress("ended"), say("Stopped."))
        await scene.pass_(5)
        assert len(scene.deliverer._shows) == 0

    first, last = scene.platform.seen(ANN)
    assert first.startswith(f"~{WORDS}And\n\n⏹")
    assert last == "Stopped."


async def test_of_a_turn_that_was_stopped_while_a_tool_ran_no_status_stays(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("tool", "running make"))

    async with scene.running():
        await scene.pass_(6)
        scene.outbox.put(progress("ended"))
        await scene.pass_(3)

    assert scene.platform.seen(ANN) == []


async def test_a_message_in_the_middle_of_a_turn_comes_before_its_answer(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", WORDS))

    async with scene.running():
        await scene.pass_(2)
        scene.outbox.put(say("Status: all well.", name="status"), progress("text", "More."))
        await scene.pass_(5)
        assert scene.platform.seen(ANN) == ["Status: all well.", f"~{WORDS}More."]
        scene.outbox.put(say(f"{WORDS}More.", turn="t1"))
        await scene.pass_(5)

    assert scene.platform.seen(ANN) == ["Status: all well.", f"{WORDS}More."]


async def test_without_streaming_only_typing_is_shown() -> None:
    scene = Scene(streaming=False)
    scene.outbox.put(progress("started"), progress("text", WORDS), progress("step"), progress("tool", "reading"))

    async with scene.running():
        await scene.pass_(10)
        scene.outbox.put(say("Done.", turn="t1"))
        await scene.pass_(3)

    assert {asked.method for asked in scene.platform.asked} == {"typing", "send"}
    assert scene.platform.seen(ANN) == ["Done."]


async def test_silence_holds_for_edits_and_typing_and_the_answer_comes_after_it(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", WORDS), progress("started", at=BOB, turn="t2"))
    scene.platform.faults["edit"].append(flood(17))

    async with scene.running():
        await scene.pass_(2)
        scene.outbox.put(progress("text", "And "))
        await scene.pass_(1)
        asked = len(scene.platform.requests(chat="1"))
        scene.outbox.put(progress("text", "more."), say("for Bob", BOB, name="m2", turn="t2"))
        await scene.pass_(10)
        assert scene.platform.seen(BOB) == ["for Bob"]
        scene.outbox.put(say(f"{WORDS}And more.", turn="t1"))
        await scene.pass_(5)
        assert len(scene.platform.requests(chat="1")) == asked
        await scene.pass_(5)

    assert scene.platform.seen(ANN) == [f"{WORDS}And more."]


@pytest.mark.parametrize("fault", [no_connection(), refused(), not_there(), blocked(), lost_reply(arrives=True)])
async def test_an_edit_that_fails_makes_no_second_message(scene: Scene, fault: object) -> None:
    scene.outbox.put(progress("started"), progress("text", WORDS))
    scene.platform.faults["edit"].append(fault)  # type: ignore[arg-type]

    async with scene.running():
        await scene.pass_(1.5)
        scene.outbox.put(progress("text", "More."))
        await scene.pass_(15)
        assert len(scene.platform.requests("send_preview")) == 1
        scene.outbox.put(say("The answer.", turn="t1"))
        await scene.pass_(5)

    assert scene.platform.seen(ANN) == ["The answer."]


@pytest.mark.parametrize("fault", [no_connection(), refused(), blocked(), flood(3), lost_reply(arrives=False)])
async def test_a_preview_that_fails_does_not_hurt_the_answer(scene: Scene, fault: object) -> None:
    scene.outbox.put(progress("started"), progress("text", WORDS))
    scene.platform.faults["send_preview"].append(fault)  # type: ignore[arg-type]

    async with scene.running():
        await scene.pass_(2)
        scene.outbox.put(say("The answer.", turn="t1"))
        await scene.pass_(10)

    assert [text.removeprefix(MARK) for text in scene.platform.seen(ANN)] == ["The answer."]
    assert scene.outbox.delivered_ids == ["m1"]


async def test_an_uncertain_preview_is_no_reason_to_give_an_answer_up_sooner(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", WORDS))
    scene.platform.faults["send_preview"].append(lost_reply(arrives=False))
    scene.platform.faults["send"].append(lost_reply(arrives=False))

    async with scene.running():
        await scene.pass_(2)
        scene.outbox.put(say("The answer.", turn="t1"))
        await scene.pass_(30)

    assert scene.platform.seen(ANN) == [f"{MARK}The answer."]


async def test_an_answer_that_comes_while_a_preview_is_on_its_way_knows_what_became_of_that(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    previewing = scene.outbox.previewing

    async def answered_meanwhile(turn: str, address: Address) -> None:
        scene.outbox.put(say("The answer.", turn="t1"))
        await settle()  # it is handed out before the preview is noted
        await previewing(turn, address)

    monkeypatch.setattr(scene.outbox, "previewing", answered_meanwhile)
    scene.outbox.put(progress("started"), progress("text", WORDS))
    scene.platform.faults["send_preview"].append(lost_reply(arrives=True))

    async with scene.running():
        await scene.pass_(60)

    assert scene.platform.seen(ANN)[1:] == [f"{MARK}The answer."]


async def test_a_preview_that_may_have_arrived_is_found_and_makes_way_for_the_answer() -> None:
    scene = Scene(can_find=True)
    scene.outbox.put(progress("started"), progress("text", WORDS))
    scene.platform.faults["send_preview"].append(lost_reply(arrives=True))

    async with scene.running():
        await scene.pass_(10)
        assert len(scene.platform.requests("send_preview")) == 1
        scene.outbox.put(say("The answer.", turn="t1"))
        await scene.pass_(10)

    assert scene.platform.seen(ANN) == ["The answer."]


async def test_when_somebody_removed_the_preview_the_whole_answer_comes_anew_once(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", LONG))

    async with scene.running():
        await scene.pass_(8)
        scene.platform.remove(ANN, 1)
        scene.outbox.put(say(LONG, turn="t1"))
        await scene.pass_(20)

    assert "".join(scene.platform.seen(ANN)) == LONG


async def test_the_last_edit_is_tried_until_it_works(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", WORDS))

    async with scene.running():
        await scene.pass_(2)
        scene.platform.faults["edit"].extend([lost_reply(arrives=True), no_connection(), flood(20)])
        scene.outbox.put(say("The answer.", turn="t1"))
        await scene.pass_(60)

    assert scene.platform.seen(ANN) == ["The answer."]
    assert not scene.platform.requests("send")


async def test_an_answer_that_cannot_be_edited_in_is_excused_in_its_place(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", WORDS))

    async with scene.running():
        await scene.pass_(2)
        scene.platform.faults["edit"].append(refused())
        scene.outbox.put(say("The answer.", turn="t1"))
        await scene.pass_(10)

    [excuse] = scene.platform.seen(ANN)
    assert "could not be shown" in excuse
    assert scene.outbox.delivered_ids == ["m1"]


async def test_after_a_restart_the_answer_takes_the_place_of_the_old_preview(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", LONG))

    async with scene.running():
        await scene.pass_(10)
    scene.outbox.put(progress("started"), progress("text", WORDS))
    async with scene.running():
        await scene.pass_(3)
        scene.outbox.put(progress("text", WORDS), say("status", name="m0"), say("The answer.", turn="t1"))
        await scene.pass_(20)

    assert scene.platform.seen(ANN) == ["status", "The answer."]


async def test_a_deliverer_that_is_run_again_shows_turns_and_delivers_as_before(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", WORDS))

    async with scene.running():
        await scene.pass_(2)
        scene.outbox.put(say("status", name="m0"))
    scene.outbox.put(progress("started"), progress("text", WORDS))
    async with scene.running(scene.deliverer):
        await scene.pass_(3)
        assert scene.platform.seen(ANN)[1:] == ["status", f"~{WORDS}"]
        scene.outbox.put(say("The answer.", turn="t1"))
        await scene.pass_(3)

    assert scene.platform.seen(ANN) == ["status", "The answer."]


@pytest.mark.parametrize("fault", [refused(), not_there()])
async def test_an_old_preview_that_may_not_be_removed_becomes_the_answer(scene: Scene, fault: object) -> None:
    scene.outbox.put(progress("started"), progress("text", WORDS))

    async with scene.running():
        await scene.pass_(3)
    scene.platform.faults["delete"].append(fault)  # type: ignore[arg-type]
    async with scene.running():
        scene.outbox.put(say("The answer.", turn="t1"))
        await scene.pass_(5)

    assert scene.platform.seen(ANN) == ["The answer."]


async def test_a_request_in_flight_at_the_end_is_given_time_to_be_noted(scene: Scene) -> None:
    scene.platform.latency = 2.0
    scene.outbox.put(say("Hello."))

    async with scene.running():
        await scene.pass_(1)
    scene.platform.latency = 0.0
    async with scene.running():
        await scene.pass_(5)

    assert scene.platform.seen(ANN) == ["Hello."]


async def test_a_request_that_does_not_come_to_an_end_stays_uncertain(scene: Scene) -> None:
    scene.platform.latency = 1000.0
    scene.outbox.put(say("Hello."))

    async with scene.running():
        await scene.pass_(1)
    scene.platform.latency = 0.0
    async with scene.running():
        await scene.pass_(5)

    assert scene.platform.seen(ANN) == [f"{MARK}Hello."]


async def test_a_turn_of_which_nothing_is_heard_any_more_is_over(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("text", WORDS))

    async with scene.running():
        await scene.pass_(QUIET + 10, step=2)
        asked = len(scene.platform.asked)
        await scene.pass_(60, step=2)

        assert len(scene.deliverer._shows) == 0
        assert len(scene.platform.asked) == asked


async def test_a_bug_in_showing_a_turn_does_not_hurt_its_answer(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def preview(text: str) -> object:
        raise ValueError("a bug")

    monkeypatch.setattr(scene.platform, "preview", preview)
    scene.outbox.put(progress("started"), progress("text", WORDS))

    async with scene.running():
        await scene.pass_(3)
        scene.outbox.put(say("The answer.", turn="t1"))
        await scene.pass_(3)

    assert scene.platform.seen(ANN) == ["The answer."]


async def test_while_a_person_is_asked_that_is_what_is_seen_and_nobody_seems_to_type(scene: Scene) -> None:
    scene.outbox.put(progress("started"), progress("tool", "run ls"), progress("asking", "waiting for your answer"))

    async with scene.running():
        await scene.pass_(8)
        assert scene.platform.seen(ANN) == ["~⏸ waiting for your answer"]
        typed = len(scene.platform.requests("typing"))
        await scene.pass_(60)
        assert len(scene.platform.requests("typing")) == typed
        scene.outbox.put(progress("asking", ""))
        await scene.pass_(8)
        assert scene.platform.seen(ANN) == ["~🔧 run ls"]
        assert len(scene.platform.requests("typing")) > typed


@pytest.mark.parametrize("seconds", [0, 8])
async def test_what_was_refused_is_never_shown_as_running_and_the_answer_stands_below_the_no(
    scene: Scene, seconds: float
) -> None:
    scene.outbox.put(progress("started"), progress("tool", "run ls"), progress("asking", "waiting for your answer"))

    async with scene.running():
        await scene.pass_(8)
        shown = scene.platform.requests("send_preview")
        scene.outbox.put(progress("refused"))
        await scene.pass_(seconds)
        assert len(scene.platform.requests("send_preview", "edit")) == len(shown)
        if seconds:
            assert scene.platform.seen(ANN) == []
        scene.outbox.put(say("Then not.", turn="t1"), progress("ended"))
        await scene.pass_(8)

    assert scene.platform.seen(ANN) == ["Then not."]
    assert not scene.platform.requests("edit")

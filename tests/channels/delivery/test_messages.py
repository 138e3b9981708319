"""Messages arrive once, whole and in order, whatever the platform does."""

from dataclasses import replace

import pytest

from nanobot.channels.delivery.deliverer import MOST_ATTEMPTS, MOST_BUGS, MOST_UNCONFIRMED
from nanobot.errors import StoreError
from nanobot.messages import Attachment, Button
from tests.channels.delivery.scene import ANN, BOB, GROUP, TOPIC, Scene, say
from tests.fakes.platform import MARK, blocked, flood, lost_reply, no_connection, refused

LONG = "".join(f"This is sentence number {number} of a long story. " for number in range(12))


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_a_message_arrives(scene: Scene) -> None:
    scene.outbox.put(say("Hello."))

    async with scene.running():
        await scene.pass_()

    assert scene.platform.seen(ANN) == ["Hello."]
    assert scene.outbox.delivered_ids == ["m1"]


async def test_a_long_message_arrives_in_parts_and_the_files_after_it(scene: Scene) -> None:
    scene.outbox.put(replace(say(LONG), files=(Attachment("a.pdf"),), buttons=(Button("Yes", "yes"),)))

    async with scene.running():
        await scene.pass_(10)

    *texts, file = scene.platform.seen(ANN)
    assert "".join(texts) == LONG
    assert file == "[a.pdf]"
    assert scene.platform.buttons(ANN) == ["Yes"]


async def test_a_retry_goes_on_at_the_part_that_failed(scene: Scene) -> None:
    scene.outbox.put(say(LONG))
    scene.platform.faults["send"].extend([None, no_connection()])

    async with scene.running():
        await scene.pass_(10)

    assert "".join(scene.platform.seen(ANN)) == LONG
    assert len(scene.platform.requests("send")) == len(scene.platform.seen(ANN)) + 1


async def test_while_a_message_waits_nothing_overtakes_it_and_other_chats_go_on(scene: Scene) -> None:
    scene.platform.faults["send"].extend([no_connection()])
    scene.outbox.put(say("one"), say("two", name="m2"), say("for Bob", BOB, name="m3"))

    async with scene.running():
        await scene.pass_()
        assert (scene.platform.seen(ANN), scene.platform.seen(BOB)) == ([], ["for Bob"])
        [delay] = scene.deliverer.status().delays
        assert (delay.address, delay.reason) == (ANN, "cannot connect")
        await scene.pass_(5)
        assert scene.deliverer.status().delays == []

    assert scene.platform.seen(ANN) == ["one", "two"]


async def test_trouble_for_hours_is_waited_out_with_growing_pauses(scene: Scene) -> None:
    scene.outbox.put(say("at last"))
    scene.platform.chance = lambda method, address: no_connection() if scene.clock.monotonic() < 7200 else None

    async with scene.running():
        await scene.pass_(7400, step=5)

    assert scene.platform.seen(ANN) == ["at last"]
    waits = scene.outbox.postponements
    assert all(0 < wait <= 60 for wait in waits)
    assert max(waits[:3]) <= 4
    assert min(waits[8:]) >= 30


async def test_after_a_week_of_trouble_the_owner_can_see_that_it_was_given_up(scene: Scene) -> None:
    scene.outbox.put(say("never"), say("next", name="m2"))
    scene.outbox._row("m1").attempts = MOST_ATTEMPTS - 1
    scene.platform.faults["send"].append(no_connection())

    async with scene.running():
        await scene.pass_()

    assert scene.outbox.reasons == {"m1": "cannot connect"}
    assert scene.platform.seen(ANN) == ["next"]


async def test_a_platform_that_will_never_take_it_is_not_asked_again(scene: Scene) -> None:
    scene.outbox.put(say(LONG), say("next", name="m2"))
    scene.platform.faults["send"].append(blocked())

    async with scene.running():
        await scene.pass_(60)

    assert scene.outbox.reasons == {"m1": "bot was blocked by the user"}
    assert scene.platform.seen(ANN) == ["next"]


async def test_instead_of_a_file_that_is_refused_a_sentence_names_it_and_the_other_files_come(scene: Scene) -> None:
    scene.outbox.put(replace(say("Here:"), files=(Attachment("x/big.iso", name="big.iso"), Attachment("b.txt"))))
    scene.platform.faults["send"].extend([None, refused()])

    async with scene.running():
        await scene.pass_(10)

    text, excuse, file = scene.platform.seen(ANN)
    assert (text, file) == ("Here:", "[b.txt]")
    assert "big.iso" in excuse
    assert scene.outbox.delivered_ids == ["m1"]


async def test_instead_of_a_part_that_is_refused_a_sentence_says_so_and_the_rest_comes(scene: Scene) -> None:
    scene.outbox.put(say(LONG))
    scene.platform.faults["send"].extend([None, refused()])

    async with scene.running():
        await scene.pass_(10)

    first, excuse, last = scene.platform.seen(ANN)
    assert LONG.startswith(first)
    assert LONG.endswith(last)
    assert "could not be shown" in excuse


async def test_of_a_part_that_is_refused_the_plain_words_are_shown_first(scene: Scene) -> None:
    scene.outbox.put(say("The *pump* runs on pin *4*."))
    scene.platform.faults["send"].append(refused())

    async with scene.running():
        await scene.pass_(10)

    assert scene.platform.seen(ANN) == ["The pump runs on pin 4."]
    assert scene.outbox.delivered_ids == ["m1"]


async def test_when_even_that_sentence_is_refused_the_message_has_failed(scene: Scene) -> None:
    scene.outbox.put(say("hm"))
    scene.platform.faults["send"].extend([refused(), refused()])

    async with scene.running():
        await scene.pass_(60)

    assert scene.outbox.reasons == {"m1": "Bad Request"}
    assert len(scene.platform.requests("send")) == 2


@pytest.mark.parametrize("arrives", [True, False])
async def test_what_may_have_arrived_is_sent_once_more_and_says_so(scene: Scene, arrives: bool) -> None:
    scene.outbox.put(say("Hello."))
    scene.platform.faults["send"].append(lost_reply(arrives=arrives))

    async with scene.running():
        await scene.pass_(60)

    assert scene.platform.seen(ANN) == (["Hello."] if arrives else []) + [f"{MARK}Hello."]


async def test_only_the_part_that_may_have_arrived_is_marked(scene: Scene) -> None:
    scene.outbox.put(say(LONG))
    scene.platform.faults["send"].extend([None, lost_reply(arrives=False)])

    async with scene.running():
        await scene.pass_(60)

    first, second, third = scene.platform.seen(ANN)
    assert second.startswith(MARK)
    assert first + second.removeprefix(MARK) + third == LONG


async def test_it_is_not_repeated_before_the_platform_answers_again(scene: Scene) -> None:
    scene.outbox.put(say("Hello."))
    scene.platform.faults["send"].append(lost_reply(arrives=True))
    scene.platform.faults["typing"].extend([lost_reply(arrives=False)] * 3)

    async with scene.running():
        await scene.pass_(60)

    assert scene.platform.seen(ANN) == ["Hello.", f"{MARK}Hello."]
    assert [asked.method for asked in scene.platform.asked] == ["send", *["typing"] * 4, "send"]


async def test_it_is_repeated_until_it_is_confirmed(scene: Scene) -> None:
    scene.outbox.put(say("Hello."))
    scene.platform.faults["send"].extend([lost_reply(arrives=False)] * (MOST_UNCONFIRMED - 1))

    async with scene.running():
        await scene.pass_(600, step=5)

    assert scene.platform.seen(ANN) == [f"{MARK}Hello."]
    assert scene.outbox.delivered_ids == ["m1"]


async def test_repetitions_have_an_end_and_the_owner_can_see_why(scene: Scene) -> None:
    scene.outbox.put(say("Hello."), say("next", name="m2"))
    scene.platform.faults["send"].extend([lost_reply(arrives=True)] * MOST_UNCONFIRMED)

    async with scene.running():
        await scene.pass_(600, step=5)

    assert scene.platform.seen(ANN) == ["Hello.", *[f"{MARK}Hello."] * (MOST_UNCONFIRMED - 1), "next"]
    assert "several times" in scene.outbox.reasons["m1"]


@pytest.mark.parametrize("arrives", [True, False])
async def test_a_platform_that_can_be_searched_is_searched_before_anything_is_repeated(arrives: bool) -> None:
    scene = Scene(can_find=True)
    scene.outbox.put(say("Hello."))
    scene.platform.faults["send"].extend([lost_reply(arrives=arrives)] * 3)
    scene.platform.faults["find"].append(no_connection())

    async with scene.running():
        await scene.pass_(600, step=5)

    assert scene.platform.seen(ANN) == ["Hello."]


async def test_what_was_found_is_not_sent_again_though_touching_it_fails() -> None:
    scene = Scene(can_find=True)
    scene.outbox.put(say("Hello."))
    scene.platform.faults["send"].append(lost_reply(arrives=True))
    scene.platform.faults["edit"].extend([flood(3), no_connection(), lost_reply(arrives=False)])

    async with scene.running():
        await scene.pass_(60)

    assert scene.platform.seen(ANN) == ["Hello."]


async def test_a_file_that_may_have_arrived_is_found() -> None:
    scene = Scene(can_find=True)
    scene.outbox.put(replace(say("Here:"), files=(Attachment("a.pdf"), Attachment("b.pdf"))))
    scene.platform.faults["send"].extend([None, lost_reply(arrives=True)])

    async with scene.running():
        await scene.pass_(60)

    assert scene.platform.seen(ANN) == ["Here:", "[a.pdf]", "[b.pdf]"]


async def test_a_repetition_says_so_even_if_it_is_held_up(scene: Scene) -> None:
    scene.outbox.put(say("Hello."))
    scene.platform.faults["send"].extend([lost_reply(arrives=True), flood(10), no_connection()])

    async with scene.running():
        await scene.pass_(60)

    assert scene.platform.seen(ANN) == ["Hello.", f"{MARK}Hello."]


async def test_a_certain_failure_leaves_no_doubt_behind(scene: Scene) -> None:
    scene.outbox.put(say("Hello."))
    scene.platform.faults["send"].append(flood(30))

    async with scene.running():
        await scene.pass_()
    async with scene.running():
        await scene.pass_(60)

    assert scene.platform.seen(ANN) == ["Hello."]


async def test_silence_that_is_asked_for_is_kept_in_full_in_the_whole_chat_and_nowhere_else(scene: Scene) -> None:
    scene.outbox.put(say("one"), say("in the topic", TOPIC, name="m2"), say("for Bob", BOB, name="m3"))
    scene.platform.faults["send"].append(flood(5000))

    async with scene.running():
        await scene.pass_()
        assert scene.platform.seen(BOB) == ["for Bob"]
        assert scene.deliverer.status().silent_chats == {"1": 5000.0}
        await scene.pass_(4990, step=10)
        assert len(scene.platform.requests(chat="1")) == 1
        await scene.pass_(20)

    assert scene.platform.seen(ANN) == ["one"]
    assert scene.platform.seen(TOPIC) == ["in the topic"]


async def test_silence_everywhere_is_kept_everywhere(scene: Scene) -> None:
    scene.platform.faults["send"].append(flood(30, everywhere=True))
    scene.outbox.put(say("one"))

    async with scene.running():
        await scene.pass_()
        scene.outbox.put(say("for Bob", BOB, name="m2"))
        await scene.pass_(29)
        assert scene.deliverer.status().silent_everywhere > 0
        assert len(scene.platform.asked) == 1
        await scene.pass_(5)

    assert (scene.platform.seen(ANN), scene.platform.seen(BOB)) == (["one"], ["for Bob"])


async def test_a_wait_outlives_the_process(scene: Scene) -> None:
    scene.outbox.put(say("one"))
    scene.platform.faults["send"].append(flood(1000))

    async with scene.running():
        await scene.pass_()
    async with scene.running():
        await scene.pass_(990, step=10)
        assert len(scene.platform.requests("send")) == 1
        await scene.pass_(20)

    assert scene.platform.seen(ANN) == ["one"]


async def test_a_group_gets_no_more_than_twenty_messages_a_minute_and_gets_all(scene: Scene) -> None:
    scene.outbox.put(*(say(f"number {n}", GROUP, name=f"m{n}") for n in range(50)))

    async with scene.running():
        await scene.pass_(180)

    times = [asked.at for asked in scene.platform.asked]
    assert scene.platform.seen(GROUP) == [f"number {n}" for n in range(50)]
    assert all(later - first >= 60 for first, later in zip(times, times[20:], strict=False))


async def test_many_chats_share_the_bots_pace_in_turns(scene: Scene) -> None:
    def address(n: int) -> str:
        return str(1000 + n)

    for n in range(100):
        at = replace(ANN, chat=address(n))
        scene.outbox.put(say("a", at, name=f"a{n}"), say("b", at, name=f"b{n}"))

    async with scene.running():
        await scene.pass_(4.5, step=0.1)
        firsts = {asked.address.chat for asked in scene.platform.asked[:100]}
        assert len(firsts) == 100
        await scene.pass_(10, step=0.1)

    times = [asked.at for asked in scene.platform.asked]
    assert len(times) == 200
    assert all(later - first >= 1 - 1e-6 for first, later in zip(times, times[25:], strict=False))


async def test_a_bug_with_one_message_is_not_the_end_of_the_others(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.outbox.put(say("broken"), say("sound", name="m2"))
    original = scene.platform.parts

    def parts(message, *, repeat=False):  # type: ignore[no-untyped-def]
        if message.text == "broken":
            raise ValueError("a bug")
        return original(message, repeat=repeat)

    monkeypatch.setattr(scene.platform, "parts", parts)
    async with scene.running():
        await scene.pass_(120, step=1)

    assert scene.platform.seen(ANN) == ["sound"]
    assert len(scene.outbox.postponements) == MOST_BUGS - 1
    assert "log" in scene.outbox.reasons["m1"]


@pytest.mark.parametrize("writes", [1, 2, 3, 5])
async def test_what_cannot_be_noted_is_noted_later(scene: Scene, writes: int) -> None:
    scene.outbox.put(say("Hello."))
    scene.outbox.errors = [StoreError("no room on the disk")] * writes

    async with scene.running():
        await scene.pass_(120)

    assert scene.platform.seen(ANN) == ["Hello."]
    assert scene.outbox.delivered_ids == ["m1"]


async def test_a_question_that_is_over_loses_its_buttons_where_it_stands(scene: Scene) -> None:
    scene.outbox.put(replace(say("May I?"), kind="question", buttons=(Button("Yes", "yes"),)))
    scene.platform.faults["edit"].extend([flood(30)])
    over = replace(say("✗ Over", name="m1:over"), kind="notice", settles="m1")
    missed = replace(over, id="m0:over", settles="m0")

    async with scene.running():
        await scene.pass_()
        scene.outbox.put(missed, over, say("And now?", name="m2"))
        await scene.pass_(20)
        assert scene.platform.seen(ANN) == ["May I?"]
        await scene.pass_(60)

    assert scene.platform.seen(ANN) == ["May I?", "And now?"]
    assert scene.platform.buttons(ANN) == ["✗ Over"]
    assert scene.outbox.delivered_ids == ["m1", "m0:over", "m1:over", "m2"]


async def test_a_question_that_somebody_deleted_is_no_trouble(scene: Scene) -> None:
    scene.outbox.put(replace(say("May I?"), kind="question", buttons=(Button("Yes", "yes"),)))

    async with scene.running():
        await scene.pass_()
        scene.platform.remove(ANN, 0)
        scene.outbox.put(replace(say("✗ Over", name="m1:over"), kind="notice", settles="m1"))
        await scene.pass_()

    assert scene.outbox.delivered_ids == ["m1", "m1:over"]
    assert not scene.outbox.reasons


async def test_quiet_chats_are_forgotten(scene: Scene) -> None:
    async with scene.running():
        for n in range(300):
            scene.outbox.put(say("hi", replace(ANN, chat=f"c{n}"), name=f"m{n}"))
        await scene.pass_(60, step=0.5)
        scene.outbox.put(say("hi", BOB, name="last"))
        await scene.pass_(60, step=1)
        scene.outbox.put(say("hi", BOB, name="very last"))
        await scene.pass_()

        assert len(scene.deliverer._gate) <= 2
        assert len(scene.deliverer._shows) == 0
    assert len(scene.outbox.delivered_ids) == 302

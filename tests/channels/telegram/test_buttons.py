"""Choices are offered as buttons; what is chosen comes back with the question that it answers."""

import pytest

from nanobot.messages import Button, OutboundMessage
from nanobot.tools.approval import ApprovalRequest
from tests.channels.telegram.scene import GARDEN, OWNER, Scene, private
from tests.fakes.telegram_faults import flood
from tests.fakes.telegram_server import FakeTelegram
from tests.fakes.telegram_world import Shown

LONG = "value " * 50
CHOICES = [Button("Yes", "yes"), Button("No", LONG)]


async def ask(
    scene: Scene,
    question: str = "q" * 80,
    chat: int = OWNER,
    choices: list[Button] = CHOICES,
    text: str = "Shall I?",
) -> Shown:
    message = OutboundMessage(
        id=question, address=private(chat), text=text, kind="question", buttons=choices
    )  # fmt: skip
    for number, part in enumerate(scene.bot.parts(message)):
        await scene.bot.send(message, part, number)
    return scene.world.chat(chat).by_bot[-1]


async def test_a_choice_answers_its_question_and_is_marked(scene: Scene) -> None:
    ada = scene.owner()
    question = await ask(scene)
    press = ada.presses(question, "No")

    async with scene.listening():
        heard = await scene.hears()
        await scene.nothing_more()

    assert (heard.answers, heard.text, heard.sender.id) == ("q" * 80, LONG, str(OWNER))
    assert heard.address == private()
    assert [button["text"] for button in question.buttons] == ["✓ No"]
    assert scene.world.presses[press] == ""


async def test_all_that_is_agreed_to_arrives_and_the_answers_stand_below_the_last_of_it(scene: Scene) -> None:
    command = " ".join(f"name{number}" for number in range(1000)) + " \u202e && echo the end"
    scene.owner()
    await ask(scene, text=ApprovalRequest("tools.may_run", command, "sh", command).whole("en"))
    *others, last = scene.world.chat(OWNER).by_bot
    assert [button["text"] for button in last.buttons] == ["Yes", "No"]
    assert not any(other.buttons for other in others)
    told = " ".join(each.text for each in (*others, last)).split()
    start = told.index("name0")
    assert told[start : start + 1005] == command.replace("\u202e", "\\u202e").split()


async def test_a_choice_outlives_a_restart(scene: Scene) -> None:
    ada = scene.owner()
    question = await ask(scene)
    await scene.reborn()
    ada.presses(question, "Yes")

    async with scene.listening():
        assert (await scene.hears()).text == "yes"


async def test_only_the_first_choice_counts_and_the_others_are_told(scene: Scene) -> None:
    ada = scene.owner()
    question = await ask(scene)
    keyboard = question.data["reply_markup"]
    ada.presses(question, "Yes")
    second = ada.presses(question, "No")

    async with scene.listening():
        assert (await scene.hears()).text == "yes"
        await scene.nothing_more()
        question.data["reply_markup"] = keyboard
        third = ada.presses(question, "No")
        await scene.nothing_more()

    assert scene.world.presses[second] == scene.world.presses[third] == "This choice is over: ✓ Yes"


async def test_a_press_on_what_came_of_a_question_says_it_also_after_a_restart(scene: Scene) -> None:
    ada = scene.owner()
    question = await ask(scene)
    ada.presses(question, "Yes")
    async with scene.listening():
        await scene.hears()
        await scene.nothing_more()
    await scene.reborn()
    again = ada.presses(question, "✓ Yes")
    async with scene.listening():
        await scene.nothing_more()
    assert scene.world.presses[again] == "This choice is over: ✓ Yes"


async def test_strangers_choose_nothing(scene: Scene) -> None:
    scene.garden()
    question = await ask(scene, chat=GARDEN)
    scene.stranger().presses(question, "Yes")

    async with scene.listening():
        await scene.nothing_more()

    assert [button["text"] for button in question.buttons] == ["Yes", "No"]


async def test_members_of_a_group_choose_there(scene: Scene) -> None:
    scene.garden()
    question = await ask(scene, chat=GARDEN)
    scene.member().presses(question, "Yes")

    async with scene.listening():
        heard = await scene.hears()

    assert (heard.answers, heard.to_bot, heard.address) == ("q" * 80, True, private(GARDEN))


async def test_a_choice_counts_even_if_it_cannot_be_marked(scene: Scene, telegram: FakeTelegram) -> None:
    ada = scene.owner()
    question = await ask(scene)
    telegram.will("editMessageReplyMarkup", flood(5))
    telegram.will("answerCallbackQuery", flood(5))
    ada.presses(question, "Yes")

    async with scene.listening():
        assert (await scene.hears()).text == "yes"
        await scene.nothing_more()


async def test_buttons_appear_when_the_preview_becomes_the_question(scene: Scene) -> None:
    ada = scene.owner()
    sent = await scene.bot.send_preview(private(), "t", scene.bot.preview("Shall")[0], "p")
    message = OutboundMessage(id="q", address=private(), text="Shall I?", buttons=CHOICES, turn="t")
    await scene.bot.edit(private(), sent, scene.bot.parts(message)[0])
    ada.presses(ada.chat.by_bot[0], "Yes")

    async with scene.listening():
        assert (await scene.hears()).answers == "q"


@pytest.mark.parametrize("data", ["", "chosen", "nonsense", "x:1", "x:y", ":0"])
async def test_a_press_that_means_nothing_is_only_answered(scene: Scene, data: str) -> None:
    ada = scene.owner()
    question = await ask(scene)
    question.buttons[0]["callback_data"] = data
    press = ada.presses(question, "Yes")

    async with scene.listening():
        await scene.nothing_more()

    assert scene.world.presses[press] == "This choice is over."


async def test_long_labels_stand_below_each_other(scene: Scene) -> None:
    scene.owner()
    choices = [Button(f"A rather long label {number}", str(number)) for number in range(3)]
    question = await ask(scene, choices=choices)

    assert [len(row) for row in question.data["reply_markup"]["inline_keyboard"]] == [1, 1, 1]


async def test_a_question_that_is_over_has_no_buttons_any_more_but_says_what_came_of_it(scene: Scene) -> None:
    ada = scene.owner()
    question = await ask(scene)
    keyboard = question.data["reply_markup"]
    over = OutboundMessage(id="q:over", address=private(), text="✗ Over", kind="notice", settles="q" * 80)
    for _ in range(2):
        await scene.bot.settle(over, f"{OWNER}:{question.id}")
    assert [button["text"] for button in question.buttons] == ["✗ Over"]

    question.data["reply_markup"] = keyboard  # on a screen that was not refreshed
    press = ada.presses(question, "Yes")
    async with scene.listening():
        await scene.nothing_more()
    assert scene.world.presses[press] == "This choice is over: ✗ Over"


async def test_whose_decision_it_is_in_a_group_is_not_known_here_so_that_the_buttons_stay(scene: Scene) -> None:
    scene.garden()
    question = await ask(scene, chat=GARDEN)
    scene.member().presses(question, "Yes")
    async with scene.listening():
        await scene.hears()
        await scene.nothing_more()

    assert [button["text"] for button in question.buttons] == ["Yes", "No"]

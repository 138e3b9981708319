"""The two steps of /forget: who may say yes to what, until when, and how."""

import asyncio
from dataclasses import replace

import pytest

from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope
from nanobot.bus.spool import Spool
from nanobot.commands.forget import VALID, forget_command, forget_lines
from nanobot.core.commands import CommandAnswer, CommandCall, Router
from nanobot.forgetting.stores.journal import JournalFile
from nanobot.i18n import Language
from nanobot.messages import Address, InboundMessage, OutboundMessage, Sender
from nanobot.ports.erasable import Order
from nanobot.transcript import Message
from tests.forgetting.household import OWNER_TELEGRAM, SECRET, Household, answer, inbound, user

GROUP = Authority(Role.MEMBER, Scope.group("telegram", "-9"), Origin.PERSON)


class Chat:
    """Types /forget in a chat."""

    def __init__(self, house: Household) -> None:
        self.house = house
        self.sent: list[OutboundMessage] = []
        self.command = forget_command(house.bot().forgetting, self._send)

    async def type(
        self,
        words: str,
        authority: Authority = OWNER_IN_TERMINAL,
        sender: str = "7",
        address: Address = OWNER_TELEGRAM,
        language: Language = "en",
    ) -> CommandAnswer:
        message = InboundMessage(
            id="f1", address=address, sender=Sender(sender), authority=authority, text=f"/forget {words}"
        )
        return await self.command.handler(CommandCall(message, words, language))

    async def _send(self, message: OutboundMessage) -> None:
        self.sent.append(message)


@pytest.fixture
def chat(house: Household) -> Chat:
    return Chat(house)


def token_of(shown: CommandAnswer) -> str:
    return shown.buttons[0].value.split()[2]


async def test_it_is_shown_with_a_yes_and_a_no_and_gone_with_the_yes(chat: Chat) -> None:
    shown = await chat.type(SECRET)
    assert [button.label for button in shown.buttons] == ["Forget it", "Keep it"]
    assert chat.house.holding(SECRET) != []

    done = await chat.type(shown.buttons[0].value.removeprefix("/forget "))

    assert done.text.startswith("Forgotten:")
    assert chat.house.holding(SECRET) == ["workspace/.nanobot/state/spool.db"]  # a member's own message waits there
    assert [message.text for message in chat.sent] == ["I am forgetting it. For a moment I answer nobody …"]


async def test_what_is_counted_and_not_shown_is_told_as_more(chat: Chat) -> None:
    await chat.house.say("cli:long", *(line for n in range(7) for line in _turn(n)))

    shown = await chat.type("tulips")
    chinese = await chat.type("tulips", language="zh")

    rows = shown.text.split("\n")
    start = next(number for number, row in enumerate(rows) if row.startswith("- messages in conversations: "))
    count = int(rows[start].rpartition(" ")[2])
    assert rows[start + 5] == f"  - … and {count - 4} more."
    assert f"  - ……还有 {count - 4} 条。" in chinese.text


async def test_all_that_would_go_is_shown_to_whoever_asks_for_it(chat: Chat) -> None:
    line = f"- the {SECRET} is " + "very " * 60 + "secret"
    (chat.house.space.memory / "MEMORY.md").write_text(f"# Facts\n\n{line}\n", encoding="utf-8")
    await chat.house.say("cli:long", *(user(f"m{n}", f"t{n}", f"{SECRET} number {n}") for n in range(9)))
    shown = await chat.type(SECRET)
    [yes, every, _] = shown.buttons
    assert "more." in shown.text
    assert line.removeprefix("- ") in shown.text
    assert f"/forget all {token_of(shown)} shows all of it." in shown.text

    whole = await chat.type(every.value.removeprefix("/forget "))

    assert all(f"number {n}" in whole.text for n in range(9))
    assert [button.label for button in whole.buttons] == ["Forget it", "Keep it"]
    assert whole.buttons[0] == yes
    assert (await chat.type(yes.value.removeprefix("/forget "))).text.startswith("Forgotten:")
    assert (await chat.type(every.value.removeprefix("/forget "))).buttons == ()


async def test_the_command_that_asks_for_it_is_not_counted(house: Household) -> None:
    async with Spool(house.space.spool, house.clock) as spool:
        await spool.publish(inbound("f1", "/forget the axolotl"))

    shown = await Chat(house).type("the axolotl")

    assert "nothing to forget" in shown.text


async def test_a_no_keeps_everything_and_ends_the_question(chat: Chat) -> None:
    shown = await chat.type(SECRET)

    kept = await chat.type(shown.buttons[1].value.removeprefix("/forget "))
    late = await chat.type(f"yes {token_of(shown)}")

    assert kept.text == "Good, everything stays as it is."
    assert late.failed
    assert SECRET in "".join(map(str, await chat.house.said("cli:default")))


async def test_nobody_else_can_say_yes_nor_the_same_person_in_another_scope(chat: Chat) -> None:
    token = token_of(await chat.type(SECRET))

    other = await chat.type(f"yes {token}", sender="8")
    elsewhere = await chat.type(f"yes {token}", authority=replace(OWNER_IN_TERMINAL, scope=Scope.group("a", "b")))

    assert other.failed
    assert elsewhere.failed
    assert chat.house.holding(SECRET) != []


async def test_a_yes_counts_for_ten_minutes(chat: Chat) -> None:
    token = token_of(await chat.type(SECRET))
    chat.house.clock.advance(VALID.total_seconds())

    late = await chat.type(f"yes {token}")

    assert "ten minutes" in late.text
    assert chat.house.holding(SECRET) != []


async def test_much_goes_only_if_the_number_is_typed(chat: Chat) -> None:
    lines = [line for n in range(30) for line in _turn(n)]
    await chat.house.say("cli:long", *lines)
    shown = await chat.type("tulips")
    token = token_of(shown)
    assert [button.label for button in shown.buttons] == ["Show all", "Keep it"]
    assert f"/forget yes {token} 60" in shown.text

    pressed = await chat.type(f"yes {token}")
    wrong = await chat.type(f"yes {token} 59")
    done = await chat.type(f"yes {token.lower()} 60")

    assert f"/forget yes {token} 60" in pressed.text
    assert wrong.failed
    assert done.text.startswith("Forgotten:")
    assert await chat.house.said("cli:long") == []


async def test_a_yes_without_its_code_answers_what_is_open_there(chat: Chat) -> None:
    shown = await chat.type(SECRET)
    assert (await chat.type("yes", sender="8")).failed
    assert (await chat.type("yes", address=replace(OWNER_TELEGRAM, chat="9"))).failed

    done = await chat.type("yes")

    assert (shown.yes, shown.no) == tuple(button.value for button in shown.buttons)
    assert done.text.startswith("Forgotten:")


@pytest.mark.parametrize(("word", "language"), [("yes", "en"), ("no", "en"), ("是", "zh"), ("ok", "en")])
async def test_an_answer_to_nothing_is_not_searched_for(chat: Chat, word: str, language: Language) -> None:
    await chat.house.say("cli:default", user("y1", "y2", f"{word}, so be it"))

    told = await chat.type(word, language=language)

    assert told.failed
    assert told.buttons == ()
    assert ("quotation marks" if language == "en" else "“引号”") in told.text
    assert (await chat.type(f'"{word}"')).buttons != ()


async def test_words_that_begin_with_yes_are_words(chat: Chat) -> None:
    await chat.house.say("cli:default", user("y1", "y2", "I watched Yes Minister"))

    assert "I watched Yes Minister" in (await chat.type("yes minister")).text


async def test_much_needs_its_number_also_without_the_code(chat: Chat) -> None:
    await chat.house.say("cli:long", *(line for n in range(30) for line in _turn(n)))
    await chat.type("tulips")

    assert "/forget yes" in (await chat.type("yes")).text
    assert (await chat.type("yes 60")).text.startswith("Forgotten:")


async def test_a_question_outlives_the_process_and_leaves_nothing(chat: Chat) -> None:
    token = token_of(await chat.type(SECRET))

    done = await Chat(chat.house).type(f"yes {token}")

    assert done.text.startswith("Forgotten:")
    assert not chat.house.space.forget_questions.exists()


async def test_what_others_have_asked_in_the_same_words_goes_with_it(chat: Chat) -> None:
    await chat.type(SECRET, sender="8")
    token = token_of(await chat.type(SECRET))

    await chat.type(f"yes {token}")

    assert not chat.house.space.forget_questions.exists()


async def test_a_yes_pressed_twice_erases_once(chat: Chat) -> None:
    token = token_of(await chat.type(SECRET))

    first, second = await asyncio.gather(chat.type(f"yes {token}"), chat.type(f"yes {token}"))

    assert first.text.startswith("Forgotten:")
    assert second.failed


async def test_what_is_not_done_is_told_by_status_until_it_is(chat: Chat) -> None:
    lines = forget_lines(chat.house.bot().forgetting)
    message = InboundMessage(
        id="s1", address=OWNER_TELEGRAM, sender=Sender("7"), authority=OWNER_IN_TERMINAL, text="/status"
    )
    status = CommandCall(message, "", "en")
    assert await lines(status) == []
    lock = chat.house.space.versions / "index.lock"
    lock.touch()
    await chat.type(f"yes {token_of(await chat.type(SECRET))}")

    assert "not erased everywhere yet" in (await lines(status))[0]
    lock.unlink()
    await chat.house.bot().forgetting.resume()
    assert await lines(status) == []


async def test_what_was_said_between_showing_and_the_yes_goes_too(chat: Chat) -> None:
    token = token_of(await chat.type(SECRET))
    await chat.house.say("cli:later", user("l1", "q1", f"By the way, {SECRET}."), answer("l2", "q1", "So you said."))

    await chat.type(f"yes {token}")

    assert await chat.house.said("cli:later") == []


async def test_in_a_group_only_an_owner_decides(chat: Chat) -> None:
    assert (await chat.type("anything", GROUP)).text.startswith("What is remembered of this group")
    assert "nothing to forget" in (await chat.type("anything", replace(GROUP, role=Role.OWNER))).text


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("", "Tell me what to forget"),
        ("x", "One letter is too little"),
        ("episode:seven", "episode:42"),
        ("person:Bob", "person:telegram:12345"),
        ("since:yesterday", "since:2026-11-02"),
        ("person:telegram:999", "That is not yours"),
    ],
)
async def test_what_cannot_be_understood_is_explained(chat: Chat, typed: str, told: str) -> None:
    refused = await chat.type(typed)

    assert refused.failed
    assert told in refused.text


async def test_a_colon_does_not_make_a_kind_of_what_is_none(chat: Chat) -> None:
    assert "nothing to forget" in (await chat.type("password: swordfish")).text


async def test_a_single_chinese_character_is_enough_to_go_by(chat: Chat) -> None:
    await chat.house.say("cli:zh", user("c1", "d1", "我养了一只猫"), answer("c2", "d1", "真好"))

    shown = await chat.type("猫", language="zh")

    assert "我养了一只猫" in shown.text
    assert [button.label for button in shown.buttons] == ["忘掉", "留着"]


def _turn(number: int) -> list[Message]:
    return [user(f"p{number}", f"r{number}", f"{number} tulips"), answer(f"q{number}", f"r{number}", "Pretty.")]


def _said(text: str, name: str) -> InboundMessage:
    return InboundMessage(id=name, address=OWNER_TELEGRAM, sender=Sender("7"), authority=OWNER_IN_TERMINAL, text=text)


async def test_after_a_restart_a_plain_yes_is_told_once_how_to_give_it(chat: Chat) -> None:
    shown = await chat.type(SECRET)
    assert await Router([chat.command]).asked_before(_said("yes", "y0")) == ""  # this process knows what it asked
    again = Router([Chat(chat.house).command])

    assert await again.asked_before(_said("no, not that", "y1")) == ""
    assert await again.asked_before(replace(_said("yes", "y2"), sender=Sender("8"))) == ""
    assert await again.asked_before(_said("yes", "y3")) == f"/forget yes {token_of(shown)}"
    assert await again.asked_before(_said("yes", "y4")) == ""


async def test_a_yes_that_was_carried_out_at_the_start_is_not_answered_when_it_comes_again(house: Household) -> None:
    order = Order(kind="words", value=SECRET, scopes=None, address=OWNER_TELEGRAM, language="en", message="f1")
    await JournalFile(house.space.forgetting).write(order)
    forgetting = house.bot().forgetting
    router = Router([forget_command(forgetting, _send_nothing)])
    assert not router.has_done(_said("yes", "f1"))

    assert await forgetting.resume() is not None

    assert router.has_done(_said("yes", "f1"))
    assert not router.has_done(_said("yes", "f2"))


async def _send_nothing(message: OutboundMessage) -> None:
    raise AssertionError(message)


@pytest.mark.parametrize(
    ("typed", "answer"), [("person:", "channel and id"), ("episode：", "by its number"), ("note: ", "Tell me what")]
)
async def test_a_kind_with_nothing_behind_it_is_told_what_is_missing(chat: Chat, typed: str, answer: str) -> None:
    told = await chat.type(typed)

    assert told.failed
    assert answer in told.text

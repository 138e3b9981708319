"""Questions that wait for a person."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.bus.memory import MemoryBus
from nanobot.core.approvals import ApprovalQuestions, TypedAnswer
from nanobot.core.conversation import Conversations
from nanobot.core.lanes import Lanes
from nanobot.core.window import STRATEGIES
from nanobot.messages import Address, Button, InboundMessage, OutboundMessage, Progress, Sender
from nanobot.ports import Caller
from nanobot.sessions.store import SessionManager
from nanobot.workspace import Workspace
from tests.fakes.clock import FakeClock

GROUP = Address("telegram", "-100", "7")
SCOPE = Scope.group("telegram", "-100")
OWNER = Authority(Role.OWNER, SCOPE, Origin.OWNER)
MEMBER = Authority(Role.MEMBER, SCOPE, Origin.PERSON)
GUEST = Authority(Role.GUEST, SCOPE, Origin.PERSON)


@dataclass
class Open:
    """A question that waits."""

    questions: ApprovalQuestions
    question: OutboundMessage
    asking: "asyncio.Task[str]"

    def press(self, who: str, authority: Authority, *, at: Address = GROUP, value: str = "yes") -> bool:
        return self.questions.answer(
            InboundMessage(
                id="m", address=at, sender=Sender(who), authority=authority, text=value, answers=self.question.id
            )
        )

    def type(self, who: str, authority: Authority, text: str) -> TypedAnswer | None:
        return self.questions.answer_typed(
            InboundMessage(id="t", address=GROUP, sender=Sender(who), authority=authority, text=text)
        )

    async def answered(self) -> bool:
        await asyncio.sleep(0)
        return self.asking.done()


@asynccontextmanager
async def asked(root: Path, authority: Authority, person: str = "ada") -> AsyncIterator[Open]:
    bus = MemoryBus()
    store = SessionManager(Workspace(root), fsync=False)
    conversations = Conversations(store, FakeClock(), STRATEGIES["layered"])
    questions = ApprovalQuestions(bus, conversations, Lanes(parallel=1).aside)
    caller = Caller(GROUP, authority, "turn", "en", person)
    task = asyncio.create_task(questions.ask(caller, "May I?", [Button("Yes", "yes"), Button("No", "no")]))
    waiting, question = await bus.outgoing(), await bus.outgoing()
    assert isinstance(waiting, Progress)
    assert isinstance(question, OutboundMessage)
    yield Open(questions, question, task)
    task.cancel()
    await asyncio.wait([task])
    while not isinstance(settled := await bus.outgoing(), OutboundMessage):
        pass
    assert settled.settles == question.id
    if task.cancelled():
        return
    went_on = await bus.outgoing()
    assert isinstance(went_on, Progress)
    assert (went_on.kind, went_on.text) == ("refused" if task.result() == "no" else "asking", "")


async def test_whoever_caused_a_question_answers_it_where_it_was_asked(tmp_path: Path) -> None:
    async with asked(tmp_path, MEMBER) as question:
        assert question.question.address == GROUP
        assert question.press("ada", MEMBER)
        assert await question.asking == "yes"


@pytest.mark.parametrize(("value", "became"), [("yes", "✓ Yes"), ("no", "✗ No")])
async def test_a_second_press_says_what_came_of_it(tmp_path: Path, value: str, became: str) -> None:
    async with asked(tmp_path, MEMBER) as question:
        again = InboundMessage(
            id="2", address=GROUP, sender=Sender("ada"), authority=MEMBER, text="yes", answers=question.question.id
        )
        assert question.press("ada", MEMBER, value=value)
        at_once = question.questions.over(again, "en")
        await question.asking
        assert not question.press("ada", MEMBER)
        assert became in at_once
        assert question.questions.over(again, "en") == at_once
        assert "nothing any more" in question.questions.over(replace(again, answers="of an earlier process"), "en")


async def test_an_owner_may_answer_for_anybody(tmp_path: Path) -> None:
    async with asked(tmp_path, MEMBER) as question:
        assert question.press("olga", OWNER, value="no")
        assert await question.asking == "no"


@pytest.mark.parametrize(
    ("asked_for", "who", "authority"),
    [
        pytest.param(MEMBER, "bob", MEMBER, id="another member"),
        pytest.param(OWNER, "bob", MEMBER, id="a member for an owner"),
        pytest.param(MEMBER, "ada", GUEST, id="a member who is none any more"),
        pytest.param(OWNER, "ada", MEMBER, id="an owner who is none any more"),
        pytest.param(MEMBER, "eve", GUEST, id="a guest"),
        pytest.param(OWNER, "olga", Authority(Role.OWNER, Scope.owner(), Origin.OWNER), id="from another scope"),
    ],
)
async def test_nobody_else_decides_and_the_question_goes_on_waiting(
    tmp_path: Path, asked_for: Authority, who: str, authority: Authority
) -> None:
    async with asked(tmp_path, asked_for) as question:
        assert question.press(who, authority)
        assert not await question.answered()
        assert question.press("olga", OWNER)
        assert await question.asking == "yes"


@pytest.mark.parametrize("person", ["", "ada"])
async def test_a_question_for_nobody_in_particular_is_an_owners(tmp_path: Path, person: str) -> None:
    async with asked(tmp_path, MEMBER, person="") as question:
        assert question.press(person, MEMBER)
        assert not await question.answered()
        assert question.press("olga", OWNER)


async def test_a_button_counts_in_its_own_conversation_only_and_as_it_was_offered(tmp_path: Path) -> None:
    async with asked(tmp_path, MEMBER) as question:
        assert not question.press("ada", MEMBER, at=Address("telegram", "-100"))
        assert not question.press("ada", MEMBER, at=Address("telegram", "-100", "8"))
        assert not question.press("ada", MEMBER, value="always")
        assert not await question.answered()


async def test_what_was_answered_or_withdrawn_is_over(tmp_path: Path) -> None:
    async with asked(tmp_path, MEMBER) as question:
        assert question.press("ada", MEMBER)
        assert not question.press("ada", MEMBER, value="no")
        assert await question.asking == "yes"
    assert not question.press("ada", MEMBER)


@pytest.mark.parametrize(
    ("typed", "value"),
    [("Yes!", "yes"), ("是", "yes"), ("no", "no"), ("不行", "no"), ("2", "no"), ("算了", "no"), ("Yes please!", "yes")],
)
async def test_a_question_may_be_answered_by_typing(tmp_path: Path, typed: str, value: str) -> None:
    async with asked(tmp_path, MEMBER) as question:
        assert not question.type("bob", MEMBER, typed)
        assert not question.type("ada", MEMBER, "yes, but tell me first what it does")
        assert question.type("ada", MEMBER, typed)
        assert not question.type("ada", MEMBER, typed)
        assert await question.asking == value


async def test_whoever_writes_something_else_is_told_once_that_an_answer_is_waited_for(tmp_path: Path) -> None:
    async with asked(tmp_path, MEMBER) as question:
        said = InboundMessage(id="t", address=GROUP, sender=Sender("ada"), authority=MEMBER, text="and now?")
        assert not question.questions.hint(replace(said, sender=Sender("bob")))
        assert not question.questions.hint(replace(said, to_bot=False))
        assert [question.questions.hint(said) for _ in range(2)] == [True, False]


async def test_typed_words_are_for_the_newest_question_until_an_older_one_is_shown_again(tmp_path: Path) -> None:
    async with asked(tmp_path, MEMBER) as question:
        question.questions.cover(GROUP)

        typed = question.type("ada", MEMBER, "yes")

        assert typed
        assert typed.notice
        assert "May I?" in typed.notice.text
        assert not await question.answered()
        assert question.type("ada", MEMBER, "yes") == TypedAnswer()
        assert await question.asking == "yes"


async def test_a_newer_question_elsewhere_takes_nothing_away(tmp_path: Path) -> None:
    async with asked(tmp_path, MEMBER) as question:
        question.questions.cover(Address("telegram", "-100"))
        assert question.type("ada", MEMBER, "yes") == TypedAnswer()

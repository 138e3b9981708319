"""Asking a person before something is done."""

from dataclasses import replace

from nanobot.tools.approval import Approval
from tests.tools.desk import IN_GROUP, Person


async def test_what_is_granted_for_a_session_is_granted_to_whom_it_was_asked_for() -> None:
    person = Person()
    approval = Approval(person)
    ada, bob = replace(IN_GROUP, person="ada"), replace(IN_GROUP, person="bob")
    person.answers = ["session", "no"]

    assert await approval.given(ada, "May I?", "run ls")
    assert await approval.given(ada, "May I?", "run ls")
    assert not await approval.given(bob, "May I?", "run ls")
    assert len(person.questions) == 2

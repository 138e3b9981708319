"""Asking a person before something is done."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.authority import Role, Scope
from nanobot.channels.discord.markdown import discord_parts
from nanobot.channels.telegram.markdown import telegram_parts
from nanobot.messages import Address
from nanobot.text import escaped
from nanobot.tools.approval import Approval, ApprovalRequest
from tests.tools.desk import ADA, IN_GROUP, OWNER, Person

LS = ApprovalRequest("tools.may_run", "ls", "sh", "run ls")


def command(text: str) -> ApprovalRequest:
    return ApprovalRequest("tools.may_run", text, "sh", f"run {text}")


async def test_what_is_granted_for_a_session_is_granted_to_whom_it_was_asked_for() -> None:
    person = Person()
    approval = Approval(person)
    ada, bob = replace(IN_GROUP, person="ada"), replace(IN_GROUP, person="bob")
    person.answers = ["session", "no"]

    assert await approval.ask(ada, LS)
    assert await approval.ask(ada, LS)
    assert not await approval.ask(bob, LS)
    assert len(person.questions) == 2


async def test_a_grant_ends_with_the_role_and_the_scope_in_which_it_was_given() -> None:
    person = Person()
    approval = Approval(person)
    ada = replace(ADA, person="12")
    person.answers = ["session", "no", "no", "no", "no"]

    assert await approval.ask(ada, LS)
    raised = replace(ada, authority=replace(ada.authority, role=Role.OWNER))
    linked = replace(ada, authority=replace(ada.authority, scope=Scope.person("discord", "7")))
    for other in (raised, linked, replace(ada, address=Address("telegram", "12", "topic"))):
        assert not await approval.ask(other, LS)
    assert not await approval.ask(ada, command("ls "))  # another command, however alike
    assert await approval.ask(ada, LS)
    person.answers = ["no"]
    approval.take_back()
    assert not await approval.ask(ada, LS)


async def test_what_is_long_is_agreed_to_only_when_all_of_it_was_shown() -> None:
    person = Person()
    text = "echo begin\n" + "\n".join(f"echo {number}" for number in range(500)) + "\necho end"
    offered = []
    person.meanwhile = lambda: offered.append([button.value for button in person.choices])
    person.answers = ["all", "once"]

    assert await Approval(person).ask(OWNER, command(text))
    ends, whole = person.questions
    assert offered == [["all", "no"], ["once", "session", "no"]]
    assert "echo begin\necho 0\n" in ends
    assert "echo 499\necho end\n" in ends
    assert "echo 250" not in ends
    assert f"{len(text):,}, in 502 lines" in ends
    assert text in whole
    assert "For this session" not in ends  # that is not offered yet
    assert "For this session" in whole


@pytest.mark.parametrize("sentence", ["tools.may_write", "tools.may_change", "tools.may_order"])
async def test_the_file_is_named_beside_the_choices_too(sentence: str) -> None:
    request = ApprovalRequest(sentence, "+ line", "diff", "write", path="SOUL.md")

    assert all("SOUL.md" in request.whole(language).rpartition("\n\n")[2] for language in ("en", "zh"))


@pytest.mark.parametrize("text", ["x" * 3_001, "\n" * 60 + "x", f"ls {' ' * 5_000}; rm -rf ~"])
async def test_whoever_says_no_to_what_is_long_is_not_asked_again(text: str) -> None:
    person = Person()
    person.answers = ["no"]
    assert not await Approval(person).ask(OWNER, command(text))
    assert len(person.questions) == 1


async def test_of_one_long_line_both_ends_and_the_length_are_shown() -> None:
    person = Person()
    person.answers = ["no"]
    await Approval(person).ask(OWNER, command("ls " + "a" * 6_000 + " && rm -rf ~"))
    assert "```sh\nls aaaa" in person.questions[0]
    assert "aaaa && rm -rf ~\n```" in person.questions[0]
    assert "… 4,015 characters are left out here. In all there are 6,015, in 1 line." in person.questions[0]


@pytest.mark.parametrize(
    ("hidden", "seen"),
    [
        ("\u202e", "\\u202e"),
        ("\u200b", "\\u200b"),
        ("\u2066", "\\u2066"),
        ("\xad", "\\xad"),
        ("\r", "\\r"),
        ("\x1b[8m", "\\x1b[8m"),
        ("\x00", "\\x00"),
        ("\x7f", "\\x7f"),
        ("\x9b", "\\x9b"),
        ("\u2028", "\\u2028"),
        ("\xa0", "\\xa0"),
        ("\u3164", "\\u3164"),
        ("\ufeff", "\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("\U000e0100", "\\U000e0100"),
        ("\ue000", "\\ue000"),
        ("\udcff", "\\xff"),
        ("\ud800", "\\ud800"),
        ("a\u200db", "a\\u200db"),
        ("a\ufe0f", "a\\ufe0f"),
        ("e" + "\u0301" * 6, "e" + "\u0301" * 4 + "\\u0301" * 2),
    ],
)
async def test_what_cannot_be_seen_is_written_out_and_told(hidden: str, seen: str) -> None:
    person = Person()
    person.answers = ["no", "no"]
    await Approval(person).ask(OWNER, command(f"ls {hidden} x"))
    await Approval(person).ask(OWNER, command(f"ls {seen} x"))
    assert f"```sh\nls {seen} x\n```" in person.questions[0]
    assert "written out" in person.questions[0]
    if seen.isascii():
        assert "written out" not in person.questions[1]


@pytest.mark.parametrize(
    "text",
    [
        "naïve café",
        "删除 文件\u3000夹",
        "👩\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f⃣ ✈\ufe0f",
        "می\u200cخواهم",
        "क\u094d\u200dष",
        "a\tb\nc",
        "🇨🇭 👋🏽",
    ],
)
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert escaped(text) == text


@given(st.text(max_size=200), st.sampled_from([telegram_parts, discord_parts]))
def test_on_every_platform_all_of_it_arrives(text: str, parts: object) -> None:
    request = command(f"begin {text} {'long ' * 1_500}end")
    asked = "".join("".join(part if isinstance(part, str) else part.text) for part in parts(request.whole("en")))  # type: ignore[operator]
    assert _letters(escaped(request.what)) in _letters(asked)


def _letters(text: str) -> str:
    """Without blanks, and without what a platform's code blocks are made of."""
    return "".join(text.replace("```sh", "").replace("\u200b", "").replace("`", "").split())


@pytest.mark.parametrize(
    ("text", "told"),
    [("ls", None), ("touch " + "x" * 40, "1 line in all"), ("echo one\n" + "touch " + "x" * 40, "2 lines in all")],
)
def test_how_many_lines_there_are_is_told_where_a_window_may_break_one(text: str, told: str | None) -> None:
    whole = command(text).whole("en")
    assert told in whole if told else "in all" not in whole

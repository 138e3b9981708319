"""/pair, and what `nanobot pair` does."""

import asyncio
from datetime import timedelta

import pytest

from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope
from nanobot.commands.admin import Pairing, PairingRequester, pair_command
from nanobot.core.commands import CommandAnswer, CommandCall, Router
from nanobot.i18n import say
from nanobot.messages import Address, InboundMessage, OutboundMessage, Sender
from nanobot.people.codes import MOST_WRONG
from nanobot.people.people import MACHINE, People
from tests.fakes.clock import FakeClock
from tests.fakes.people import GROUP, MEMBER, OWNER, STRANGER, nobody, some_people

ALONE = Authority(Role.OWNER, Scope.owner(), Origin.OWNER)
IN_GROUP = Authority(Role.OWNER, Scope.group("telegram", "-200"), Origin.OWNER)


class Desk:
    """The command, and what was sent."""

    def __init__(self, people: People) -> None:
        self.people = people
        self.sent: list[OutboundMessage] = []
        self.pairing = Pairing(people, self._send)
        self.router = Router([pair_command(self.pairing)])

    async def _send(self, message: OutboundMessage) -> None:
        self.sent.append(message)

    async def type(
        self, text: str, authority: Authority = ALONE, at: Address | None = None, title: str = ""
    ) -> CommandAnswer:
        at = at or Address("telegram", OWNER)
        message = InboundMessage(
            id="m", address=at, sender=Sender(OWNER), authority=authority, text=text, chat_title=title
        )
        found = self.router.find(text)
        assert found is not None
        return await found[0].handler(CommandCall(message, found[1], "en"))

    async def in_group(self, text: str) -> CommandAnswer:
        return await self.type(text, IN_GROUP, Address("telegram", "-200", "7"), "Garden")

    async def code(self, user_id: str = STRANGER, name: str = "") -> str:
        asking = await self.people.code_for("telegram", Sender(user_id, name), f"chat-of-{user_id}")
        assert asking is not None
        return asking.code


@pytest.fixture
def desk() -> Desk:
    return Desk(some_people())


def test_only_owners_have_the_command(desk: Desk) -> None:
    assert pair_command(desk.pairing).role is Role.OWNER


async def test_approving_lets_them_in_and_tells_them_where_they_asked(desk: Desk) -> None:
    answer = await desk.type(f"/pair approve {await desk.code()}")

    assert answer == CommandAnswer(f"telegram:{STRANGER} may talk to me now.")
    assert desk.people.role("telegram", STRANGER) is Role.MEMBER
    assert desk.people.paired[0].by == f"telegram:{OWNER}"
    (message,) = desk.sent
    assert message.address == Address("telegram", f"chat-of-{STRANGER}")
    assert message.text == f"{say('pairing.welcome', 'en')}\n\n{say('pairing.welcome', 'zh')}"


async def test_the_list_shows_people_by_id_and_name_and_the_codes(desk: Desk) -> None:
    await desk.type(f"/pair approve {await desk.code()}")
    await desk.people.seen("telegram", Sender(STRANGER, "Eve\n- telegram:1: owner " + "x" * 99))
    code = await desk.code("5", name="Bob\n- telegram:2: owner")

    lines = (await desk.type("/pair")).text.split("\n")

    assert lines[0] == say("pairing.people", "en")
    assert f"- telegram:{OWNER}: owner, by the configuration" in lines
    assert any(line.startswith(f"- telegram:{STRANGER} (Eve - telegram·1") for line in lines)
    assert f"- {code}: telegram:5 (Bob - telegram·2· owner), asked 0 min ago, valid until 11:15" in lines
    assert max(map(len, lines)) < 120


async def test_the_list_stays_short_however_many_strangers_ask(desk: Desk) -> None:
    codes = [await desk.code(f"7{number}") for number in range(60)]

    text = (await desk.type("/pair")).text

    assert [code for code in codes if code in text] == codes[-10:]
    assert "50 older ones" in text
    assert not (await desk.type(f"/pair approve {codes[0]}")).failed


async def test_where_nobody_may_talk_the_list_says_how_that_changes() -> None:
    assert (await Desk(nobody()).type("/pair")).text == say("pairing.nobody", "en")


async def test_denying_makes_the_code_void(desk: Desk) -> None:
    code = await desk.code()

    assert not (await desk.type(f"/pair deny {code}")).failed
    assert (await desk.type(f"/pair approve {code}")).text == say("pairing.wrong_code", "en", pair="/pair")


async def test_the_terminal_is_the_machine_and_a_chat_is_not() -> None:
    desk = Desk(nobody())
    first, second = await desk.code(), await desk.code("5")

    answer = await desk.type(f"/pair approve {first}", OWNER_IN_TERMINAL, Address("cli", "default"))

    assert answer.text == f"telegram:{STRANGER} is my owner now."
    assert (await desk.type(f"/pair approve {second} --owner")).text == say("pairing.owner_by_machine", "en")
    assert (await desk.type(f"/pair revoke telegram:{STRANGER}")).text == say("pairing.owner_by_machine", "en")


async def test_wrong_codes_are_told_and_then_lock() -> None:
    clock = FakeClock()
    desk = Desk(some_people(clock))
    code = await desk.code()
    for _ in range(MOST_WRONG):
        assert (await desk.type("/pair approve WRONG")).text == say("pairing.wrong_code", "en", pair="/pair")

    locked = await desk.type(f"/pair approve {code}")

    assert locked.failed
    assert f"{clock.now() + timedelta(hours=1):%H:%M}" in locked.text
    clock.advance(3600)
    assert (await desk.type(f"/pair approve {code}")).text == say("pairing.expired_code", "en")


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (f"telegram:{STRANGER}", "not_paired"),
        (f"telegram:{MEMBER}", "configured"),
        ("Eve", "usage_who"),
        ("telegram:", "usage_who"),
    ],
)
async def test_what_cannot_be_revoked_is_a_sentence(desk: Desk, typed: str, sentence: str) -> None:
    answer = await desk.type(f"/pair revoke {typed}")

    assert (answer.text, answer.failed) == (say(f"pairing.{sentence}", "en", pair="/pair"), True)


async def test_what_the_configuration_still_says_after_revoking_is_told(desk: Desk) -> None:
    await desk.type(f"/pair approve {await desk.code(MEMBER)}")

    answer = await desk.type(f"/pair revoke telegram:{MEMBER}")

    assert answer.failed
    assert "(member)" in answer.text


@pytest.mark.parametrize("text", ["/pair nonsense", "/pair approve", "/pair approve A B", "/pair list all"])
async def test_what_is_not_understood_gets_the_usage(desk: Desk, text: str) -> None:
    assert (await desk.type(text)).text == say("pairing.usage", "en", pair="/pair")


async def test_in_a_group_only_the_group_is_spoken_of(desk: Desk) -> None:
    code = await desk.code()
    for text in ("/pair", f"/pair approve {code}", "/pair groups", "/pair revoke telegram:2"):
        answer = await desk.in_group(text)
        assert (answer.text, answer.failed) == (say("pairing.privately", "en"), True)
    assert len(desk.people.asking) == 1


async def test_a_group_is_let_in_from_within_set_and_shown_out(desk: Desk) -> None:
    def listening() -> str | None:
        served = desk.people.served("telegram", ["-200"])
        return served.listening if served else None

    assert not (await desk.in_group("/pair group")).failed
    assert listening() == "reply"
    await desk.in_group("/pair group OPEN")
    assert listening() == "open"
    assert "everything" in (await desk.in_group("/pair group keep on")).text
    shown = (await desk.type("/pair groups")).text
    assert "- telegram:-200 (Garden): whatever an owner or a member says; everything they say is kept" in shown
    assert f"- telegram:{GROUP}: when I am named" in shown
    assert (await desk.in_group("/pair group off")).text == say("pairing.group_off", "en")
    assert listening() is None
    assert (await desk.in_group("/pair group off")).text == say("pairing.not_admitted", "en", pair="/pair")


async def test_a_group_cannot_reach_another_group(desk: Desk) -> None:
    assert (await desk.in_group("/pair group telegram:-300 open")).failed
    assert not desk.people.admitted


async def test_alone_a_group_is_named(desk: Desk) -> None:
    assert (await desk.type("/pair group open")).text == say("pairing.usage_group", "en", pair="/pair")
    assert (await desk.type("/pair group telegram:-200 sometimes")).text == say(
        "pairing.usage_group", "en", pair="/pair"
    )
    assert not (await desk.type("/pair group Telegram:-200 mention")).failed
    assert desk.people.admitted[0].id == "-200"


async def test_a_group_of_the_configuration_stays(desk: Desk) -> None:
    assert (await desk.type(f"/pair group telegram:{GROUP} off")).text == say("pairing.configured", "en")
    await desk.type(f"/pair group telegram:{GROUP} open")

    answer = await desk.type(f"/pair group telegram:{GROUP} off")

    assert (answer.text, answer.failed) == (say("pairing.group_off_configured", "en"), True)


async def test_the_machine_may_say_in_chinese_what_it_wants() -> None:
    desk = Desk(nobody())
    answers = await asyncio.gather(
        desk.pairing.do([], PairingRequester(MACHINE, "zh")),
        desk.pairing.do(["groups"], PairingRequester(MACHINE, "zh")),
    )

    assert [answer.text for answer in answers] == [say("pairing.nobody", "zh"), say("pairing.no_groups", "zh")]

"""The spool does what a naive list in memory would do, kills and restarts included."""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from nanobot.bus.spool import Spool
from nanobot.messages import Address, InboundMessage, OutboundMessage
from nanobot.ports import Delivery
from tests.contracts.bus import ADDRESS, PATIENCE, said
from tests.fakes.clock import FakeClock

T = TypeVar("T")

ADDRESSES = (ADDRESS, Address("telegram", "777", "5"))
TURNS = ("one", "two", "three")
names = st.sampled_from("abcdefgh")


@dataclass
class Said:
    """What is not answered."""

    message: InboundMessage
    begun: int = 0
    deaths: int = 0
    received: bool = False
    running: bool = False
    aside: bool = False


@dataclass
class Sent:
    """What is not delivered."""

    message: OutboundMessage
    parts: list[str] = field(default_factory=list)
    attempting: bool = False
    attempts: int = 0
    out: bool = False
    due: float | None = None


class Naive:
    """What must be true, in the plainest way."""

    def __init__(self) -> None:
        self.came: set[str] = set()
        self.went: set[str] = set()
        self.said: list[Said] = []
        self.sent: list[Sent] = []
        self.previews: list[tuple[str, Address, str | None]] = []
        self.marks: dict[str, str] = {}
        self.troubles: list[str] = []

    def next_said(self) -> Said | None:
        return next((each for each in self.said if not each.received and not each.aside), None)

    def send(self, message: OutboundMessage) -> None:
        if message.id not in self.went:
            self.went.add(message.id)
            self.sent.append(Sent(message))

    def next_sent(self, now: float) -> Sent | None:
        """Of each address only the first counts."""
        firsts = {each.message.address: each for each in reversed(self.sent)}
        free = [each for each in firsts.values() if not each.out and (each.due is None or each.due <= now)]
        return min(free, key=self.sent.index, default=None)

    def delivery(self, sent: Sent) -> Delivery:
        turn, address = sent.message.turn, sent.message.address
        previews = [name for of, at, name in self.previews if (of, at) == (turn, address)]
        return Delivery(
            message=sent.message,
            parts=tuple(sent.parts),
            previews=tuple(name for name in previews if name),
            is_uncertain=sent.attempting or (None in previews and not sent.parts),
            attempts=sent.attempts,
        )

    def settle(self, sent: Sent) -> None:
        self.sent.remove(sent)
        gone = (sent.message.turn, sent.message.address)
        self.previews = [each for each in self.previews if each[:2] != gone]

    def end(self, *, in_order: bool) -> None:
        most = 2 if sum(each.running for each in self.said) > 1 else 3
        for each in self.said:
            each.deaths += each.running and not in_order and each.deaths < most
            each.received = each.running = False
            if each.deaths >= 3 and not each.aside:
                each.aside = True
                self.troubles.append(each.message.id)
        for sent in self.sent:
            sent.out = False
        waits = {sent.message.turn for sent in self.sent}
        self.previews = [each for each in self.previews if each[2] is None or each[0] in waits]


class SpoolMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "state" / "spool.db"
        self.clock = FakeClock()
        self.runner = asyncio.Runner()
        self.naive = Naive()
        self.count = 0
        self.spool = self.opened()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(asyncio.wait_for(work, PATIENCE))

    def opened(self) -> Spool:
        return self.run(Spool(self.path, self.clock).__aenter__())

    def close(self) -> None:
        self.run(self.spool.__aexit__(None, None, None))

    def teardown(self) -> None:
        self.close()
        self.runner.close()
        shutil.rmtree(self.folder)

    def number(self) -> str:
        self.count += 1
        return str(self.count)

    @property
    def out(self) -> list[Sent]:
        return [each for each in self.naive.sent if each.out]

    @rule(name=names, address=st.sampled_from(ADDRESSES))
    def publish(self, name: str, address: Address) -> None:
        message = said(name, address)
        self.run(self.spool.publish(message))
        if message.id not in self.naive.came:
            self.naive.came.add(message.id)
            self.naive.said.append(Said(message))

    @precondition(lambda self: self.naive.next_said())
    @rule(begin=st.booleans())
    def hear(self, begin: bool) -> None:
        self.receive(begin=begin)

    def receive(self, *, begin: bool) -> None:
        expected = self.naive.next_said()
        assert expected
        expected.received = True
        assert self.run(self.spool.receive()) == expected.message
        if begin:
            assert self.run(self.spool.begin(expected.message)) == expected.begun
            expected.begun, expected.running = expected.begun + 1, True

    @rule(data=st.data(), name=names, turn=st.none() | st.sampled_from(TURNS), answers=st.booleans())
    def finish(self, data: st.DataObject, name: str, turn: str | None, answers: bool) -> None:
        open_ = [each.message for each in self.naive.said if each.received or each.aside]
        done = data.draw(st.lists(st.sampled_from(open_), unique_by=id)) if open_ else []
        address = data.draw(st.sampled_from(ADDRESSES))
        answer = OutboundMessage(id=name, address=address, text=f"re {name}", turn=turn) if answers else None
        self.run(self.spool.finish(done, answer))
        self.naive.said = [each for each in self.naive.said if each.message not in done]
        if answer:
            self.naive.send(answer)

    @precondition(lambda self: self.naive.next_sent(self.clock.monotonic()))
    @rule()
    def take(self) -> None:
        expected = self.naive.next_sent(self.clock.monotonic())
        assert expected
        expected.out, expected.due = True, None
        assert self.run(self.spool.outgoing("telegram")) == self.naive.delivery(expected)

    @precondition(lambda self: self.out)
    @rule(data=st.data(), arrives=st.booleans())
    def attempt(self, data: st.DataObject, arrives: bool) -> None:
        sent = data.draw(st.sampled_from(self.out))
        self.run(self.spool.attempting(sent.message.id))
        sent.attempting = not arrives
        if arrives:
            sent.parts.append(self.number())
            self.run(self.spool.arrived(sent.message.id, sent.parts[-1]))

    @precondition(lambda self: self.out)
    @rule(data=st.data(), fails=st.booleans())
    def settle(self, data: st.DataObject, fails: bool) -> None:
        sent = data.draw(st.sampled_from(self.out))
        self.naive.settle(sent)
        if fails:
            self.naive.troubles.append(sent.message.id)
            self.run(self.spool.failed(sent.message.id, "gone"))
        else:
            self.run(self.spool.delivered(sent.message.id))

    @precondition(lambda self: self.out)
    @rule(data=st.data(), seconds=st.integers(0, 100), uncertain=st.booleans())
    def postpone(self, data: st.DataObject, seconds: int, uncertain: bool) -> None:
        sent = data.draw(st.sampled_from(self.out))
        self.run(self.spool.postponed(sent.message.id, seconds, "network", may_have_arrived=uncertain))
        sent.out, sent.due = False, self.clock.monotonic() + seconds
        sent.attempts, sent.attempting = sent.attempts + 1, uncertain

    @rule(turn=st.sampled_from(TURNS), address=st.sampled_from(ADDRESSES), outcome=st.sampled_from("?yn"))
    def preview(self, turn: str, address: Address, outcome: str) -> None:
        previews = self.naive.previews
        self.run(self.spool.previewing(turn, address))
        previews.append((turn, address, None))
        if outcome == "?":
            return
        at = next(at for at, each in enumerate(previews) if each[0] == turn and each[2] is None)
        name = self.number() if outcome == "y" else None
        self.run(self.spool.previewed(turn, name))
        if name:
            previews[at] = (*previews[at][:2], name)
        else:
            del previews[at]

    @rule(name=names, value=st.sampled_from(["", "1", "2"]))
    def mark(self, name: str, value: str) -> None:
        self.run(self.spool.mark(name, value))
        self.naive.marks[name] = value

    @rule(seconds=st.integers(1, 60))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule()
    def starts_anew_in_order(self) -> None:
        self.close()
        self.naive.end(in_order=True)
        self.spool = self.opened()

    @rule(while_answering=st.booleans())
    def is_killed(self, while_answering: bool) -> None:
        if while_answering and self.naive.next_said():
            self.receive(begin=True)
        kept = self.folder / "as it was"
        shutil.copytree(self.path.parent, kept)
        self.close()
        shutil.rmtree(self.path.parent)
        kept.rename(self.path.parent)
        self.naive.end(in_order=False)
        self.spool = self.opened()

    @rule(data=st.data())
    def erase(self, data: st.DataObject) -> None:
        """Of what is not out just now."""
        name = data.draw(names)
        if any(each.message.id == name for each in self.out):
            return
        self.run(self.spool.erase(lambda message: message.id == name))
        for each in [each for each in self.naive.sent if each.message.id == name]:
            self.naive.settle(each)
        self.naive.troubles = [each for each in self.naive.troubles if each != name]

    @invariant()
    def it_holds_what_it_should(self) -> None:
        backlog = self.run(self.spool.backlog())
        waiting = [each for each in self.naive.said if not each.aside]
        assert backlog.being_answered == sum(each.running for each in waiting)
        assert backlog.waiting_in == len(waiting) - backlog.being_answered
        assert sum(backlog.waiting_out.values()) == len(self.naive.sent)
        assert [trouble.id for trouble in backlog.troubles] == self.naive.troubles
        aside = [each.message for each in self.naive.said if each.aside]
        assert self.run(self.spool.set_aside()) == aside
        assert self.run(self.spool.marks("")) == {name: value for name, value in self.naive.marks.items() if value}


@pytest.mark.hypothesis
def test_it_does_what_a_naive_list_would_do() -> None:
    few = settings(max_examples=settings().max_examples // 3, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(SpoolMachine, settings=few)

"""A chat platform in memory: strict, and it misbehaves on order."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal, TypeVar

from nanobot.channels.platform import (
    DeliveryError,
    FloodError,
    GoneError,
    LostPreviewError,
    MessagePart,
    RejectedError,
    UnreachableError,
)
from nanobot.messages import Address, Button, OutboundMessage
from nanobot.ports import Clock
from tests.fakes.life import Life

T = TypeVar("T")
Method = Literal["send", "send_preview", "edit", "delete", "typing", "find"]

MARK = "(again) "
LIMIT = 200
"""Characters that a message may have."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong with a request; `arrives`: it has its effect all the same."""

    error: DeliveryError
    arrives: bool = False


def flood(seconds: float, *, everywhere: bool = False) -> Fault:
    return Fault(FloodError("Too Many Requests", retry_after=seconds, everywhere=everywhere))


def no_connection() -> Fault:
    return Fault(UnreachableError("cannot connect", may_have_arrived=False))


def lost_reply(*, arrives: bool) -> Fault:
    return Fault(UnreachableError("the connection broke", may_have_arrived=True), arrives)


def blocked() -> Fault:
    return Fault(GoneError("bot was blocked by the user"))


def refused() -> Fault:
    return Fault(RejectedError("Bad Request"))


def not_there() -> Fault:
    return Fault(LostPreviewError("message to edit not found"))


@dataclass(frozen=True)
class Body:
    """What the renderer makes of a piece of text."""

    text: str
    is_final: bool


@dataclass(frozen=True)
class Shown:
    """A message that a person sees."""

    id: int
    part: MessagePart
    key: str  # which part of which message it is, as the platform's search finds it

    @property
    def text(self) -> str:
        """A file in brackets; a preview, which is not well formatted yet, behind a tilde."""
        if self.part.file is not None:
            return f"[{self.part.file.path}]"
        assert isinstance(self.part.body, Body)
        return self.part.body.text if self.part.body.is_final else f"~{self.part.body.text}"


@dataclass(frozen=True)
class Asked:
    """A request that came."""

    at: float
    method: Method
    address: Address


class FakePlatform:
    """Keeps what a person would see in each chat.

    `faults` holds, by method, what goes wrong with its next requests, None for nothing; `chance` is asked about all
    others. `latency` is how long a request takes. It does not bear what a real one would punish: requests to a
    chat that was told to be silent, two at once in a chat, empty or long messages.
    """

    name = "fake"

    def __init__(self, clock: Clock, *, can_find: bool = False) -> None:
        self.life = Life()
        self.can_find = can_find
        self.latency = 0.0
        self.asked: list[Asked] = []
        self.faults: defaultdict[Method, deque[Fault | None]] = defaultdict(deque)
        self.chance: Callable[[Method, Address], Fault | None] = lambda method, address: None
        self._clock = clock
        self._messages: defaultdict[Address, dict[str, Shown]] = defaultdict(dict)
        self._ids = count(1)
        self._busy: set[str] = set()
        self._names: set[str] = set()
        self._silent_until: dict[str, float] = {}
        self._told: dict[str, tuple[Life, float]] = {}  # whom, and when

    def seen(self, address: Address) -> list[str]:
        """The texts that stand in a chat, from top to bottom."""
        return [shown.text for shown in self._messages[address].values()]

    def previewed(self, address: Address) -> list[str]:
        """The turns of which a preview stands in a chat."""
        shown = self._messages[address].values()
        return [each.key.partition("/")[0] for each in shown if each.text.startswith("~")]

    def buttons(self, address: Address) -> list[str]:
        return [button.label for shown in self._messages[address].values() for button in shown.part.buttons]

    def requests(self, *methods: Method, chat: str | None = None) -> list[Asked]:
        """What was asked of it, of these kinds and in this chat."""
        of_kind = (asked for asked in self.asked if not methods or asked.method in methods)
        return [asked for asked in of_kind if chat is None or asked.address.chat == chat]

    def remove(self, address: Address, number: int) -> None:
        """A person deletes a message."""
        messages = self._messages[address]
        del messages[list(messages)[number]]

    def parts(self, message: OutboundMessage, *, repeat: bool = False) -> Sequence[MessagePart]:
        pieces = _cut(message.text) or ([] if message.files else ["(empty)"])
        texts = [MessagePart(Body(f"{MARK}{piece}" if repeat else piece, is_final=True)) for piece in pieces]
        if texts and message.buttons:
            texts[-1] = replace(texts[-1], buttons=message.buttons)
        return [*texts, *(MessagePart(file=file) for file in message.files)]

    def simpler(self, part: MessagePart) -> MessagePart | None:
        """Its body without emphasis."""
        body = part.body
        if isinstance(body, Body) and "*" in body.text:
            return replace(part, body=replace(body, text=body.text.replace("*", "")))
        return None

    def preview(self, text: str) -> Sequence[MessagePart]:
        return [MessagePart(Body(piece, is_final=False)) for piece in _cut(text)]

    async def send(self, message: OutboundMessage, part: MessagePart, number: int) -> str:
        return await self._ask("send", message.address, lambda: self._add(message.address, part, message.id, number))

    async def send_preview(
        self, address: Address, turn: str, part: MessagePart, name: str, *, reply_to: str | None = None
    ) -> str:
        assert name not in self._names, "two previews of one name"
        self._names.add(name)
        return await self._ask("send_preview", address, lambda: self._add(address, part, turn, name))

    async def edit(self, address: Address, platform_id: str, part: MessagePart) -> None:
        def work() -> None:
            _check(part)
            shown = self._messages[address].get(platform_id)
            if shown is None:
                raise LostPreviewError("message to edit not found")
            self._messages[address][platform_id] = replace(shown, part=part)

        await self._ask("edit", address, work)

    async def delete(self, address: Address, platform_id: str) -> None:
        await self._ask("delete", address, lambda: self._messages[address].pop(platform_id, None))

    async def settle(self, message: OutboundMessage, platform_id: str) -> None:
        def work() -> None:
            shown = self._messages[message.address].get(platform_id)
            if shown is None:
                raise LostPreviewError("message to edit not found")
            part = replace(shown.part, buttons=(Button(message.text, ""),))
            self._messages[message.address][platform_id] = replace(shown, part=part)

        await self._ask("edit", message.address, work)

    async def typing(self, address: Address) -> None:
        await self._ask("typing", address, lambda: None)

    async def find(
        self, message: OutboundMessage, part: MessagePart, number: int, *, known: Collection[str] = ()
    ) -> str | None:
        assert self.can_find

        def work() -> str | None:
            messages = self._messages[message.address].items()
            meant = [(shown.key, name) for name, shown in messages if name not in known]
            parts = [name for key, name in meant if key == f"{message.id}/{number}"]
            previews = [name for key, name in meant if key.startswith(f"{message.turn}/")]
            return next(iter([*parts, *previews]), None)

        return await self._ask("find", message.address, work)

    async def _ask(self, method: Method, address: Address, work: Callable[[], T]) -> T:
        self.life.step()
        assert address.chat not in self._busy, "two requests at once in a chat"
        self.asked.append(Asked(self._clock.monotonic(), method, address))
        self._busy.add(address.chat)
        try:
            await (self._clock.sleep(self.latency) if self.latency else asyncio.sleep(0))
            for place in ("", address.chat):
                self._keep_silent(place)
            return self._outcome(method, address, work)
        finally:
            self._busy.discard(address.chat)

    def _keep_silent(self, place: str) -> None:
        """Whoever could not know that there is to be silence is told."""
        now = self._clock.monotonic()
        left = self._silent_until.get(place, 0.0) - now
        if left > 1e-6:
            life, at = self._told[place]
            assert life is not self.life or at == now, "a request to a chat that was told to be silent"
            raise self._silence(place, left)

    def _silence(self, place: str, seconds: float) -> FloodError:
        now = self._clock.monotonic()
        self._silent_until[place], self._told[place] = now + seconds, (self.life, now)
        return FloodError("Too Many Requests", retry_after=seconds, everywhere=not place)

    def _outcome(self, method: Method, address: Address, work: Callable[[], T]) -> T:
        orders = self.faults[method]
        fault = orders.popleft() if orders else self.chance(method, address)
        if fault is not None:
            if fault.arrives:
                with suppress(DeliveryError):
                    work()
            if isinstance(fault.error, FloodError):
                self._silence("" if fault.error.everywhere else address.chat, fault.error.retry_after)
            self.life.step()
            raise fault.error
        result = work()
        self.life.step()
        return result

    def _add(self, address: Address, part: MessagePart, of: str, number: int | str) -> str:
        _check(part)
        shown = Shown(next(self._ids), part, f"{of}/{number}")
        self._messages[address][str(shown.id)] = shown
        return str(shown.id)


def _check(part: MessagePart) -> None:
    if part.file is None:
        assert isinstance(part.body, Body)
        assert part.body.text.strip(), "an empty message"
        assert len(part.body.text) <= LIMIT, "a message that is too long"


def _cut(text: str) -> list[str]:
    size = LIMIT - len(MARK)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    return [piece for piece in pieces if piece.strip()]

"""Forgets: shows what would go, and erases it everywhere, whatever happens meanwhile."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from nanobot.errors import NanobotError, StoreError, VersionError
from nanobot.forgetting.memory_files import MemoryErasure
from nanobot.forgetting.plan import Meaning, SearchedStores, saying, work_out
from nanobot.forgetting.request import ForgetRequest, Reach, kind_of
from nanobot.forgetting.selection import retold
from nanobot.i18n import Language
from nanobot.memory.episodes.archivist import Archivist
from nanobot.ports import Clock, Episode, Erasable, ErasedPiece, ErasurePlan, StoreFindings
from nanobot.ports.erasable import ErasureJournal, Order

log = logging.getLogger(__name__)

T = TypeVar("T")

Retold = Mapping[tuple[int, tuple[str, ...], frozenset[str]], Episode]
"""Episodes as a model told them anew, by number and by what stays of their messages."""

LOOKING = "looking"
"""No place: all that is to go could not be found out, so that nothing was erased."""

NO_GIT = "missing"
"""Why the history of memory could not be erased where there is no git: nothing is gained by trying again."""

DAMAGED = "damaged: "
"""How that begins where the history is damaged: the same."""

Unheard = Callable[[ErasurePlan, Language], Awaitable[None]]
"""Makes that messages which wait and are meant are not answered any more, and tells people so; in this language, where
theirs does not say another."""

Still = Callable[[], AbstractAsyncContextManager[Unheard]]
"""While it lasts nobody answers, archives or dreams: nothing is copied to where it was erased already."""


@dataclass(frozen=True)
class ErasureServices:
    """All who keep something, and how they are made to keep still.

    `stores` are erased in this order; `derived` is made anew from them, afterwards, while people talk again.
    `forgot` tells those who hold something in memory. `leftovers` looks at everything once more, byte by byte.
    """

    stores: Sequence[Erasable]
    derived: Sequence[Erasable]
    remembered: MemoryErasure
    journal: ErasureJournal
    archivist: Archivist
    still: Still
    forgot: Callable[[], Awaitable[None]]
    leftovers: Callable[[ErasurePlan], Awaitable[Sequence[str]]]
    clock: Clock

    @property
    def everybody(self) -> Sequence[Erasable]:
        return [*self.stores, *self.derived]


@dataclass(frozen=True)
class Preview:
    """Preview of an erasure: how much in each place, some of it there, and where it stays (`path:line`)."""

    wish: ForgetRequest
    reach: Reach
    meaning: Meaning
    counts: Mapping[str, int]
    shown: Mapping[str, Sequence[ErasedPiece]]
    left: Sequence[str]

    @property
    def is_nothing(self) -> bool:
        return not any(self.counts.values()) and not self.meaning.claims

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True)
class ErasureReceipt:
    """Receipt of an erasure: what was erased in each place, where it stays, and failures with the reason by place.

    `remaining` are places in which something was found after all, `leftovers` files. Where not even all that is to go
    could be found out, that stands under LOOKING, and nothing was erased.
    """

    order: Order
    counts: Mapping[str, int]
    left: Sequence[str] = ()
    remaining: Sequence[str] = ()
    leftovers: Sequence[str] = ()
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """True if nothing is left of it that could be erased."""
        return not (self.failed or self.remaining or self.leftovers)

    @property
    def is_unfinished(self) -> bool:
        """True if it is worth trying again."""
        return not all(reason == NO_GIT or reason.startswith(DAMAGED) for reason in self.failed.values())


class Erasure:
    """One at a time. From the yes on it is carried through: after a crash it goes on at the next start."""

    def __init__(self, sources: SearchedStores, house: ErasureServices) -> None:
        self._sources = sources
        self._house = house
        self._one_at_a_time = asyncio.Lock()

    async def preview(self, wish: ForgetRequest, reach: Reach) -> Preview:
        """Find what would go. Changes nothing. Raises StoreError and VersionError."""
        meaning = await self._work_out(wish, reach)
        found, failed = await self._find(meaning.meant)
        for error in failed.values():
            raise error
        return Preview(
            wish,
            reach,
            meaning,
            counts={place: one.count for place, one in found.items()},
            shown={
                place: [*(meaning.shown if place == "sessions" else ()), *one.shown] for place, one in found.items()
            },
            left=[line for one in found.values() for line in one.left],
        )

    async def carry_out(self, preview: Preview, order: Order) -> ErasureReceipt:
        """Erase what was shown, and what has come to it since. Raises StoreError; then nothing is erased, nor will be.

        What cannot be erased is tried again at the next start, and before the next forget; the receipt tells of it.
        """
        async with self._one_at_a_time:
            left = await self._resume()
            if left and left.is_unfinished:
                raise StoreError("; ".join(f"{place}: {why}" for place, why in left.failed.items()))
            await self._house.journal.write(order)
            log.debug("forget: the order is written")
            return await self._carry_out(order, await self._retold(preview.meaning))

    async def resume(self) -> ErasureReceipt | None:
        """Go on with what a process left undone; None if there is nothing. Raises StoreError."""
        async with self._one_at_a_time:
            return await self._resume()

    async def is_unfinished(self) -> bool:
        """True if an order is on disk while none is being carried out. Raises StoreError."""
        return not self._one_at_a_time.locked() and await self._house.journal.read() is not None

    async def _resume(self) -> ErasureReceipt | None:
        order = await self._house.journal.read()
        if order is None:
            return None
        log.info("forget: goes on with what was begun")
        return await self._carry_out(order, {})

    async def _carry_out(self, order: Order, told: Retold) -> ErasureReceipt:
        house = self._house
        wish = ForgetRequest(kind_of(order.kind), order.value)
        async with house.still() as unheard:
            if order.meant is None:
                try:
                    meaning = await self._work_out(wish, Reach(order.scopes))
                    order = await self._ordered(order, _with_retold(meaning, told))
                except NanobotError as error:  # half of it would hide the way to the rest
                    log.error("forget: what goes could not be found out: %s", error)  # noqa: TRY400 - as expected
                    return ErasureReceipt(order, {}, failed={LOOKING: str(error)})
            meant = order.meant or ErasurePlan(scopes=frozenset())
            failed = await _guarded("spool", unheard(meant, order.language))
            failed |= await self._erase(house.stores, meant)
            failed |= await _guarded("memory", house.remembered.bury(order.stones))
            log.debug("forget: the tombstones stand")
            await house.forgot()
        failed |= await self._erase(house.derived, meant)
        return await self._receipt(order, meant, failed)

    async def _ordered(self, order: Order, meaning: Meaning) -> Order:
        """The order with all that is needed to carry it out without looking anything up again."""
        meant, at = meaning.meant, self._house.clock.now().isoformat(timespec="seconds")
        stones = await self._house.remembered.stones(meant, meaning.claims, at)
        found, _ = await self._find(meant)
        counts = {place: one.count for place, one in found.items()}
        order = replace(order, meant=meant, stones=stones, counts=counts)
        await self._house.journal.write(order)
        log.debug("forget: what goes is written down")
        return order

    async def _erase(self, stores: Sequence[Erasable], meant: ErasurePlan) -> dict[str, str]:
        failed: dict[str, str] = {}
        for store in stores:
            failed |= await _guarded(store.place, store.erase(meant))
            log.debug("forget: %s is done", store.place)
        return failed

    async def _receipt(self, order: Order, meant: ErasurePlan, failed: Mapping[str, str]) -> ErasureReceipt:
        found, unread = await self._find(meant)
        left = [line for one in found.values() for line in one.left]
        remaining = [place for place, one in found.items() if one.count]
        failed = {**{place: _why(error) for place, error in unread.items()}, **failed}
        receipt = ErasureReceipt(order, order.counts, left, remaining, await self._leftovers(meant, left), failed)
        if not receipt.is_unfinished:
            receipt = replace(receipt, failed={**failed, **await _guarded("state", self._house.journal.clear())})
        if receipt.is_unfinished:
            told = ", ".join(f"{place} ({why})" for place, why in receipt.failed.items())
            log.error("forget: not done yet: %s", told)
        else:
            log.info("forget: done")
        return receipt

    async def _leftovers(self, meant: ErasurePlan, left: Sequence[str]) -> Sequence[str]:
        """Files in which it stands after all. Where others may rightly hold the same, nobody can say whose it is."""
        if not meant.of_owner:
            return ()
        others, unread = await self._find(replace(meant, scopes=None)) if meant.scopes is not None else ({}, {})
        if unread or any(one.count for one in others.values()):
            return ()
        known = {*left, *(place.rpartition(":")[0] for place in left)}
        return [path for path in await self._house.leftovers(meant) if path not in known]

    async def _find(self, meant: ErasurePlan) -> tuple[Mapping[str, StoreFindings], Mapping[str, NanobotError]]:
        """Find the affected items in each place, and the reasons why others could not be searched."""
        found: dict[str, StoreFindings] = {}
        failed: dict[str, NanobotError] = {}
        for store in self._house.everybody:
            try:
                found[store.place] = await _looked(store.find(meant))
            except NanobotError as error:
                failed[store.place] = error
        return found, failed

    async def _work_out(self, wish: ForgetRequest, reach: Reach) -> Meaning:
        return await _looked(work_out(wish, reach, self._sources, self._house.clock.now().tzinfo))

    async def _retold(self, meaning: Meaning) -> Retold:
        """The episodes of which something stays, told anew as far as the model does. Takes as long as that takes."""
        told: dict[tuple[int, tuple[str, ...], frozenset[str]], Episode] = {}
        for one in meaning.affected:
            if one.is_gone or not one.was_there:
                continue
            said = await saying(one, self._sources.transcripts)
            if new := await retold(one, meaning.meant.traces, said, self._house.archivist):
                told[one.episode.cursor, tuple(one.staying), one.blanked] = new
        return told


async def _guarded(place: str, work: Awaitable[None]) -> dict[str, str]:
    """Do it; what went wrong, by place."""
    try:
        await _looked(work)
    except NanobotError as error:
        log.warning("forget: %s: %s", place, error)
        return {place: _why(error)}
    return {}


async def _looked(work: Awaitable[T]) -> T:
    """Await a result; any refusal of the disk becomes a StoreError."""
    try:
        return await work
    except OSError as error:
        raise StoreError(f"{error.filename or 'a file'}: {error.strerror or error}") from error


def _why(error: NanobotError) -> str:
    return NO_GIT if isinstance(error, VersionError) and error.kind == NO_GIT else str(error)


def _with_retold(meaning: Meaning, told: Retold) -> Meaning:
    """With the episodes as a model has told them, where it was asked about just these messages."""
    episodes = dict(meaning.meant.episodes)
    for one in meaning.affected:
        if new := told.get((one.episode.cursor, tuple(one.staying), one.blanked)):
            episodes[one.episode.cursor] = new
    return replace(meaning, meant=replace(meaning.meant, episodes=episodes))

"""Many people who talk at once."""

import asyncio
import time
from collections.abc import Sequence
from statistics import median

from bench.bot import Talker, converse, house
from bench.figures import Figure, Scale

_MESSAGES = 4  # that each of them sends without waiting for an answer


def measure(scale: Scale) -> Sequence[Figure]:
    seconds: list[float] = []

    async def talk(talker: Talker) -> None:
        began = time.perf_counter()
        await asyncio.gather(*(_talk(talker, f"person-{who}") for who in range(scale.talkers)))
        seconds.append(time.perf_counter() - began)

    for _ in range(max(1, scale.runs // 5)):
        with house() as home:
            converse(home, talk)
    turns = scale.talkers * _MESSAGES
    return [
        Figure.of(f"{scale.talkers} sessions, {_MESSAGES} messages each", seconds, "s", note="all answered in order"),
        Figure("turns in a second", turns / median(seconds), ""),
    ]


async def _talk(talker: Talker, who: str) -> None:
    """Raises if the answers do not come in the order of the questions."""
    said = [f"{who} says {number}" for number in range(_MESSAGES)]
    waiting = [await talker.say(who, text) for text in said]
    for number, (text, answer) in enumerate(zip(said, waiting, strict=True)):
        heard = (await answer).text
        if not heard.startswith(text):
            raise RuntimeError(f"{text!r} was answered with {heard!r}")
        if any(later.done() for later in waiting[number + 2 :]) and not waiting[number + 1].done():
            raise RuntimeError(f"{who}: a later message was answered first")

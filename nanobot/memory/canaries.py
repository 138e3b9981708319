"""Whether what is remembered in one scope is seen from another, tried on what really is remembered."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nanobot.memory.facts import compared

LEAST = 12
"""Characters of a line that tells one memory from another."""

MOST_SEARCHED = 25
"""Lines of each scope that are searched for from each other."""

Door = Literal["prompt", "search"]
Search = Callable[[str, str], Collection[str]]
"""The texts that are found from a scope, by its name, for these words."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A line of `scope` that is seen from `other`."""

    scope: str
    other: str
    door: Door
    line: str


def leaks(lines: Mapping[str, Sequence[str]], prompts: Mapping[str, str], search: Search) -> Iterator[Leak]:
    """Every line that is seen from where it does not belong.

    Args:
        lines: what each scope remembers.
        prompts: what a model is told at the beginning, by the scope of whoever talks to it.
        search: how each scope's memory is searched.
    """
    own = {scope: {compared(line) for line in said} for scope, said in lines.items()}
    for scope, said in lines.items():
        canaries = [line for line in said if len(compared(line)) >= LEAST]
        for other in prompts.keys() - {scope}:
            foreign = [line for line in canaries if compared(line) not in own.get(other, ())]
            yield from _seen(scope, other, foreign, prompts[other], search)


def _seen(scope: str, other: str, canaries: Sequence[str], prompt: str, search: Search) -> Iterator[Leak]:
    shown = " ".join(prompt.casefold().split())
    for number, line in enumerate(canaries):
        if compared(line) in shown:
            yield Leak(scope, other, "prompt", line)
        if number < MOST_SEARCHED and compared(line) in map(compared, search(other, line)):
            yield Leak(scope, other, "search", line)

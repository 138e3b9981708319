"""Evidence recall at k, mean reciprocal rank, and how long a question takes."""

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import mean, median, quantiles

from bench.recall.data import ADVERSARIAL, Asked, Conversation
from bench.recall.home import Found, Search

AT = (1, 5, 10, 20)


@dataclass(slots=True)
class Result:
    """What a search achieved over many questions; shares of 1, milliseconds."""

    recall: dict[str, dict[int, list[float]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    reciprocal_ranks: list[float] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    index_seconds: float = 0.0

    def ask(self, search: Search, conversation: Conversation, keys: dict[str, str]) -> None:
        """Ask every question of a conversation. `keys` gives the session key of each message id."""
        for asked in conversation.questions:
            started = time.perf_counter()
            found = search(asked.text, max(AT))
            self.milliseconds.append((time.perf_counter() - started) * 1000)
            self._note(asked, found, {(keys[id_], id_) for id_ in asked.evidence})

    def _note(self, asked: Asked, found: Found, evidence: set[tuple[str, str]]) -> None:
        groups = [asked.category] if asked.category == ADVERSARIAL else [asked.category, "all"]
        for k in AT:
            share = len(evidence & set(found[:k])) / len(evidence)
            for group in groups:
                self.recall[group][k].append(share)
        if asked.category != ADVERSARIAL:
            first = next((rank for rank, one in enumerate(found, 1) if one in evidence), None)
            self.reciprocal_ranks.append(1 / first if first else 0.0)


def table(results: dict[str, Result]) -> Iterable[str]:
    """The results side by side, in percent; "all" leaves the adversarial questions out."""
    yield f"{'':34}" + "".join(f"{f'R@{k}':>8}" for k in AT) + f"{'MRR':>8}{'index s':>9}{'p50 ms':>8}{'p99 ms':>8}"
    for name, result in results.items():
        p50, p99 = times(result.milliseconds)
        costs = f"{mean(result.reciprocal_ranks) * 100:8.1f}{result.index_seconds:9.2f}{p50:8.1f}{p99:8.1f}"
        yield f"{name:34}" + _row(result, "all") + costs
        for group in sorted(result.recall):
            if group != "all":
                count = len(result.recall[group][AT[0]])
                yield f"    {f'{group} ({count})':30}" + _row(result, group)


def _row(result: Result, group: str) -> str:
    return "".join(f"{mean(result.recall[group][k]) * 100:8.1f}" for k in AT)


def times(milliseconds: Sequence[float]) -> tuple[float, float]:
    """The median and the 99th percentile."""
    return median(milliseconds), quantiles(milliseconds, n=100)[98]

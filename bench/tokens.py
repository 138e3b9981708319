"""How fast tokens are counted, and how far off the estimates are: python -m bench.tokens."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nanobot.tokens import Counts, TokenEstimator
from nanobot.transcript import Message

TABLE: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[1] / "tests" / "token_counts.json").read_text(encoding="utf-8")
)
MODELS = sorted(TABLE["English"][0]["tokens"])


def seconds(work: Callable[[], object], times: int) -> float:
    """Of one run, the fastest of five rounds."""

    def round_trip() -> float:
        start = time.perf_counter()
        for _ in range(times):
            work()
        return (time.perf_counter() - start) / times

    return min(round_trip() for _ in range(5))


def speed() -> None:
    for kind, rows in TABLE.items():
        texts = [row["text"] * 4 for row in rows]
        size = sum(len(text.encode()) for text in texts)

        def count(texts: list[str] = texts) -> None:
            tokens = TokenEstimator()  # a new one, which has nothing in its cache
            for text in texts:
                tokens.count(Message(role="user", content=text))

        print(f"counting {kind:8} {size / seconds(count, 50) / 1e6:8.1f} MB/s")
    tokens = TokenEstimator()
    message = Message(role="user", content=TABLE["English"][0]["text"])
    counts = tokens.count(message)
    print(f"size of a known message  {seconds(lambda: tokens.size(message), 10_000) * 1e6:6.1f} µs")
    print(f"add a message to a sum   {seconds(lambda: counts + counts, 10_000) * 1e6:6.1f} µs")
    print(f"learn from a report      {seconds(lambda: tokens.learn(counts, 70), 1_000) * 1e6:6.1f} µs")


def accuracy() -> None:
    """Each kind after three turns of it, text by text unseen; and the first Chinese after three turns of English."""
    print(
        f"\n{'error in % of unseen texts':28}" + "".join(f"{kind:>10}" for kind in TABLE) + "   first Chinese (unnamed)"
    )
    for model in MODELS:
        row = "".join(f"{100 * unseen_error(model, kind):10.1f}" for kind in TABLE)
        first = [100 * first_error(model, known_as) for known_as in (model, "")]
        print(f"{model:28}{row}{first[0]:12.1f} {first[1]:10.1f}")


def unseen_error(model: str, kind: str) -> float:
    true = estimated = 0
    for unseen in TABLE[kind]:
        tokens = taught(model, model, [row for row in TABLE[kind] if row is not unseen])
        true += unseen["tokens"][model]
        estimated += of_text(tokens, unseen["text"])
    return float(estimated / true - 1)


def first_error(model: str, known_as: str) -> float:
    tokens = taught(model, known_as, TABLE["English"])
    true = sum(row["tokens"][model] for row in TABLE["Chinese"])
    return float(sum(of_text(tokens, row["text"]) for row in TABLE["Chinese"]) / true - 1)


def of_text(tokens: TokenEstimator, text: str) -> int:
    """Tokens of a bare text, without what stands around a message."""
    said, empty = (tokens.count(Message(role="user", content=content)) for content in (text, ""))
    return tokens.tokens(said - empty)


def taught(model: str, known_as: str, rows: list[dict[str, Any]]) -> TokenEstimator:
    """An estimator after three turns of two messages."""
    tokens, last = TokenEstimator(known_as), None
    counts: Counts = tokens.count_request([])
    spent = 40
    for turn in range(3):
        for row in (rows[2 * turn % len(rows)], rows[(2 * turn + 1) % len(rows)]):
            counts += tokens.count(Message(role="user", content=row["text"]))
            spent += row["tokens"][model] + 5
        last = tokens.learn(counts, spent, last)
    return tokens


if __name__ == "__main__":
    speed()
    accuracy()

"""Estimates against what nine real tokenizers say.

token_counts.json holds texts of several kinds, and how many tokens each tokenizer makes of them.
The endpoint of these tests adds what real ones add: something per message and something per request.
"""

import itertools
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.ports import ToolSpec
from nanobot.tokens import Counts, Report, TokenEstimator
from nanobot.transcript import Message, ToolCall

TABLE = json.loads((Path(__file__).parent / "token_counts.json").read_text(encoding="utf-8"))
MODELS = sorted(TABLE["English"][0]["tokens"])
KINDS = sorted(TABLE)
PER_MESSAGE, PER_REQUEST = 5, 40
CHANGES = list(itertools.permutations(["English", "Chinese", "code"], 2))
UNKNOWN = "a-model-nobody-knows"


@dataclass
class Endpoint:
    """A conversation with an endpoint that counts as one of the tokenizers does."""

    model: str
    estimator: TokenEstimator
    counts: Counts
    tokens: int = PER_REQUEST
    last: Report | None = None

    @classmethod
    def of(cls, model: str, known_as: str) -> "Endpoint":
        estimator = TokenEstimator(known_as)
        return cls(model, estimator, estimator.count_request([]))

    def say(self, row: dict[str, object]) -> None:
        """A message joins the conversation."""
        assert isinstance(row["tokens"], dict)
        self.counts += self.estimator.count(message(str(row["text"])))
        self.tokens += row["tokens"][self.model] + PER_MESSAGE

    def report(self) -> None:
        self.last = self.estimator.learn(self.counts, self.tokens, self.last)

    def turns(self, kind: str, number: int, without: object = None) -> None:
        """Turns of two messages; the texts come round again."""
        rows = itertools.cycle(row for row in TABLE[kind] if row is not without)
        for _ in range(number):
            self.say(next(rows))
            self.say(next(rows))
            self.report()

    def error(self) -> float:
        """How far off the estimate of the whole next request is."""
        return abs(self.estimator.tokens(self.counts) / self.tokens - 1)


def message(text: str) -> Message:
    return Message(role="user", content=text)


def of_text(tokens: TokenEstimator, text: str) -> int:
    """Tokens of a bare text, without what stands around a message."""
    return tokens.tokens(tokens.count(message(text)) - tokens.count(message("")))


def kind_error(endpoint: Endpoint, kind: str) -> float:
    """How far off the estimate of all texts of this kind is, taken by themselves."""
    true: int = sum(row["tokens"][endpoint.model] for row in TABLE[kind])
    return abs(sum(of_text(endpoint.estimator, row["text"]) for row in TABLE[kind]) / true - 1)


@pytest.mark.parametrize("known_as", ["its name", UNKNOWN])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_after_three_turns_text_of_the_same_kind_is_within_a_tenth(model: str, kind: str, known_as: str) -> None:
    true = estimated = 0
    for unseen in TABLE[kind]:
        endpoint = Endpoint.of(model, model if known_as == "its name" else known_as)
        endpoint.turns(kind, 3, without=unseen)
        endpoint.say(unseen)
        assert endpoint.error() < 0.10
        true += unseen["tokens"][model]
        estimated += of_text(endpoint.estimator, unseen["text"])
    assert abs(estimated / true - 1) < 0.10


@pytest.mark.parametrize(("before", "after"), CHANGES)
@pytest.mark.parametrize("model", MODELS)
def test_right_after_the_kind_changes_the_request_is_within_a_fifth(model: str, before: str, after: str) -> None:
    for known_as in (model, UNKNOWN):
        endpoint = Endpoint.of(model, known_as)
        endpoint.turns(before, 3)
        endpoint.say(TABLE[after][0])
        assert endpoint.error() < 0.20


@pytest.mark.parametrize(("before", "after"), CHANGES)
@pytest.mark.parametrize("model", MODELS)
def test_of_a_known_model_even_the_first_text_of_a_new_kind_is_within_a_fifth(
    model: str, before: str, after: str
) -> None:
    endpoint = Endpoint.of(model, model)
    endpoint.turns(before, 3)
    assert kind_error(endpoint, after) < 0.20


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_one_report_is_enough_to_learn_a_new_kind_of_an_unknown_model(model: str, kind: str) -> None:
    endpoint = Endpoint.of(model, UNKNOWN)
    endpoint.turns("English", 3)
    endpoint.turns(kind, 1)
    assert kind_error(endpoint, kind) < 0.20


def test_a_report_that_makes_no_sense_does_little_harm() -> None:
    endpoint = Endpoint.of("gpt-4o", UNKNOWN)
    endpoint.turns("English", 3)
    counts = endpoint.counts + endpoint.estimator.count(message("Hello there"))
    endpoint.estimator.learn(counts, endpoint.tokens + 100_000, endpoint.last)
    assert kind_error(endpoint, "English") < 0.15


def test_a_window_that_moved_on_is_learned_from_like_growth() -> None:
    endpoint = Endpoint.of("qwen3", UNKNOWN)
    endpoint.turns("Chinese", 2)
    gone = TABLE["Chinese"][0]
    endpoint.counts -= endpoint.estimator.count(message(gone["text"]))
    endpoint.tokens -= gone["tokens"]["qwen3"] + PER_MESSAGE
    endpoint.report()
    assert kind_error(endpoint, "Chinese") < 0.10


def test_the_next_request_is_told_from_the_last_report() -> None:
    tokens = TokenEstimator()
    hello, more = tokens.count(message("Hello")), tokens.count(message("How are you today?"))
    report = tokens.learn(hello, 1_234)
    assert tokens.tokens(hello, report) == 1_234
    assert tokens.tokens(hello + more, report) == 1_234 + tokens.size(message("How are you today?"))


def test_everything_in_a_message_that_a_model_reads_counts() -> None:
    tokens = TokenEstimator()
    bare = tokens.size(message("Hello"))
    assert tokens.size(Message(role="user", content="Hello", context="It is Monday, ten o'clock.")) > bare
    call = ToolCall("c1", "read_file", '{"path": "notes/shopping.md"}')
    assert tokens.size(Message(role="assistant", content="Hello", tool_calls=[call])) > bare
    assert tokens.size(Message(role="assistant", tool_calls=[call])) > tokens.size(Message(role="assistant"))
    assert bare > of_text(tokens, "Hello") > 0


def test_the_schemas_of_tools_count() -> None:
    tokens = TokenEstimator()
    tool = ToolSpec("grep", "Search files for a pattern.", {"type": "object", "properties": {}})
    one, two = tokens.count_request([tool]), tokens.count_request([tool, tool])
    assert tokens.tokens(two) > tokens.tokens(one) > tokens.tokens(tokens.count_request([]))


@given(st.text(), st.text())
def test_any_text_can_be_counted_and_longer_is_never_cheaper(one: str, other: str) -> None:
    tokens = TokenEstimator()
    assert of_text(tokens, one + "\n" + other) >= of_text(tokens, one) - 1 >= -1
    assert of_text(tokens, "\ud83d") >= 0


@given(st.lists(st.tuples(st.text(min_size=1), st.integers(0, 10_000)), max_size=20))
def test_whatever_is_reported_costs_stay_within_reason(reports: list[tuple[str, int]]) -> None:
    tokens = TokenEstimator()
    for text, cost in reports:
        tokens.learn(tokens.count(message(text)), cost)
    assert 0 <= of_text(tokens, "The quick brown fox jumps over the lazy dog. " * 10) < 3_000


@given(st.lists(st.tuples(st.text(max_size=40), st.text(alphabet=" \t\n\0aB.中　é\ud800", max_size=12)), max_size=6))
def test_messages_counted_together_are_the_sum_of_them(texts: list[tuple[str, str]]) -> None:
    tokens = TokenEstimator()
    messages = [
        Message(role="assistant", content=content, context=context, tool_calls=(ToolCall("c", content, context),))
        for content, context in texts
    ]

    assert tokens.count_all(messages) == sum(map(tokens.count, messages), Counts())


@dataclass
class Cutting:
    """An endpoint that reads no more than its window, and reports what it read; `dropping` whole messages or not."""

    window: int
    dropping: bool = False

    def reported(self, sizes: list[int]) -> int:
        if not self.dropping:
            return min(self.window, sum(sizes))
        kept = sizes[:]
        while sum(kept) > self.window:
            del kept[1]
        return sum(kept)


@pytest.mark.parametrize("dropping", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_a_server_that_cuts_requests_is_not_learned_from_but_found_out(model: str, dropping: bool) -> None:
    server, tokens = Cutting(4096, dropping), TokenEstimator(UNKNOWN)
    counts, last, told = tokens.count_request([]), None, []
    sizes = [40]
    rows = itertools.cycle(TABLE["English"] + TABLE["code"])
    for _ in range(160):
        row = next(rows)
        counts += tokens.count(message(row["text"]))
        sizes.append(row["tokens"][model] + PER_MESSAGE)
        last = tokens.learn(counts, server.reported(sizes), last)
        told.append(tokens.take_cut())
    assert sum(sizes) > 3 * 4096
    assert [round(size, -3) for size in told if size] == [4000]
    assert tokens.tokens(counts) > 0.7 * sum(sizes)


def test_a_server_that_is_given_more_room_is_learned_from_again() -> None:
    tokens, server = TokenEstimator(UNKNOWN), Cutting(4096)
    text = tokens.count(message("word " * 1000))
    counts, last = text, None
    for size in range(1, 12):
        last = tokens.learn(counts, server.reported([1003] * size), last)
        counts += text
    assert tokens.take_cut() == 4096
    last = tokens.learn(counts, 12 * 1003, last)
    assert last == Report(counts, 12 * 1003)
    assert tokens.take_cut() == 0


def test_a_server_that_reports_only_what_its_cache_did_not_hold_is_no_server_that_cuts() -> None:
    tokens = TokenEstimator(UNKNOWN)
    text = tokens.count(message("word " * 3000))
    counts, last = text, None
    for _ in range(10):
        last = tokens.learn(counts, 700, last)
        counts += text
    assert tokens.take_cut() == 0
    assert tokens.tokens(counts) > 25_000

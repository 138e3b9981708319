"""When a dream does not work: nothing is lost, nothing is skipped, and it can be seen."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from nanobot.errors import LLMError, VersionError
from nanobot.memory.dream.operations import DreamLimits
from nanobot.memory.dream.report import DreamReport, DreamStatus
from nanobot.memory.dream.state import not_before
from nanobot.ports import DreamRecord, ModelInfo, Reply, Request, Stream, SummaryFailure
from tests.fakes.dreamers import MALFORMED, add, data_of, keen, lazy, remove, wants, writes
from tests.fakes.llm import HANG, Answer, ScriptedLLM, says
from tests.fakes.versions import BrokenVersions
from tests.memory.dream.bedroom import BASE, MEMORY, OWNER, Bedroom

FAILURES = {
    "an error in a good answer": LLMError("model", "no route found"),
    "a server error": LLMError("server", "500"),
    "an error as text": says("Error: quota exceeded"),
    "an error as JSON": says('{"error": {"message": "no route found"}}'),
    "a page": says("<!DOCTYPE html><html>"),
    "a timeout": LLMError("timeout"),
}


async def talked(bedroom: Bedroom, count: int) -> None:
    for _ in range(count):
        number = await bedroom.episodes.last() + 1
        await bedroom.happened(f"thing {number} is blue", facts=[f"thing {number} is blue"])


def read_by(bedroom: Bedroom) -> list[object]:
    return [row["episode"] for request in bedroom.llm.requests for row in data_of(request, "episodes")]


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
async def test_a_call_that_fails_leaves_the_cursor_and_the_next_run_reads_the_same(
    bedroom: Bedroom, failure: Answer
) -> None:
    await talked(bedroom, 4)
    await bedroom.sleep(keen)
    await talked(bedroom, 5)
    before = {path: data for path, data in bedroom.files().items() if not path.startswith(".nanobot")}

    report = await bedroom.sleep(failure)

    assert report.outcome == "failed"
    assert {path: data for path, data in bedroom.files().items() if not path.startswith(".nanobot")} == before
    assert len(await bedroom.commits()) == 1
    status = await bedroom.dream.status()
    assert (status.record.failures, status.waiting) == (1, 5)
    assert any("did not work" in line for line in status.told("en"))
    assert not status.record.tries

    report = await bedroom.sleep(keen)

    assert (read_by(bedroom), bedroom.read("memory/.dream_cursor")) == ([5, 6, 7, 8, 9], "9\n")
    assert (await bedroom.dream.status()).record.failure == ""


async def test_a_second_call_that_fails_takes_the_first_ones_changes_with_it(bedroom: Bedroom) -> None:
    await talked(bedroom, 1)

    report = await bedroom.sleep(wants(add("thing 1 is blue", 1), add("nonsense", 7)), LLMError("server"))

    assert (report.outcome, bedroom.read(MEMORY), await bedroom.book.cursor()) == ("failed", BASE[MEMORY], 0)


async def test_each_failure_in_a_row_is_followed_by_a_longer_wait_and_no_episode_is_skipped(bedroom: Bedroom) -> None:
    await talked(bedroom, 3)
    bedroom.answers(LLMError("quota"))
    waits = []
    for number in range(10):
        assert (await bedroom.dream.run()).outcome == "failed"
        assert (await bedroom.dream.run()).outcome == "waiting"
        assert not await bedroom.dream.due()
        waited = 0
        while not await bedroom.dream.due():
            bedroom.clock.advance(60)
            waited += 60
        waits.append(waited)
        assert (await bedroom.dream.status()).record.failures == number + 1
        assert len(bedroom.llm.requests) == number + 1

    assert waits == sorted(waits)
    assert waits[0] == 300
    assert waits[-1] == 6 * 3600
    bedroom.answers(keen)
    assert (await bedroom.dream.run()).episodes == 3


async def test_who_asks_does_not_wait_for_it(bedroom: Bedroom) -> None:
    await talked(bedroom, 1)
    await bedroom.sleep(LLMError("server"))

    assert (await bedroom.sleep(keen)).outcome == "changed"


async def test_the_wait_is_as_long_as_the_endpoint_wants_and_outlives_a_restart(bedroom: Bedroom) -> None:
    await talked(bedroom, 1)
    await bedroom.sleep(LLMError("rate_limit", retry_after=7200.0))
    bedroom.wake()
    bedroom.clock.advance(7100)
    assert not await bedroom.dream.due()
    bedroom.clock.advance(100)
    assert await bedroom.dream.due()


@pytest.mark.parametrize("answer", MALFORMED, ids=range(len(MALFORMED)))
async def test_an_answer_that_cannot_be_read_is_told_back_once_and_a_good_one_then_counts(
    bedroom: Bedroom, answer: str
) -> None:
    await talked(bedroom, 1)

    report = await bedroom.sleep(says(answer), keen)

    assert (report.outcome, "thing 1 is blue" in bedroom.read(MEMORY)) == ("changed", True)
    assert len(bedroom.llm.requests) == 2
    assert bedroom.llm.requests[1].messages[2].content == answer


async def test_an_episode_with_three_unusable_answers_is_set_aside_and_the_next_ones_are_read(bedroom: Bedroom) -> None:
    await talked(bedroom, 1)
    outcomes = []
    for _ in range(2):
        outcomes.append((await bedroom.sleep(says("Well …"))).outcome)
        await bedroom.sleep(LLMError("server"))
    assert await bedroom.book.cursor() == 0
    bedroom.wake()

    report = await bedroom.sleep(says("Well …"))

    assert [*outcomes, report.outcome] == ["unusable", "unusable", "set_aside"]
    assert await bedroom.book.cursor() == 1
    status = await bedroom.dream.status()
    assert list(status.record.set_aside) == [1]
    assert any("could make nothing" in line for line in status.told("en"))
    await talked(bedroom, 1)
    bedroom.answers(keen)
    bedroom.clock.advance(3600)
    assert (await bedroom.dream.run()).cursor == 2
    assert list((await bedroom.dream.status()).record.set_aside) == [1]


async def given_up(bedroom: Bedroom) -> None:
    """The first episode is set aside by a small model."""
    bedroom.llm = ScriptedLLM(info=ModelInfo("small", "small", 8192, 512, compact=True))
    await talked(bedroom, 1)
    for _ in range(3):
        await bedroom.sleep(says("Well …"))
    assert list((await bedroom.dream.status()).record.set_aside) == [1]


async def test_what_one_model_gave_up_another_one_tries_once_by_itself(bedroom: Bedroom) -> None:
    await given_up(bedroom)
    bedroom.clock.advance(3600)
    assert not await bedroom.dream.due()
    bedroom.llm = ScriptedLLM(info=ModelInfo("other", "other", 8192, 512))
    assert await bedroom.dream.due()

    bedroom.answers(says("Hm."))
    assert (await bedroom.dream.run()).outcome == "set_aside"

    bedroom.clock.advance(3600)
    assert not await bedroom.dream.due()
    bedroom.llm = ScriptedLLM(info=ModelInfo("third", "third", 8192, 512))
    bedroom.answers(keen)
    assert (await bedroom.dream.run()).outcome == "changed"
    assert "thing 1 is blue" in bedroom.read(MEMORY)
    record = (await bedroom.dream.status()).record
    assert (list(record.set_aside), dict(record.gave_up), await bedroom.book.cursor()) == ([], {}, 1)


async def test_a_person_who_asks_has_what_was_given_up_tried_again_after_what_is_new(bedroom: Bedroom) -> None:
    await given_up(bedroom)
    await talked(bedroom, 2)

    report = await bedroom.sleep(keen)

    assert (report.outcome, read_by(bedroom), report.cursor) == ("changed", [2, 3, 1], 3)
    assert all(f"thing {number} is blue" in bedroom.read(MEMORY) for number in (1, 2, 3))
    assert await bedroom.book.cursor() == 3
    assert [commit.cursor for commit in await bedroom.commits()] == [3, 3, 2]
    assert not any("make nothing" in line for line in (await bedroom.dream.status()).told("en"))


async def test_what_was_given_up_and_is_forgotten_is_not_tried_again(bedroom: Bedroom) -> None:
    await given_up(bedroom)
    (bedroom.root / "memory/history.jsonl").write_text("")
    bedroom.wake()

    assert (await bedroom.sleep(keen)).outcome == "nothing"

    assert not (await bedroom.dream.status()).record.set_aside


async def test_after_an_unusable_answer_nothing_is_tried_by_itself_before_the_schedule_says(bedroom: Bedroom) -> None:
    bedroom.next_at = bedroom.clock.now() + timedelta(hours=2)
    await talked(bedroom, 1)
    bedroom.answers(says("Well …"))

    assert (await bedroom.dream.run()).outcome == "unusable"
    bedroom.clock.advance(7100)
    assert not await bedroom.dream.due()
    assert not_before((await bedroom.dream.status()).record) == bedroom.next_at
    bedroom.clock.advance(100)
    assert await bedroom.dream.due()


async def test_one_bad_episode_does_not_take_its_neighbours_with_it(bedroom: Bedroom) -> None:
    await talked(bedroom, 5)

    def chokes_on_the_third(request: Request, stream: Stream) -> Reply:
        return says("?") if 3 in [row["episode"] for row in data_of(request, "episodes")] else keen(request, stream)

    for _ in range(6):
        bedroom.answers(chokes_on_the_third)
        await bedroom.dream.run("asked")

    assert [number for number in range(1, 6) if f"thing {number} is blue" in bedroom.read(MEMORY)] == [1, 2, 4, 5]
    assert list((await bedroom.dream.status()).record.set_aside) == [3]


async def test_what_is_wrong_is_told_once_and_then_dropped_and_the_rest_lands(bedroom: Bedroom) -> None:
    await talked(bedroom, 1)
    good, bad = add("thing 1 is blue", 1), remove("no such line", 1)

    report = await bedroom.sleep(wants(good, bad, {"do": "fly"}))

    assert [left.kind for left in report.left] == ["malformed", "missing"]
    assert "thing 1 is blue" in bedroom.read(MEMORY)
    first, second = bedroom.llm.requests
    told = second.messages[len(first.messages) + 1]
    assert (told.role, told.tool_call_id) == ("tool", "c1")
    assert "no such line" in (told.content or "")
    assert '"do" must be one of' in (told.content or "")


async def test_what_the_model_gives_up_on_is_reported_too(bedroom: Bedroom) -> None:
    await talked(bedroom, 1)

    report = await bedroom.sleep(wants(add("the castle belongs to Bob", 1)), wants())

    assert [left.kind for left in report.left] == ["unsupported"]


async def test_an_endpoint_that_knows_no_tools_is_asked_without(bedroom: Bedroom) -> None:
    await talked(bedroom, 1)

    report = await bedroom.sleep(LLMError("request", "tools are not supported"), writes(add("thing 1 is blue", 1)))

    assert report.outcome == "changed"
    assert [len(request.tools) for request in bedroom.llm.requests] == [1, 0]


async def test_a_small_model_is_not_offered_tools_and_is_asked_no_more_than_it_can_read(bedroom: Bedroom) -> None:
    bedroom.write(MEMORY, "# Memory\n\n" + "".join(f"- fact {number} about the garden\n" for number in range(2000)))
    for number in range(5):
        await bedroom.happened(*(f"long story {number} {word}" for word in range(300)))
    bedroom.llm = ScriptedLLM(info=ModelInfo("small", "small", 4096, 512, compact=True))

    report = await bedroom.sleep(lazy)

    assert report.episodes == 5
    for request in bedroom.llm.requests:
        assert not request.tools
        assert sum(len(message.content or "") for message in request.messages) / 3 < 4096 - 512


async def test_what_is_too_long_for_the_model_is_asked_in_smaller_pieces(bedroom: Bedroom) -> None:
    await talked(bedroom, 8)

    def reads_two(request: Request, stream: Stream) -> Reply:
        if len(data_of(request, "episodes")) > 2:
            raise LLMError("context")
        return keen(request, stream)

    reports = [await bedroom.sleep(reads_two) for _ in range(8)]

    assert reports[0].outcome == "failed"
    assert await bedroom.book.cursor() == 8
    assert all(f"thing {number} is blue" in bedroom.read(MEMORY) for number in range(1, 9))


async def test_the_runs_of_a_day_are_limited_and_counted_on_disk(tmp_path: Path) -> None:
    bedroom = await Bedroom(tmp_path, limits=DreamLimits(runs_per_day=2)).began()
    outcomes = []
    for _ in range(4):
        await talked(bedroom, 1)
        outcomes.append((await bedroom.sleep(keen)).outcome)
        bedroom.wake()
    assert outcomes == ["changed", "changed", "enough", "enough"]
    assert not await bedroom.dream.due()

    bedroom.clock.advance(86400)

    assert (await bedroom.sleep(keen)).episodes == 2


async def test_a_run_makes_no_more_calls_than_it_may_and_takes_longer_than_it_may_only_once(tmp_path: Path) -> None:
    bedroom = await Bedroom(tmp_path, limits=DreamLimits(steps=4, batch=1)).began()
    await talked(bedroom, 9)
    await bedroom.sleep(keen)
    assert len(bedroom.llm.requests) <= 4

    def slow(request: Request, stream: Stream) -> Reply:
        bedroom.clock.advance(3600)
        return keen(request, stream)

    await bedroom.sleep(slow)

    assert len(bedroom.llm.requests) == 1


async def test_a_run_spends_no_more_tokens_than_it_may(tmp_path: Path) -> None:
    bedroom = await Bedroom(tmp_path, limits=DreamLimits(tokens=13_000, batch=2)).began()
    for number in range(40):
        await bedroom.happened(*(f"story {number} {word}" for word in range(100)))

    await bedroom.sleep(lazy)

    spent = sum(len(message.content or "") / 3 for request in bedroom.llm.requests for message in request.messages)
    assert 6_000 < spent < 20_000


@pytest.mark.parametrize("kind", ["busy", "failed"])
async def test_a_commit_that_fails_changes_nothing_and_the_next_run_makes_it(bedroom: Bedroom, kind: str) -> None:
    error = VersionError("busy" if kind == "busy" else "failed", "index.lock")
    bedroom.keeps_history_in(BrokenVersions(bedroom.root, bedroom.clock, error))
    await talked(bedroom, 1)

    report = await bedroom.sleep(keen)

    assert (report.outcome, report.area, report.kind) == ("failed", "versions", kind)
    assert (bedroom.read(MEMORY), await bedroom.book.cursor()) == (BASE[MEMORY], 0)
    assert "memory/.git" in report.told("en", OWNER)
    assert (await bedroom.sleep(keen)).outcome == "changed"


async def test_what_cannot_be_kept_is_left_out_and_the_rest_lands(bedroom: Bedroom) -> None:
    refused = VersionError("refused", "a link", paths=["USER.md"])
    bedroom.keeps_history_in(BrokenVersions(bedroom.root, bedroom.clock, refused))
    await talked(bedroom, 1)

    report = await bedroom.sleep(wants(add("thing 1 is blue", 1), add("likes thing 1", 1, file="USER.md")))

    assert ("thing 1 is blue" in bedroom.read(MEMORY), bedroom.read("USER.md")) == (True, BASE["USER.md"])
    assert [left.kind for left in report.left] == ["target"]


async def test_only_one_dream_at_a_time(bedroom: Bedroom) -> None:
    await talked(bedroom, 1)
    bedroom.answers(HANG)
    first = asyncio.create_task(bedroom.dream.run())
    await bedroom.llm.asked.wait()

    assert (await bedroom.dream.run("asked")).outcome == "busy"
    assert (await bedroom.dream.status()).is_running
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_dream_that_is_cancelled_leaves_nothing_and_the_next_one_reads_the_same(bedroom: Bedroom) -> None:
    await talked(bedroom, 2)
    bedroom.answers(HANG)
    running = asyncio.create_task(bedroom.dream.run())
    await bedroom.llm.asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert (bedroom.read(MEMORY), await bedroom.book.cursor()) == (BASE[MEMORY], 0)
    report: DreamReport = await bedroom.sleep(keen)
    assert report.episodes == 2


async def test_a_cursor_that_was_not_written_any_more_is_raised_at_the_next_start(bedroom: Bedroom) -> None:
    await talked(bedroom, 3)
    await bedroom.sleep(keen)
    (bedroom.root / "memory/.dream_cursor").unlink()

    assert not await bedroom.dream.due()

    assert await bedroom.book.cursor() == 3
    assert (await bedroom.sleep(keen)).outcome == "nothing"


async def test_a_cursor_file_with_nonsense_in_it_costs_nothing(bedroom: Bedroom) -> None:
    await talked(bedroom, 3)
    await bedroom.sleep(keen)
    bedroom.write("memory/.dream_cursor", "many\n")
    bedroom.write(".nanobot/state/dreams.json", "{")
    await talked(bedroom, 1)

    assert (await bedroom.sleep(keen)).episodes == 1


def test_what_could_not_be_summarised_is_not_called_nothing_new() -> None:
    record = DreamRecord(last="2026-11-30T09:00:00+01:00", outcome="nothing")
    failed = SummaryFailure("timeout", "2026-11-30T09:00:00+01:00", 1)

    waits = " ".join(DreamStatus(record=record, waiting=0, is_running=False, failed_summary=failed, owed=1).told("en"))
    over = " ".join(DreamStatus(record=record, waiting=0, is_running=False, failed_summary=failed).told("en"))

    assert "nothing new" not in waits
    assert "nothing new" in over

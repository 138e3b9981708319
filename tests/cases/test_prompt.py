"""What the model reads of the workspace: the same from turn to turn, and never cut in silence."""

import json
from datetime import UTC, datetime
from itertools import pairwise

from tests.cases.person import Desk
from tests.cases.test_sessions_stay_sound import is_prefix
from tests.fakes.openai_answers import say

OVER_MIDNIGHT = [
    datetime(2026, 3, 2, 10, 15, 59, tzinfo=UTC),
    datetime(2026, 3, 2, 10, 16, 1, tzinfo=UTC),
    datetime(2026, 3, 3, 0, 0, 1, tzinfo=UTC),
]


async def test_time_goes_on_and_the_prompt_stays_the_same_until_a_file_changes(desk: Desk) -> None:
    desk.server.otherwise = lambda _: say("ok")
    async with desk.start() as person:
        for now, text in zip(OVER_MIDNIGHT, "abc", strict=True):
            desk.clock.set(now)
            await person.ask(text)
        for path in desk.workspace.root.rglob("*.md"):
            path.touch()  # saved in an editor without a change
        await person.ask("d")
    desk.clock.set(datetime(2026, 3, 29, 12, tzinfo=UTC))
    async with desk.start() as person:
        await person.ask("e")
        desk.workspace.soul.write_text("You are a pirate.")
        await person.ask("f")
    bodies = [request.body for request in desk.server.requests]
    assert all(is_prefix(earlier["messages"], later["messages"]) for earlier, later in pairwise(bodies[:5]))
    assert len({json.dumps(body["tools"]) for body in bodies}) == 1
    assert "2026-03" not in bodies[0]["messages"][0]["content"]
    assert "2026-03-03" in bodies[4]["messages"][5]["content"]
    assert "pirate" in bodies[5]["messages"][0]["content"]
    assert is_prefix(bodies[4]["messages"][1:], bodies[5]["messages"][1:])
    assert [line["content"] for line in desk.messages() if line["role"] == "user"] == list("abcdef")


async def test_a_memory_that_is_too_long_is_cut_with_a_mark_and_takes_nothing_from_the_others(desk: Desk) -> None:
    desk.configure(memory={"budget": {"memory": "12KB"}})
    desk.workspace.memory.mkdir(parents=True)
    facts = [f"- filler {n:05d} ........" for n in range(830)]
    memory = "\n".join(["- FIRST-FACT: tea", *facts, "- LAST-FACT: dentist on Friday", ""])
    desk.workspace.memory_file.write_text(memory)
    desk.workspace.soul.write_text("x" * 4990 + " SOUL-END\n")
    desk.server.otherwise = lambda _: say("ok")
    async with desk.start() as person:
        for text in "abc":
            await person.ask(text)
        status = await person.ask("/status")
    prompts = {request.body["messages"][0]["content"] for request in desk.server.requests}
    assert len(prompts) == 1
    prompt = prompts.pop()
    shown = [line for line in prompt.splitlines() if line.startswith("- filler")]
    assert shown == facts[: len(shown)]
    assert "[memory truncated at 12KB: kept " in prompt
    assert "FIRST-FACT" in prompt
    assert "SOUL-END" in prompt
    assert "LAST-FACT" not in prompt
    assert sum("MEMORY.md" in notice for notice in person.notices()) == 1
    assert "MEMORY.md" in status.text
    assert desk.workspace.memory_file.read_text().startswith(memory.rstrip())


async def test_files_that_leave_no_room_cost_one_notice_for_each_text_and_no_request(desk: Desk) -> None:
    desk.configure({"context_window": 4096, "max_output": 512})
    desk.server.otherwise = lambda _: say("ok")
    async with desk.start() as person:
        user = desk.workspace.user.read_text()
        desk.workspace.user.write_text("fact and fact. " * 1000)
        notices = [await person.ask(text) for text in "ab"]
        requests = len(desk.server.requests)
        desk.workspace.user.write_text(user)
    assert requests == 0
    assert ["USER.md" in notice.text for notice in notices] == [True, True]
    assert len(person.said) == 2


async def test_a_long_conversation_moves_on_and_stays_legal(desk: Desk) -> None:
    desk.configure({"context_window": 12000, "max_output": 512})
    desk.server.otherwise = lambda _: say("words and words " * 40, usage=None)
    async with desk.start() as person:
        for n in range(40):
            await person.ask(f"question {n} " + "text " * 80)
    assert {message.kind for message in person.said} == {"answer"}
    moves = sum(not is_prefix(desk.sent(n), desk.sent(n + 1)) for n in range(39))
    assert 1 <= moves <= 8
    last = desk.sent(-1)
    async with desk.start() as person:  # whoever left had the conversation archived, and the prompt may tell of it
        await person.ask("after a restart")
    again = desk.sent(-1)
    assert is_prefix(last[1:], again[1:])
    async with desk.start() as person:
        await person.ask("after another one")
    assert is_prefix(again, desk.sent(-1))

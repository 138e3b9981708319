"""What is said becomes what is known."""

from nanobot.authority import Scope
from tests.fakes.dreamers import add, change, data_of, keen, lazy, merge, note, remove, wants, writes
from tests.memory.dream.bedroom import BASE, MEMORY, OWNER, Bedroom


async def test_what_was_said_is_remembered_with_its_day_and_where_it_comes_from(bedroom: Bedroom) -> None:
    await bedroom.happened("The standup moved to 9:30", facts=["the standup is at 9:30"])

    report = await bedroom.sleep(wants(add("the standup is at 9:30", "1.1")))

    assert report.outcome == "changed"
    assert "- the standup is at 9:30 (2026-03-02)\n" in bedroom.read(MEMORY)
    [commit] = await bedroom.commits()
    assert commit.kind == "dream"
    assert commit.cursor == 1
    assert commit.scopes == ("owner",)
    assert commit.origin is not None
    [operation] = commit.operations
    assert (operation.verb, operation.file, operation.text) == ("add", MEMORY, "the standup is at 9:30")
    assert operation.messages == ("telegram:1#m1",)
    assert bedroom.read("memory/.dream_cursor") == "1\n"


async def test_a_model_without_tools_answers_in_text(bedroom: Bedroom) -> None:
    await bedroom.happened("My dog is called Pixel")

    await bedroom.sleep(writes(add("the dog is called Pixel", 1), around="Here you are:\n```json\n{}\n```\nDone."))

    assert "- the dog is called Pixel (2026-03-02)" in bedroom.read(MEMORY)


async def test_each_kind_of_operation_is_carried_out(bedroom: Bedroom) -> None:
    bedroom.write("memory/roses.md", "---\nsummary: the roses\n---\n- planted along the wall\n")
    bedroom.write("memory/tulips.md", "---\nsummary: spring bulbs\n---\n- sit in the shade\n")
    bedroom.write("memory/beds.md", "See [[tulips]] for more.\n")
    await bedroom.happened("The pump hangs on pin 5 now, the roses are gone; I love coffee; the robot needs two motors")

    await bedroom.sleep(
        wants(
            change("the pump hangs on pin 4", "the pump hangs on pin 5", 1),
            remove("the roses are red", 1),
            add("loves coffee", 1, file="USER.md"),
            note("robot", "The robot needs two motors.", 1, type="project"),
            merge(["roses", "tulips"], "flowers", "- planted along the wall\n- sit in the shade\n"),
        )
    )

    assert "- the pump hangs on pin 5 (2026-03-02)" in bedroom.read(MEMORY)
    assert "pin 4" not in bedroom.read(MEMORY)
    assert "roses are red" not in bedroom.read(MEMORY)
    assert bedroom.read("USER.md") == "# The user\n\n- likes tea\n- loves coffee\n"
    assert "The robot needs two motors." in bedroom.read("memory/robot.md")
    assert "type: project" in bedroom.read("memory/robot.md")
    assert bedroom.read("memory/flowers.md").endswith("- planted along the wall\n- sit in the shade\n")
    assert not bedroom.read("memory/roses.md")
    assert "See [[flowers]]" in bedroom.read("memory/beds.md")
    [commit] = await bedroom.commits()
    assert [operation.verb for operation in commit.operations] == ["replace", "remove", "add", "write", "merge"]


async def test_the_index_of_notes_is_true_right_after_a_dream_and_recall_is_told(bedroom: Bedroom) -> None:
    await bedroom.happened("The robot needs two motors")

    await bedroom.sleep(wants(note("robot", "The robot needs two motors.", 1, type="project")))

    assert "- project: The robot needs two motors. (`robot.md`)" in bedroom.read(MEMORY)
    assert bedroom.told == 1
    assert (await bedroom.versions.commit_hand_edits()).version is None


async def test_a_fact_that_is_said_twice_stands_there_once_and_nothing_is_committed(bedroom: Bedroom) -> None:
    await bedroom.happened("The roses are red, and the pump hangs on pin 4!")

    report = await bedroom.sleep(wants(add("The roses are red.", 1), add("pump hangs on the pin 4", 1)))

    assert report.outcome == "unchanged"
    assert bedroom.read(MEMORY) == BASE[MEMORY]
    assert await bedroom.commits() == []
    assert bedroom.read("memory/.dream_cursor") == "1\n"


async def test_said_again_is_told_by_the_next_commit_and_to_the_model(bedroom: Bedroom) -> None:
    await bedroom.happened("Ada plays chess", facts=["Ada plays chess"])
    await bedroom.sleep(keen)
    bedroom.clock.advance(10 * 86400)
    await bedroom.happened("Ada plays chess, as I said", "Bob plays go", facts=["Ada plays chess", "Bob plays go"])
    await bedroom.sleep(keen)
    bedroom.clock.advance(5 * 86400)
    await bedroom.happened("hello")
    await bedroom.sleep(lazy)

    shown = {row.get("line"): row for row in data_of(bedroom.llm.requests[0], "remembered")}
    chess = shown["- Ada plays chess (2026-03-02)"]
    assert (chess["days_old"], chess["days_since_confirmed"]) == (15, 5)
    newest = (await bedroom.commits())[0]
    assert [(one.verb, one.text) for one in newest.operations] == [
        ("confirm", "Ada plays chess"),
        ("add", "Bob plays go"),
    ]


async def test_an_operation_that_changes_nothing_counts_as_nothing(bedroom: Bedroom) -> None:
    await bedroom.happened("the roses are red")

    report = await bedroom.sleep(wants(change("the roses are red", "The roses are red.", 1)))

    assert (report.outcome, await bedroom.commits()) == ("unchanged", [])


async def test_each_scope_is_looked_at_by_itself_and_all_land_in_one_commit(bedroom: Bedroom) -> None:
    bob, club = Scope.person("telegram", "7"), Scope.group("telegram", "-5")
    await bedroom.happened("I collect stamps", facts=["collects stamps"])
    await bedroom.happened("I collect coins", facts=["collects coins"], scope=bob, session="telegram:7")
    await bedroom.happened("we meet on Mondays", facts=["meets on Mondays"], scope=club, session="telegram:-5")

    report = await bedroom.sleep(keen)

    assert "stamps" in bedroom.read(MEMORY)
    assert "coins" in bedroom.read("people/telegram-7/MEMORY.md")
    assert "Mondays" in bedroom.read("groups/telegram--5/MEMORY.md")
    for request, own in zip(bedroom.llm.requests, ("stamps", "coins", "Mondays"), strict=True):
        text = request.messages[1].content or ""
        assert [word for word in ("stamps", "coins", "Mondays") if word in text] == [own]
    [commit] = await bedroom.commits()
    assert commit.scopes == ("group:telegram--5", "owner", "person:telegram-7")
    assert "coins" in report.told("en", bob)
    assert "stamps" not in report.told("en", bob)


async def test_hand_edits_are_their_makers_before_a_dream_begins(bedroom: Bedroom) -> None:
    bedroom.write("USER.md", "# The user\n\n- likes green tea\n")
    await bedroom.happened("My dog is called Pixel")

    await bedroom.sleep(wants(add("the dog is called Pixel", 1)))

    newest, second, *_ = await bedroom.versions.log()
    assert (newest.author, list(newest.paths)) == ("dream", [MEMORY])
    assert (second.author, list(second.paths)) == ("person", ["USER.md"])


async def test_what_is_edited_while_the_model_thinks_stays_and_the_dream_goes_on_top(bedroom: Bedroom) -> None:
    await bedroom.happened("My dog is called Pixel, and the roses are white")

    def thinks(request: object, stream: object) -> object:
        bedroom.write(MEMORY, BASE[MEMORY].replace("- the roses are red", "- the roses are pink\n- mine"))
        return wants(add("the dog is called Pixel", 1), change("the roses are red", "the roses are white", 1))

    report = await bedroom.sleep(thinks)  # type: ignore[arg-type]  # its types are wider than they need to be

    assert "- mine\n" in bedroom.read(MEMORY)
    assert "- the roses are pink\n" in bedroom.read(MEMORY)
    assert "Pixel" in bedroom.read(MEMORY)
    assert [left.kind for left in report.left] == ["late"]
    assert [version.author for version in await bedroom.versions.log(2)] == ["dream", "person"]


async def test_a_backlog_is_read_piece_by_piece_in_one_run_each_episode_once(bedroom: Bedroom) -> None:
    for number in range(45):
        await bedroom.happened(f"thing {number} is blue", facts=[f"thing {number} is blue"])

    report = await bedroom.sleep(keen)

    seen = [row["episode"] for request in bedroom.llm.requests for row in data_of(request, "episodes")]
    assert seen == list(range(1, 46))
    assert (report.episodes, report.cursor) == (45, 45)
    assert [commit.cursor for commit in await bedroom.commits()] == [45, 40, 20]
    assert len([line for line in bedroom.read(MEMORY).splitlines() if "is blue" in line]) == 45


async def test_where_nothing_is_new_no_model_is_asked(bedroom: Bedroom) -> None:
    report = await bedroom.sleep(lazy)

    assert (report.outcome, bedroom.llm.requests) == ("nothing", [])
    assert not await bedroom.dream.due()


async def test_it_is_due_when_there_is_something_new(bedroom: Bedroom) -> None:
    await bedroom.happened("hello")

    assert await bedroom.dream.due()
    assert (await bedroom.dream.status()).waiting == 1


async def test_what_changed_is_told_in_plain_words(bedroom: Bedroom) -> None:
    await bedroom.happened("My dog is called Pixel")

    report = await bedroom.sleep(wants(add("the dog is called Pixel", 1), add("x", 1, file="AGENTS.md")))

    english, chinese = report.told("en", OWNER), report.told("zh", OWNER)
    assert "new in MEMORY.md: the dog is called Pixel" in english
    assert "files that are not for me to change" in english
    assert "MEMORY.md 新增：the dog is called Pixel" in chinese

"""Everything that is searched beside plain messages, whose it is, and what leaves the index again."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.authority import Origin, Scope
from nanobot.memory.episodes import history_file
from nanobot.memory.recall.ports import EVERYWHERE, Hit, RecallIndex, SearchableText, SearchLimits
from nanobot.memory.recall.search import LocalRecall
from nanobot.ports import Episode, Fact
from nanobot.workspace import Workspace
from tests.fakes.recall_index import ListIndex
from tests.memory.recall.test_index import NOW, TEXTS, Home, encoded, header, message

OWNER, PERSON, GROUP = "owner", "person:telegram-2", "group:telegram--100"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "workspace")


def write(workspace: Workspace, path: str, text: str) -> None:
    file = workspace.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def search(home: Home, question: str, scope: str | None = None) -> Sequence[Hit]:
    within = SearchLimits(scopes=frozenset({scope})) if scope else EVERYWHERE
    return LocalRecall(home.index).search(question, now=NOW, within=within)


def best(home: Home, question: str, scope: str | None = None) -> SearchableText | None:
    hits = search(home, question, scope)
    return hits[0].said if hits else None


def episode(**more: object) -> bytes:
    fields: dict[str, object] = {
        "cursor": 1, "timestamp": "2026-11-30T09:00:00+01:00", "session": "cli:a", "scope": Scope.owner(),
        "origin": Origin.OWNER, "messages": ("m1", "m2"),
        "content": "- prefers metric units\n- moved the standup to 9:30",
    }  # fmt: skip
    return history_file.encode(Episode(**(fields | more)))  # type: ignore[arg-type]


def test_notes_are_found_paragraph_by_paragraph_with_what_they_are_about(home: Home) -> None:
    write(
        home.workspace,
        "memory/greenhouse.md",
        "---\ntype: project\nsummary: wiring and pinout\nupdated: 2026-11-02\n---\n"
        "# Pins\n\nPin 4 drives\nthe pump.\n\n- The fan hangs on pin 5 (2026-11-20)\n"
        "<!-- not for the model: zinnia -->\n",
    )
    home.indexer.sync()

    pump, fan = best(home, "what drives the pump"), best(home, "which pin has the fan")
    assert (pump and pump.text, pump and pump.at) == ("Pin 4 drives the pump.", "2026-11-02")
    assert fan
    assert (fan.at, fan.source, fan.file) == ("2026-11-20", "note", "memory/greenhouse.md")
    assert (about := best(home, "wiring"))
    assert about.text == "greenhouse: wiring and pinout"
    assert best(home, "zinnia") is None


def test_lines_of_memory_and_user_files_are_found_and_their_index_is_not(home: Home) -> None:
    index = "<!-- index: kept by nanobot, do not edit below -->\n- note: about quinces (`q.md`) · updated 2026-11-02\n"
    write(home.workspace, "memory/MEMORY.md", f"# Memory\n\n- The dentist is Okafor (2026-10-01)\n\n{index}")
    write(home.workspace, "USER.md", "Lives in Oslo.\n")
    home.indexer.sync()

    dentist, oslo = best(home, "dentist"), best(home, "Oslo")
    assert dentist
    assert (dentist.text, dentist.at) == ("The dentist is Okafor (2026-10-01)", "2026-10-01")
    assert oslo
    assert (oslo.source, oslo.file) == ("memory", "USER.md")
    assert best(home, "quinces") is None


def test_files_of_people_and_groups_are_theirs(home: Home) -> None:
    write(home.workspace, "people/telegram-2/USER.md", "Plays the oboe.\n")
    write(home.workspace, "groups/telegram--100/MEMORY.md", "- The oboe concert is in June\n")
    write(home.workspace, "memory/music.md", "No oboe for the owner.\n")
    home.indexer.sync()

    for scope, text in ((PERSON, "Plays the oboe."), (GROUP, "The oboe concert is in June")):
        assert [hit.said.text for hit in search(home, "oboe", scope)] == [text]


@pytest.mark.parametrize("look", ["look", "sync"])
def test_a_file_that_changes_or_goes_is_followed(home: Home, look: str) -> None:
    def follow() -> None:
        home.indexer.sync() if look == "sync" else home.indexer.look(OWNER)

    write(home.workspace, "memory/cat.md", "The cat is called Rice.\n")
    follow()
    write(home.workspace, "memory/cat.md", "The cat is called Wheat now.\n")
    follow()
    assert [hit.said.text for hit in search(home, "cat called")] == ["cat: The cat is called Wheat now."]
    home.workspace.memory.joinpath("cat.md").unlink()
    follow()
    assert best(home, "cat called") is None
    home.check()


def test_a_note_leads_to_others_with_the_kind_of_its_relation(home: Home) -> None:
    write(home.workspace, "memory/pump.md", "---\nrelations: [{kind: part_of, to: Garden}]\n---\nPin 4. See [[fan]].\n")
    write(home.workspace, "memory/garden.md", "Beds and trees.\n")
    write(home.workspace, "memory/fan.md", "A quiet one.\n")
    write(home.workspace, "people/telegram-2/garden.md", "Somebody else's garden.\n")
    home.indexer.sync()

    (hit, *_) = search(home, "pin 4")
    assert [(other.kind, other.name, other.text) for other in hit.related] == [
        ("part_of", "garden", "garden: Beds and trees."),
        ("", "fan", "fan: A quiet one."),
    ]


def test_episodes_are_found_line_by_line_with_facts_and_in_their_scope(home: Home) -> None:
    home.workspace.memory.mkdir(parents=True)
    facts = (Fact("lives in Bergen", ("m1",)), Fact("prefers metric units", ("m2",)))
    other = episode(cursor=2, scope=Scope(PERSON), session="telegram:2", content="- the standup is at noon")
    raw = episode(cursor=3, content="Ada: the standup is cancelled", raw=True)
    home.workspace.history.write_bytes(episode(facts=facts) + other + b"{ broken\n" + raw)
    home.indexer.sync()

    standup = best(home, "standup", OWNER)
    assert standup
    assert (standup.text, standup.message, standup.session) == ("moved the standup to 9:30", "1", "cli:a")
    assert (theirs := best(home, "standup", PERSON))
    assert theirs.text == "the standup is at noon"
    assert (fact := best(home, "Bergen"))
    assert fact.source == "episode"
    assert len(search(home, "metric units")) == len({hit.said.text for hit in search(home, "metric units")})
    with home.workspace.history.open("ab") as file:
        file.write(episode(cursor=4, content="- adopted a hedgehog"))
    home.indexer.look(OWNER)
    assert (new := best(home, "hedgehog"))
    assert new.message == "4"


def test_a_turn_is_of_the_scope_that_its_first_line_says_and_what_says_nothing_is_nobodys(home: Home) -> None:
    path = home.workspace.sessions / "telegram" / "5.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(
        encoded(
            header("telegram:5"),
            message(1, "walrus from long ago", turn="t0"),
            message(2, "walrus of a person", scope=PERSON, turn="t1"),
            message(3, "walrus answered", "assistant", turn="t1"),
            message(4, "walrus in the group", scope=GROUP, turn="t2"),
            message(5, "walrus without a turn", "assistant"),
        )
    )
    home.append(message(6, "walrus in the terminal"))
    home.indexer.sync()

    assert {hit.said.message for hit in search(home, "walrus", PERSON)} == {"m2", "m3"}
    assert {hit.said.message for hit in search(home, "walrus", GROUP)} == {"m4"}
    assert {hit.said.message for hit in search(home, "walrus", OWNER)} == {"m6"}
    assert len(search(home, "walrus")) == 6


def test_a_new_wording_stands_in_the_place_of_the_old_one(home: Home) -> None:
    home.append(
        message(1, "the party is on Monday", inbound="cli:a:1"),
        message(2, "noted", "assistant"),
    )
    home.indexer.sync()
    home.append(message(3, "the party is on Tuesday", inbound="cli:a:1/e1", corrects="cli:a:1"))
    home.indexer.appended("cli:a")
    home.append(message(4, "the party is on Wednesday", inbound="cli:a:1/e2", corrects="cli:a:1"))
    home.indexer.appended("cli:a")

    assert sorted(text[1:] for text in home.texts()) == [(0, "m4", "the party is on Wednesday"), (1, "m2", "noted")]
    home.check()


def test_what_was_passed_on_is_found_as_somebody_elses_words(home: Home) -> None:
    passed_on = {"text": "the bridge is closed", "by": "Mallory", "how": "forward"}
    replied_to = {"text": "the bridge is lovely", "by": "Bob", "how": "reply"}
    home.append(message(1, "what do you make of it?", quotes=[passed_on, replied_to]))
    home.indexer.sync()

    found = [hit.said for hit in search(home, "bridge") if "bridge" in hit.said.text]
    assert [(said.source, said.speaker, said.origin, said.message) for said in found] == [
        ("quote", "Mallory", Origin.QUOTED, "m1")
    ]


def test_the_place_where_the_last_turn_begins_is_known(home: Home) -> None:
    home.append(message(1, "one", scope=OWNER, turn="t1"), message(2, "two", scope=OWNER, turn="t2"))
    home.indexer.sync()

    assert home.index.turn_at("cli:a", "t2") == 1
    assert home.index.turn_at("cli:a", "t1") is None


def test_after_a_rebuild_nothing_is_left_of_what_no_file_holds(home: Home) -> None:
    home.append(*(message(number, f"secretive{number} marmot") for number in range(200)))
    home.indexer.sync()
    home.file().write_bytes(encoded(header("cli:a"), message(500, "only a badger")))
    home.indexer.rebuild()

    assert best(home, "marmot") is None
    assert (left := best(home, "badger"))
    assert left.message == "m500"
    files = list(home.workspace.cache.iterdir())
    assert not [path for path in files if b"marmot" in path.read_bytes() or b"secretive" in path.read_bytes()]
    assert not [path for path in files if ".new" in path.name]
    home.append(message(501, "and a stoat"))
    home.indexer.appended("cli:a")
    assert best(home, "stoat")
    home.check()


class EndingError(Exception):
    """The program ends."""


def test_an_interrupted_rebuild_leaves_the_index_as_it_was(home: Home) -> None:
    home.append(message(1, "a marmot"))
    home.indexer.sync()

    def stop(_: int, __: int) -> None:
        raise EndingError

    with pytest.raises(EndingError):
        home.indexer.rebuild(stop)
    assert best(home, "marmot")
    home.indexer.rebuild()
    assert best(home, "marmot")


PLACES = {"a": ("cli:a", OWNER), "2": ("telegram:2", PERSON), "-100": ("telegram:-100", GROUP)}
SAID = st.lists(st.tuples(st.sampled_from(sorted(PLACES)), st.sampled_from([OWNER, PERSON, GROUP]), TEXTS), max_size=14)


@given(said=SAID, question=TEXTS)
def test_within_a_scope_the_index_finds_what_a_plain_list_of_it_finds(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, str, str]], question: str
) -> None:
    home = Home(tmp_path_factory.mktemp("home"))
    scopes: dict[str, str] = {}
    for number, (place, scope, text) in enumerate(said):
        key = PLACES[place][0]
        path = home.workspace.sessions.joinpath(*key.split(":")).with_suffix(".jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(b"" if path.stat().st_size else encoded(header(key)))
            file.write(encoded(message(number, text, scope=scope, turn=f"t{number}")))
        scopes[f"m{number}"] = scope
        if number % 4 == 0:
            home.indexer.sync()
    home.indexer.sync()

    every = home.index.passages([key for (key,) in home.index.database.rows("SELECT key FROM said")], 0)
    plain = ListIndex(every, {text.key: scopes[text.message] for text in every})
    for scope in (OWNER, PERSON, GROUP):
        found = results(home.index, question, scope)
        assert found == results(plain, question, scope)
        assert all(scopes[name] == scope for name, _ in found)
    home.index.close()


def results(index: RecallIndex, question: str, scope: str) -> list[tuple[str, float]]:
    within = SearchLimits(scopes=frozenset({scope}))
    return [(hit.said.message, hit.score) for hit in LocalRecall(index).search(question, now=NOW, k=50, within=within)]

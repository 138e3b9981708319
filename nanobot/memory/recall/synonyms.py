"""Words of everyday talk that stand for one another, from a small table that ships with the program."""

from collections.abc import Mapping
from functools import cache
from importlib import resources

from nanobot.memory.recall.words import words_of


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    """For each stem the stems that it may be said with; for Chinese, for each character or pair."""
    table: dict[str, set[str]] = {}
    for line in resources.files(__package__).joinpath("synonyms.txt").read_text(encoding="utf-8").splitlines():
        group = {_key(word) for word in line.split()}
        for word in group:
            table.setdefault(word, set()).update(group - {word})
    return {word: frozenset(others) for word, others in table.items()}


def _key(word: str) -> str:
    """The most telling of the words that the index has for it: the pair rather than its characters."""
    return max(words_of(word), key=len)

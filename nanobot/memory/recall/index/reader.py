"""Reading the search index: texts by words, by days, by place."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any

from nanobot.authority import Origin
from nanobot.memory.recall.index.database import SCOPE_BITS, IndexDatabase
from nanobot.memory.recall.index.vectors import Vectors
from nanobot.memory.recall.ports import Embedder, IndexSize, Related, SearchableText, SearchLimits, SemanticMatches

_SAID = (
    "said.key, said.source, file.path, CASE said.session WHEN '' THEN file.session ELSE said.session END,"
    " said.position, said.message, said.at, said.seconds, said.day, said.role, coalesce(speaker.name, ''),"
    " said.origin, said.text, said.words"
)
_ORIGIN = 11  # its place among these
_STALE = 0.02  # counts of words may lag behind by this share of the texts: they only weigh


class SqliteRecallIndex:
    """RecallIndex in one SQLite file with FTS5. May be used from several threads."""

    def __init__(self, path: Path, embedder: Embedder | None = None) -> None:
        """`embedder` turns texts into vectors; without it texts are found by words only."""
        self.database = IndexDatabase(path)
        self.vectors = Vectors(self.database, embedder) if embedder else None
        self._counts: dict[str, int] = {}
        self._counted = 0

    def close(self) -> None:
        self.database.close()

    def extent(self, within: SearchLimits) -> IndexSize:
        ((texts, words),) = self.database.rows("SELECT texts, words FROM total")
        scopes = self._scopes(within)
        marks = ",".join(map(str, scopes))
        days = self.database.rows(
            "SELECT (SELECT min(day) FROM said WHERE scope = scope.id AND day > 0),"  # noqa: S608 - whole numbers only
            f" (SELECT max(day) FROM said WHERE scope = scope.id AND day > 0) FROM scope WHERE id IN ({marks})"
        )
        first = min((first for first, _ in days if first), default=0)
        last = max((last for _, last in days if last), default=0)
        speakers = self.database.rows(
            f"SELECT DISTINCT name FROM speaker WHERE scope IN ({marks}) ORDER BY name"  # noqa: S608 - whole numbers only
        )
        return IndexSize(
            texts=texts,
            mean_words=words / texts if texts else 0.0,
            years=range(date.fromordinal(first).year, date.fromordinal(last).year + 1) if first else (),
            speakers=[name for (name,) in speakers],
        )

    def counts(self, words: Sequence[str]) -> Mapping[str, int]:
        """Return the number of texts that hold each word. Counts are kept until the index has grown by a fiftieth."""
        ((texts,),) = self.database.rows("SELECT texts FROM total")
        if abs(texts - self._counted) > _STALE * self._counted:
            self._counts, self._counted = {}, texts
        known = self._counts
        for word in words:
            if word not in known:  # one that never was said is not kept: it may be said next
                known.update(self.database.rows("SELECT term, doc FROM vocabulary WHERE term = ?", (word,)))
        return {word: known[word] for word in words if word in known}

    def starting_with(self, prefix: str, limit: int) -> Mapping[str, int]:
        return dict(
            self.database.rows(
                "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?",
                (prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1), limit),
            )
        )

    def matching(self, words: Sequence[str], within: SearchLimits, limit: int) -> Sequence[int]:
        if not words:
            return []
        query = " OR ".join(f'"{word}"' for word in words)
        condition, values = _condition(within)
        joined = "JOIN said ON said.key = word.rowid" if condition else ""
        found: list[tuple[float, int]] = []
        for first, last in self._ranges(within):
            found += self.database.rows(
                f"SELECT rank, word.rowid FROM word {joined} WHERE word MATCH ?"  # noqa: S608 - no value is in it
                f" AND word.rowid BETWEEN ? AND ? {condition} ORDER BY rank LIMIT ?",
                (query, first, last, *values, limit),
            )
        return [key for _, key in sorted(found)[:limit]]

    def near(self, question: str, within: SearchLimits, limit: int) -> SemanticMatches:
        return self.vectors.near(question, self._scopes(within), limit) if self.vectors else SemanticMatches()

    def on_days(self, within: SearchLimits, limit: int) -> Sequence[int]:
        condition, values = _condition(within)
        marks = ",".join(map(str, self._scopes(within)))
        rows = self.database.rows(
            f"SELECT said.key FROM said WHERE said.scope IN ({marks}) {condition}"  # noqa: S608 - whole numbers only
            " ORDER BY said.seconds DESC, said.key DESC LIMIT ?",
            (*values, limit),
        )
        return [key for (key,) in rows]

    def passages(self, keys: Sequence[int], reach: int) -> Sequence[SearchableText]:
        marks = ",".join(str(int(key)) for key in keys)
        rows = self.database.rows(
            f"SELECT DISTINCT {_SAID} FROM said AS found"  # noqa: S608 - whole numbers only
            " CROSS JOIN said ON said.file = found.file AND said.scope = found.scope"
            " AND said.position BETWEEN found.position - ? AND found.position + ?"
            " JOIN file ON file.id = said.file LEFT JOIN speaker ON speaker.id = said.speaker"
            f" WHERE found.key IN ({marks})",
            (reach, reach),
        )
        return sorted(map(_said, rows), key=lambda said: (said.file, said.position))

    def related(self, keys: Sequence[int]) -> Mapping[int, Sequence[Related]]:
        marks = ",".join(str(int(key)) for key in keys)
        rows = self.database.rows(
            "SELECT said.key, link.kind, file.path, first.text FROM said CROSS JOIN link ON link.file = said.file"  # noqa: S608 - whole numbers only
            " CROSS JOIN file ON file.folded = link.folded"  # in this order: SQLite would begin at the wrong end
            " CROSS JOIN said AS first ON first.file = file.id AND first.position = 0"
            f" WHERE said.key IN ({marks}) AND first.scope = said.scope ORDER BY link.rowid"
        )
        found: defaultdict[int, list[Related]] = defaultdict(list)
        for key, kind, path, text in rows:
            found[key].append(Related(kind, PurePosixPath(path).stem, text))
        return found

    def turn_at(self, session: str, turn: str) -> int | None:
        rows = self.database.rows("SELECT begun FROM file WHERE session = ? AND turn = ?", (session, turn))
        return rows[0][0] if rows else None

    def _scopes(self, within: SearchLimits) -> list[int]:
        """Return the numbers of the scopes that may be searched."""
        rows = self.database.rows("SELECT id, name FROM scope")
        return [int(number) for number, name in rows if not within.scopes or name in within.scopes]

    def _ranges(self, within: SearchLimits) -> Iterator[tuple[int, int]]:
        """Return the ranges of keys that FTS5 is to search: it skips all outside."""
        if not within.scopes and (within.first_day is None or within.last_day is None):
            yield 0, 2**63 - 1
            return
        condition, values = _condition(within)
        for scope in self._scopes(within):
            if not condition:
                yield scope << SCOPE_BITS, ((scope + 1) << SCOPE_BITS) - 1
                continue
            rows = self.database.rows(
                f"SELECT min(said.key), max(said.key) FROM said WHERE said.scope = ? {condition}",  # noqa: S608 - no value is in it
                (scope, *values),
            )
            if rows[0][0] is not None:
                yield rows[0][0], rows[0][1]


def _said(row: tuple[Any, ...]) -> SearchableText:
    values = list(row)
    values[_ORIGIN] = Origin(row[_ORIGIN])
    return SearchableText(*values)


def _condition(within: SearchLimits) -> tuple[str, list[object]]:
    """Return the conditions beyond the keys, as SQL that follows another condition, and their values."""
    parts: list[str] = []
    values: list[object] = []
    for comparison, day in ((">=", within.first_day), ("<=", within.last_day)):
        if day is not None:
            parts.append(f"AND said.day {comparison} ?")
            values.append(day)
    return " ".join(parts), values

"""Reading the search index: texts by words, by days, by place."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from nanobot.ports import Extent, Said, Within
from nanobot.store.recall.database import Database

_SAID = (
    "said.key, file.source, file.session, said.position, said.message, said.at, said.seconds, said.day, said.role,"
    " coalesce(speaker.name, ''), said.text, said.words"
)
_STALE = 0.02  # counts of words may lag behind by this share of the texts: they only weigh


class SqliteRecallIndex:
    """A RecallIndex in one SQLite file with FTS5. May be used from several threads."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path)
        self._counts: dict[str, int] = {}
        self._counted = 0

    def close(self) -> None:
        self.database.close()

    def extent(self) -> Extent:
        ((texts, words),) = self.database.rows("SELECT coalesce(sum(texts), 0), coalesce(sum(words), 0) FROM file")
        ((first, last),) = self.database.rows(
            "SELECT (SELECT min(day) FROM said WHERE day > 0), (SELECT max(day) FROM said)"
        )
        speakers = self.database.rows("SELECT name FROM speaker ORDER BY name")
        return Extent(
            texts=texts,
            mean_words=words / texts if texts else 0.0,
            years=range(date.fromordinal(first).year, date.fromordinal(last).year + 1) if first else (),
            speakers=[name for (name,) in speakers],
        )

    def counts(self, words: Sequence[str]) -> Mapping[str, int]:
        """In how many texts each word stands. What was counted is kept until the index has grown by a fiftieth."""
        ((texts,),) = self.database.rows("SELECT coalesce(sum(texts), 0) FROM file")
        if abs(texts - self._counted) > _STALE * self._counted:
            self._counts, self._counted = {}, texts
        known = self._counts
        for word in words:
            if word not in known:
                rows = self.database.rows("SELECT doc FROM vocabulary WHERE term = ?", (word,))
                known[word] = rows[0][0] if rows else 0
        return {word: known[word] for word in words if known[word]}

    def starting_with(self, prefix: str, limit: int) -> Mapping[str, int]:
        return dict(
            self.database.rows(
                "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?",
                (prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1), limit),
            )
        )

    def matching(self, words: Sequence[str], within: Within, limit: int) -> Sequence[int]:
        if not words:
            return []
        query = " OR ".join(f'"{word}"' for word in words)
        condition, values = _condition(within)
        bounds = self._bounds(within)
        joined = "JOIN said ON said.key = word.rowid JOIN file ON file.id = said.file" if condition else ""
        rows = self.database.rows(
            f"SELECT word.rowid FROM word {joined} WHERE word MATCH ? {bounds} {condition} ORDER BY rank LIMIT ?",  # noqa: S608 - whole numbers only
            (query, *values, limit),
        )
        return [key for (key,) in rows]

    def _bounds(self, within: Within) -> str:
        """Where the keys of some sessions or of some days begin and end: FTS5 skips what lies outside."""
        if not within.sessions and (within.first_day is None or within.last_day is None):
            return ""
        condition, values = _condition(within)
        rows = self.database.rows(
            f"SELECT min(said.key), max(said.key) FROM said JOIN file ON file.id = said.file WHERE 1 {condition}",  # noqa: S608 - no value is in it
            values,
        )
        first, last = rows[0]
        return f"AND word.rowid BETWEEN {int(first or 0)} AND {int(last or 0)}"

    def on_days(self, within: Within, limit: int) -> Sequence[int]:
        condition, values = _condition(within)
        rows = self.database.rows(
            f"SELECT said.key FROM said JOIN file ON file.id = said.file WHERE 1 {condition}"  # noqa: S608 - no value is in it
            " ORDER BY said.seconds DESC, said.key DESC LIMIT ?",
            (*values, limit),
        )
        return [key for (key,) in rows]

    def passages(self, keys: Sequence[int], reach: int) -> Sequence[Said]:
        marks = ",".join(str(int(key)) for key in keys)
        rows = self.database.rows(
            f"SELECT DISTINCT {_SAID} FROM said AS found"  # noqa: S608 - whole numbers only
            " JOIN said ON said.file = found.file AND said.position BETWEEN found.position - ? AND found.position + ?"
            " JOIN file ON file.id = said.file LEFT JOIN speaker ON speaker.id = said.speaker"
            f" WHERE found.key IN ({marks})",
            (reach, reach),
        )
        return sorted((Said(*row) for row in rows), key=lambda said: (said.session, said.position))


def _condition(within: Within) -> tuple[str, list[object]]:
    """The restriction as SQL that follows another condition, and its values; nothing for everywhere."""
    parts: list[str] = []
    values: list[object] = []
    for column, names in (("file.scope", within.scopes), ("file.session", within.sessions)):
        if names:
            parts.append(f"AND {column} IN ({','.join('?' * len(names))})")
            values += sorted(names)
    for comparison, day in ((">=", within.first_day), ("<=", within.last_day)):
        if day is not None:
            parts.append(f"AND said.day {comparison} ?")
            values.append(day)
    return " ".join(parts), values

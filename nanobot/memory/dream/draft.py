"""The files of one scope as Dream would have them: changed in memory, not on the disk."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from nanobot.authority import Scope
from nanobot.memory.dream.refused import Refused
from nanobot.memory.facts import compared
from nanobot.memory.files import Places
from nanobot.memory.note import is_safe_name, same_name
from nanobot.ports import Edit

_NAME = re.compile(r"[^\W_][\w-]{0,63}")
_TAKEN = frozenset({"memory", "user", "soul", "agents", "tools", "heartbeat", "skill"})


@dataclass(frozen=True)
class Draft:
    """`before` are the files as they are, `texts` those that became others; None: taken away.

    Bytes that are no UTF-8 stay as they are. `locked` are paths that are there and cannot be kept in the history.
    `replaced` tells by path what lines (as compared) became of others.
    """

    places: Places
    before: Mapping[str, str]
    locked: Collection[str] = ()
    texts: Mapping[str, str | None] = field(default_factory=dict)
    replaced: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, scope: Scope, files: Mapping[str, bytes], skipped: Collection[str] = ()) -> "Draft":
        places = Places(scope)
        own = {path: data for path, data in files.items() if path in places.fixed.values() or places.is_note(path)}
        strange = {path for path, data in own.items() if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data}
        texts = {path: data.decode("utf-8", "surrogateescape") for path, data in own.items() if path not in strange}
        return cls(places, texts, frozenset({*skipped, *strange}))

    def text(self, path: str) -> str:
        """The file as it is in the draft, "" if there is none."""
        return (self.texts[path] if path in self.texts else self.before.get(path)) or ""

    @cached_property
    def paths(self) -> Collection[str]:
        """The files that there are."""
        gone = {path for path, text in self.texts.items() if text is None}
        return sorted((self.before.keys() | self.texts.keys()) - gone)

    @property
    def notes(self) -> list[str]:
        """The paths of the notes."""
        return [path for path in self.paths if self.places.is_note(path)]

    def file(self, name: str) -> str:
        """The path of a file that exists, or may, by its name or path exactly as shown. Raises Refused."""
        path = self.places.fixed.get(name, name)
        if path in self.places.fixed.values():
            return self._unlocked(path)
        return self.note(name)

    def note(self, name: str) -> str:
        """The path of a note that exists, by its name, with or without ending, or its path. Raises Refused."""
        short = name.removeprefix(f"{self.places.folder}/").removesuffix(".md")
        path = f"{self.places.folder}/{short}.md"
        if path not in self.notes:
            shown = ", ".join([*self.places.fixed, *(note.rpartition("/")[2] for note in self.notes[:20])])
            raise Refused("target", f"There is no file or note {name!r} that you may change. There are: {shown}.")
        return self._unlocked(path)

    def new_note(self, name: str) -> str:
        """The path of a note that is to be written, old or new. Raises Refused."""
        short = name.removeprefix(f"{self.places.folder}/").removesuffix(".md")
        path = f"{self.places.folder}/{short}.md"
        if path in self.notes:
            return self._unlocked(path)
        if not _NAME.fullmatch(short) or not is_safe_name(short) or short.casefold() in _TAKEN:
            raise Refused("target", f"{name!r} is no name for a note. Use letters, digits and -, as in weekly-report.")
        if other := next((note for note in self.notes if same_name(note.rpartition("/")[2], short)), None):
            raise Refused("target", f"There is {other.rpartition('/')[2]} already; use exactly that name.")
        return self._unlocked(path)

    def with_texts(self, texts: Mapping[str, str | None]) -> "Draft":
        """The draft with these files, and those that did not really change left out."""
        merged = {**self.texts, **texts}
        return replace(self, texts={path: text for path, text in merged.items() if text != self.before.get(path)})

    def with_replaced(self, path: str, old: str, new: str) -> "Draft":
        """The draft in which one line took the place of another."""
        lines = dict(self.replaced.get(path, {}))
        firsts = [first for first, last in lines.items() if last == compared(old)] or [compared(old)]
        lines.update(dict.fromkeys(firsts, compared(new)))
        return replace(self, replaced={**self.replaced, path: lines})

    def replaced_in(self, path: str) -> frozenset[str]:
        """The lines, as compared, whose replacements are there."""
        there = {compared(line) for line in self.text(path).splitlines()}
        return frozenset(first for first, last in self.replaced.get(path, {}).items() if last in there)

    def edits(self) -> Mapping[str, Edit]:
        """What is to be committed."""
        return {path: Edit(_bytes(self.before.get(path)), _bytes(text)) for path, text in self.texts.items()}

    def _unlocked(self, path: str) -> str:
        if any(path == locked or path.startswith(f"{locked}/") for locked in self.locked):
            raise Refused("target", f"{path.rpartition('/')[2]} cannot be changed: it is a link, or no plain text.")
        return path


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")

"""A draft: the files of one scope, changed in memory by one operation after the other."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property

from nanobot.authority import Scope
from nanobot.memory.changes import Operation
from nanobot.memory.dream.operations import Proposal, RefusedOperation
from nanobot.memory.facts import bare, compared, with_fact, without_speaker
from nanobot.memory.markdown import body_of, facts_of, field_of, lines_of, newline_of, note_text, touched
from nanobot.memory.notes import is_safe_name, same_name
from nanobot.memory.scopes import ScopePaths
from nanobot.memory_files import FILES, MEMORY
from nanobot.nlp.words import difference, is_stop, overlap, words_of
from nanobot.ports import Edit
from nanobot.text import is_utf16

_NAME = re.compile(r"[^\W_][\w-]{0,63}")
_TAKEN = frozenset({"skill", *(file.key for file in FILES)})


def note_name(path: str) -> str:
    """Return the name of a note from its path: no folder, no ending."""
    return path.rpartition("/")[2].removesuffix(".md")


@dataclass(frozen=True)
class Draft:
    """Files of one scope, changed in memory and not on disk.

    `before` are the files as they are, `texts` those that became others; None: taken away.

    Bytes that are no UTF-8 stay as they are. `locked` are paths that are there and cannot be kept in the history.
    `replaced` tells by path what lines (as compared) became of others.
    """

    places: ScopePaths
    before: Mapping[str, str]
    locked: Collection[str] = ()
    texts: Mapping[str, str | None] = field(default_factory=dict)
    replaced: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, scope: Scope, files: Mapping[str, bytes], skipped: Collection[str] = ()) -> "Draft":
        places = ScopePaths(scope)
        own = {path: data for path, data in files.items() if path in places.fixed.values() or places.is_note(path)}
        strange = {path for path, data in own.items() if is_utf16(data) or b"\0" in data}
        texts = {path: data.decode("utf-8", "surrogateescape") for path, data in own.items() if path not in strange}
        return cls(places, texts, frozenset({*skipped, *strange}))

    def text(self, path: str) -> str:
        """Return the text of a file in the draft, "" if there is none."""
        return (self.texts[path] if path in self.texts else self.before.get(path)) or ""

    @cached_property
    def paths(self) -> Collection[str]:
        """Paths of the files in the draft."""
        gone = {path for path, text in self.texts.items() if text is None}
        return sorted((self.before.keys() | self.texts.keys()) - gone)

    @property
    def notes(self) -> list[str]:
        """Paths of the notes in the draft."""
        return [path for path in self.paths if self.places.is_note(path)]

    def file(self, name: str) -> str:
        """Return the path of a file that exists, or may, by name or path exactly as shown. Raises RefusedOperation."""
        path = self.places.fixed.get(name, name)
        if path in self.places.fixed.values():
            return self._unlocked(path)
        return self.note(name)

    def note(self, name: str) -> str:
        """Return the path of an existing note by path, or by name with or without ending. Raises RefusedOperation."""
        short = name.removeprefix(f"{self.places.folder}/").removesuffix(".md")
        path = f"{self.places.folder}/{short}.md"
        if path not in self.notes:
            shown = ", ".join([*self.places.fixed, *(note.rpartition("/")[2] for note in self.notes[:20])])
            raise RefusedOperation(
                "target", f"There is no file or note {name!r} that you may change. There are: {shown}."
            )
        return self._unlocked(path)

    def new_note(self, name: str) -> str:
        """Return the path of a note that is to be written, old or new. Raises RefusedOperation."""
        short = name.removeprefix(f"{self.places.folder}/").removesuffix(".md")
        path = f"{self.places.folder}/{short}.md"
        if path in self.notes:
            return self._unlocked(path)
        if not _NAME.fullmatch(short) or not is_safe_name(short) or short.casefold() in _TAKEN:
            raise RefusedOperation(
                "target", f"{name!r} is no name for a note. Use letters, digits and -, as in weekly-report."
            )
        if other := next((note for note in self.notes if same_name(note.rpartition("/")[2], short)), None):
            raise RefusedOperation("target", f"There is {other.rpartition('/')[2]} already; use exactly that name.")
        return self._unlocked(path)

    def with_texts(self, texts: Mapping[str, str | None]) -> "Draft":
        """Return the draft with these files; unchanged ones are left out."""
        merged = {**self.texts, **texts}
        return replace(self, texts={path: text for path, text in merged.items() if text != self.before.get(path)})

    def with_replaced(self, path: str, old: str, new: str) -> "Draft":
        """Return the draft that remembers one line as the replacement of another."""
        lines = dict(self.replaced.get(path, {}))
        firsts = [first for first, last in lines.items() if last == compared(old)] or [compared(old)]
        lines.update(dict.fromkeys(firsts, compared(new)))
        return replace(self, replaced={**self.replaced, path: lines})

    def replaced_in(self, path: str) -> frozenset[str]:
        """Return the lines, as compared, whose replacements are in the file."""
        there = {compared(line) for line in self.text(path).splitlines()}
        return frozenset(first for first, last in self.replaced.get(path, {}).items() if last in there)

    def edits(self) -> Mapping[str, Edit]:
        """Edits to commit."""
        return {path: Edit(_bytes(self.before.get(path)), _bytes(text)) for path, text in self.texts.items()}

    def _unlocked(self, path: str) -> str:
        if any(path == locked or path.startswith(f"{locked}/") for locked in self.locked):
            raise RefusedOperation(
                "target", f"{path.rpartition('/')[2]} cannot be changed: it is a link, or no plain text."
            )
        return path


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")


# Operations on a draft.


_DATED = re.compile(r"\d{4}-\d{2}-\d{2}\)?[.。]?$")
_PREFIX = re.compile(r"\s*(?:[-*+•]\s+|\d+[.)]\s+)?")
_TITLES = {file.name: file.title for file in FILES if file.title}


@dataclass(frozen=True)
class DraftChange:
    """Draft after an operation. `operation` is as the commit will tell it, without its evidence.

    `brought` are the texts that were not there before, `titles` their headings and summaries. `known` is the line
    or note that says so already, if nothing changes.
    """

    draft: Draft
    operation: Operation
    brought: Sequence[str] = ()
    titles: Sequence[str] = ()
    known: str = ""


def apply(proposal: Proposal, draft: Draft, day: date) -> DraftChange:
    """Carry out a proposal on a draft; `day` is when its evidence is from. Raises RefusedOperation."""
    match proposal.do:
        case "add":
            return _add(proposal, draft, day)
        case "replace":
            return _replace(proposal, draft, day)
        case "remove":
            return _remove(proposal, draft, day)
        case "write":
            return _write(proposal, draft, day)
        case "merge":
            return _merge(proposal, draft, day)
        case "drop":
            path = draft.note(proposal.file)
            summary = field_of(draft.text(path), "summary")
            return DraftChange(draft.with_texts({path: None}), Operation("delete", path, text=summary))


def find_known(draft: Draft, fact: str, *, but: str = "") -> tuple[str, str] | None:
    """Return the path and line at which a fact stands already, if only in another form; `but` is not looked at."""
    for path in draft.paths:
        for _, line in facts_of(draft.text(path)):
            if compared(line) != compared(but) and is_same(line, fact):
                return path, line
    return None


def is_same(one: str, other: str) -> bool:
    """True if two lines say the same in the same words, whoever is told to have said it.

    Small words do not count, unless they negate.
    """
    if compared(one) == compared(other):
        return True
    mine, yours = without_speaker(one), without_speaker(other)
    words = _content_words(mine)
    return len(words) > 1 and words == _content_words(yours) and difference(mine, yours) is None


def _content_words(text: str) -> list[str]:
    return [word for word in words_of(text) if not is_stop(word)]


def _add(proposal: Proposal, draft: Draft, day: date) -> DraftChange:
    path = draft.file(proposal.file)
    fact = bare(proposal.text)
    operation = Operation("add", path, text=fact)
    if found := find_known(draft, fact):
        return DraftChange(draft, replace(operation, file=found[0], text=bare(found[1])), known=found[1])
    text = draft.text(path)
    line = f"- {_dated(path, fact, day)}"
    name = path.rpartition("/")[2]
    if name == MEMORY or proposal.section:
        title = f"{_TITLES.get(name, '')}\n\n" if not text.strip() and name in _TITLES else ""
        after = with_fact(title + text, line, " ".join(proposal.section.split()).lstrip("# "))
    else:
        after = _appended(text or f"{_TITLES.get(name, '')}\n", line)
    return DraftChange(
        draft.with_texts({path: _touched(draft, path, after, day)}), operation, [fact], [proposal.section]
    )


def _replace(proposal: Proposal, draft: Draft, day: date) -> DraftChange:
    path = draft.file(proposal.file)
    number, old = _line(draft, path, proposal.old)
    fact = bare(proposal.text)
    operation = Operation("replace", path, text=fact, before=bare(old))
    if compared(old) == compared(fact):
        return DraftChange(draft, operation, known=old)
    if find_known(draft, fact, but=old):  # what it shall become is there already: the old line is all that is too much
        return _without(draft, path, number, old, day)
    lines = lines_of(draft.text(path))
    raw = lines[number]
    prefix = _PREFIX.match(raw)
    end = raw[len(raw.rstrip("\r\n")) :]
    lines[number] = f"{prefix[0] if prefix else ''}{_dated(path, fact, day)}{end}"
    after = draft.with_texts({path: _touched(draft, path, "".join(lines), day)}).with_replaced(path, old, fact)
    return DraftChange(after, operation, [fact])


def _remove(proposal: Proposal, draft: Draft, day: date) -> DraftChange:
    path = draft.file(proposal.file)
    number, old = _line(draft, path, proposal.old)
    return _without(draft, path, number, old, day)


def _without(draft: Draft, path: str, number: int, old: str, day: date) -> DraftChange:
    lines = lines_of(draft.text(path))
    del lines[number]
    after = _touched(draft, path, "".join(lines), day)
    return DraftChange(draft.with_texts({path: after}), Operation("remove", path, text=bare(old)))


def _write(proposal: Proposal, draft: Draft, day: date) -> DraftChange:
    path = draft.new_note(proposal.file)
    old = draft.text(path)
    after = _note(proposal, path, old, day)
    operation = Operation("write", path, text=_summary(proposal))
    if touched(old, "") == touched(after, ""):
        return DraftChange(draft, operation, known=path)
    return DraftChange(draft.with_texts({path: after}), operation, _brought(proposal, [old]), [_summary(proposal)])


def _merge(proposal: Proposal, draft: Draft, day: date) -> DraftChange:
    sources = list(dict.fromkeys(draft.note(name) for name in proposal.notes))
    if len(sources) < 2:
        raise RefusedOperation("target", "merge needs at least two notes that exist.")
    path = draft.new_note(proposal.file)
    if path in draft.notes and path not in sources:
        raise RefusedOperation(
            "target", f"{proposal.file} is a note of its own; name it in notes, too, or choose a new name."
        )
    olds = [draft.text(source) for source in sources]
    texts: dict[str, str | None] = dict.fromkeys(sources)
    texts[path] = _note(proposal, path, draft.text(path), day)
    merged = draft.with_texts(texts)
    linked = {other: _relinked(merged.text(other), sources, path) for other in merged.paths}
    operation = Operation("merge", path, text=_summary(proposal), merged=tuple(sources))
    return DraftChange(merged.with_texts(linked), operation, _brought(proposal, olds), [_summary(proposal)])


def _line(draft: Draft, path: str, old: str) -> tuple[int, str]:
    """Return number and words of the line that `old` names. Raises RefusedOperation."""
    lines = facts_of(draft.text(path))
    found = [(number, line) for number, line in lines if compared(line) == compared(old)]
    found = found or [(number, line) for number, line in lines if compared(without_speaker(line)) == compared(old)]
    if not found:
        raise RefusedOperation(
            "missing", f"No line of {path.rpartition('/')[2]} says {old[:80]!r}. Give it word for word."
        )
    return found[-1]


def _dated(path: str, fact: str, day: date) -> str:
    """Return a fact with its date behind it, in MEMORY.md and unless it ends in a date."""
    is_dated = path.rpartition("/")[2] != MEMORY or _DATED.search(fact)
    return fact if is_dated else f"{fact} ({day.isoformat()})"


def _appended(text: str, line: str) -> str:
    """Return a text with a line at its end: right below other bullets, apart from anything else."""
    end = newline_of(text)
    above = text.rstrip()
    is_list = above and above.splitlines()[-1].lstrip().startswith(("- ", "* ", "+ "))
    gap = "" if not above else end if is_list else end * 2
    return f"{above}{gap}{line}{end}"


def _touched(draft: Draft, path: str, text: str, day: date) -> str:
    return touched(text, day.isoformat()) if draft.places.is_note(path) else text


def _note(proposal: Proposal, path: str, old: str, day: date) -> str:
    name = note_name(path)
    kind = " ".join(proposal.type.split()) or field_of(old, "type") or "note"
    return note_text(old, body_of(proposal.text), name=name, kind=kind, summary=_summary(proposal), day=day.isoformat())


def _summary(proposal: Proposal) -> str:
    return " ".join(proposal.summary.split())


def _brought(proposal: Proposal, olds: Sequence[str]) -> list[str]:
    """Return the lines that a note has now and none of these texts had."""
    before = {line.strip() for old in olds for line in old.splitlines()}
    lines = [line.strip() for line in body_of(proposal.text).splitlines()]
    return [line for line in lines if line and line not in before]


def _relinked(text: str, gone: Sequence[str], to: str) -> str:
    new = note_name(to)
    for path in gone:
        name = re.escape(note_name(path))
        text = re.sub(rf"\[\[\s*{name}\s*(?=[\]|#])", f"[[{new}", text)
        text = re.sub(rf"(\bto:\s*){name}(?=\s*[,}}\n])", rf"\g<1>{new}", text)
    return text


# Limits on what an operation takes away.


_REWORDED = 0.5
_OVERLAPPING = 0.5


def check_share(draft: Draft, paths: Iterable[str], share: float) -> None:
    """Raise RefusedOperation if more of a file is gone, and not replaced, than this share; one line always may."""
    for path in paths:
        before = facts_of(draft.before.get(path, ""))
        after = [line for _, line in facts_of(draft.text(path))]
        _check([line for _, line in before], after, share, path, draft.replaced_in(path))


def check_merge(draft: Draft, sources: Sequence[str], merged: str, share: float) -> None:
    """Raise RefusedOperation if the notes to merge contradict each other, or too much of them would be lost."""
    lines = {source: _statements(draft.text(source)) for source in sources}
    for place, source in enumerate(sources):
        for other in sources[place + 1 :]:
            _check_agreement(lines[source], lines[other])
    both = [line for source in sources for _, line in facts_of(draft.text(source))]
    _check(both, [line for _, line in facts_of(merged)], share, " and ".join(sources))


def _check_agreement(lines: Sequence[str], others: Sequence[str]) -> None:
    for one in lines:
        for other in others:
            if overlap(one, other) >= _OVERLAPPING and (kind := difference(one, other)):
                raise RefusedOperation(
                    "differs", f"Not to be merged: {one[:80]!r} and {other[:80]!r} differ in a {kind}. Leave both."
                )


def _statements(text: str) -> list[str]:
    return [*filter(None, [field_of(text, "summary")]), *(bare(line) for _, line in facts_of(text))]


def _check(
    before: Sequence[str], after: Sequence[str], share: float, name: str, replaced: frozenset[str] = frozenset()
) -> None:
    kept = {compared(line) for line in after}
    gained = [line for line in after if compared(line) not in {compared(old) for old in before}]
    gone = 0
    for line in before:
        if compared(line) in kept or compared(line) in replaced:
            continue
        reworded = next((new for new in gained if overlap(line, new) >= _REWORDED), None)
        if reworded is None:
            gone += 1
        else:
            gained.remove(reworded)
    if gone > max(1, int(share * len(before))):
        raise RefusedOperation(
            "share", f"That would remove too much of {name}: {gone} of {len(before)} lines. Keep the others."
        )

"""What becomes of a draft by one operation, if it may be done."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from nanobot.memory.alike import difference
from nanobot.memory.commits import Operation
from nanobot.memory.dream.draft import Draft
from nanobot.memory.dream.head import body_of, facts_of, field_of, note_text, touched
from nanobot.memory.dream.proposals import Proposal
from nanobot.memory.dream.refused import Refused
from nanobot.memory.facts import bare, compared, with_fact, without_speaker
from nanobot.memory.files import MEMORY
from nanobot.memory.index import lines_of, newline_of
from nanobot.memory.recall.words import is_stop, words_of

_DATED = re.compile(r"\d{4}-\d{2}-\d{2}\)?[.。]?$")
_PREFIX = re.compile(r"\s*(?:[-*+•]\s+|\d+[.)]\s+)?")
_TITLES = {"USER.md": "# The user", "MEMORY.md": "# Memory"}


@dataclass(frozen=True)
class Change:
    """The draft after an operation. `operation` is as the commit will tell it, without its evidence.

    `brought` are the texts that were not there before, `titles` what the model calls them. If `known` is a line, it
    says that already and nothing changes.
    """

    draft: Draft
    operation: Operation
    brought: Sequence[str] = ()
    titles: Sequence[str] = ()
    known: str = ""


def apply(proposal: Proposal, draft: Draft, day: date) -> Change:
    """Carry out a proposal on a draft; `day` is when its evidence is from. Raises Refused."""
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
            return Change(draft.with_texts({path: None}), Operation("delete", path, text=summary))


def known(draft: Draft, fact: str, *, but: str = "") -> tuple[str, str] | None:
    """Where a fact stands already, path and line, if only in a slightly other form; `but` is not looked at."""
    for path in draft.paths:
        for _, line in facts_of(draft.text(path)):
            if compared(line) != compared(but) and is_same(line, fact):
                return path, line
    return None


def is_same(one: str, other: str) -> bool:
    """Whether two lines say the same in the same words, whoever is told to have said it; small words do not count,
    unless they negate.
    """
    if compared(one) == compared(other):
        return True
    mine, yours = without_speaker(one), without_speaker(other)
    words = _told(mine)
    return len(words) > 1 and words == _told(yours) and difference(mine, yours) is None


def _told(text: str) -> list[str]:
    return [word for word in words_of(text) if not is_stop(word)]


def _add(proposal: Proposal, draft: Draft, day: date) -> Change:
    path = draft.file(proposal.file)
    fact = bare(proposal.text)
    operation = Operation("add", path, text=fact)
    if found := known(draft, fact):
        return Change(draft, replace(operation, file=found[0], text=bare(found[1])), known=found[1])
    text = draft.text(path)
    line = f"- {_dated(path, fact, day)}"
    name = path.rpartition("/")[2]
    if name == MEMORY or proposal.section:
        title = f"{_TITLES.get(name, '')}\n\n" if not text.strip() and name in _TITLES else ""
        after = with_fact(title + text, line, " ".join(proposal.section.split()).lstrip("# "))
    else:
        after = _appended(text or f"{_TITLES.get(name, '')}\n", line)
    return Change(draft.with_texts({path: _touched(draft, path, after, day)}), operation, [fact], [proposal.section])


def _replace(proposal: Proposal, draft: Draft, day: date) -> Change:
    path = draft.file(proposal.file)
    number, old = _line(draft, path, proposal.old)
    fact = bare(proposal.text)
    operation = Operation("replace", path, text=fact, before=bare(old))
    if compared(old) == compared(fact):
        return Change(draft, operation, known=old)
    if known(draft, fact, but=old):  # what it shall become is there already: the old line is all that is too much
        return _without(draft, path, number, old, day)
    lines = lines_of(draft.text(path))
    raw = lines[number]
    prefix = _PREFIX.match(raw)
    end = raw[len(raw.rstrip("\r\n")) :]
    lines[number] = f"{prefix[0] if prefix else ''}{_dated(path, fact, day)}{end}"
    after = draft.with_texts({path: _touched(draft, path, "".join(lines), day)}).with_replaced(path, old, fact)
    return Change(after, operation, [fact])


def _remove(proposal: Proposal, draft: Draft, day: date) -> Change:
    path = draft.file(proposal.file)
    number, old = _line(draft, path, proposal.old)
    return _without(draft, path, number, old, day)


def _without(draft: Draft, path: str, number: int, old: str, day: date) -> Change:
    lines = lines_of(draft.text(path))
    del lines[number]
    after = _touched(draft, path, "".join(lines), day)
    return Change(draft.with_texts({path: after}), Operation("remove", path, text=bare(old)))


def _write(proposal: Proposal, draft: Draft, day: date) -> Change:
    path = draft.new_note(proposal.file)
    old = draft.text(path)
    after = _note(proposal, path, old, day)
    operation = Operation("write", path, text=_summary(proposal))
    if touched(old, "") == touched(after, ""):
        return Change(draft, operation, known=path)
    return Change(draft.with_texts({path: after}), operation, _brought(proposal, [old]), [_summary(proposal)])


def _merge(proposal: Proposal, draft: Draft, day: date) -> Change:
    sources = list(dict.fromkeys(draft.note(name) for name in proposal.notes))
    if len(sources) < 2:
        raise Refused("target", "merge needs at least two notes that exist.")
    path = draft.new_note(proposal.file)
    if path in draft.notes and path not in sources:
        raise Refused("target", f"{proposal.file} is a note of its own; name it in notes, too, or choose a new name.")
    olds = [draft.text(source) for source in sources]
    texts: dict[str, str | None] = dict.fromkeys(sources)
    texts[path] = _note(proposal, path, draft.text(path), day)
    merged = draft.with_texts(texts)
    linked = {other: _relinked(merged.text(other), sources, path) for other in merged.paths}
    operation = Operation("merge", path, text=_summary(proposal), merged=tuple(sources))
    return Change(merged.with_texts(linked), operation, _brought(proposal, olds), [_summary(proposal)])


def _line(draft: Draft, path: str, old: str) -> tuple[int, str]:
    """The number and the words of the line that is meant. Raises Refused."""
    lines = facts_of(draft.text(path))
    found = [(number, line) for number, line in lines if compared(line) == compared(old)]
    found = found or [(number, line) for number, line in lines if compared(without_speaker(line)) == compared(old)]
    if not found:
        raise Refused("missing", f"No line of {path.rpartition('/')[2]} says {old[:80]!r}. Give it word for word.")
    return found[-1]


def _dated(path: str, fact: str, day: date) -> str:
    """A fact of MEMORY.md tells since when it is known, unless it names a date at its end by itself."""
    is_dated = path.rpartition("/")[2] != MEMORY or _DATED.search(fact)
    return fact if is_dated else f"{fact} ({day.isoformat()})"


def _appended(text: str, line: str) -> str:
    """The text with a line at its end: right below other bullets, apart from anything else."""
    end = newline_of(text)
    above = text.rstrip()
    is_list = above and above.splitlines()[-1].lstrip().startswith(("- ", "* ", "+ "))
    gap = "" if not above else end if is_list else end * 2
    return f"{above}{gap}{line}{end}"


def _touched(draft: Draft, path: str, text: str, day: date) -> str:
    return touched(text, day.isoformat()) if draft.places.is_note(path) else text


def _note(proposal: Proposal, path: str, old: str, day: date) -> str:
    name = path.rpartition("/")[2].removesuffix(".md")
    kind = " ".join(proposal.type.split()) or field_of(old, "type") or "note"
    return note_text(old, body_of(proposal.text), name=name, kind=kind, summary=_summary(proposal), day=day.isoformat())


def _summary(proposal: Proposal) -> str:
    return " ".join(proposal.summary.split())


def _brought(proposal: Proposal, olds: Sequence[str]) -> list[str]:
    """What a note says now and none of these said."""
    before = {line.strip() for old in olds for line in old.splitlines()}
    lines = [line.strip() for line in body_of(proposal.text).splitlines()]
    return [line for line in lines if line and line not in before]


def _relinked(text: str, gone: Sequence[str], to: str) -> str:
    new = to.rpartition("/")[2].removesuffix(".md")
    for path in gone:
        name = re.escape(path.rpartition("/")[2].removesuffix(".md"))
        text = re.sub(rf"\[\[\s*{name}\s*(?=[\]|#])", f"[[{new}", text)
        text = re.sub(rf"(\bto:\s*){name}(?=\s*[,}}\n])", rf"\g<1>{new}", text)
    return text

"""Facts: lines of MEMORY.md that somebody asked to remember, and what a change of files adds, alters or removes."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import zip_longest
from typing import Literal

from nanobot.authority import Role
from nanobot.errors import VersionError
from nanobot.i18n import LANGUAGES, Language, language_of, say
from nanobot.memory.changes import ChangeRequest, Commit, Operation, VersionedWriter
from nanobot.memory.markdown import facts_of, field_of, headings, lines_of, newline_of, split, without_index
from nanobot.memory.notes import Notebook
from nanobot.memory_files import FACT_FILES
from nanobot.nlp.secrets import SecretKind, refusal
from nanobot.ports import Clock, Edit, MemoryStore
from nanobot.text import as_name, cleaned, is_utf16

# Facts in MEMORY.md that somebody asked to remember.


MOST = 2000
"""Characters of one fact; more is a note."""

Outcome = Literal["saved", "known", "secret", "too_long", "nothing"]

_TRIES = 5

_DATE = re.compile(r" \(\d{4}-\d{2}-\d{2}\)$")
_BULLET = re.compile(r"^(?:[-*+•](?:\s+|$))+")
_QUOTES = str.maketrans("“”„«»「」", "‘’‚‹›‘’")  # within those in which a line tells of somebody's words


@dataclass(frozen=True, slots=True)
class RememberOutcome:
    """Outcome of a request to remember something.

    saved     `line` stands in MEMORY.md now; `in_view` is False if the file is too long for the prompt to reach it
    known     it was there already, as `line`
    secret    refused: the text holds a secret of this kind
    too_long  refused: longer than MOST characters
    nothing   there was nothing in it
    """

    outcome: Outcome
    line: str = ""
    secret: SecretKind | None = None
    in_view: bool = True

    @property
    def done(self) -> bool:
        """True if it is remembered now."""
        return self.outcome in ("saved", "known")

    def told(self, language: Language) -> str:
        """Return the outcome as a sentence."""
        fact = self.line.removeprefix("- ")
        if self.outcome == "saved" and not self.in_view:
            return say("memory.saved_out_of_view", language, line=fact)
        kind = say(f"memory.secret_{self.secret}", language) if self.secret else ""
        return say(f"memory.{self.outcome}", language, line=fact, kind=kind, most=MOST)


class Facts:
    """Writes down what a person asked to remember, in their own words, at once and without a model."""

    def __init__(
        self,
        store: MemoryStore,
        notebook: Notebook,
        clock: Clock,
        *,
        budget: int,
        writer: VersionedWriter | None = None,
    ) -> None:
        """`budget`: bytes of MEMORY.md in the prompt. Without `writer` no versions are made."""
        self._store = store
        self._notebook = notebook
        self._clock = clock
        self._budget = budget
        self._writer = writer

    async def remember(self, text: str, asked: ChangeRequest) -> RememberOutcome:
        """Save a fact as a line of MEMORY.md, unless it is a secret. Raises StoreError; then nothing changed.

        In the memory of a group it says who said so, unless that is an owner.
        """
        if len(text.strip()) > MOST:  # first, since the guard takes its time over a long text
            return RememberOutcome("too_long")
        fact = await asyncio.to_thread(_fact, text)
        if isinstance(fact, RememberOutcome):
            return fact
        fact = _by(asked, fact)
        if self._writer and (remembered := await self._keep(fact, asked, self._writer)):
            return remembered
        return await asyncio.to_thread(self._save, fact)

    async def _keep(self, fact: str, asked: ChangeRequest, writer: VersionedWriter) -> RememberOutcome | None:
        """Save it as a version of its own; None if that cannot be done."""
        path, line = f"{self._notebook.folder}/{self._store.path.name}", self._line(fact)
        evidence = await writer.evidence(asked)
        commit = Commit(
            kind="remember",
            subject=f"Remembered in {path}",
            operations=(Operation("add", path, text=fact, messages=evidence.messages),),
            scopes=(asked.authority.scope.name,),
            origin=evidence.origin,
            turn=asked.turn,
        )
        for _ in range(_TRIES):
            before = await writer.read(path)
            memory = _memory(before)
            if memory is None:
                return None
            if known := known_line(memory, fact):
                return await asyncio.to_thread(self._written, "known", known)
            after = with_fact(memory, line).encode("utf-8", "surrogateescape")
            try:
                if not await writer.keep({path: Edit(before, after)}, commit):
                    return None
            except VersionError:  # somebody else changed it meanwhile
                continue
            return await asyncio.to_thread(self._written, "saved", line)
        return None

    def _save(self, fact: str) -> RememberOutcome:
        line = self._line(fact)
        known: str | None = None

        def edit(memory: str) -> str:
            nonlocal known
            known = known_line(memory, fact)
            return memory if known else with_fact(memory, line)

        self._store.change(edit)
        return self._written("known", known) if known else self._written("saved", line)

    def _line(self, fact: str) -> str:
        return f"- {fact} ({self._clock.now().date().isoformat()})"

    def _written(self, outcome: Outcome, line: str) -> RememberOutcome:
        self._notebook.update()
        in_view = outcome == "known" or line in self._notebook.section(self._budget).text
        return RememberOutcome(outcome, line=line, in_view=in_view)


def _fact(text: str) -> str | RememberOutcome:
    """The words to write down, or why they are not. Takes about 1 ms for 2,000 characters."""
    fact = _one_line(text)
    if not fact:
        return RememberOutcome("nothing")
    if secret := refusal(text) or refusal(fact):  # lines may hide a secret, and may make one
        return RememberOutcome("secret", secret=secret)
    return fact


def _by(asked: ChangeRequest, fact: str) -> str:
    """A fact with who said it, where several speak and it is not an owner."""
    if not asked.authority.scope.is_group or asked.authority.role is Role.OWNER:
        return fact
    return told_by(as_name(asked.name) or asked.person, fact)


def told_by(name: str, words: str) -> str:
    """Return a line that tells who said what, in the language of the words; without a name, that somebody else did."""
    words = words.translate(_QUOTES)
    language = language_of(words)
    return say("memory.told_by", language, name=name or say("memory.somebody", language), words=words)


@cache
def _told_by() -> re.Pattern[str]:
    told = [re.escape(say("memory.told_by", language, name="\0", words="\1")) for language in LANGUAGES]
    forms = (form.replace(re.escape("\0"), ".{1,90}").replace(re.escape("\1"), "(.*)") for form in told)
    return re.compile("|".join(forms))


def is_told_of_others(line: str) -> bool:
    """Return whether a line tells who said what."""
    return _told_by().fullmatch(bare(line)) is not None


def without_speaker(line: str) -> str:
    """Return the words of a line, without its bullet, its date and who said them."""
    told = _told_by().fullmatch(bare(line))
    return next(words for words in told.groups() if words is not None) if told else bare(line)


def _memory(data: bytes | None) -> str | None:
    """The text of the file; None if it is not written in UTF-8."""
    if data is not None and (is_utf16(data) or b"\0" in data):
        return None
    return (data or b"").decode("utf-8", "surrogateescape")


def known_line(memory: str, fact: str) -> str | None:
    """The line that says exactly this already; case, blanks, a full stop and the date of the line do not count."""
    wanted = compared(fact)
    bullets = filter(_BULLET.match, map(str.strip, without_index(memory).split("\n")))
    return next((line for line in bullets if compared(line) == wanted), None)


def with_fact(memory: str, line: str, heading: str = "") -> str:
    """MEMORY.md, or a file like it, with one more line at the end of a section; all else stays, to the byte.

    Without a `heading` it is the one for facts that nobody gave a section, in the language of its first one.
    """
    newline = newline_of(memory)
    above, index = split(memory)
    lines = lines_of(above)
    heading = heading or _usual_heading(lines, line)
    section = _section(lines, heading)
    at = _behind_text(lines[: section.stop] if section else lines)
    new = f"{line}{newline}"
    if section is None:
        new = f"{newline if at else f'# Memory{newline}{newline}'}## {heading}{newline}{new}"
    before = "".join(lines[:at])
    gap = newline if before and not before.endswith("\n") else ""
    return f"{before}{gap}{new}{''.join(lines[at:])}{index}"


def _usual_heading(lines: Sequence[str], line: str) -> str:
    usual = {language: say("memory.heading", language) for language in LANGUAGES}
    return next((heading for heading in usual.values() if _section(lines, heading)), usual[language_of(line)])


def _section(lines: Sequence[str], title: str) -> range | None:
    """The lines of the section with this title, its heading included."""
    found = list(enumerate(headings([line.rstrip("\r\n") for line in lines])))
    for start, heading in found:
        if heading and heading.title.casefold() == title.casefold():
            following = (number for number, other in found[start + 1 :] if other and other.level <= heading.level)
            return range(start, next(following, len(lines)))
    return None


def _behind_text(lines: Sequence[str]) -> int:
    """The place behind the last line that is not blank."""
    return next((number for number in range(len(lines), 0, -1) if lines[number - 1].strip()), 0)


def _one_line(text: str) -> str:
    """The words as one line without a bullet in front: the line has its own."""
    return _BULLET.sub("", " ".join(cleaned(text).split()), 1)


def compared(line: str) -> str:
    """Return the key of a fact: its words without bullet, day of the line, case and full stop."""
    return " ".join(bare(line).casefold().split()).rstrip(".。!！")


def bare(line: str) -> str:
    """The words of a line, without its bullet and its date."""
    return _DATE.sub("", _BULLET.sub("", line.strip(), 1))


# Operations that a change of files amounts to.


def operations(edits: Mapping[str, Edit], messages: tuple[str, ...]) -> tuple[Operation, ...]:
    """Operations of the edits: one a fact in files of facts, one for each other file; all rest on these messages."""
    return tuple(operation for path, edit in edits.items() for operation in _operations(path, edit, messages))


def lines_brought(before: bytes | None, after: bytes | None) -> Sequence[str]:
    """The lines that say something in the one content and do not stand in the other."""
    known = {compared(line) for line in facts_in(before)}
    return [line for line in facts_in(after) if compared(line) not in known]


def facts_in(data: bytes | None) -> Sequence[str]:
    """The lines of a file that say something."""
    return [] if data is None or is_utf16(data) else [line for _, line in facts_of(_text(data))]


def _operations(path: str, edit: Edit, messages: tuple[str, ...]) -> Iterator[Operation]:
    if path.rpartition("/")[2] in FACT_FILES:
        yield from _of_facts(path, edit, messages)
    elif edit.after is None:
        yield Operation("delete", path, text=field_of(_text(edit.before or b""), "summary"), messages=messages)
    else:
        yield Operation("write", path, text=field_of(_text(edit.after), "summary"), messages=messages)


def _of_facts(path: str, edit: Edit, messages: tuple[str, ...]) -> Iterator[Operation]:
    old, new = facts_in(edit.before), facts_in(edit.after)
    matcher = SequenceMatcher(None, [compared(line) for line in old], [compared(line) for line in new], autojunk=False)
    for _, start, stop, begin, end in (code for code in matcher.get_opcodes() if code[0] != "equal"):
        for gone, come in zip_longest(old[start:stop], new[begin:end]):
            if gone is None:
                yield Operation("add", path, text=bare(come), messages=messages)
            elif come is None:
                yield Operation("remove", path, text=bare(gone), messages=messages)
            else:
                yield Operation("replace", path, text=bare(come), before=bare(gone), messages=messages)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")

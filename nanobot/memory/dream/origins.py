"""Whose words may say what: what is remembered as so rests on the words of those whose memory it is."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from nanobot.memory.alike import content_words
from nanobot.memory.dream.editing import Change
from nanobot.memory.dream.evidence import Evidence
from nanobot.memory.dream.head import facts_of
from nanobot.memory.dream.proposals import Proposal
from nanobot.memory.dream.refused import Refused
from nanobot.memory.facts import is_told_of_others, told_by
from nanobot.memory.files import MEMORY
from nanobot.memory.own_words import is_plain_title, speaks_for
from nanobot.memory.recall.words import is_stop, words_of

_SAID_BY = re.compile(r"(?P<by>.{1,80}?)(?: (?:said|says|wrote|writes)|说|說|写道)\s?[:：,，]\s?(?P<text>\S.*)")
_LABEL = re.compile(r"\w+")
_LONGEST_HAN_LABEL = 2
_FEWEST, _SMALL = 3, 1 / 4
_HAN = re.compile("[\u3400-\u9fff]")


def worded(proposal: Proposal, change: Change, evidence: Evidence | None) -> Proposal:
    """Return a proposal as it may be carried out: what only others say is told as what they said.

    `change` is what it comes to as it is. Without evidence it tidies up, and may say what is there already. Raises
    Refused for what nobody said, for what was said the other way round, and for what somebody else said in a file
    that tells what is so.
    """
    grounds = _grounds(change, evidence)
    match proposal.do:
        case "add" | "replace":
            if not any(map(str.isalnum, proposal.text)):
                raise Refused("unsupported", "It says nothing. Leave it out.")
            section = proposal.section if grounds.may_head(proposal.section, change) else ""
            return replace(proposal, text=grounds.line(proposal.text), section=section)
        case "write" | "merge":
            return _worded_note(proposal, change, grounds)
        case "remove" | "drop":
            if evidence is not None:
                grounds.check_gone(change.operation.text)
            return proposal


@dataclass(frozen=True)
class _Grounds:
    """What a change may rest on. `others` is what may be told as theirs, where `may_quote`."""

    said: str
    evidence: Evidence | None
    others: Sequence[tuple[str, str]]
    may_quote: bool

    def line(self, text: str) -> str:
        """Return a line as it may stand there. Raises Refused."""
        if self.speak_for(text):
            return text
        found = _SAID_BY.fullmatch(text.strip())
        body, by = (found["text"].strip(' “”"「」'), found["by"].casefold()) if found else (text.strip(), "")
        ranked = sorted(self.others, key=lambda one: one[0].casefold() != by)
        name = next((name for name, said in ranked if speaks_for(said, body)), None)
        if name is not None and self.may_quote:
            return told_by(name, body)
        if name is not None:
            raise Refused("origin", f"Nobody whose memory this is said {text[:80]!r}, but somebody else. Leave it out.")
        raise Refused("unsupported", f"What it rests on does not say: {text[:80]!r}. Leave it out.")

    def speak_for(self, text: str) -> bool:
        """Whether own words say so. Across languages that cannot be told: then there must be nothing but such words."""
        if speaks_for(self.said, text, self.evidence.names if self.evidence else ()):
            return True
        return bool(self.evidence and self.evidence.is_pure and _is_translated(text, self.evidence.own_words))

    def may_head(self, title: str, change: Change) -> bool:
        """Whether this may be a heading: a word, or what was said, or there already."""
        before = change.draft.before.get(change.operation.file, "")
        is_there = any(line.lstrip("# ").strip() == title for line in before.splitlines() if line.startswith("#"))
        return is_there or _is_label(title) or is_plain_title(title) or self.speak_for(title)

    def check_gone(self, text: str) -> None:
        """Raise Refused unless own words speak of what is to go."""
        evidence = self.evidence
        if evidence is None or not evidence.own:
            raise Refused("origin", "Nobody whose memory this is said so. Leave it as it is.")
        words = "\n".join(one.text for one in evidence.spoken) or evidence.own_words
        is_translated = evidence.is_pure and _is_translated(text, words)
        if content_words(text).isdisjoint(content_words(words)) and not is_translated:
            raise Refused("unsupported", f"What it rests on says nothing of {text[:80]!r}. Leave it as it is.")


def _grounds(change: Change, evidence: Evidence | None) -> _Grounds:
    operation, places = change.operation, change.draft.places
    said = evidence.own_words if evidence else ""
    if operation.verb in ("write", "merge"):
        before = (change.draft.before.get(path, "") for path in (operation.file, *operation.merged))
        said = "\n".join([said, *_own_lines(before)])
    members, others = (evidence.members, evidence.others) if evidence else ((), ())
    is_note, is_list = places.is_note(operation.file), operation.file == places.fixed[MEMORY]
    quotable = members if is_list and places.scope.is_group else (*members, *others)
    return _Grounds(said, evidence, quotable, is_note or (is_list and places.scope.is_group))


def _own_lines(texts: Iterable[str]) -> Iterator[str]:
    """What notes say themselves, without what they tell of others."""
    yield from (line for text in texts for _, line in facts_of(text) if not is_told_of_others(line))


def _worded_note(proposal: Proposal, change: Change, grounds: _Grounds) -> Proposal:
    """A note of which each new line is borne out; what the list of notes shows of it is, too."""
    new = set(change.brought)
    lines = [_note_line(line, change, grounds) if line.strip() in new else line for line in proposal.text.split("\n")]
    name = re.sub(r"[-_]+", " ", proposal.file.rpartition("/")[2].removesuffix(".md"))
    is_new = change.operation.file not in change.draft.before
    own = replace(grounds, said="\n".join([grounds.said, *_own_lines(["\n".join(lines)])]))
    if is_new and not (_is_label(name) or own.speak_for(name)):
        raise Refused("unsupported", f"{name!r} is no name for a note: use one word of theirs.")
    summary = proposal.summary if own.speak_for(proposal.summary) else _summary(lines)
    return replace(proposal, text="\n".join(lines), summary=summary, type=_kind(proposal.type))


def _note_line(line: str, change: Change, grounds: _Grounds) -> str:
    if not line.lstrip().startswith("#"):
        marks = re.match(r"\s*(?:[-*+•]\s+|\d+[.)]\s+)?", line)
        prefix = marks[0] if marks else ""
        return f"{prefix}{grounds.line(line[len(prefix) :])}"
    title = line.strip("# \t")
    if not grounds.may_head(title, change):
        raise Refused("unsupported", f"Nobody said {title[:80]!r}: leave the heading out, or use one word.")
    return line


def _summary(lines: Iterable[str]) -> str:
    """What a note is about if the model's words for it are not borne out: what somebody whose it is said first."""
    own = (line.strip(" -*#") for line in lines if line.strip() and not line.lstrip().startswith("#"))
    first = next((line for line in own if not is_told_of_others(line)), "")
    if first:
        return first[:100]
    return "别人说的话" if _HAN.search("".join(lines)) else "what others said"


def _kind(kind: str) -> str:
    """One word."""
    return kind if _is_label(kind) else ""


def _is_label(text: str) -> bool:
    """Whether it names something, and says nothing: one word."""
    words = _LABEL.findall(text)
    return len(words) <= 1 and len(_HAN.findall(text)) <= _LONGEST_HAN_LABEL


def _is_translated(text: str, said: str) -> bool:
    """Whether two texts are evidently of different languages: not a word but names is in both."""
    mine, other = _script(text), _script(said)
    if mine != other or mine != "LATIN":
        return bool(mine and other) and mine != other
    if min(len(text.split()), len(said.split())) < _FEWEST or _is_english(text) == _is_english(said):
        return False
    shared = content_words(text) & content_words(said)
    return all(word.isdigit() or re.search(rf"\b{word.capitalize()}", text) for word in shared)  # names stay


def _script(text: str) -> str:
    """The script of most of its letters."""
    scripts = Counter(unicodedata.name(char, "?").partition(" ")[0] for char in text[:2000] if char.isalpha())
    return max(scripts, key=lambda name: scripts[name], default="")


def _is_english(text: str) -> bool:
    """Whether many of its words are those of which English is full."""
    words = words_of(text)
    return sum(is_stop(word) for word in words) >= _SMALL * len(words)

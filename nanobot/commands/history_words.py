"""Sentences about the history of memory."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import PurePosixPath
from typing import get_args

from nanobot.commands.history import (
    MOST_CHOICES,
    MOST_LISTED,
    HistoryChoice,
    HistoryLog,
    HistoryProblem,
    HistoryRequester,
    Result,
    ShownVersion,
    Written,
)
from nanobot.core.commands import CommandAnswer
from nanobot.memory.changes import Operation, patch
from nanobot.memory.dream.report import told_operation
from nanobot.memory.facts import bare
from nanobot.memory.history import RevertReceipt, TimelineEntry, owned
from nanobot.memory.markdown import without_comments
from nanobot.memory.provenance import QuotedEvidence, QuotedMessage, Why
from nanobot.messages import Button
from nanobot.ports import FileDiff
from nanobot.text import as_name, as_speaker, cleaned, code_block, parse_time, truncate

MOST_OPERATIONS = 3
"""Told of each version in a list."""

MOST_QUOTED = 5
LONGEST_QUOTE = 400
LONGEST_LINE = 160
LONGEST_LABEL = 60
MOST_OF_DIFF = 3000
"""Characters; a phone's screen holds some 800."""

_NAMELESS = ("card", "piped")
"""How a text comes along that is nobody's in particular."""

_BULLET = re.compile(r"^([+-])\s*[-*+]\s+")
"""How a line begins that came or went and stands in a list: "+- the roses are red"."""

_SIGNS: Mapping[str, str] = {"add": "+", "remove": "−", "delete": "−"}
_SHORT = 7  # digits of an id, as people know it from git


def told(result: Result, asking: HistoryRequester) -> CommandAnswer:
    """Return the result of a history action in words."""
    match result:
        case HistoryProblem(kind, detail):
            return CommandAnswer(_trouble(kind, detail, asking), failed=True)
        case Why():
            return CommandAnswer("\n".join(_why(result, asking)))
        case HistoryChoice():
            return _choice(result, asking)
        case HistoryLog():
            return CommandAnswer("\n".join(_log(result, asking)))
        case ShownVersion(entry, diffs):
            return CommandAnswer("\n".join([*_renamed(entry, asking), *_shown(entry, diffs, asking)]))
        case RevertReceipt(target=target):
            rows = [*_renamed(target, asking), *_receipt(result, asking)]
            return CommandAnswer("\n".join(rows), failed=not result.version)


def _trouble(kind: str, detail: str, asking: HistoryRequester) -> str:
    commands = {action: asking.command(action) for action in get_args(Written)}
    return asking.say(kind, detail=_cut(cleaned(detail), LONGEST_LINE), **commands)


def _renamed(entry: TimelineEntry, asking: HistoryRequester) -> Iterator[str]:
    """Return the sentence about a version whose number changed since it was typed."""
    if not entry.version.id.startswith(asking.typed.casefold()):
        yield asking.say("renamed", typed=_cut(cleaned(asking.typed), _SHORT + 1), version=_id(entry))


def _why(why: Why, asking: HistoryRequester) -> Iterator[str]:
    yield asking.say("line", line=_short(bare(why.line.text)), file=why.line.path)
    if why.back:
        yield asking.say(f"back_{why.back.kind}", at=_at(why.back), version=_id(why.back))
    if why.entry is None:
        yield asking.say("origin_before" if why.back else "origin_unknown")
        return
    yield asking.say(f"origin_{why.entry.kind}", at=_at(why.entry), version=_id(why.entry))
    if why.operation and why.operation.merged:
        yield asking.say("merged", files=", ".join(map(_name, why.operation.merged)))
    yield from _quotations(why.evidence, asking)
    if not (why.evidence.said or why.evidence.gone) and why.entry.kind in ("dream", "remember", "tool"):
        yield asking.say("rests_on_nothing")


def _quotations(evidence: QuotedEvidence, asking: HistoryRequester) -> Iterator[str]:
    said = evidence.said
    if said:
        yield asking.say("rests")
    for one in said[:MOST_QUOTED]:
        yield ""
        yield from _quoted(one, asking)
    if len(said) > MOST_QUOTED:
        yield asking.say("more", count=len(said) - MOST_QUOTED)
    if evidence.gone:
        yield asking.say("gone", count=evidence.gone)


def _quoted(said: QuotedMessage, asking: HistoryRequester) -> Iterator[str]:
    """Return a quotation with its author."""
    who = as_name(said.speaker) or asking.say({"answer": "by_bot", "result": "by_tool"}.get(said.how, "by_you"))
    sentence = f"from_{said.how}" if said.how in ("summary", "command") else "from_message"
    if said.quoted:
        sentence = f"quoted_{said.quoted}" if said.by or said.quoted in _NAMELESS else f"quoted_{said.quoted}_unnamed"
    yield asking.say(sentence, who=who, at=_time(said.at), session=said.session, by=as_speaker(said.by))
    text = _cut(cleaned(said.text), LONGEST_QUOTE)
    yield f"> {text}"


def _choice(choice: HistoryChoice, asking: HistoryRequester) -> CommandAnswer:
    if choice.lines:
        lines = choice.lines[:MOST_CHOICES]
        rows = [
            f"- {_short(bare(line.text))} ({_name(line.path)}): {asking.command('why', line.name)}" for line in lines
        ]
        if len(choice.lines) > len(lines):
            rows.append(asking.say("more_lines", count=len(choice.lines) - len(lines)))
        buttons = [_button(bare(line.text), asking.command("why", line.name)) for line in lines]
        return CommandAnswer("\n".join([asking.say("which_line"), *rows]), buttons)
    rows = [] if asking.chooses else [row for entry in choice.entries for row in _listed(entry, asking)]
    buttons = [
        _button(f"{_at(entry)} · {_id(entry)} · {_first(entry, asking)}", asking.command("restore", _id(entry)))
        for entry in choice.entries
    ]
    leave = asking.command("restore", "no")
    text = "\n".join(
        [asking.say("which_version", restore=asking.command("restore"), number=_id(choice.entries[0])), *rows]
    )
    return CommandAnswer(text, [*buttons, Button(asking.say("leave"), leave)], no=leave)


def _log(log: HistoryLog, asking: HistoryRequester) -> Iterator[str]:
    if not log.entries:
        yield asking.say("no_versions")
        return
    yield asking.say("latest")
    for entry in log.entries:
        yield from _listed(entry, asking)
    if log.is_cut:
        yield f"- {asking.say('older', log=asking.command('log'), count=MOST_LISTED)}"
    yield ""  # else it belongs to the last of them
    newest = _id(log.entries[0])
    yield asking.say("log_more", log=asking.command("log"), undo=asking.command("undo"), number=newest)


def _listed(entry: TimelineEntry, asking: HistoryRequester) -> Iterator[str]:
    """A version in a list: what it is, and the most of what it did."""
    yield f"- `{_id(entry)}` {_at(entry)} · {_kind(entry, asking)}"
    rows = _did(entry, asking)
    yield from (f"  - {row}" for row in rows[:MOST_OPERATIONS])
    if len(rows) > MOST_OPERATIONS:
        yield f"  - {asking.say('more', count=len(rows) - MOST_OPERATIONS)}"


def _did(entry: TimelineEntry, asking: HistoryRequester) -> Sequence[str]:
    """Return the effect of a version, a line each: its operations, or its files where the message names none."""
    operations = _operations(entry)
    if not operations:
        return [", ".join(map(_name, entry.paths[:10]))]
    return [_short(told_operation(operation, asking.language)) for operation in operations]


def _first(entry: TimelineEntry, asking: HistoryRequester) -> str:
    """The first thing that a version did, in as few words as a button has room for."""
    operations = _operations(entry)
    if not operations:
        return _kind(entry, asking)
    sign = _SIGNS.get(operations[0].verb, "")
    return f"{sign} {operations[0].text or _name(operations[0].file)}".strip()


def _operations(entry: TimelineEntry) -> Sequence[Operation]:
    """Return the operations of a version that are worth telling."""
    said = () if entry.kind == "hand" else entry.operations
    shown = {operation.file for operation in entry.seen}
    told = [one for one in said if not (one.says_nothing and one.file in shown)]
    return [operation for operation in (*told, *entry.seen) if operation.verb != "confirm"]


def _shown(entry: TimelineEntry, diffs: Sequence[FileDiff], asking: HistoryRequester) -> Iterator[str]:
    yield f"`{_id(entry)}` {_at(entry)} · {_kind(entry, asking)}"
    if entry.reason:
        yield _cut(cleaned(entry.reason), LONGEST_QUOTE)
    if entry.reverts:
        yield asking.say("reverts", version=entry.reverts[:_SHORT])
    room = MOST_OF_DIFF
    for diff in diffs:
        yield f"\n{cleaned(diff.path)}"
        lines = _changes(diff, asking)
        kept = list(_fitting(lines, room))
        room -= sum(map(len, kept))
        yield code_block("\n".join(kept), "diff")
        if len(lines) > len(kept):
            yield asking.say("more_changes", count=len(lines) - len(kept))
    if entry.version.parent is not None:
        undo, restore = asking.command("undo", _id(entry)), asking.command("restore", _id(entry))
        yield asking.say("take_back", undo=undo, restore=restore)


def _changes(diff: FileDiff, asking: HistoryRequester) -> Sequence[str]:
    """The lines that went and came; what stayed around them takes too much room on a phone."""
    if diff.before != diff.after and not patch(diff):
        return [asking.say("no_text")]
    lines = list(unified_diff(_read(diff.before), _read(diff.after), n=0, lineterm=""))[2:]
    told = [_short(_BULLET.sub(r"\1 ", line)) for line in lines if re.match(r"[+-]\s*\S", line)]
    return told or [asking.say("only_comments")]


def _read(side: bytes | None) -> Sequence[str]:
    """The lines of a file as they count: what stands in a comment is for whoever edits it."""
    return without_comments((side or b"").decode("utf-8", "replace")).split("\n")


def _fitting(lines: Sequence[str], room: int) -> Iterator[str]:
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return
        yield line


def _receipt(receipt: RevertReceipt, asking: HistoryRequester) -> Iterator[str]:
    target, scope = receipt.target, asking.asked.authority.scope
    version = _id(target)
    if receipt.conflicts:
        yield asking.say("conflicts", version=version)
        for conflict in receipt.conflicts:
            yield f"- {conflict.path}: {' / '.join(_short(bare(line)) for line in conflict.lines[:MOST_OPERATIONS])}"
        yield ""
        yield asking.say("conflicts_then", restore=asking.command("restore", version))
        return
    if not receipt.version:
        is_ours = any(map(owned(scope), target.paths)) or receipt.how == "restore"
        sentence = "nothing_left" if is_ours else "not_ours"
        yield asking.say(sentence, version=version, files=", ".join(map(_name, target.paths)))
        return
    files = ", ".join(map(_name, receipt.paths)) or asking.say("no_files")
    yield asking.say(f"done_{receipt.how}", version=version, at=_at(target), kind=_kind(target, asking), files=files)
    if receipt.undone:
        yield asking.say("also_undone", count=len(receipt.undone))
        yield from (row for entry in receipt.undone[:MOST_CHOICES] for row in _listed(entry, asking))
        if len(receipt.undone) > MOST_CHOICES:
            yield asking.say("more", count=len(receipt.undone) - MOST_CHOICES)
        yield ""
    if receipt.buried:
        yield asking.say("buried", count=receipt.buried)
    if receipt.lifted:
        yield asking.say("lifted", count=receipt.lifted)
    yield asking.say("left_alone_owner" if scope.is_owner else "left_alone")
    yield asking.say("take_this_back", restore=asking.command("restore", receipt.version[:_SHORT]))


def _kind(entry: TimelineEntry, asking: HistoryRequester) -> str:
    return asking.say(f"kind_{entry.kind}")


def _button(label: str, value: str) -> Button:
    return Button(_cut(cleaned(label), LONGEST_LABEL), value)


def _short(text: str) -> str:
    return _cut(cleaned(text), LONGEST_LINE)


def _cut(text: str, most: int) -> str:
    """The text in one line. Where it is cut, words do not count: Chinese has no blanks between them."""
    return truncate(" ".join(text.split()), most)


def _name(path: str) -> str:
    return cleaned(PurePosixPath(path).name)


def _id(entry: TimelineEntry) -> str:
    return entry.version.id[:_SHORT]


def _at(entry: TimelineEntry) -> str:
    return f"{entry.version.at:%Y-%m-%d %H:%M}"


def _time(at: str) -> str:
    """A time in RFC 3339, as people read it; as it stands if it is none."""
    moment = parse_time(at)
    return f"{moment:%Y-%m-%d %H:%M}" if moment else at[:16]

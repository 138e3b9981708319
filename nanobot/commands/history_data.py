"""What programs read about the history of memory: as JSON can say it."""

from collections.abc import Mapping
from dataclasses import asdict

from nanobot.commands.history import Choice, Log, Result, Shown, Trouble
from nanobot.memory.patches import patch
from nanobot.memory.provenance import Line, Why
from nanobot.memory.reverting import Receipt
from nanobot.memory.timeline import Entry

Data = Mapping[str, object]


def as_data(result: Result) -> Data:
    """What came of asking."""
    match result:
        case Trouble(kind, detail):
            return {"error": kind, "detail": detail}
        case Why():
            return _why(result)
        case Choice(lines, entries):
            return {"lines": [_line(line) for line in lines], "versions": [_entry(entry) for entry in entries]}
        case Log(entries, is_cut):
            return {"versions": [_entry(entry) for entry in entries], "more": is_cut}
        case Shown(entry, diffs):
            return {**_entry(entry), "diffs": [{"file": diff.path, "patch": patch(diff)} for diff in diffs]}
        case Receipt():
            return _receipt(result)


def _why(why: Why) -> Data:
    return {
        **_line(why.line),
        "version": _entry(why.entry) if why.entry else None,
        "came_back": _entry(why.back) if why.back else None,
        "said": [asdict(said) for said in why.testimony.said],
        "gone": why.testimony.gone,
    }


def _receipt(receipt: Receipt) -> Data:
    return {
        "how": receipt.how,
        "target": receipt.target.version.id,
        "version": receipt.version or None,
        "files": list(receipt.paths),
        "also_undone": [_entry(entry) for entry in receipt.undone],
        "conflicts": [{"file": conflict.path, "lines": list(conflict.lines)} for conflict in receipt.conflicts],
        "tombstones_made": receipt.buried,
        "tombstones_lifted": receipt.lifted,
    }


def _entry(entry: Entry) -> Data:
    return {
        "id": entry.version.id,
        "at": entry.version.at.isoformat(),
        "kind": entry.kind,
        "by": entry.version.author,
        "files": list(entry.paths),
        "operations": [asdict(operation) for operation in entry.operations],
        "reason": entry.reason,
        "reverts": entry.reverts or None,
    }


def _line(line: Line) -> Data:
    return {"file": line.path, "line": line.text, "name": line.name}

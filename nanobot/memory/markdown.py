"""Markdown files of memory: fences, comments, headings, the head of a note, the index of notes."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Fenced code, comments, headings.


_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_CODE_OR_COMMENT = re.compile(r"`+|<!--")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#*)?[ \t]*$")
_END = "-->"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading's depth, from 1, and its words."""

    level: int
    title: str


def without_comments(text: str) -> str:
    """The text as a model is to read it: what stands in <!-- --> is for the human who edits the file.

    Code, fenced or in backticks, stays as it is, and so does a comment that is never closed.
    """
    if "<!--" not in text:
        return text
    lines = text.split("\n")
    shown: list[str] = []
    behind_comment = False
    for line, (rest, _) in zip(lines, _scan(lines), strict=True):
        is_blank = not rest.strip()
        is_comment = is_blank and rest != line
        doubled = behind_comment and is_blank and not (shown and shown[-1].strip())  # blank lines around a comment
        if not is_comment and not doubled:
            shown.append(rest)
        behind_comment = is_blank and (behind_comment or is_comment)
    return "\n".join(shown)


def headings(lines: Sequence[str]) -> list[Heading | None]:
    """The heading that each line is, or None; what stands in code or in a comment is none."""
    matches = (None if is_code else _HEADING.match(rest.rstrip("\r")) for rest, is_code in _scan(lines))
    return [Heading(len(match[1]), (match[2] or "").strip()) if match else None for match in matches]


def statements(lines: Sequence[str]) -> list[str]:
    """Return the statement of each line: "" for blank lines, headings, code and comments."""
    return ["" if is_code or _HEADING.match(rest) else rest.strip() for rest, is_code in _scan(lines)]


def _scan(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Return each line without comments, and True for fenced code, which is left as it is."""
    closers = _closers(lines)
    last_end = max((number for number, line in enumerate(lines) if _END in line), default=-1)
    fence, in_comment = "", False
    for number, line in enumerate(lines):
        if fence:
            fence = "" if _closes(line, fence) else fence
            yield line, True
        elif not in_comment and (opener := _opener(line)) and closers[number].get(opener[0], 0) >= len(opener):
            fence = opener
            yield line, True
        else:
            rest, in_comment = _strip(line, inside=in_comment, ends_later=number < last_end)
            yield rest, False


def _opener(line: str) -> str:
    match = _FENCE.match(line)
    return match[1] if match else ""


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(mark) >= len(fence) and set(mark) == {fence[0]}


def _closers(lines: Sequence[str]) -> list[dict[str, int]]:
    """Longest fence of each kind that stands alone below each line: an opener without one opens nothing."""
    longest: dict[str, int] = {}
    below: list[dict[str, int]] = []
    for line in reversed(lines):
        below.append(longest)
        mark = line.strip()
        if len(mark) >= 3 and mark in ("`" * len(mark), "~" * len(mark)):
            longest = {**longest, mark[0]: max(longest.get(mark[0], 0), len(mark))}
    return below[::-1]


def _strip(line: str, *, inside: bool, ends_later: bool) -> tuple[str, bool]:
    """The line without comments, and whether one goes on behind its end."""
    kept: list[str] = []
    position = 0
    while True:
        if inside:
            end = line.find(_END, position)
            if end < 0:
                return "".join(kept), True
            position = end + len(_END)
        start = _comment(line, position)
        if start < 0 or (not ends_later and _END not in line[start:]):
            return "".join([*kept, line[position:]]), False
        kept.append(line[position:start])
        position, inside = start + 4, True


def _comment(line: str, position: int) -> int:
    """Return the start of the next comment outside of backticks; -1 if there is none."""
    while match := _CODE_OR_COMMENT.search(line, position):
        if match[0] == "<!--":
            return match.start()
        closing = re.compile(rf"(?<!`){match[0]}(?!`)").search(line, match.end())
        position = closing.end() if closing else match.end()
    return -1


# Index of notes at the end of MEMORY.md.


MARKER = "<!-- index: kept by nanobot, do not edit below -->"

_BYTE_ORDER_MARK = "\ufeff"
_LINE = re.compile(r"- .*\(`[^`]+`\) · updated \d{4}-\d{2}-\d{2}")


def index_line(kind: str, summary: str, file: str, updated: str) -> str:
    """Line of a note in the index; `updated` is a date as 2026-11-02."""
    return f"- {kind}: {summary} (`{file}`) · updated {updated}"


def split(text: str) -> tuple[str, str]:
    """MEMORY.md up to its marker, and the rest; without a marker there is no rest."""
    mark = text[: text.startswith(_BYTE_ORDER_MARK)]
    lines = lines_of(text[len(mark) :])
    start = next((number for number, line in enumerate(lines) if _is_marker(line)), len(lines))
    return mark + "".join(lines[:start]), "".join(lines[start:])


def without_index(text: str) -> str:
    """Return the text of MEMORY.md without the marker and the index lines below it.

    What they wrote below the marker, in spite of what it says, comes at the end.
    """
    above, rest = split(text)
    kept = [line for line in lines_of(rest) if not (_is_marker(line) or _LINE.fullmatch(line.rstrip()))]
    below = "".join(kept).lstrip("\r\n").rstrip()
    return f"{above}{below}{newline_of(text)}" if below else above


def with_index(text: str, lines: Sequence[str]) -> str:
    """MEMORY.md with these lines as its index; without any, there is no index. The rest stays as it is."""
    facts, newline = without_index(text), newline_of(text)
    if not lines:
        return facts
    return facts + _gap(facts, newline) + newline.join([MARKER, *lines]) + newline


def newline_of(text: str) -> str:
    """Return the line end that a file uses."""
    return "\r\n" if "\r\n" in text else "\n"


def lines_of(text: str) -> list[str]:
    """The lines with their ends, whatever they are."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _is_marker(line: str) -> bool:
    return line.strip().lstrip(_BYTE_ORDER_MARK) == MARKER  # glued files have such a mark in the middle


def _gap(facts: str, newline: str) -> str:
    """Return the text that makes a blank line between the facts and the index."""
    if facts in ("", _BYTE_ORDER_MARK) or facts.endswith(("\n\n", "\n\r\n")):
        return ""
    return newline if facts.endswith("\n") else newline * 2


# Head of a note, between its `---` lines, and the lines below it that say something.


_MARK = re.compile(r"---\s*")
_KEY = re.compile(r"(\w+)\s*:")
_PLAIN = re.compile(r"[^\W\d_][\w ,./()'+-]*[\w.)]|\d{4}-\d{2}-\d{2}")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off"})
_OURS = ("name", "type", "summary", "updated")


def body_start(lines: Sequence[str]) -> int:
    """The number of the first line behind the head; 0 if there is none."""
    if not lines or not _MARK.fullmatch(lines[0].lstrip("\ufeff")):
        return 0
    return next((number + 1 for number, line in enumerate(lines) if number and _MARK.fullmatch(line)), 0)


def body_of(text: str) -> str:
    """A note without its head."""
    lines = lines_of(text)
    return "".join(lines[body_start(lines) :])


def facts_of(text: str) -> list[tuple[int, str]]:
    """The lines of a file that say something, with their numbers: no headings, comments, code, heads."""
    lines = lines_of(text)
    start = body_start(lines)
    said = statements([line.rstrip("\r\n") for line in lines[start:]])
    return [(start + number, words) for number, words in enumerate(said) if words]


def shown_of(text: str) -> list[tuple[int, str]]:
    """The lines of a file that a prompt may carry, with their numbers: facts, headings, code, a head's summary."""
    lines = lines_of(text)
    start = body_start(lines)
    head = [(number, field_of(text, "summary")) for number, line in enumerate(lines[:start]) if _key(line) == "summary"]
    body = _scan([line.rstrip("\r\n") for line in lines[start:]])
    shown = ((start + number, rest.strip().lstrip("#").strip()) for number, (rest, _) in enumerate(body))
    return [(number, words) for number, words in [*head[:1], *shown] if words]


def field_of(text: str, name: str) -> str:
    """Return the value of a key in a head, as it stands there on one line; "" if it is missing."""
    lines = lines_of(text)
    found = (line for line in lines[: body_start(lines)] if _key(line) == name)
    return next(found, "").partition(":")[2].strip().strip("\"'")


def note_text(old: str, body: str, *, name: str, kind: str, summary: str, day: str) -> str:
    """A note with a head of ours; whatever else its old head held stays."""
    end = newline_of(old) if old else "\n"
    values = {"name": name, "type": kind, "summary": summary, "updated": day}
    head = [f"{key}: {_value(value)}{end}" for key, value in values.items()]
    inside = end.join(body.strip("\r\n").splitlines())
    return "".join([f"---{end}", *head, *_others(old), f"---{end}", inside, end])


def touched(text: str, day: str) -> str:
    """A note whose head, if it has one, says that it was changed on this day."""
    lines = lines_of(text)
    stop = body_start(lines)
    head = [f"updated: {day}{newline_of(text)}" if _key(line) == "updated" else line for line in lines[:stop]]
    return "".join([*head, *lines[stop:]])


def _others(old: str) -> list[str]:
    """The lines of a head that are not ours, with those that belong to them."""
    lines = lines_of(old)
    kept: list[str] = []
    is_other = False
    for line in lines[1 : max(1, body_start(lines) - 1)]:
        if key := _key(line):
            is_other = key not in (*_OURS, "description")
        if is_other:
            kept.append(line)
    return kept


def _key(line: str) -> str:
    match = _KEY.match(line)
    return match[1] if match else ""


def _value(text: str) -> str:
    """Value as YAML reads it, quoted as in JSON where it must be."""
    is_plain = _PLAIN.fullmatch(text) and text.casefold() not in _WORDS
    return text if is_plain else json.dumps(text, ensure_ascii=False)

"""Tells what a person wrote themself from what they evidently pasted: mails, chat logs, quotes, code, dumps.

Nothing is taken from what a model reads. Whoever rests something on a person's own word rests it on `own_part`.
The words of each language stand in languages/<code>/pasted.toml. Each look at a text takes a time in proportion to its
length, whatever stands in it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from nanobot.languages import alternatives

_FEW_WORDS = 6
"""A quotation of so many words is a name or a title, as people write it themselves."""

_RUN = 3
"""Lines of "Name: words", from which on they are a conversation."""

_LONGEST_HEAD = 300  # characters of a line that may begin a mail or a log; a longer one is prose

Span = tuple[int, int]


@dataclass(slots=True)
class _Row:
    """A line of the text: where it begins and ends, its words, and whether it is known to be pasted."""

    start: int
    end: int
    text: str
    is_pasted: bool = False


def own_part(text: str) -> str:
    """Return what a person wrote themself: the same text if nothing in it is evidently pasted."""
    spans = _merged(pasted_spans(text))
    if not spans:
        return text
    own, at = [], 0
    for start, end in [*spans, (len(text), len(text))]:
        own.append(text[at:start])
        at = end
    return "\n".join(part.strip() for part in own if part.strip())


def pasted_spans(text: str) -> Iterator[Span]:
    """Yield where something pasted begins and ends, in any order; the pieces may overlap."""
    rows = [_Row(*found.span(), found[0].strip()) for found in _LINE.finditer(text)]
    if not rows:
        return
    for mark in (_mark_fences, _mark_quotes, _mark_logs, _mark_talk):
        mark(rows)
    first = _first_to_the_end(rows)
    yield from ((row.start, row.end) for row in rows if row.is_pasted or row.start >= first)
    yield from _injected(text)
    yield from _json(text)
    yield from _html(text)
    yield from ((start, end) for start, end in _quotations(text) if _words(text[start:end]) > _FEW_WORDS)


def _merged(spans: Iterator[Span]) -> Sequence[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


_LINE = re.compile(r"[^\r\n\u2028\u2029]*(?:\r\n|[\r\n\u2028\u2029])|[^\r\n\u2028\u2029]+\Z")


# Code and quotes, as Markdown has them.

_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_QUOTE = re.compile(r"[>＞](?![:;=._<()\-])[ \t]*\S|[>＞]$")  # no smiley: >:( >.< >_>


def _mark_fences(rows: Sequence[_Row]) -> None:
    """A block that nobody closes goes to the end."""
    fence = ""
    for row in rows:
        found = _FENCE.match(row.text)
        if not fence:
            is_opening = found is not None and found[1][0] not in found[2]
            fence = found[1] if found and is_opening else ""
            row.is_pasted = is_opening
        else:
            row.is_pasted = True
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
    for row in rows:
        row.is_pasted |= bool(_FENCE.match(row.text))  # ```all in one line```


def _mark_quotes(rows: Sequence[_Row]) -> None:
    for row in rows:
        row.is_pasted |= bool(_QUOTE.match(row.text))


# Mails, and what was passed on: nothing says where they end.

_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}\.\w")
_DIGIT = re.compile(r"\d")


def _first_to_the_end(rows: Sequence[_Row]) -> int:
    """Return the row from which a pasted text goes on to the end, as nothing closes it."""
    found = (
        row.start
        for number, row in enumerate(rows)
        if not row.is_pasted
        and row.text
        and (_begins_mail(rows, number) or _is_attribution(rows, number) or _is_copied_head(rows, number))
    )
    return next(found, rows[-1].end)


def _begins_mail(rows: Sequence[_Row], number: int) -> bool:
    """True if a block of headers begins in this line. "From: Berlin, To: Hamburg" alone is a journey."""
    row = rows[number]
    if _forms().passed_on.match(row.text[:_LONGEST_HEAD]) or _forms().headers_in_one.match(row.text[:_LONGEST_HEAD]):
        return True
    if not _forms().header.match(row.text):
        return False
    kinds, has_address = Counter[str](), False
    for each in rows[number : number + 12]:
        header = _forms().header.match(each.text)
        if header is None:
            if each.text and each.text.partition(":")[1] == "":
                break
            continue
        kinds[_kind(header)] += 1
        has_address |= bool(_MAIL.search(header["value"][:_LONGEST_HEAD]))
    is_whole = bool(kinds["subject"] or kinds["sent"] or has_address)
    return (kinds.total() > 1 and bool(kinds["raw"])) or (kinds.total() > 1 and bool(kinds["from"]) and is_whole)


def _kind(header: re.Match[str]) -> str:
    return next(kind for kind in ("from", "subject", "sent", "other", "raw") if header[kind])


def _is_attribution(rows: Sequence[_Row], number: int) -> bool:
    """True if a line says who wrote what follows; marks it only, where what follows is marked by itself."""
    row = rows[number]
    after = next((each for each in rows[number + 1 : number + 4] if each.text), None)
    if after is None or len(row.text) > _LONGEST_HEAD:
        return False
    if _is_dated(row.text) or (_forms().direct.match(row.text) and not _forms().myself.search(row.text)):
        row.is_pasted = after.is_pasted
        return not after.is_pasted
    return row.text[-1] not in ".!?。" and not after.is_pasted and _is_dated(f"{row.text} {after.text[:100]}")


def _is_dated(line: str) -> bool:
    """Return True if a line reads like "On 3 March Ben wrote:", in one of many languages."""
    forms = _forms()
    is_dated = forms.on_a_day.match(line) and _DIGIT.search(line) and forms.written.search(line)
    return bool(is_dated) and not forms.myself.search(line)


# Conversations.


def _is_copied_head(rows: Sequence[_Row], number: int) -> bool:
    return number + 1 < len(rows) and bool(_forms().copied.match(rows[number].text[:_LONGEST_HEAD]))


def _mark_logs(rows: Sequence[_Row]) -> None:
    """All from the first line with a time and a name to the last, and what goes on in that."""
    logged, perhaps = [], []
    for number, row in enumerate(rows):
        if not row.is_pasted and _forms().logged.match(row.text[:_LONGEST_HEAD]):
            logged.append(number)
        elif not row.is_pasted and _forms().logged_twice.match(row.text[:_LONGEST_HEAD]):
            perhaps.append(number)
    if logged or len(perhaps) > 1:
        _mark(rows, min([*logged, *perhaps]), max([*logged, *perhaps]))


def _mark_talk(rows: Sequence[_Row]) -> None:
    run: list[tuple[int, str, str]] = []
    after_blank = False
    for number, row in enumerate([*rows, _Row(0, 0, "", is_pasted=True)]):
        found = None if row.is_pasted else _forms().talk.match(row.text)
        if found and len(found["who"].split()) <= 3:
            run.append((number, found["who"].casefold(), found["said"].strip()))
            after_blank = False
        elif row.text or row.is_pasted:
            if row.is_pasted or after_blank:
                _mark_run(rows, run)
                run = []
        else:
            after_blank = True


def _mark_run(rows: Sequence[_Row], run: list[tuple[int, str, str]]) -> None:
    """Mark a run of lines "Name: words" if people talk in it: somebody speaks twice, or to somebody."""
    times = Counter(who for _, who, _ in run)
    first = next((at for at, (_, who, said) in enumerate(run) if said or times[who] > 1), len(run))
    run = run[first:]  # without "Here is what they wrote:"
    if len(run) < _RUN or all(_forms().label.fullmatch(who) for _, who, _ in run):
        return
    said_to = sum(bool(_forms().spoken.search(said)) for _, _, said in run)
    again = sum(count > 1 for who, count in times.items() if not _forms().label.fullmatch(who))
    if again or (said_to * 2 >= len(run) and not any(_forms().label.fullmatch(who) for _, who, _ in run)):
        _mark(rows, run[0][0], run[-1][0])


def _mark(rows: Sequence[_Row], first: int, last: int) -> None:
    """Mark lines as pasted, and what belongs to the last of them: what follows up to an empty line."""
    while last + 1 < len(rows) and rows[last + 1].text and not rows[last + 1].is_pasted:
        last += 1
    for row in rows[first : last + 1]:
        row.is_pasted = True


# What speaks in the program's name, and data.

_JSON = re.compile(r"[\[{]\s{0,40}(?:\{\s{0,40})?(?:\"[^\"\n]{1,80}\"\s{0,4}:|\"[^\"\n]{0,80}\"\s{0,4},\s{0,40}\")")
_BRACKET = re.compile(r"\"(?:[^\"\\\n]|\\.){0,500}+\"|[\[\]{}]")
_MARKUP = re.compile(
    r"<!doctype\b|<\?xml\b|<!--|<[a-z][a-z0-9]{0,20}\s{1,20}[a-z-]{2,30}=[\"']"
    r"|(?m:^)[ \t]*<([a-z][a-z0-9]{0,20})>(?:[ \t]*(?:<[a-z]|(?m:$))|[^<\n]{0,2000}</\1>)|<(?:script|style|svg)\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-z!?][^<>]{0,2000}>", re.IGNORECASE)


def _injected(text: str) -> Iterator[Span]:
    if found := _forms().injected.search(text):
        yield found.start(), len(text)


def _json(text: str) -> Iterator[Span]:
    """Data that begins with a key, or with two texts; what nobody closes goes to the end."""
    at = 0
    while found := _JSON.search(text, at):
        depth, at = 0, len(text)
        for each in _BRACKET.finditer(text, found.start()):
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(each[0], 0)
            if depth == 0 and each[0] in "]}":
                at = each.end()
                break
        yield found.start(), at


def _html(text: str) -> Iterator[Span]:
    """All from the first element to the last tag. A tag alone in a sentence is what a person asks about."""
    if found := _MARKUP.search(text):
        end = found.end()
        for tag in _TAG.finditer(text, found.start()):
            end = max(end, tag.end())
        yield found.start(), end


# Quotations.

_CLOSING = {"„": '“”"', "“": "”", "«": "»", "»": "«", "「": "」", "『": "』", '"': '"', "＂": "＂", "‹": "›"}
_MARKS = re.compile('[„“”«»「」『』"＂‹›]')
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*+")
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def _quotations(text: str) -> Iterator[Span]:
    """Yield each pair of quotation marks with what stands between them."""
    marks = [(found.start(), found[0]) for found in _MARKS.finditer(text)]
    last = {mark: place for place, mark in marks if mark != '"' or _closes(text, place)}
    opened, start = "", 0
    for place, mark in marks:
        if opened:
            if mark in _CLOSING[opened] and (mark != '"' or _closes(text, place)):
                yield start, place + 1
                opened = ""
        elif any(last.get(each, -1) > place for each in _CLOSING.get(mark, "")) and _opens(text, place):
            opened, start = mark, place


def _opens(text: str, place: int) -> bool:
    """True if a plain mark stands where one opens; of others the form says it. 27" is a size."""
    return text[place] != '"' or place == 0 or not text[place - 1].isalnum()


def _closes(text: str, place: int) -> bool:
    """True if a plain mark stands where one closes: behind words, not before them."""
    return place > 0 and not text[place - 1].isspace() and not text[place + 1 : place + 2].isalnum()


def _words(text: str) -> int:
    """About how many words a text has; two characters of Chinese count as one."""
    wide = len(_WIDE.findall(text))
    return len(_WORD.findall(_WIDE.sub(" ", text))) + (wide + 1) // 2


# The words of the languages.

_DAY = (
    r"(?:\d{1,4}[./-]\s?\d{1,2}[./-]\s?\d{1,4}\.?|\d{1,4}年\d{1,2}月\d{1,2}日|\d{1,2}\.?\s\w{3,10}\.?\s\d{2,4}"
    r"|\w{3,10}\.?\s\d{1,2},\s\d{4})"
)
_NAME = r"[^\s:：<>\[\]{}|/\\][^:：<>\[\]{}|/\\\n]{0,39}?"
_BEGINS = r"(?:\b|(?<=[^\x00-\x7f]))"  # a word; scripts without blanks have none


@dataclass(frozen=True, slots=True)
class _PasteForms:
    """Forms of pasted texts in all languages.

    `written` and `direct` end a line that says who wrote what follows; `logged` begins a line of a log alone,
    `logged_twice` does if there are two, as one may be a plan; `copied` is a line with who and when above a message.
    """

    header: re.Pattern[str]
    headers_in_one: re.Pattern[str]
    on_a_day: re.Pattern[str]
    written: re.Pattern[str]
    direct: re.Pattern[str]
    myself: re.Pattern[str]
    passed_on: re.Pattern[str]
    logged: re.Pattern[str]
    logged_twice: re.Pattern[str]
    talk: re.Pattern[str]
    spoken: re.Pattern[str]
    copied: re.Pattern[str]
    label: re.Pattern[str]
    injected: re.Pattern[str]


@cache
def _forms() -> _PasteForms:
    """Read and compile the forms, when the first text is looked at."""
    sender, subject, sent, wrote = (f"(?:{_any(key)})" for key in ("from", "subject", "sent", "wrote"))
    clock = rf"\d{{1,2}}[:.：]\d{{2}}(?:[:.：]\d{{2}})?(?:\s?(?:{_any('clock')}))?"
    when = rf"(?:{_DAY},?\s{{0,3}}(?:(?:{_any('at')})\s)?)?(?:{_any('half_day')})?{clock}"
    return _PasteForms(
        header=_compiled(
            rf"[*_ ]{{0,4}}(?:(?P<from>{sender})|(?P<subject>{subject})|(?P<sent>{sent})|(?P<other>{_any('header')})"
            r"|(?P<raw>received|return-path|message-id|mime-version|content-type|delivered-to|dkim-signature"
            r"|x-[\w-]{1,40}))[*_]{0,2}\s?[:：][*_]{0,2}(?P<value>.*)"
        ),
        headers_in_one=_compiled(rf"[*_ ]{{0,4}}{sender}\s?[:：].{{1,200}}?{_BEGINS}(?:{subject}|{sent})\s?[:：]"),
        on_a_day=_compiled(rf"(?:{_any('on_a_day')})\s|{_any('on_a_day_unspaced')}|\d"),
        written=_compiled(rf"{_BEGINS}{wrote}[^\n]{{0,100}}[:：]$"),
        direct=_compiled(rf"[^\n]{{1,100}}?{_BEGINS}{wrote}\s?[:：]$"),
        myself=_compiled(rf"\b(?:{_any('myself')})\b|{_any('myself_unspaced')}"),
        passed_on=_compiled(_any("passed_on")),
        logged=_compiled(  # [12:03] Ben: …, [12:03] <ben> …
            rf"[\[(【（]{when}[\])】）]\s?(?:[-–—:]\s?)?(?:<[^<>\n]{{1,40}}>|{_NAME}\s?[:：])"
        ),
        logged_twice=_compiled(  # 03.03.26, 12:03 - Ben: …, 12:03 <ben> …
            rf"{when}(?:\s?[-–—]\s{_NAME}[:：]|\s<[^<>\s]{{1,40}}>\s)"
        ),
        talk=_compiled(
            rf"(?:{clock}\s(?:[-–—]\s)?)?[*_]{{0,2}}(?P<who>{_NAME})[*_]{{0,2}}\s?"
            r"(?:：|:[*_]{0,2}(?=\s|$|[^\x00-\x7f]))(?P<said>.*)"
        ),
        spoken=_compiled(rf"[?!？！]|\b(?:{_any('spoken')})\b|{_any('spoken_unspaced')}"),
        copied=_compiled(
            rf"[^\[\]\n]{{1,60}},\s?\[[^\[\]\n]{{0,25}}?{clock}[^\[\]\n]{{0,12}}\]"  # Ben, [3. Mar 2026 12:03]
            rf"|[^\n—]{{1,40}}\s—\s(?:{_any('today')}|{_DAY},?)\s?{clock}$"  # Discord
            rf"|[^\n]{{1,40}}?(?:\(\d{{5,12}}\)\s(?:{_DAY}\s)?{clock}|\s{_DAY}\s\d{{1,2}}:\d{{2}}:\d{{2}})$"  # QQ
            rf"|[^\[\]\n]{{1,40}}?\s\[{clock}\]$"  # Slack
        ),
        label=re.compile(_any("label")),
        injected=re.compile(
            r"<\|[^|<>\n]{1,40}\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|</?system(?:[-_ ]\w{1,20})?\s?>"
            r"|(?m:^)[ \t>*_#=-]{0,8}(?:</?(?:instructions?|developer|context|quoted|remembered)>"
            rf"|[\[【(（<]\s?(?i:{_any('system')})(?i:[ _-]?(?:{_any('system_message')}))?\s?[\]】)）>]"
            r"|(?:SYSTEM|DEVELOPER)(?: [A-Z]{2,20}){0,3}[*_]{0,2}\s?[:：]"
            rf"|(?i:{_any('system_head')})[*_]{{0,2}}\s?[:：]"
            rf"|(?i:{_any('system_name')})[*_]{{0,2}}\s?[:：]\s{{0,3}}(?i:{_any('order')}))"
        ),
    )


def _any(key: str) -> str:
    return alternatives("pasted", key)


def _compiled(form: str) -> re.Pattern[str]:
    return re.compile(form, re.IGNORECASE)

"""Tells what a person wrote themself from what they evidently pasted: mails, chat logs, quotes, code, dumps.

Nothing is taken from what a model reads. Whoever rests something on a person's own word rests it on `own_part`.
Each look at a text takes a time in proportion to its length, whatever stands in it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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

_FROM = r"from|von|de|da|van|från|fra|od|от|发件人|发信人|寄件者|寄件人|差出人"
_SUBJECT = r"subject|betreff|objet|asunto|oggetto|assunto|onderwerp|ämne|emne|temat|тема|主题|主題|主旨|件名"
_SENT = r"sent|gesendet|envoyé|enviado|inviato|verzonden|skickat|wysłano|отправлено|发送时间|發送時間|寄件日期|送信日時"
_HEADER = re.compile(
    rf"[*_ ]{{0,4}}(?:(?P<from>{_FROM})|(?P<subject>{_SUBJECT})|(?P<sent>{_SENT})"
    r"|(?P<other>to|cc|bcc|date|reply-to|an|kopie|datum|à|date|para|fecha|a|data|aan|till|til|do|кому|дата"
    r"|收件人|收信人|抄送|日期|时间|收件者|副本|宛先)"
    r"|(?P<raw>received|return-path|message-id|mime-version|content-type|delivered-to|dkim-signature|x-[\w-]{1,40}))"
    r"[*_]{0,2}\s?[:：][*_]{0,2}(?P<value>.*)",
    re.IGNORECASE,
)
_HEADERS_IN_ONE = re.compile(
    rf"[*_ ]{{0,4}}(?:{_FROM})\s?[:：].{{1,200}}?(?:\b|(?<=[^\x00-\x7f]))(?:{_SUBJECT}|{_SENT})\s?[:：]", re.IGNORECASE
)
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}\.\w")
_WROTE = (
    r"(?:wrote|writes|schrieb|schreibt|a écrit|escribió|ha scritto|escreveu|schreef|skrev|napisał(?:a|\(a\))?"
    r"|написал[аи]?|пишет|写道|寫道|写到|来信说|來信說)"
)
_ON_A_DAY = re.compile(r"(?:on|am|le|el|il|em|op|den|w dniu|dne)\s|[在于於]|\d", re.IGNORECASE)
_WRITTEN = re.compile(rf"(?:\b|(?<=[^\x00-\x7f])){_WROTE}[^\n]{{0,100}}[:：]$", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_DIRECT = re.compile(rf"[^\n]{{1,100}}?(?:\b|(?<=[^\x00-\x7f])){_WROTE}\s?[:：]$", re.IGNORECASE)
_MYSELF = re.compile(r"\b(?:i|we|ich|wir|yo|eu|ik|jag)\b|[我咱]", re.IGNORECASE)
_PASSED_ON = re.compile(
    r"[-_*=> ]{0,20}(?:begin )?(?:original|forwarded) (?:message|mail|email)\b"
    r"|[-_*= ]{2,20}(?:ursprüngliche|original|weitergeleitete) ?(?:nachricht|mail|e-mail)\b"
    r"|anfang der weitergeleiteten (?:nachricht|e-mail)\b"
    r"|[-_*= ]{2,20}(?:message (?:d['’]origine|original|transféré)|mensaje (?:original|reenviado)"
    r"|messaggio (?:originale|inoltrato)|mensagem (?:original|encaminhada)|oorspronkelijk bericht"
    r"|doorgestuurd bericht|исходное сообщение|пересылаемое сообщение)"
    r"|début du message (?:réexpédié|transféré)"
    r"|[-_*= ]{2,20}\s?(?:原始邮件|原始郵件|转发的?(?:邮件|消息|信息)|轉寄的?郵件|转发邮件信息)"
    r"|[\[(*_>]{0,3}(?:forwarded from|forwarded message from|weitergeleitet von|transféré de|reenviado de|inoltrato da"
    r"|переслано от)\s?[:：]?\s?\S"
    r"|[\[(【]{0,2}(?:转发自|轉發自|轉傳自)\s?[:：]?\s?\S",
    re.IGNORECASE,
)


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
    if _PASSED_ON.match(row.text[:_LONGEST_HEAD]) or _HEADERS_IN_ONE.match(row.text[:_LONGEST_HEAD]):
        return True
    if not _HEADER.match(row.text):
        return False
    kinds, has_address = Counter[str](), False
    for each in rows[number : number + 12]:
        header = _HEADER.match(each.text)
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
    if _is_dated(row.text) or (_DIRECT.match(row.text) and not _MYSELF.search(row.text)):
        row.is_pasted = after.is_pasted
        return not after.is_pasted
    return row.text[-1] not in ".!?。" and not after.is_pasted and _is_dated(f"{row.text} {after.text[:100]}")


def _is_dated(line: str) -> bool:
    """True if a line reads like "On 3 March Ben wrote:", in one of many languages."""
    return bool(_ON_A_DAY.match(line) and _DIGIT.search(line) and _WRITTEN.search(line)) and not _MYSELF.search(line)


# Conversations.

_CLOCK = r"\d{1,2}[:.：]\d{2}(?:[:.：]\d{2})?(?:\s?[ap]\.?\s?m\.?|\s?uhr)?"
_DAY = (
    r"(?:\d{1,4}[./-]\s?\d{1,2}[./-]\s?\d{1,4}\.?|\d{1,4}年\d{1,2}月\d{1,2}日|\d{1,2}\.?\s\w{3,10}\.?\s\d{2,4}"
    r"|\w{3,10}\.?\s\d{1,2},\s\d{4})"
)
_NAME = r"[^\s:：<>\[\]{}|/\\][^:：<>\[\]{}|/\\\n]{0,39}?"
_WHEN = rf"(?:{_DAY},?\s{{0,3}}(?:um\s|at\s)?)?(?:上午|下午)?{_CLOCK}"
_LOGGED = re.compile(  # [12:03] Ben: …, [12:03] <ben> …
    rf"[\[(【（]{_WHEN}[\])】）]\s?(?:[-–—:]\s?)?(?:<[^<>\n]{{1,40}}>|{_NAME}\s?[:：])", re.IGNORECASE
)
_LOGGED_TWICE = re.compile(  # 03.03.26, 12:03 - Ben: …, 12:03 <ben> …; one alone may be a plan
    rf"{_WHEN}(?:\s?[-–—]\s{_NAME}[:：]|\s<[^<>\s]{{1,40}}>\s)", re.IGNORECASE
)
_TALK = re.compile(
    rf"(?:{_CLOCK}\s(?:[-–—]\s)?)?[*_]{{0,2}}(?P<who>{_NAME})[*_]{{0,2}}\s?"
    r"(?:：|:[*_]{0,2}(?=\s|$|[^\x00-\x7f]))(?P<said>.*)",
    re.IGNORECASE,
)
_SAID_TO = re.compile(
    r"[?!？！]|\b(?:i|i['’]m|i['’]ll|you|u|we|me|ok|okay|yes|yeah|no|hi|hey|hello|lol|thanks|ich|du|ihr|wir|mir|ja|nein"
    r"|je|tu|oui|non|yo|tú|sí|io|sì|eu|você)\b|[我你您咱]|哈哈|好的",
    re.IGNORECASE,
)
_COPIED = re.compile(  # as programs copy a message: who and when in a line, the words below
    rf"[^\[\]\n]{{1,60}},\s?\[[^\[\]\n]{{0,25}}?{_CLOCK}[^\[\]\n]{{0,12}}\]"  # Ben, [3. Mar 2026 12:03]
    rf"|[^\n—]{{1,40}}\s—\s(?:(?:Today|Yesterday) at|(?:heute|gestern) um|今天|昨天|{_DAY},?)\s?{_CLOCK}$"  # Discord
    rf"|[^\n]{{1,40}}?(?:\(\d{{5,12}}\)\s(?:{_DAY}\s)?{_CLOCK}|\s{_DAY}\s\d{{1,2}}:\d{{2}}:\d{{2}})$"  # QQ
    rf"|[^\[\]\n]{{1,40}}?\s\[{_CLOCK}\]$",  # Slack
    re.IGNORECASE,
)
_FORM = re.compile(  # labels of forms, plans and lists
    "name|address|phone|e-?mail|notes?|reminder|todo|time|date|place|title|city|country|birthday|age|step|ingredients"
    r"|option|pros?|cons?|problem|question|goal|idea|budget|price|total|p\.?\s?s\.?"
    "|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch"
    "|姓名|名字|年龄|地址|电话|邮箱|时间|日期|地点|备注|提醒|问题|(?:周|星期)[一二三四五六日天]"
)


def _is_copied_head(rows: Sequence[_Row], number: int) -> bool:
    return number + 1 < len(rows) and bool(_COPIED.match(rows[number].text[:_LONGEST_HEAD]))


def _mark_logs(rows: Sequence[_Row]) -> None:
    """All from the first line with a time and a name to the last, and what goes on in that."""
    logged, perhaps = [], []
    for number, row in enumerate(rows):
        if not row.is_pasted and _LOGGED.match(row.text[:_LONGEST_HEAD]):
            logged.append(number)
        elif not row.is_pasted and _LOGGED_TWICE.match(row.text[:_LONGEST_HEAD]):
            perhaps.append(number)
    if logged or len(perhaps) > 1:
        _mark(rows, min([*logged, *perhaps]), max([*logged, *perhaps]))


def _mark_talk(rows: Sequence[_Row]) -> None:
    run: list[tuple[int, str, str]] = []
    after_blank = False
    for number, row in enumerate([*rows, _Row(0, 0, "", is_pasted=True)]):
        found = None if row.is_pasted else _TALK.match(row.text)
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
    if len(run) < _RUN or all(_FORM.fullmatch(who) for _, who, _ in run):
        return
    said_to = sum(bool(_SAID_TO.search(said)) for _, _, said in run)
    again = sum(count > 1 for who, count in times.items() if not _FORM.fullmatch(who))
    if again or (said_to * 2 >= len(run) and not any(_FORM.fullmatch(who) for _, who, _ in run)):
        _mark(rows, run[0][0], run[-1][0])


def _mark(rows: Sequence[_Row], first: int, last: int) -> None:
    """Mark lines as pasted, and what belongs to the last of them: what follows up to an empty line."""
    while last + 1 < len(rows) and rows[last + 1].text and not rows[last + 1].is_pasted:
        last += 1
    for row in rows[first : last + 1]:
        row.is_pasted = True


# What speaks in the program's name, and data.

_ORDERS = (
    r"you (?:are|must|will|should)\b|from now|ignore\b|always\b|never\b|override\b|the user\b"
    r"|new (?:rules?|instructions?)\b|你(?:现在|必须|是|应该|要)|从现在|忽略|永远|始终"
)
_SYSTEM = (
    r"[\[【(（<]\s?(?i:system|developer|admin|系统|系統|管理员)"
    r"(?i:[ _-]?(?:message|prompt|note|notice|override|reminder|消息|提示|通知))?\s?[\]】)）>]"
    r"|(?:SYSTEM|DEVELOPER)(?: [A-Z]{2,20}){0,3}[*_]{0,2}\s?[:：]"
    r"|(?i:system[ _-](?:message|prompt|note|notice|override|instructions?)|(?:系统|系統)(?:消息|提示词?|指令|通知))"
    r"[*_]{0,2}\s?[:：]"
    rf"|(?i:system|系统|系統)[*_]{{0,2}}\s?[:：]\s{{0,3}}(?i:{_ORDERS})"
)
_INJECTED = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|</?system(?:[-_ ]\w{1,20})?\s?>"
    rf"|(?m:^)[ \t>*_#=-]{{0,8}}(?:</?(?:instructions?|developer|context|quoted|remembered)>|{_SYSTEM})"
)
_JSON = re.compile(r"[\[{]\s{0,40}(?:\{\s{0,40})?(?:\"[^\"\n]{1,80}\"\s{0,4}:|\"[^\"\n]{0,80}\"\s{0,4},\s{0,40}\")")
_BRACKET = re.compile(r"\"(?:[^\"\\\n]|\\.){0,500}+\"|[\[\]{}]")
_MARKUP = re.compile(
    r"<!doctype\b|<\?xml\b|<!--|<[a-z][a-z0-9]{0,20}\s{1,20}[a-z-]{2,30}=[\"']"
    r"|(?m:^)[ \t]*<([a-z][a-z0-9]{0,20})>(?:[ \t]*(?:<[a-z]|(?m:$))|[^<\n]{0,2000}</\1>)|<(?:script|style|svg)\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-z!?][^<>]{0,2000}>", re.IGNORECASE)


def _injected(text: str) -> Iterator[Span]:
    if found := _INJECTED.search(text):
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

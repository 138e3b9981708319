"""Meaning of endpoints' complaints, whichever provider words them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

from nanobot.errors import LLMError, LLMErrorKind

# Patterns stay texts, which `re` compiles at the first failure: that takes longer than all other imports here.
_CONTEXT = (
    r"context[_ ]length|context[_ ]size|context window|context limit|maximum context|context the overflows"
    r"|maximum (?:prompt|input|model|sequence) length|max(?:imum)?[_ ](?:model|prompt|input)[_ ](?:len|tokens)"
    r"|prompt (?:is|was) too long|input (?:is|was) too (?:long|large)|prompt contains .* too large for model"
    r"|prompt exceeds max length|input length exceeds|range of input length|input token count"
    r"|prompt token count|too many (?:input )?tokens|exceeded model token limit|reduce the length of"
    r"|request too large|\binputs`? tokens? \+ |messages.{0,40}string too long|payload too large"
    r"|context[_ ](?:overflow|exceed\w*|too[_ ](?:long|large))|(?:exceed|overflow)\w*[_ ](?:the )?(?:max\w* )?context"
    r"|context (?:is |was )?(?:too (?:long|large|big)|full)|(?:conversation|history|messages?) (?:is|are) too long"
    r"|上下文\S{0,12}(?:长|窗口|超|溢出|限制|过大)|超\S{0,8}上下文|コンテキスト\S{0,12}(?:長|超|上限|ウィンドウ)"
    r"|(?:入力|プロンプト|トークン)\S{0,10}(?:長すぎ|超え|超過|上限)"
    r"|컨텍스트[^.]{0,20}(?:초과|길)|(?:длин\w+|размер\w*|окн\w+) контекст|контекст\w* (?:слишком|превы)"
    r"|contexto[^.]{0,30}(?:excede|exced|demasiad|longo|largo)|(?:excede|longueur|taille)[^.]{0,30}context"
    r"|kontext(?:länge|fenster)|tokens?\s?[总数量]{1,3}\S{0,6}超|(?:输入|提示词?|prompt)[^。，；]{0,12}(?:过长|超长|超出|超过)|超[出过]\S{0,8}(?:最大长度|token|长度限制)"
)
_OUTPUT = (
    r"(?:max_?(?:completion_|output_|new_)?tokens|num_predict|(?:completion|output|response|generated) tokens)\b"
    r"[^\n]{0,120}?(?:too (?:large|big|high|many)|exceed|at most|maximum|larger|greater|less than|<=|range|between"
    r"|limit|超|不能大于|最大)|supports at most \d+ (?:completion|output)|(?:输出|生成|回答)\S{0,8}(?:超|不能大于|最大)"
)
_TEMPLATE = (
    r"jinja|chat[ _]?template|raise_exception|template (?:error|render)|roles must alternate|system role not supported"
)
_FILTERED = (
    r"content[_ ]?(?:filter|policy|management|exists risk)|responsible ?ai|data_?inspection|safety (?:system|reasons)"
    r"|inappropriate content|sensitive content|new_sensitive|敏感内容|不安全|违规内容"
)
_QUOTA = (
    r"insufficient[_ ](?:quota|balance|funds|credits?)|exceeded your current quota|credit balance|out of credits?"
    r"|billing|payment required|arrearage|requires more credits|余额不足|额度不足|额度已用尽|欠费|充值"
)
_AUTH = (
    r"(?:invalid|incorrect|missing|no|wrong) (?:api|access)[_ -]?(?:key|token)|api[_ -]?key (?:not|is not|is) "
    r"|api_key_invalid|invalid_api_key|unauthori[sz]ed|authentication|permission denied"
    r"|无效的(?:令牌|密钥)|(?:令牌|密钥)(?:无效|错误|已过期|状态不可用)"
)
_MODEL = (
    r"model[_ ]not[_ ](?:found|exist|supported)|no route|unknown model|no such model|invalid model|not a valid model"
    r"|model\b.{0,80}(?:does not exist|not found|is not available|not supported)|no endpoints found|模型不存在"
)
_LACKS_TOOLS = r"support tool use|does not support (?:tools|images?)\b|support image input"
_RATE = r"rate[_ -]?limit|too many requests|resource_?exhausted|请求过于频繁|并发数过高"
_SERVER = r"overloaded|internal|server[_ ]error|unavailable|try again|timed? ?out|bad gateway|capacity|繁忙"
_RETRY_IN = r"(?:try again|retry) in (?:(\d{1,4})m(?!s))?(?:(\d{1,6}(?:\.\d*)?)(ms|s))?"

_SUMS = (
    r"maximum context length is (?P<window>\d{1,9}).*?(?P<prompt>\d{1,9}) (?:tokens )?in the (?:messages|prompt|input)",
    r"maximum context length is (?P<window>\d{1,9}).*?(?P<prompt>\d{1,9}) input tokens",
    r"\d{1,9} > (?P<window>\d{1,9}) - (?P<prompt>\d{1,9})",
    r"(?P<prompt>\d{1,9}) \+ \d{1,9} > (?P<window>\d{1,9})",
    r"must be <= (?P<window>\d{1,9}).*?(?P<prompt>\d{1,9}) `?inputs`? tokens",
)
"""How endpoints word that conversation and answer together are too long."""

_BY_WORDS: tuple[tuple[LLMErrorKind, str], ...] = (
    ("context", _CONTEXT),
    ("filtered", _FILTERED),
    ("quota", _QUOTA),
    ("auth", _AUTH),
    ("request", _LACKS_TOOLS),
    ("model", _MODEL),
    ("request", _TEMPLATE),
    ("rate_limit", _RATE),
    ("server", _SERVER),
)
_BY_STATUS: dict[int, LLMErrorKind] = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "model",
    405: "model",
    408: "server",
    409: "server",
    413: "context",
    425: "server",
    429: "rate_limit",
}
_BELIEVED: dict[int, tuple[LLMErrorKind, ...]] = {
    401: ("quota",),
    402: (),
    403: ("quota", "model", "filtered", "rate_limit"),
    404: ("request",),
    429: ("quota", "context"),
}
"""What the words may make of a status."""
_BELIEVED_OF_4XX: tuple[LLMErrorKind, ...] = (
    "context",
    "output",
    "filtered",
    "quota",
    "auth",
    "model",
    "request",
    "rate_limit",
)
_BELIEVED_OF_5XX: tuple[LLMErrorKind, ...] = ("context", "output", "request")

_VAGUE: tuple[LLMErrorKind | None, ...] = (None, "model", "request", "server")
"""What a complaint about the size of an answer may look like as well."""

_LONGEST = 4000

ECHO = "[…]"
"""Stands where an endpoint's complaint repeated what it had been asked."""

_LEAST_ECHO, _LEAST_ECHO_UNSPACED = 16, 8
"""Characters that are an echo, and no words that people and endpoints happen to share."""

_OF_PROTOCOL = ("role", "type", "id", "tool_call_id")
_UNSPACED = "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"


def failure(status: int | None, body: object, headers: Mapping[str, str], now: datetime) -> LLMError:
    """The error for a refusal.

    Args:
        status: of HTTP; None for an error that came inside an answer that began well.
        body: the parsed JSON, or the text as it was.
        headers: of the response, with lower-case names.
        now: for a Retry-After that names a date.
    """
    words = error_words(body)[:_LONGEST]
    status = status if status is not None else _status_in(body)
    in_words = _wait_in(words)
    kind = _kind(status, words, told_to_wait=in_words is not None)
    wait = retry_after(headers, now)
    detail = f"{status or 'in the answer'}: {words}"
    return LLMError(kind, detail, retry_after=in_words if wait is None else wait, said=words)


@dataclass(frozen=True, slots=True)
class Overflow:
    """A complaint that conversation and answer together are too long, with the sizes it names, in tokens."""

    window: int
    prompt: int

    @property
    def leaves_room(self) -> bool:
        """True if it is the answer that was given too much room: the conversation leaves a quarter of the window."""
        return self.prompt <= self.window * 3 // 4


def overflow(words: str) -> Overflow | None:
    """The sizes in a complaint about the sum of conversation and answer; None if it names none."""
    words = re.sub(r"(?<=\d),(?=\d{3}\b)", "", words)
    for pattern in _SUMS:
        if found := re.search(pattern, words, re.IGNORECASE):
            return Overflow(int(found["window"]), int(found["prompt"]))
    return None


def is_about_output(words: str) -> bool:
    """True if a complaint is about the size of the answer that was asked for."""
    return re.search(_OUTPUT, words, re.IGNORECASE) is not None


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait according to the headers (RFC 9110: seconds or a date); None for none and for nonsense."""
    milliseconds = headers.get("retry-after-ms", "").strip()
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]*)?", milliseconds):
        return float(milliseconds) / 1000
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]*)?", value):
        return float(value)
    try:
        date = parsedate_to_datetime(value)
        return max(0.0, (date - now).total_seconds())
    except (ValueError, TypeError, OverflowError):  # nonsense, or a date without a zone
        return None


def error_words(body: object) -> str:
    """Everything an error says about itself, code and type included, in one line."""
    if isinstance(body, list):
        body = body[0] if body else ""
    if not isinstance(body, Mapping):
        return " ".join(str(body or "").split())
    inner = body.get("error", body)
    if not isinstance(inner, Mapping):
        return error_words(inner or body.get("message"))
    names = ("message", "msg", "detail", "code", "type", "status", "error")
    said = [str(inner[name]) for name in names if inner.get(name)]
    metadata = inner.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("raw"):
        said.append(str(metadata["raw"]))  # OpenRouter: what the provider behind it said
    return " ".join(" ".join(said).split())


def without_echo(words: str, sent: object) -> str:
    """A complaint without the stretches that stand in the request, too: they are what somebody said.

    Args:
        words: the complaint, at most a few thousand characters.
        sent: the messages of the request, as JSON has them.
    """
    is_echo = bytearray(len(words))
    for text in _texts(sent):
        for form in dict.fromkeys((text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])):
            seen = " ".join(form.split())
            _mark(is_echo, words, seen, _LEAST_ECHO, r"(?s:.)")
            _mark(is_echo, words, seen, _LEAST_ECHO_UNSPACED, _UNSPACED)
    parts = re.finditer(rb"\x01+|\x00+", bytes(is_echo))
    return "".join(ECHO if is_echo[part.start()] else words[part.start() : part.end()] for part in parts)


def _mark(is_echo: bytearray, words: str, text: str, size: int, letter: str) -> None:
    """Mark each stretch of so many letters that stands in the text, too.

    Takes time in proportion to the text: a stretch holds one of the halves into which the text is cut, so that only
    around a half that stands in the words is looked letter by letter.
    """
    half = size // 2
    halves = {words[at : at + half] for at in range(len(words) - half + 1)}
    places: dict[str, list[int]] = {}
    for found in re.finditer(rf"(?=({letter}{{{size}}}))", words):
        places.setdefault(found[1], []).append(found.start())
    around: set[str] = set()
    for at in range(0, len(text), half) if places else ():
        if text[at : at + half] in halves:
            around.add(text[max(0, at - half) : at + size])
    for piece in around:
        for at in range(len(piece) - size + 1):
            for place in places.pop(piece[at : at + size], ()):
                is_echo[place : place + size] = b"\x01" * size


def _texts(sent: object) -> Iterator[str]:
    """The texts of messages: what stands in lists, and under any name; pictures are none."""
    if isinstance(sent, str):
        if not sent.startswith("data:"):
            yield sent
    elif isinstance(sent, Mapping):
        for name, value in sent.items():
            yield from () if name in _OF_PROTOCOL else _texts(value)
    elif isinstance(sent, Iterable):
        for value in sent:
            yield from _texts(value)


def _kind(status: int | None, words: str, *, told_to_wait: bool) -> LLMErrorKind:
    said = next((kind for kind, pattern in _BY_WORDS if re.search(pattern, words, re.IGNORECASE)), None)
    if said == "context":
        sizes = overflow(words)
        said = "output" if sizes and sizes.leaves_room else said
    elif said in _VAGUE and is_about_output(words):
        said = "output"
    if said == "quota" and told_to_wait:
        said = "rate_limit"  # a quota per minute comes back by itself
    if status is None:
        return said or "protocol"
    believed = _BELIEVED.get(status, _BELIEVED_OF_5XX if status >= 500 else _BELIEVED_OF_4XX)
    if said in believed:
        return said
    return _BY_STATUS.get(status, "server" if status >= 500 else "request")


def _status_in(body: object) -> int | None:
    inner = body.get("error") if isinstance(body, Mapping) else None
    for source in (inner, body):
        code = source.get("code") if isinstance(source, Mapping) else None
        if str(code).isdecimal() and 400 <= int(str(code)) < 600:
            return int(str(code))
    return None


def _wait_in(words: str) -> float | None:
    found = re.search(_RETRY_IN, words, re.IGNORECASE)
    if found is None or not (found[1] or found[2]):
        return None
    return float(found[1] or 0) * 60 + float(found[2] or 0) / (1000 if found[3] == "ms" else 1)

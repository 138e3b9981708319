"""Wishes to remember or to forget something, in the words that people use."""

import re
from collections.abc import Iterator

MOST = 1000
"""Characters. In a longer message such words are more likely part of what somebody else wrote."""

_HELLO = r"(?:(?:hey|hi|hello|ok|okay|so|and|also|oh|well|now|then|nanobot)[,:!.]?\s+)*"
_ASKING = r"(?P<asking>(?:can|could|would|will)\s+you\s+)?"
_WANTING = r"(?:i\s+(?:want|need|would like)\s+you\s+to\s+|i['’]d\s+like\s+you\s+to\s+|you\s+(?:should|must)\s+)?"
_VERB = (
    r"(?:remember(?:\s+(?:this|the following))?(?:\s+for\s+(?:me|later))?"
    r"|(?:do\s+not|don['’]?t|never)\s+(?:ever\s+)?forget(?:\s+this)?"
    r"|make\s+a\s+note|take\s+a\s+note|keep\s+in\s+mind|bear\s+in\s+mind"
    r"|(?:save|add|put|write)\s+(?:this\s+)?(?:to|in|into)\s+(?:your\s+)?memory)"
)
_I_SAY = (  # "remember my birthday" tells nothing, "remember my birthday is in May" does
    r"(?:i|i['’]m|i['’]ve|i['’]d|i['’]ll|we|we['’]re|we['’]ve)\s"
    r"|(?:my|our|the)\s[^.!?\n]*(?:['’]s\s|\b(?:is|are|was|were|has|have|had|will|can|can['’]t|does|doesn['’]t|likes?|loves?"
    r"|hates?|lives?|works?|needs?|wants?|prefers?|goes|comes|starts?|ends?|means?)\b)"
)
_SHOWN = r"(?:time|times|day|night|one|moment|summer|trip|guy|man|woman|movie|film|song|book|place|party)\s"
_ENGLISH = re.compile(
    rf"{_HELLO}{_ASKING}(?:please[,:]?\s+)?{_WANTING}(?:please\s+)?(?:always\s+|just\s+|also\s+)?{_VERB}(?:,?\s+please)?"
    rf"(?:\s*[:：]\s*|\s+[-–—]+\s+|,?\s+that(?:\s*[:,])?\s+(?!{_SHOWN})|,?\s+(?={_I_SAY}))"
    r"(?P<fact>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_CHINESE = re.compile(
    r"(?:(?:你好|您好|嗨|早上好|晚上好|好的?|嗯|哦|对了|那|还有|另外)[，,。！!\s]*)*"
    r"(?P<asking>(?:你?(?:能不能|可不可以|可以|能)|麻[烦煩]你?)?(?:[请請]你?|[帮幫]我|[帮幫]忙|替我|[给給]我))*"
    r"(?:你(?:要|得|一定要)?|一定要?|千[万萬]要?|[务務]必|要)?"
    r"(?:(?P<sure>[记記](?:住|下[来來]?|一下|[个個]事|[个個][笔筆][记記])|[记記][录錄](?:一下|下[来來]))|[记記][得着著]|[别別]忘了?|不要忘[记記]?了?)"
    r"(?:一下|[这這](?:[个個]|件事|一[点點]))?(?P<mark>[：:，,。！!\s]*)(?P<fact>\S.*)",
    re.DOTALL,
)
_TAG = re.compile(  # ", okay?"
    r"[\s,，]*(?:\b(?:please|thanks|thank you|okay|ok|alright|will you|would you)"
    r"|好吗|好嗎|好不好|可以吗|行吗|谢谢|謝謝)[.!?。！？]*$",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|(?<![:：\n])\n+")
_IS_QUESTION = re.compile(r"[?？]\s*$|[吗嗎呢]\s*[。.!！]?\s*$|什[么麼]\s*$")
_NOTHING = re.compile(
    r"(?:this|that|it|me|us|everything|all of (?:this|that|it)|i (?:said|told you)\b.*"
    r"|[这這][个個些]?|我|它|我[刚剛]?[才剛]?[说說]的.{0,3})?[.!。！…\s]*",
    re.IGNORECASE,
)
MOST_TO_FORGET = 120
"""Characters of an order to forget: in longer ones more is meant than what is named."""

_LATELY = r"(?:last|latest|previous|earlier|first|question|message|request|order|instructions?)\b"
_FORGET = re.compile(
    rf"{_HELLO}{_ASKING}(?:please[,:]?\s+)?forget\s+(?:about\s+)?"
    rf"(?:that\s+(?={_I_SAY})|(?:everything|all)\s+(?:you\s+know\s+)?about\s+(?=\w)|(?=my\s+(?!{_LATELY})\w))"
    r"(?P<what>[^.!?;\n]+)[.!?]*",
    re.IGNORECASE,
)
_FORGET_CHINESE = re.compile(  # 忘了我的密码 alone says that one has forgotten it oneself
    r"(?:(?:你好|您好|嗨|好的?|对了|那)[，,。！!\s]*)*"
    r"(?:忘掉|(?:[请請]你?|麻[烦煩]你?|[帮幫]我)+(?:忘掉|忘[记記]|忘了))"
    r"[：:，,\s]*(?:[关關][于於])?(?P<what>我(?![们們]?[吧了的]?[吧。！!]*$)[^。！!？?；\n]+?)[吧。！!]*",
)
_NO_OBJECT = re.compile(r"[了过過的不得]")
_TELLS = re.compile(r"我(?!们?[吗嗎])|咱|[^，。]*(?:是|叫|喜[欢歡]|[讨討][厌厭]|[过過]敏)")


def remember_request(text: str) -> str | None:
    """The fact, in the person's own words, if a message asks to remember one; else None.

    Questions ("do you remember that …?"), memories of one's own ("I remember that …") and errands
    ("remember to call me", "记得买牛奶") ask for something else. What is asked behind the fact is no part of it.
    """
    if len(text) > MOST:
        return None
    sentences = [sentence for sentence in _SENTENCE_END.split(text.strip()) if sentence]
    return next((fact for first in range(len(sentences)) if (fact := _wished(sentences[first:]))), None)


def forget_request(text: str) -> str | None:
    """What is to be forgotten, if a message is an order to forget something of the speaker's; else None.

    "Forget it" and "don't forget …" are no such orders, nor is what somebody has forgotten themselves.
    """
    said = _TAG.sub("", text.strip())
    if len(said) > MOST_TO_FORGET:
        return None
    match = _FORGET.fullmatch(said) or _FORGET_CHINESE.fullmatch(said)
    if match is None or (said.endswith("?") and not match.groupdict().get("asking")):
        return None
    return match["what"].strip()


def _wished(sentences: list[str]) -> str | None:
    """The fact in a wish that the first of these sentences begins."""
    match = _ENGLISH.fullmatch(_TAG.sub("", sentences[0])) or _CHINESE.fullmatch(_TAG.sub("", sentences[0]))
    if match is None:
        return None
    first = match["fact"]
    if _IS_QUESTION.search(first):
        if not match["asking"]:
            return None
        first = re.sub(r"[吗嗎]?\s*[?？]+\s*$", "", first)
    if _NOTHING.fullmatch(first) or not _is_told(match):
        return None
    return " ".join([first.strip(), *_statements(sentences[1:])])


def _statements(sentences: list[str]) -> Iterator[str]:
    """The sentences up to the first that asks something."""
    for sentence in sentences:
        if _IS_QUESTION.search(sentence):
            return
        yield _TAG.sub("", sentence).strip()


def _is_told(match: re.Match[str]) -> bool:
    """Chinese leaves out what English says with "that": what follows must read as something told."""
    if match.re is _ENGLISH:
        return True
    if any(mark in match["mark"] for mark in ":：") or (match["sure"] and match["mark"]):
        return True
    if match["sure"]:
        return not _NO_OBJECT.match(match["fact"])
    return bool(_TELLS.match(match["fact"]))

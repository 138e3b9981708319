"""How somebody likes to be answered: it binds nobody but the conversation with them."""

import re

_HOW = (
    r"(?:in (?:(?:very|more|rather|short|long|simple|plain|formal|informal|polite|full|clear|easy|few|my|bullet|metric"
    r"|imperial|british|american|traditional|simplified|brazilian|swiss) ){0,2}[^\W\d_]+(?: (?:sentences?|words?|terms"
    r"|units|language|points|form|english))?"
    r"|(?:more |less |very |rather |as |quite )?(?:briefly|shortly|short|concisely|formally|informally|politely"
    r"|casually|slowly|simply|clearly)(?: as possible)?"
    r"|with(?:out)? (?:any |more |fewer |so many |lots of )?(?:emojis?|emoticons|jokes|examples|bullet points|lists"
    r"|tables|markdown|formalities|small talk|details))"
)
_SO = rf"{_HOW}(?:(?:,| and|, and|, but| but) {_HOW}){{0,2}}"
_WISH = (
    r"(?:from now on,? |please |kindly |always |never |only |do not |don'?t |(?:can|could|would|will) you "
    r"|you (?:should|must|can|may) |i(?:'d| would)? (?:want|like|prefer) (?:you|it if you) (?:to )?"
    r"|(?:(?:the user|\w+) )?(?:wants?|likes?|prefers?|asks?|asked|would like)"
    r" (?:(?:you|the assistant|the bot|the model) )?to (?:be )?){0,4}"
)
_TO = r"(?:(?: back)?(?: to| with)? (?:me|us|him|her|them|the user))?"
_ENGLISH = (
    rf"(?:answer(?:ed)?|reply|replied|respond(?:ed)?|writ(?:e|ten)|speak|spoken|talk(?:ed)?|explain things){_TO}"
    rf"(?: to)? (?:always |only )?{_SO}",
    r"keep (?:your |the |all |my )?(?:answers?|replies|messages|it) (?:very |rather )?(?:short|brief|simple|concise"
    r"|formal|informal|polite)(?: and (?:short|brief|simple|concise|formal|polite))?",
    r"use (?:only )?(?:(?:metric|imperial|celsius|simple|short|plain|formal|informal|easy) )?(?:units|emojis?|words"
    r"|sentences|language|celsius|markdown|lists|tables)(?: with me| for me)?",
)
_LATER = r"(?:,? (?:please|from now on|always|with me|to me|for me))*"
_CHINESE = (
    r"(?:从现在(?:起|开始)|今后|以后)?[，,]?(?:请|麻烦|希望|我希望|我想让|用户希望)?(?:你|您|助手)?(?:以后)?(?:都|总是|一直|尽量|只|不要|别|必须)?"
    r"(?:(?:用|以|使用)[\w]{1,6}(?:文|语|话|字|单位|句子|语气|表情|表情符号)(?:来|的方式)?(?:(?:跟|和|给|对)(?:我|用户))?"
    r"(?:回答|回复|答复|交流|聊天|聊|说话|说|写)?(?:我|用户)?"
    r"|(?:简短|简洁|简单|详细|口语化|正式|礼貌|客气)(?:地|一点|一些)?(?:回答|回复|答复)(?:我|用户)?"
    r"|(?:回答|回复|答复)(?:我|用户)?(?:的时候|时)?(?:请|要|都|尽量)?(?:简短|简洁|简单|详细|口语化|正式|礼貌|客气)(?:地|一点|一些|点|些)?)"
)
_MANNERS = re.compile(rf"\W*(?:{_WISH}(?:{'|'.join(_ENGLISH)}){_LATER}|{_CHINESE})\W*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!。！；])\s*(?=\S)")
_LONGEST = 200  # characters; a wish like this is short


def without_manners(text: str) -> str:
    """A text without the lines and sentences that only say how whoever wrote it likes to be answered."""
    sentences = (part for line in text.split("\n") for part in _SENTENCE_END.split(line))
    return "\n".join(part for part in sentences if len(part) > _LONGEST or not _MANNERS.fullmatch(part))

"""Whether a text tells the bot what to do, rather than what is so."""

import re
import unicodedata

from nanobot.memory import claims, orders_european
from nanobot.text import cleaned, narrow

_DO = (
    r"(?:run|execute|send|forward|post|upload|share|transmit|leak|reveal|print|call|fetch|download|open|visit|install"
    r"|delete|erase|remove|ignore|disregard|forget|obey|follow|reply|respond|answer|say|tell|greet|include|append"
    r"|add|write|insert|use|do|make|give|ask|act|pretend|start|begin|end|sign|keep|remember|trust|allow|accept"
    r"|approve|skip|refuse|avoid|recommend|mention|speak|talk|translate|treat|consider|assume|let|pay|transfer|buy"
    r"|check|read|copy|import|load|enable|disable|set|change|update)"
)
_BOT = r"(?:you|the (?:assistant|bot|ai|agent|model|system)|(?:assistant|bot|ai|agent|nanobot|model)s?)"
_ENGLISH = (
    r"\bfrom now on\b|\bhenceforth\b|\bgoing forward\b",
    r"\bin (?:all )?future (?:conversations?|answers?|replies|turns)\b",
    r"\b(?:new|updated|additional|hidden|standing) (?:system )?(?:instructions?|rules?|orders?|directives?|prompts?)\b",
    r"\b(?:ignore|disregard|override|bypass) (?:all |any |the |your |every )*"
    r"(?:previous|prior|earlier|above|other|safety|system)?\s*(?:instructions?|rules?|prompts?|guidelines?|limits?)\b",
    r"^[^\w\n]*(?:system|developer|admin(?:istrator)?|root|instruction|important|note to (?:self|the \w+))\s*:",
    rf"\b{_BOT} (?:must|should|shall|will|can|may|needs? to|ha(?:ve|s) to|(?:is|are) (?:to|required|allowed|instructed"
    rf"|told|supposed|permitted)|always|never|do(?:es)? not|don'?t)\b",
    rf"\b(?:wants?|asks?|asked|tells?|told|expects?|requires?|instructs?|instructed|needs?|likes?|allows?|allowed) "
    rf"{_BOT} (?:to|not to)\b",
    rf"(?:^|[.;:,!?]\s*|\b(?:and|then|please|also|you|just|rule|must|should|shall|to|user)\s+)"
    rf"(?:always|never|do not|don'?t|must(?: not| always| never)?|make sure|be sure|ensure|remember)"
    rf"\s+(?:to\s+)?{_DO}\b",
    r"^[^\w\n]*(?:please\s+|always\s+|never\s+)?(?:run|execute|send|forward|post|upload|transmit|leak|reveal|ignore"
    r"|disregard|obey|pretend|reply|respond|answer|greet|append|include|fetch|download|install)\b",
    rf"\b(?:when(?:ever)?|every time|each time|if|once|before|after|on every|with every)\b[^.!?]{{0,80}},?\s*"
    rf"(?:always |never |please |then |first |immediately |you |must |should )+{_DO}\b",
    r"\b(?:after|before|when|while) (?:answering|replying|responding|greeted|asked|talking)\b",
    r"\b(?:curl|wget|bash|sh -c|powershell|sudo|rm -rf|chmod|eval|nc|ssh|scp)\s+\S{0,200}[/$|~.:-]",
    r"\|\s*(?:ba|z)?sh\b|\$\(",
    r"\b(?:send|sent|post(?:ed)?|upload(?:ed)?|forward(?:ed)?|report(?:ed)?|transmit(?:ted)?|shared?|cop(?:y|ied)"
    r"|leak(?:ed)?)(?:s|ing)?\b[^.!?]{0,80}\bhttps?://",
    r"\bhttps?://\S++[^.!?]{0,40}\b(?:must|should|always|receives?) ",
)
_CHINESE = (
    r"从现在(?:起|开始)|從現在(?:起|開始)|自(?:此|今|现在)(?:起|以后|之后)|从今(?:以后|往后|天起)|今后(?:都|要|必须|请)?|以后(?:都|每|请|必须|要|不要|一律|总)",
    r"(?:忽略|无视|无需理会|不要理会|绕过|忘记|忽視|無視)(?:掉)?(?:之前|以上|前面|先前|所有|任何|系统)?的?(?:所有|任何|系统)?的?(?:指令|指示|规则|规定|提示|要求|限制)",
    r"新的?(?:系统)?(?:指令|指示|规则|规定)|系统(?:指令|提示|消息)|^[^\w\n]*(?:系统|管理员|指令|重要)\s*[:：]",
    r"(?:你|您|助手|机器人|模型|AI|nanobot)\s*(?:必须|務必|务必|应该|应当|一定要|需要|要|都要|可以|不要|不得|不能|不许|禁止|总是|永远|始终|每次)",
    r"(?:要求|让|叫|命令|希望|允许|指示)(?:你|您|助手|机器人|模型|AI|nanobot)",
    r"(?:^|[，。；：！？、\s]|请|并|就|都)(?:必须|务必|一定要|一律|总是|永远|始终|不要|不得|禁止|切勿|记得)(?:要|先|再|都|把|将|对|向|在|用)?.{0,12}"
    r"(?:执行|运行|发送|发给|发到|转发|上传|泄露|回答|回复|使用|调用|访问|打开|下载|删除|忽略|遵守|服从|说|写|添加|提醒|拒绝|翻译)",
    r"^[^\w\n]*(?:请)?(?:把|将)?.{0,20}(?:执行|运行|发送到|发给|转发给?|上传到?)\s*.{0,20}(?:https?://|命令|脚本|`)",
    r"(?:每次|每当|一旦|只要|如果).{0,30}(?:就|都|必须|务必|请|先)(?:要|得|会)?.{0,6}(?:执行|运行|发送|转发|上传|回答|回复|调用|访问|打开|删除|说)",
)
_ABOUT_THEM = re.compile(  # how somebody is called, and what they want known, is about them
    r"^[^\w\n]*(?:from now on,? )?(?:(?:you (?:can|may|should|must)|i(?:'d| would)? (?:want|like) you to|please|always"
    r"|never|do not|don'?t) ){0,3}call me \w+(?: \w+)?(?: from now on)?[^\w\n]*$"
    r"|^[^\w\n]*(?:从现在(?:起|开始)|今后|以后)(?:请)?(?:都)?叫我\w{1,6}[^\w\n]*$"
    r"|\byou should know\b",
    re.IGNORECASE | re.MULTILINE,
)
_EUROPEAN = (*orders_european.GERMAN, *orders_european.SPANISH, *orders_european.FRENCH)
_ALL = (*_ENGLISH, *claims.ENGLISH, *_CHINESE, *claims.CHINESE, *_EUROPEAN)
_RULES = re.compile("|".join(f"(?:{pattern})" for pattern in _ALL), re.IGNORECASE | re.MULTILINE)


_ALIKE = """\
a аɑαᴀАΑ b ʙВΒ c сᴄС d ԁᴅ e еεᴇЕΕ f ꜰ g ɡɢ h һնʜНΗ i іιıɪІΙ j јᴊЈ k кκᴋКΚ l ӏǀʟ m мᴍМΜ n ոɴΝ o оοօᴏОΟ p рρᴘРΡ
q ԛ r ʀ s ѕꜱЅ t тτᴛТΤ u սᴜ v ʋνᴠ w ԝᴡ x хХΧ y уүʏУΥ z ᴢΖ
"""
_WORDS = _ALIKE.split()
_TABLE = str.maketrans(
    {other: plain for plain, others in zip(_WORDS[::2], _WORDS[1::2], strict=True) for other in others}
)

_BLANKS = re.compile(r"\s{2,}")
_MARKS = re.compile(r"[^\w\s]{50,}")

_PIECE, _BEHIND = 4000, 1000
"""Characters that are searched at once, and how far a match that begins in them may reach behind them: what is
searched at once holds up everybody else."""


def is_rule(text: str) -> bool:
    """Whether a text reads like a standing instruction, or gives somebody power over the bot. Errs on the side of yes.

    In English and Chinese; of German, Spanish and French the commonest forms. Look-alikes of letters hide nothing.
    "Ada always takes the early train" and "never eats meat" tell what is so; "always take", "the bot must" do not.
    """
    plain = _MARKS.sub(_ends, _BLANKS.sub(_blank, text))
    return any(map(_is_found, {plain, _spelled(plain)}))


def is_order(text: str) -> bool:
    """Whether what somebody wants remembered orders the bot about; how they like to be called does not.

    Invisible characters, wide letters and line ends hide nothing.
    """
    plain = _ABOUT_THEM.sub("", narrow(cleaned(text)))
    joined = " ".join(plain.split())
    return is_rule(plain) or (joined != plain and is_rule(joined))


def _is_found(text: str) -> bool:
    starts = range(0, len(text), _PIECE)
    return any(_RULES.search(text, start, start + _PIECE + _BEHIND) for start in starts)


def _blank(run: re.Match[str]) -> str:
    return "\n" if "\n" in run[0] else " "


def _ends(run: re.Match[str]) -> str:
    """Of a long row of marks, what stands beside the words."""
    return f"{run[0][:20]}{run[0][-20:]}"


def _spelled(text: str) -> str:
    """The text in plain letters: without accents, and with look-alikes of other scripts as the Latin letters."""
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFKD", text)
    return "".join(char for char in apart if not unicodedata.combining(char)).translate(_TABLE)

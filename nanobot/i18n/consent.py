"""Yes and no, as people type them."""

_YES = frozenset(
    {"y", "yes", "yep", "yeah", "yup", "sure", "ok", "okay", "allow", "approve"}
    | {"是", "是的", "好", "好的", "好吧", "可以", "行", "对", "同意", "允许", "确定", "批准"}
)
_NO = frozenset(
    {"n", "no", "nope", "nah", "cancel", "deny", "don't", "dont"}
    | {"不", "否", "不行", "不要", "不可以", "不好", "不用", "不同意", "不允许", "别", "取消", "拒绝"}
)
_AROUND = " \t\r\n.!,。！，~～"


def consent(typed: str) -> bool | None:
    """Whether a text says yes (True) or no (False), in English or Chinese; None if it says anything else or more.

    Case, spaces and punctuation around the word do not matter. A text with more than the word is none of both:
    "yes, but …" is a thought, not a permission. A question mark makes it a question.
    """
    word = typed.strip(_AROUND).casefold().replace("’", "'")
    if word in _YES:
        return True
    return False if word in _NO else None

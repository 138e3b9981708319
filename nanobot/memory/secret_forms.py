"""What secrets look like, by the form that their issuers give them, and by the words around them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

SecretKind = Literal["private_key", "key", "token", "password"]

_ISSUED: Sequence[tuple[SecretKind, re.Pattern[str]]] = (
    (
        "private_key",
        re.compile(
            r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"  # and what is there of the key itself
            r"(?:[\w\s+/=:,.-]*?-----END [A-Z0-9 ]+-----|(?:\s*[A-Za-z0-9+/]{16,}={0,2})*)"
            r"|PuTTY-User-Key-File-\d|AGE-SECRET-KEY-1[A-Z0-9]{20,}"
        ),
    ),
    (
        "key",
        re.compile(
            r"""(?<![\w-])(?:
              sk-(?=[\w-]*[A-Za-z0-9]{16})[\w-]{16,}         # OpenAI, Anthropic; a run of 16 is no word
            | (?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}    # Stripe
            | (?:AKIA|ASIA)[A-Z0-9]{16}                      # AWS
            | AIza[\w-]{30,}                                 # Google
            | gsk_[A-Za-z0-9]{20,} | xai-[A-Za-z0-9]{20,} | hf_[A-Za-z0-9]{20,}
            | SG\.[\w-]{16,}\.[\w-]{16,}                     # SendGrid
            )""",
            re.VERBOSE | re.ASCII,
        ),
    ),
    (
        "token",
        re.compile(
            r"""(?<![\w-])(?:
              gh[pousr]_[A-Za-z0-9]{20,} | github_pat_\w{20,} | glpat-[\w-]{16,}
            | xox[abeprs]-[\w-]{10,} | xapp-[\w-]{10,}               # Slack
            | npm_[A-Za-z0-9]{30,} | pypi-AgE[\w-]{20,} | ya29\.[\w-]{20,}
            | (?:bot)?\d{6,12}:[\w-]{32,}                            # Telegram bots, also in an address
            | (?=[\w.-]{0,60}\d)[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}      # Discord bots
            | eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*                     # JSON web tokens
            | (?i:bearer)[ ]+(?=\S{0,200}\d)[\w.~+/=-]{16,}
            | (?i:authorization:[ ]*basic)[ ]+[A-Za-z0-9+/]{8,}=*
            )""",
            re.VERBOSE | re.ASCII,
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class _Value:
    """What stands where a secret would stand, and the text behind it."""

    text: str
    is_quoted: bool
    behind: str

    @classmethod
    def of(cls, match: re.Match[str]) -> "_Value":
        value = match["value"].rstrip(".,;:!?)")
        end = match.start("value") + len(value)
        return cls(value, bool(match.groupdict().get("quote")), match.string[end : end + 20])

    @property
    def is_measure(self) -> bool:
        return bool(_MEASURE.match(self.text + self.behind))

    @property
    def ends_the_clause(self) -> bool:
        return not self.behind.strip() or self.behind.lstrip()[0] in ".,;!?()。，；！？\n" or "\n" in self.behind[:2]

    @property
    def is_mixed(self) -> bool:
        """Whether it has what words lack: digits, symbols, capitals inside."""
        return not re.fullmatch(r"[A-Za-z]?[a-z]*(?:-[a-z]+){0,2}|[A-Z]+", self.text)


def _is_password(value: _Value) -> bool:
    text = value.text
    if len(text) < 3 or _NO_SECRET.fullmatch(text) or value.is_measure:
        return False
    if value.is_quoted:
        return True
    if not text.isascii() and not re.search(r"[A-Za-z0-9]", text):
        return len(text) <= 8 and value.ends_the_clause and not _NO_PASSWORD_ZH.search(text)
    if value.is_mixed:
        return not _NO_PASSWORD_ZH.match(text)
    return value.ends_the_clause and "-" not in text and not _NO_PASSWORD.fullmatch(text)


def _is_code(value: _Value) -> bool:
    return not value.is_measure


def _is_random(value: _Value) -> bool:
    """Whether it is long and mixed, as keys are; "the token is expired" names none."""
    text = value.text
    has_both = any(map(str.isdigit, text)) and any(map(str.isalpha, text))
    return len(text) >= 8 and text.isascii() and has_both and not _NO_SECRET.fullmatch(text)


def _is_scrambled(value: _Value) -> bool:
    """Whether it mixes capitals, small letters and digits, as only what a machine made up does."""
    text = value.text
    return len(text) >= 10 and all(re.search(part, text, re.ASCII) for part in ("[a-z]", "[A-Z]", r"\d"))


def _is_of_url(value: _Value) -> bool:
    return not _NO_SECRET.fullmatch(value.text) and value.text.casefold() not in ("pass", "password", "pwd", "secret")


_IS = (
    r"""["'`”]?(?:\s+(?:is|was|are)(?:\s+now)?(?:\s*[:：=]\s*|\s+)"""
    r"|\s*(?:[:：=]|=>|->|就是|设置?为|改[成为]|[是为])\s*)"
)
_VALUE = r"""(?P<quote>["'`“「]?)(?P<value>[^\s"'`”」，。；！？]{3,})"""
_NAMED_KEY = (
    r"(?:(?<![A-Za-z])(?:api[ _-]?key|(?:secret|access|private|encryption|licen[cs]e|signing)[ _-]?key"
    r"|(?:wi-?fi|wlan|network|router|hotspot)[ _-]?key|token|(?:client[ _-]?|app[ _-]?)?secret)|密钥|秘钥|私钥|令牌)"
)


_WORD = r"(?:[^\s:：=>.,;!?\"'。，；！？]|[.'](?=\w)){1,30}"
_OF = rf"(?:\s+(?:of|for|to|on|at|from)(?:\s+{_WORD}){{1,4}}?)"  # what it opens
_LOCKS = (
    r"(?:safe|vault|door|front door|alarm|gate|lock|padlock|garage|locker|key ?box|card|phone|house|flat|entrance"
    r"|building|bike|suitcase|burglar alarm|sim|wi-?fi|wlan|router|hotspot|guest network)"
)


def _called(names: str, value: str = _VALUE) -> re.Pattern[str]:
    return re.compile(f"{names}{_OF}?{_IS}{value}", re.IGNORECASE)


_IN_WORDS: Sequence[tuple[SecretKind, re.Pattern[str], Callable[[_Value], bool]]] = (
    (
        "password",
        _called(r"(?:(?<![A-Za-z])(?:pass ?word|passwd|pass ?phrase|pass ?code|pwd)|密码|密碼|口令|暗号)"),
        _is_password,
    ),
    ("password", _called(r"(?:(?<![A-Za-z])pin(?: code| number)?|pin ?码)", r"(?P<value>\d{4,8})(?!\w)"), _is_code),
    (
        "password",
        _called(
            r"(?:(?<![A-Za-z])(?:otp|cvv|(?:verification|one-time|2fa|security|recovery|backup|unlock|access|entry|login)"
            r" codes?)|验证码|动态码|恢复码|解锁码)",
            r"(?P<value>[A-Za-z0-9-]*\d[A-Za-z0-9-]{2,})",
        ),
        _is_code,
    ),
    (
        "password",
        _called(
            rf"(?:(?<![A-Za-z])(?:{_LOCKS} (?:code|combination)"
            rf"|(?:code|combination)\s+(?:of|for|to|on)\s+(?:{_WORD}\s+){{0,3}}?{_LOCKS}(?!\w))|门禁码|门锁码|开门码|(?:wi-?fi|无线|路由器|热点|保险[箱柜])的?\s*(?:代码|连接码|码))",
            r"(?P<value>[A-Za-z0-9-]*\d[A-Za-z0-9-]{2,})",
        ),
        _is_code,
    ),
    (
        "password",
        _called(
            r"(?<!promo )(?<!discount )(?<!coupon )(?<!booking )(?<!tracking )(?<!order )(?<!product )(?<!error )"
            r"(?:(?<![A-Za-z])(?:codes?|combination|log-?in|credentials?)(?![A-Za-z])|代码|编码)",
            r"(?P<value>[A-Za-z0-9][\w!#$%&*+-]{9,})",
        ),
        _is_scrambled,
    ),
    ("key", _called(_NAMED_KEY), _is_random),
    (
        "private_key",
        _called(
            r"(?:(?<![A-Za-z])(?:seed|recovery|mnemonic) (?:phrase|words)|助记词)",
            r"(?P<value>[a-z]+(?:[ ,]+[a-z]+){2,})",
        ),
        _is_code,
    ),
    (
        "password",
        re.compile(
            r"(?:(?<![A-Za-z])(?:password|passwd|passphrase)|密码)\s+(?:to\s+|as\s+)?"
            r"(?P<value>(?=[!-~]{0,80}\d)(?=[!-~]{0,80}[A-Za-z])[!-~]{6,})",
            re.IGNORECASE,
        ),
        _is_password,
    ),
    ("password", re.compile(r"[A-Za-z0-9+.-]://[^\s/:@]{0,100}:(?P<value>[^\s/@]{3,100})@"), _is_of_url),
)

_NO_SECRET = re.compile(
    r"[*•x.…_-]+|<.*|\$.*|\{.*|\[.*|%.*"  # placeholders
    r"|1password|keepass\w*|bitwarden|sha-?\d+\w*|md5|argon2\w*|pbkdf2\w*|bcrypt\w*|scrypt\w*",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    r"\d+\s*-?(?:characters?|chars?|lines|letters|digits|words|bits?|bytes?|tokens?|days?|months?|years?|times"
    r"|位|个|字|天|年|月)",
    re.IGNORECASE,
)
_NO_PASSWORD = re.compile(  # "my password is weak" tells none
    "the|and|but|not|see|ask|use|using|same|different|stored|saved|kept|written|hidden|somewhere|here|there"
    "|needed|required|optional|missing|unknown|forgotten|lost|gone|changed|reset|expired|wrong|right|correct"
    "|incorrect|invalid|valid|old|new|weak|strong|long|short|easy|hard|good|bad|fine|okay|safe|secure|secret"
    "|private|personal|important|known|set|protected|encrypted|hashed|managed|handled|generated|random"
    "|redacted|removed|none|empty|unset|back|due|too|very|mine|yours|his|hers|ours|theirs|this|that|him|her"
    "|them|you|tbd|todo|working|broken|simple|complicated|ridiculous|awful|stupid|terrible|annoying|shared"
    "|public|temporary|permanent|default|ready",
    re.IGNORECASE,
)
_NO_PASSWORD_ZH = re.compile(
    "什么|多少|哪|谁|怎|几|不|没|未|在|存|放|保|记|忘|写|用|由|很|太|弱|强|旧|新|错|对的|我|你|他|她|它|同|一样|必|需"
    "|安全|空|过期|随机|加密|重要|的|了"
)


@dataclass(frozen=True, slots=True)
class Secret:
    """What seems to be a secret in a text, and where it stands."""

    kind: SecretKind
    start: int
    end: int


def secrets_in(text: str) -> Iterator[Secret]:
    """What seems to be a secret, form by form; several may lie over each other."""
    for kind, form in _ISSUED:
        for match in form.finditer(text):
            yield Secret(kind, match.start(), match.end())
    for kind, form, is_secret in _IN_WORDS:
        for match in form.finditer(text):
            value = _Value.of(match)
            if is_secret(value):
                yield Secret(kind, match.start("value"), match.start("value") + len(value.text))

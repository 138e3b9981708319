"""The check of a chat platform: does it answer, and does it know the bot's token?"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from nanobot.ops.doctor import Finding, ok, problem, warning

_SECONDS = 8.0
_REFUSED = 401
_NOT_THERE = 404  # Telegram says so of what has not the form of a token

Explain = Callable[[Exception], str]
"""Why a platform cannot be reached, in a sentence without its dot."""


@dataclass(frozen=True, slots=True)
class Account:
    """A bot on a platform. `url` asks who it is, and may hold the token, as `headers` and `proxy` may: none is shown.

    `name` is the platform's, `base` the address that is shown.
    """

    name: str
    base: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    proxy: str | None = field(default=None, repr=False)
    reads_environment: bool = False
    """Whether the bot itself goes by the proxies of the environment there."""


def platform(at: Account, explain: Explain, seconds: float = _SECONDS) -> Iterator[Finding]:
    """Whether the platform answers in time and knows the token: one request that changes nothing."""
    import httpx

    values = {"platform": at.name, "base": at.base}
    try:
        with httpx.Client(proxy=at.proxy, timeout=seconds, trust_env=at.reads_environment) as client:
            answer = client.get(at.url, headers=dict(at.headers))
    except (httpx.HTTPError, OSError) as error:
        yield problem("doctor.platform_unreachable", **values, trouble=explain(error))
        return
    yield _judge(at.name, answer.status_code, answer.content, values)


def _judge(name: str, status: int, body: bytes, values: Mapping[str, object]) -> Finding:
    if status == _REFUSED or (name == "telegram" and status == _NOT_THERE):
        return problem(f"doctor.{name}_token", **values, status=status)
    if status == _NOT_THERE:
        return problem("doctor.platform_no_api", **values)
    if status != 200:
        return warning("doctor.platform_troubled", **values, status=status)
    try:
        told = json.loads(body)
        bot = str((told.get("result") or told)["username"])
    except (ValueError, KeyError, AttributeError, TypeError):
        return problem("doctor.platform_no_api", **values)
    return ok("doctor.platform_ok", **values, bot=f"@{bot.lstrip('@')}")

"""How a fake Telegram misbehaves: what becomes of one request."""

from dataclasses import dataclass, field
from typing import Literal

from tests.fakes.telegram_checks import RefusalError


@dataclass(frozen=True)
class Fault:
    """`does` says whether the request is carried out before it goes wrong.

    how     is
    answer  another answer than expected (`refusal`, or `html` with this status)
    cut     the connection breaks
    hang    silence on an open connection
    slow    the answer comes after `seconds`
    trickle the content of a file comes byte by byte, and never to its end
    """

    how: Literal["answer", "cut", "hang", "slow", "trickle"]
    does: bool = False
    refusal: RefusalError | None = None
    html: int = 502
    seconds: float = 0.0


def flood(retry_after: int) -> Fault:
    """429."""
    told = RefusalError(429, f"Too Many Requests: retry after {retry_after}", retry_after=retry_after)
    return Fault("answer", refusal=told)


def refuses(code: int, description: str, **parameters: object) -> Fault:
    return Fault("answer", refusal=RefusalError(code, description, **parameters))


def html(status: int = 502, *, does: bool = False) -> Fault:
    """A page from whatever stands before Telegram; with `does` the request went through all the same."""
    return Fault("answer", does=does, html=status)


def fails(code: int = 500, *, does: bool = True) -> Fault:
    """A server error; by default after the request was carried out."""
    return Fault("answer", does=does, refusal=RefusalError(code, "Internal Server Error"))


def cut(*, does: bool) -> Fault:
    return Fault("cut", does=does)


def hang(*, does: bool = False) -> Fault:
    return Fault("hang", does=does)


def slow(seconds: float) -> Fault:
    return Fault("slow", does=True, seconds=seconds)


def trickle() -> Fault:
    return Fault("trickle")


CONFLICT = refuses(409, "Conflict: terminated by other getUpdates request; make sure that only one bot is running")
UNAUTHORIZED = refuses(401, "Unauthorized")


@dataclass
class Faults:
    """The faults to come, by the method's name in lower case; "*" stands for every method but getUpdates."""

    waiting: dict[str, list[Fault]] = field(default_factory=dict)

    def will(self, method: str, *faults: Fault) -> None:
        self.waiting.setdefault(method.lower(), []).extend(faults)

    def next(self, method: str) -> Fault | None:
        for name in (method.lower(), "*" if method.lower() != "getupdates" else ""):
            if self.waiting.get(name):
                return self.waiting[name].pop(0)
        return None

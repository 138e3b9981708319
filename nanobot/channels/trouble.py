"""Why a platform cannot be reached, in a word; what the libraries say about it is for the log."""

import re
import socket
import ssl
from collections.abc import Iterator

from nanobot.ports.gateway import Obstacle

_NO_NETWORK = re.compile(
    r"name or service not known|name resolution|getaddrinfo|nodename nor servname|cannot resolve|dns"
    r"|network is (?:unreachable|down)|no route to host",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"refused|connect call failed", re.IGNORECASE)
_SERVER = re.compile(
    r"\b5\d\d\b|bad gateway|internal server error|service unavailable|gateway time-?out", re.IGNORECASE
)


def obstacle_of(error: BaseException) -> Obstacle:
    """The word for what went wrong, looked up in the error and in all that caused it."""
    chain = list(_chain(error, set()))
    said = [str(each) for each in chain]
    if any(isinstance(each, ssl.SSLError) for each in chain):
        return "tls"
    if any(isinstance(each, socket.gaierror) for each in chain) or any(map(_NO_NETWORK.search, said)):
        return "network"
    if any(isinstance(each, ConnectionRefusedError) for each in chain) or any(map(_REFUSED.search, said)):
        return "refused"
    if any(isinstance(each, TimeoutError) or "Timeout" in type(each).__name__ for each in chain):
        return "timeout"
    return "server" if any(map(_SERVER.search, said)) else "broken"


def _chain(error: BaseException | None, met: set[int]) -> Iterator[BaseException]:
    """The error and its causes, those that aiohttp keeps to itself included."""
    if error is None or id(error) in met:
        return
    met.add(id(error))
    yield error
    inner = list(error.exceptions) if isinstance(error, BaseExceptionGroup) else []
    of_aiohttp = getattr(error, "os_error", None)
    for cause in (*inner, of_aiohttp, error.__cause__, error.__context__):
        if isinstance(cause, BaseException):
            yield from _chain(cause, met)

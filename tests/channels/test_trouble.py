"""What keeps a channel from its platform is said in a word."""

import socket
import ssl

import pytest

from nanobot.channels.platform import obstacle_of
from nanobot.i18n import say
from nanobot.ports.gateway import OBSTACLES


def caused(text: str, cause: BaseException) -> Exception:
    error = RuntimeError(text)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (caused("Connect", socket.gaierror(-2, "Name or service not known")), "network"),
        (RuntimeError("httpx.ConnectError: [Errno -3] Temporary failure in name resolution"), "network"),
        (ExceptionGroup("several", [caused("no", ConnectionRefusedError(111, "Connect call failed"))]), "refused"),
        (RuntimeError("httpx.ConnectError: [Errno 111] Connection refused"), "refused"),
        (caused("Timed out", TimeoutError()), "timeout"),
        (caused("no", ssl.SSLCertVerificationError("self-signed certificate")), "tls"),
        (RuntimeError("Bad Gateway"), "server"),
        (RuntimeError("503 Service Unavailable (error code: 0)"), "server"),
        (RuntimeError("Server disconnected without sending a response."), "broken"),
    ],
)
def test_the_word_is_found_in_what_the_libraries_raise(error: Exception, word: str) -> None:
    assert obstacle_of(error) == word


def test_there_is_a_sentence_for_each_word() -> None:
    for word in OBSTACLES:
        for language in ("en", "zh"):
            assert not say(f"trouble.{word}", language).endswith((".", "。"))

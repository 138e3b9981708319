"""Guards every test: loopback only, no blocking calls in the event loop, nobody's home."""

import codecs
import ipaddress
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import HealthCheck, settings

from tests.fakes.databases import nobody_opens_them
from tests.fakes.disk import nothing_is_flushed
from tests.fakes.logs import logging_as_before

# The same few examples each time, many of them in `make crash`; HYPOTHESIS_PROFILE=new looks for new ones. A fixture
# is for all examples of its test, and no machine is too slow.
usual = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], database=None
)
settings.register_profile("same", usual, derandomize=True, max_examples=25)
settings.register_profile("many", usual, derandomize=True, max_examples=300)
settings.register_profile("new", usual, max_examples=300, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# The tests start hundreds of processes: where nothing compiled is kept, each compiles all of nanobot anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

nobody_opens_them()
nothing_is_flushed()

codecs.lookup("utf-8-sig")  # imported where it is first used: a second thread would be seen to wait for that


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple) and not ipaddress.ip_address(address[0]).is_loopback:
            raise AssertionError(f"a test reached for the network: {address}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True, scope="session")  # to replace the functions costs more than a small test does
def no_blocking_calls() -> Iterator[None]:
    """Small local files may be read in place; sleeping, waiting for sockets, locks and children may not."""
    with blockbuster_ctx("nanobot") as guard:
        for name, function in guard.functions.items():
            if name.startswith(("os.", "io.")) and name not in ("os.read", "os.sendfile"):
                function.deactivate()
        guard.functions["os.read"].can_block_in("terminal/prompt.py", {"read"})  # what select says is there
        yield


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """A command that runs within a test logs as it is told; the next test does not hear of it."""
    with logging_as_before():
        yield


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As pytest has it, but not named after the test: a socket's path may not be long, and workers add to it."""
    return tmp_path_factory.mktemp("t")


@pytest.fixture(autouse=True)
def private_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test has a home of its own; what the developer has configured and reads does not count."""
    home = tmp_path / "home"
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NANOBOT_HOME", str(home))
    return home

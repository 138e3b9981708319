"""A workspace with a history, its person, and their git."""

import asyncio
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from nanobot.memory.versions.store import GitVersions
from nanobot.ports import Author, Edit, Version, VersionStore
from nanobot.workspace import Workspace
from tests.fakes.clock import FakeClock

MEMORY = "memory/MEMORY.md"
BASE = {"SOUL.md": b"# Soul\n", "USER.md": b"# User\n\n- likes tea\n", MEMORY: b"# Memory\n\n- one\n- two\n"}
INDEX = b"\n<!-- index: kept by nanobot, do not edit below -->\n- note: x (`x.md`) \xc2\xb7 updated 2026-11-02\n"


class Desk:
    """What a test does, as the program and as the person."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = FakeClock()
        self.store: VersionStore = self.started_again()

    def started_again(self) -> VersionStore:
        """The store of a new process."""
        self.store = GitVersions(Workspace(self.root), self.clock)
        return self.store

    def write(self, path: str, data: bytes) -> None:
        """As an editor does."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data)

    def read(self, path: str) -> bytes | None:
        return (self.root / path).read_bytes() if (self.root / path).exists() else None

    async def change(
        self, after: Mapping[str, bytes | None], message: str = "a change", author: Author = "nanobot"
    ) -> str:
        """Make these files so, as the program does."""
        files = await self.store.files()
        edits = {path: Edit(files.get(path), data) for path, data in after.items()}
        version = await self.store.commit(edits, message, author)
        assert version is not None
        return version

    async def subjects(self) -> list[str]:
        return [f"{version.author}: {subject(version)}" for version in await self.store.log()]

    async def git(self, *arguments: str, cwd: str = "memory", given: bytes = b"") -> str:
        """The person's own git, with their own settings."""
        return await asyncio.to_thread(git, self.root / cwd, *arguments, given=given)


def git(folder: Path, *arguments: str, given: bytes = b"") -> str:
    """What the real git prints; it must succeed."""
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")
    command = ["git", *identity, *arguments]
    done = subprocess.run(command, cwd=folder, env=_environment(), input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode(errors="surrogateescape")


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME")}


def subject(version: Version) -> str:
    return version.message.split("\n")[0]

import asyncio
import subprocess
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from nanobot.errors import VersionError
from nanobot.memory.changes import Commit, following, parse, write
from tests.memory.versions.desk import BASE, MEMORY, Desk

SECRET = b"- the secret plan"


def erase(path: str, data: bytes) -> bytes | None:
    """What a forget may ask for: a line out of some files, other files altogether."""
    if path.startswith("people/t-9/"):
        return None
    return b"".join(line for line in data.splitlines(keepends=True) if SECRET not in line)


def reword(message: str, ids: Mapping[str, str]) -> str:
    return following(message, ids).replace(SECRET.decode(), "[forgotten]")


def everything_in(repository: Path) -> Iterator[bytes]:
    """The bytes of every file, and of all that git can unpack from it."""
    for path in repository.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            yield data
            if path.parent.parent.name == "objects":
                yield zlib.decompress(data)
    listed = ("cat-file", "--batch-all-objects", "--batch", "--buffer", "--unordered")
    yield subprocess.run(["git", "--git-dir", str(repository), *listed], capture_output=True, check=True).stdout


async def use_git(desk: Desk) -> None:
    """Leave the secret in all corners of a repository, as people do who know git."""
    desk.write("SOUL.md", b"mine\n" + SECRET + b"\n")
    await desk.git("stash", "--quiet")
    await desk.git("stash", "apply", "--quiet")
    await desk.git("branch", "trial")
    await desk.git("tag", "--annotate", "-m", SECRET.decode(), "v1")
    await desk.git("tag", "v2")
    await desk.git("notes", "add", "-m", SECRET.decode())
    await desk.git("gc", "--quiet")


async def test_what_is_erased_is_in_no_version_no_message_and_no_object(desk: Desk) -> None:
    told = await desk.change({MEMORY: BASE[MEMORY] + SECRET + b"\n"}, f"add {SECRET.decode()}")
    await desk.change({"people/t-9/USER.md": SECRET, "people/t-1/USER.md": b"- other\n"}, "others")
    await use_git(desk)
    before = [subject.replace(SECRET.decode(), "[forgotten]") for subject in await desk.subjects()]

    ids = await desk.store.purge(erase, reword)

    repository = desk.root / "memory" / ".git"
    left = b"".join(await asyncio.to_thread(lambda: list(everything_in(repository))))
    assert (SECRET[2:] in left, b"t-9" in left) == (False, False)
    assert desk.read("SOUL.md") == b"mine\n"
    assert desk.read(MEMORY) == BASE[MEMORY]
    assert desk.read("people/t-9/USER.md") is None
    assert desk.read("people/t-1/USER.md") == b"- other\n"
    assert await desk.subjects() == ["person: Edited by hand: SOUL.md", *before]
    assert await desk.store.resolve(told[:10]) == ids[told]
    assert (await desk.git("branch", "--list")).split() == ["*", "main", "trial"]
    assert await desk.git("status", "--porcelain") == ""
    await desk.git("fsck", "--strict")
    assert (await desk.store.commit_hand_edits()).version is None


async def test_versions_before_the_first_that_is_touched_keep_their_ids(desk: Desk) -> None:
    base = (await desk.store.log())[0].id
    first = await desk.change({'memory/a "b"\n\\.md': b"a\n"})
    told = await desk.change({MEMORY: SECRET})
    later = await desk.change({"memory/\udcffä.md": b"\xff\n"})

    ids = await desk.store.purge(erase, reword)

    assert set(ids) == {told, later}
    assert [version.id for version in await desk.store.log()] == [ids[later], ids[told], first, base]
    assert (await desk.store.files_at(ids[later]))["memory/\udcffä.md"] == b"\xff\n"
    assert (await desk.store.files_at(first))['memory/a "b"\n\\.md'] == b"a\n"


async def test_messages_follow_the_ids_and_so_does_whoever_wrote_one_down(desk: Desk) -> None:
    told = await desk.change({MEMORY: SECRET})
    undone = await desk.change({MEMORY: b"x\n"}, write(Commit(kind="undo", subject="Undone", reverts=told)), "nanobot")

    first = await desk.store.purge(erase, reword)
    second = await desk.store.purge(lambda path, data: data.replace(b"# Soul", b"#"), reword)

    message = (await desk.store.show(second[first[undone]]))[0].message
    commit = parse(message)
    assert commit is not None
    assert commit.reverts == second[first[told]]
    assert await desk.store.resolve(told) == second[first[told]]


async def test_a_purge_that_erases_nothing_changes_nothing(desk: Desk) -> None:
    version = await desk.change({MEMORY: b"- a\n"})

    assert await desk.store.purge(lambda _, data: data, lambda message, _: message) == {}
    assert (await desk.store.log())[0].id == version


async def test_a_purge_that_fails_changes_nothing(desk: Desk) -> None:
    version = await desk.change({MEMORY: SECRET})

    def fails(path: str, data: bytes) -> bytes:
        raise VersionError("failed", "as a test wants it")

    with pytest.raises(VersionError, match="as a test wants it"):
        await desk.store.purge(fails, reword)

    desk.started_again()
    await desk.store.ensure()
    assert (await desk.store.log())[0].id == version
    assert desk.read(MEMORY) == SECRET + b"\n"
    assert not (desk.root / "memory/.git/purge").exists()


async def test_the_settings_that_a_person_made_stay(desk: Desk) -> None:
    await desk.git("remote", "add", "backup", "/somewhere")
    await desk.change({MEMORY: SECRET})

    await desk.store.purge(erase, reword)

    assert await desk.git("remote") == "backup\n"

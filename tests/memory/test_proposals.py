"""A change that waits for a yes: nothing of it is lost, nothing is made twice, nothing of others is written over."""

from dataclasses import replace
from pathlib import Path, PurePosixPath
from threading import Lock

import pytest

from nanobot.aio import ReadersWriterLock
from nanobot.app.memory import workspace_files
from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope
from nanobot.memory.changes import Commit, VersionedWriter, parse, write
from nanobot.memory.proposals import LASTS, MOST, Fit, Proposals, put_in
from nanobot.memory.scopes import MemoryRegistry
from nanobot.memory.versions.store import GitVersions
from nanobot.messages import Address
from nanobot.ports import Caller, Edit, ProposedChange
from nanobot.sessions.store import SessionManager
from nanobot.store.documents import CachedDocuments, MemoryFolder, read_frontmatter
from nanobot.store.state import ProposalsFile
from nanobot.workspace import Workspace
from tests.fakes.clock import FakeClock

MEMORY, USER, HEARTBEAT = "memory/MEMORY.md", "USER.md", "HEARTBEAT.md"
OWNER = Scope.owner()
ADA = "cli:local"
CALLER = Caller(Address("cli", "main"), OWNER_IN_TERMINAL, "t1", "en", "local")
KIM = Authority(Role.MEMBER, Scope.person("telegram", "7"), Origin.PERSON)
HIKERS = Scope.group("telegram", "-1")


class House:
    """A workspace with a history; `anew` is the same after the process has died."""

    def __init__(self, root: Path, clock: FakeClock) -> None:
        self.root, self.clock = root, clock
        workspace, documents, lock = Workspace(root), CachedDocuments(), Lock()
        self.versions = GitVersions(workspace, clock, lock)
        self.writer = VersionedWriter(self.versions, SessionManager(workspace, fsync=False))
        self.shelves = MemoryRegistry(
            workspace, lambda path: MemoryFolder(path, documents, lock), read_frontmatter, clock, 32_768, self.writer
        )
        self.store = ProposalsFile(workspace.proposals)
        files = workspace_files(workspace, lock)
        self.proposals = Proposals(self.store, self.writer, files, self.shelves, clock, ReadersWriterLock())

    def anew(self) -> "House":
        return House(self.root, self.clock)

    async def began(self) -> "House":
        for path, text in {
            USER: "# User\n\n- plays chess\n",
            MEMORY: "# Memory\n\n- tea\n",
            HEARTBEAT: "# Beat\n",
        }.items():
            self.put(path, text)
        await self.versions.ensure()
        return self

    def put(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    async def stage(self, path: str, after: str, caller: Caller = CALLER) -> str:
        file = self.root / path
        proposal = await self.proposals.of_turn(caller.turn)
        staged = proposal.edits.get(path) if proposal else None
        before = staged.after if staged else file.read_bytes() if file.exists() else None
        edit = Edit(before, after.encode())
        return await self.proposals.stage(PurePosixPath(path), edit, caller, Origin.WEB, ["cli:main#u1"])

    async def the_one(self, scope: Scope = OWNER) -> ProposedChange:
        [proposal] = await self.proposals.waiting(scope)
        return proposal

    async def accept(self, name: str, authority: Authority = OWNER_IN_TERMINAL) -> str:
        return (await self.proposals.accept(name, authority, ADA)).outcome

    async def made(self) -> list[Commit]:
        return [one for version in await self.versions.log() if (one := parse(version.message)) and one.proposal]


@pytest.fixture
async def house(tmp_path: Path) -> House:
    return await House(tmp_path / "workspace", FakeClock()).began()


async def test_what_a_turn_would_change_is_one_proposal_and_nothing_is_written(house: House) -> None:
    await house.stage(MEMORY, "# Memory\n\n- tea\n- coffee\n")
    await house.stage(USER, "# User\n")
    await house.stage(MEMORY, "# Memory\n\n- tea\n- coffee\n- cake\n")

    proposal = await house.anew().the_one()
    assert {path: (edit.before, edit.after) for path, edit in proposal.edits.items()} == {
        MEMORY: (b"# Memory\n\n- tea\n", b"# Memory\n\n- tea\n- coffee\n- cake\n"),
        USER: (b"# User\n\n- plays chess\n", b"# User\n"),
    }
    assert (proposal.turn, proposal.address, proposal.person) == ("t1", CALLER.address, "local")
    assert house.read(MEMORY) == "# Memory\n\n- tea\n"


async def test_a_yes_makes_one_version_that_says_who_agreed_and_what_it_rests_on(house: House) -> None:
    await house.stage(MEMORY, "# Memory\n\n- tea\n- coffee\n")
    await house.stage(USER, "# User\n\n- plays chess\n- sails\n")
    proposal = await house.the_one()

    assert await house.accept(proposal.id.lower()) == "made"

    [commit] = await house.made()
    assert (commit.kind, commit.turn, commit.origin, commit.scopes) == ("tool", "t1", Origin.WEB, ("owner",))
    assert (commit.proposal, commit.agreed) == (proposal.id, ADA)
    assert [(one.verb, one.file, one.text, one.messages) for one in commit.operations] == [
        ("add", USER, "sails", ("cli:main#u1",)),
        ("add", MEMORY, "coffee", ("cli:main#u1",)),
    ]
    assert house.read(USER).endswith("- sails\n")
    assert await house.accept(proposal.id) == "made_before"
    assert await house.accept("ZZZZ") == "over"
    assert not (house.root / ".nanobot" / "state" / "proposals.json").exists()


async def test_a_no_leaves_all_as_it_is(house: House) -> None:
    await house.stage(USER, "# User\n")
    proposal = await house.the_one()

    assert (await house.proposals.reject(proposal.id, OWNER_IN_TERMINAL)).outcome == "rejected"

    assert house.read(USER) == "# User\n\n- plays chess\n"
    assert await house.accept(proposal.id) == "over"


async def test_whoever_saw_it_before_it_grew_has_not_agreed_to_it(house: House) -> None:
    await house.stage(USER, "# User\n")
    seen = await house.the_one()
    await house.proposals.asked(seen.id)
    await house.stage(MEMORY, "# Memory\n")

    assert await house.accept(seen.id) == "over"
    assert [one.id for one in await house.proposals.unasked()] == [(await house.the_one()).id]


async def test_what_is_changed_back_is_no_proposal(house: House) -> None:
    await house.stage(USER, "# User\n")
    await house.stage(USER, "# User\n\n- plays chess\n")

    assert await house.proposals.waiting(OWNER) == []


@pytest.mark.parametrize("authority", [
    KIM,
    Authority(Role.MEMBER, HIKERS, Origin.PERSON),
    Authority(Role.OWNER, HIKERS, Origin.OWNER),
    Authority(Role.GUEST, OWNER, Origin.PERSON),
])  # fmt: skip
async def test_nobody_else_decides_for_an_owner(house: House, authority: Authority) -> None:
    await house.stage(USER, "# User\n")
    proposal = await house.the_one()

    assert await house.accept(proposal.id, authority) == "not_yours"
    assert (await house.proposals.reject(proposal.id, authority)).outcome == "not_yours"
    assert house.read(USER) == "# User\n\n- plays chess\n"


async def test_a_member_decides_about_their_own_memory_and_an_owner_about_that_of_a_group(house: House) -> None:
    own = replace(CALLER, authority=KIM, turn="t2")
    group = replace(CALLER, authority=Authority(Role.MEMBER, HIKERS, Origin.PERSON), turn="t3")
    await house.stage("people/telegram-7/MEMORY.md", "- sails\n", own)
    await house.stage("groups/telegram--1/MEMORY.md", "- Sunday\n", group)

    assert await house.accept((await house.the_one(KIM.scope)).id, KIM) == "made"
    asked = await house.the_one(HIKERS)
    assert await house.accept(asked.id, group.authority) == "not_yours"
    assert await house.accept(asked.id, Authority(Role.OWNER, HIKERS, Origin.OWNER)) == "made"
    assert house.read("groups/telegram--1/MEMORY.md") == "- Sunday\n"


async def test_what_somebody_wrote_meanwhile_stays_and_what_is_new_goes_to_its_place(house: House) -> None:
    await house.stage(USER, "# User\n\n- plays chess\n- sails\n")
    await house.stage(HEARTBEAT, "# Beat\n- look at the mail\n")
    house.put(USER, "# User of this\n\n- plays chess\n- likes tea\n\n## More\n- x\n")

    assert await house.accept((await house.the_one()).id) == "made"

    assert (
        house.read(USER) == "# User of this\n\n- plays chess\n- likes tea\n\n## More\n- sails\n- x\n"
        or house.read(USER) == "# User of this\n\n- plays chess\n- sails\n- likes tea\n\n## More\n- x\n"
    )
    assert house.read(HEARTBEAT) == "# Beat\n- look at the mail\n"


async def test_what_no_longer_fits_is_not_written_and_what_does_is_asked_anew(house: House) -> None:
    await house.stage(USER, "# User\n\n- plays Go\n")
    await house.stage(MEMORY, "# Memory\n\n- tea\n- coffee\n")
    house.put(USER, "# User\n\n- plays bridge\n")
    proposal = await house.the_one()

    decision = await house.proposals.accept(proposal.id, OWNER_IN_TERMINAL, ADA)

    assert (decision.outcome, decision.left) == ("unfit", {USER: ("-- plays chess", "+- plays Go")})
    assert (house.read(USER), house.read(MEMORY)) == ("# User\n\n- plays bridge\n", "# Memory\n\n- tea\n")
    anew = await house.the_one()
    assert anew.id != proposal.id
    assert list(anew.edits) == [MEMORY]
    assert await house.accept(anew.id) == "made"
    assert house.read(MEMORY) == "# Memory\n\n- tea\n- coffee\n"


async def test_a_process_that_died_after_the_version_was_made_does_not_make_it_again(house: House) -> None:
    await house.stage(USER, "# User\n\n- plays chess\n- sails\n")
    proposal = await house.the_one()
    await house.accept(proposal.id)
    house.put(USER, "# User\n")  # they thought better of it
    await house.store.change(lambda _: [replace(proposal, agreed=ADA)])  # as it was when the process died

    [decision] = await house.anew().proposals.resume()

    assert decision.outcome == "made"
    assert house.read(USER) == "# User\n"
    assert len(await house.made()) == 1
    assert await house.store.read() == []


async def test_a_process_that_died_before_the_version_was_made_makes_it_at_the_next_start(house: House) -> None:
    await house.stage(USER, "# User\n\n- plays chess\n- sails\n")
    proposal = await house.the_one()
    await house.store.change(lambda _: [replace(proposal, agreed=ADA)])

    [decision] = await house.anew().proposals.resume()

    assert decision.outcome == "made"
    assert house.read(USER) == "# User\n\n- plays chess\n- sails\n"
    assert await house.anew().proposals.resume() == []


async def test_without_git_it_is_made_and_only_once(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    await house.stage(USER, "# User\n\n- plays chess\n- sails\n")
    proposal = await house.the_one()
    assert await house.accept(proposal.id) == "made"
    await house.store.change(lambda _: [replace(proposal, agreed=ADA)])

    await house.anew().proposals.resume()

    assert house.read(USER) == "# User\n\n- plays chess\n- sails\n"


async def test_no_more_wait_than_somebody_can_look_through_and_none_for_ever(house: House) -> None:
    for turn in range(MOST):
        assert not await house.stage(USER, f"# User {turn}\n", replace(CALLER, turn=f"t{turn}"))

    assert "wait for an answer already" in await house.stage(USER, "# Me\n", replace(CALLER, turn="another"))
    assert "too many" in await house.stage(
        "people/telegram-7/USER.md", "x" * 30_001, replace(CALLER, authority=KIM, turn="m")
    )
    house.clock.advance(LASTS.total_seconds() + 1)
    assert await house.proposals.waiting(OWNER) == []
    assert not await house.stage(USER, "# Me\n", replace(CALLER, turn="another"))


async def test_what_dream_would_change_waits_as_well_once(house: House) -> None:
    idea = ProposedChange(
        id="", scope="owner", edits={"SOUL.md": Edit(None, b"Be brief.\n")}, source="dream", reason="asked for it twice"
    )

    assert [await house.proposals.put(idea), await house.proposals.put(idea)] == ["", ""]

    proposal = await house.the_one()
    assert (proposal.source, proposal.reason, bool(proposal.id), bool(proposal.at)) == (
        "dream",
        idea.reason,
        True,
        True,
    )
    assert await house.accept(proposal.id) == "made"
    assert house.read("SOUL.md") == "Be brief.\n"
    assert write((await house.made())[0]).split("\n\n")[1] == "> asked for it twice"


async def test_bytes_that_are_no_utf_8_come_back_as_they_were(house: House) -> None:
    edit = Edit(b"caf\xe9\n", b"caf\xe9\n- \xff\n")
    await house.store.change(lambda _: [ProposedChange(id="A", scope="owner", edits={USER: edit})])

    [proposal] = await house.anew().store.read()
    assert proposal.edits == {USER: edit}


@pytest.mark.parametrize(
    ("before", "after", "now", "fit"),
    [
        (b"a\nb\n", b"a\nx\nb\n", b"a\nb\nc\n", Fit(b"a\nx\nb\nc\n")),
        (b"a\nb\n", b"a\nb\nx\n", b"a\nb\ny\n", Fit(b"a\nb\nx\ny\n")),
        (b"a\nb\n", b"a\nb\nx\n", b"a\nb\nx\ny\n", Fit(b"a\nb\nx\ny\n")),
        (b"a\nb", b"a\nb\nx", b"c\na\nb", Fit(b"c\na\nb\nx")),
        (b"a\nb\nc\n", b"a\nc\n", b"a\nb\nc\nd\n", Fit(b"a\nc\nd\n")),
        (b"a\nb\nc\n", b"a\nx\nc\n", b"a\ny\nc\n", Fit(b"a\ny\nc\n", ("-b", "+x",))),
        (b"a\nb\nc\nd\n", b"a\nb\nx\nc\nd\n", b"a\nd\n", Fit(b"a\nd\n", ("+x",))),
        (None, b"a\n", b"b\n", Fit(b"b\n", ("+a",))),
        (b"a\n", b"b\n", None, Fit(None, ("-a", "+b",))),
        (b"a\n", None, b"b\n", Fit(b"b\n", ("-a",))),
    ],
)  # fmt: skip
def test_a_change_is_put_into_a_file_that_has_changed_where_that_can_be_told(
    before: bytes | None, after: bytes | None, now: bytes | None, fit: Fit
) -> None:
    assert put_in(Edit(before, after), now) == fit

"""The book of people on disk."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from nanobot.authority import Role
from nanobot.errors import StoreError
from nanobot.ports.people import AdmittedGroup, Denied, Paired, PairingRequest, PeopleBook
from nanobot.store.state import PeopleFile
from nanobot.workspace import Workspace

AT = datetime.fromisoformat("2026-11-30T09:00:00+01:00")
BOOK = PeopleBook(
    people=(Paired(channel="telegram", id="1", chat="1", role=Role.OWNER, at=AT, by="machine", name="Ada\udc88"),),
    groups=(
        AdmittedGroup(channel="discord", id="7", listening="open", keeps_all=True, at=AT, by="discord:1", title="庭"),
    ),
    asking=(PairingRequest(channel="telegram", id="2", chat="2", code="ACDEFGHJ", until=AT),),
    denied=(Denied(channel="telegram", id="3", until=AT),),
    wrong=(AT,),
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


async def test_the_book_is_there_tomorrow_and_private(workspace: Workspace) -> None:
    file = PeopleFile(workspace)
    assert file.read() == PeopleBook()
    await file.write(BOOK)

    assert PeopleFile(workspace).read() == BOOK
    assert workspace.people.stat().st_mode & 0o777 == 0o600
    assert workspace.people.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "content", ["", "null", '{"people": [{"id": 1}]}', '{"people": [{"channel": "t", "id": "1", "role": "king"}]}']
)
async def test_a_damaged_book_lets_nobody_in_and_is_set_aside(workspace: Workspace, content: str) -> None:
    await PeopleFile(workspace).write(BOOK)
    workspace.people.write_text(content)

    assert PeopleFile(workspace).read() == PeopleBook()
    assert workspace.people.with_name("people.json.damaged").read_text() == content


async def test_what_a_later_version_wrote_beside_it_does_not_matter(workspace: Workspace) -> None:
    await PeopleFile(workspace).write(replace(BOOK, people=()))
    text = workspace.people.read_text().replace('"asking"', '"links": [], "asking"', 1)
    workspace.people.write_text(text)

    assert PeopleFile(workspace).read() == replace(BOOK, people=())


async def test_a_book_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "file")
    workspace.root.touch()
    with pytest.raises(StoreError):
        await PeopleFile(workspace).write(BOOK)

"""Pictures, documents, voice and albums: kept where they belong, or answered at once."""

from pathlib import Path
from typing import Any

import pytest

from nanobot.authority import Scope
from nanobot.errors import LLMError
from nanobot.messages import Quote
from nanobot.workspace import folder_of
from tests.channels.telegram.scene import GARDEN, OWNER, Ears, Scene
from tests.fakes.telegram_faults import Fault, cut, fails, hang, refuses, trickle
from tests.fakes.telegram_server import FakeTelegram


async def test_of_a_photo_the_largest_version_is_kept(scene: Scene) -> None:
    scene.owner().sends(photo=scene.world.photo(b"a large picture"), caption="my cat")

    async with scene.listening():
        heard = await scene.hears()

    assert heard.text == "my cat"
    assert [(file.mime, scene.content(file)) for file in heard.files] == [("image/jpeg", b"a large picture")]


async def test_of_a_photo_that_is_too_large_a_smaller_version_is_kept(scene: Scene) -> None:
    photo = scene.world.photo(b"a large picture")
    photo[1]["file_size"] = 3_000_000_000
    scene.owner().sends(photo=photo)

    async with scene.listening():
        assert scene.content((await scene.hears()).files[0]) == b"a la"


@pytest.mark.parametrize("name", ["main.py", "../../SOUL.md", "notes\u202e.txt"])
async def test_a_document_lies_in_the_folder_of_its_scope(scene: Scene, name: str) -> None:
    scene.member().sends(
        scene.garden(), document=scene.world.document(b"print()", name, "text/x-python"), caption="@TestBot run it"
    )

    async with scene.listening():
        heard = await scene.hears()

    path = scene.media.path(heard.files[0])
    assert path.parent == scene.workspace.media / folder_of(Scope.group("telegram", str(GARDEN)).name)
    assert (heard.text, heard.files[0].mime, path.read_bytes()) == ("run it", "text/x-python", b"print()")


@pytest.mark.parametrize(
    ("kind", "more", "mime"),
    [
        ("audio", {"duration": 1, "file_name": "song.mp3", "mime_type": "audio/mpeg"}, "audio/mpeg"),
        ("video", {"duration": 1, "width": 1, "height": 1}, "video/mp4"),
        ("video_note", {"duration": 1, "length": 1}, "video/mp4"),
        ("animation", {"duration": 1, "width": 1, "height": 1, "mime_type": "video/mp4"}, "video/mp4"),
    ],
)
async def test_other_media_are_kept_as_files(scene: Scene, kind: str, more: dict[str, object], mime: str) -> None:
    content: dict[str, Any] = {kind: scene.world.file(b"media") | more}
    if kind == "animation":
        content["document"] = scene.world.file(b"media")
    scene.owner().sends(**content)

    async with scene.listening():
        heard = await scene.hears()

    assert [(file.mime, scene.content(file)) for file in heard.files] == [(mime, b"media")]


async def test_what_is_spoken_is_the_text(scene: Scene) -> None:
    scene.owner().sends(voice=scene.world.voice())

    async with scene.listening():
        heard = await scene.hears()

    assert (heard.text, heard.files[0].mime) == ("buy milk", "audio/ogg")


async def test_what_somebody_else_spoke_is_only_quoted(scene: Scene) -> None:
    voice = scene.kitchen().add({"from": scene.stranger().data, "voice": scene.world.voice()})
    scene.owner().forwards(voice)

    async with scene.listening():
        heard = await scene.hears()

    assert heard.text == ""
    assert Quote("buy milk", "Eve", "forward") in heard.quotes


@pytest.mark.parametrize(
    ("ears", "told"),
    [
        (None, "transcription"),
        (Ears(""), "heard nothing"),
        (Ears(LLMError("network", "broken")), "turn your voice message into text"),
    ],
)
async def test_a_voice_message_that_cannot_be_heard_is_answered_at_once(
    scene: Scene, ears: Ears | None, told: str
) -> None:
    scene.ears = ears
    await scene.reborn()
    voice = scene.owner().sends(voice=scene.world.voice())

    async with scene.listening():
        answer = await scene.says()
        await scene.nothing_more()

    assert told in answer.text
    assert (answer.reply_to, answer.failed) == (f"telegram:{OWNER}:{voice.id}", True)


async def test_without_a_transcriber_a_voice_message_is_not_even_fetched(scene: Scene, telegram: FakeTelegram) -> None:
    scene.ears = None
    await scene.reborn()
    scene.owner().sends(voice=scene.world.voice())

    async with scene.listening():
        await scene.says()

    assert telegram.made("getFile", "file") == []


@pytest.mark.parametrize(
    ("told_size", "most"), [(2_500_000_000, "2000 MB"), (1000, "20 MB")], ids=["as Telegram says", "as it turns out"]
)
async def test_a_file_that_is_too_large_is_answered_at_once(scene: Scene, told_size: int, most: str) -> None:
    document = scene.world.document(b"x", "film.mkv", size=25_000_000)
    scene.owner().sends(document=document | {"file_size": told_size}, caption="summarize this")

    async with scene.listening():
        answer, heard = await scene.says(), await scene.hears()
        await scene.nothing_more()

    assert "film.mkv" in answer.text
    assert most in answer.text
    assert heard.text == "summarize this\n[a file came with this and could not be had]"
    assert heard.quotes == (Quote("[file: film.mkv]", how="card"),)
    assert heard.files == ()


async def test_a_download_that_breaks_is_tried_again(scene: Scene, telegram: FakeTelegram) -> None:
    telegram.will("file", cut(does=False), fails(500))
    scene.owner().sends(document=scene.world.document(b"whole", "a.txt"))

    async with scene.listening():
        heard = await scene.hears()

    assert scene.content(heard.files[0]) == b"whole"
    assert len(list(scene.workspace.media.iterdir())) == 1


@pytest.mark.parametrize("fault", [hang(), fails(500), refuses(404, "Not Found")], ids=repr)
async def test_a_file_that_cannot_be_had_is_told(scene: Scene, telegram: FakeTelegram, fault: Fault) -> None:
    telegram.will("file", *[fault] * 3)
    scene.owner().sends(document=scene.world.document(b"x", "a.txt"))

    async with scene.listening():
        await telegram.called("file")
        answer = await scene.passing(scene.says(), tick=1)
        await scene.nothing_more()

    assert "could not fetch a.txt" in answer.text


async def test_the_same_answer_is_given_once_however_often_the_message_comes(scene: Scene) -> None:
    scene.ears = None
    await scene.reborn()
    scene.owner().sends(voice=scene.world.voice())
    told = list(scene.world.updates)

    async with scene.listening():
        await scene.says()
        scene.world.repeat(*told)
        await scene.nothing_more()


async def test_what_a_group_says_among_itself_is_not_answered_if_it_cannot_be_had(scene: Scene) -> None:
    scene.member().sends(scene.kitchen(), document=scene.world.document(b"x", "film.mkv", size=25_000_000))

    async with scene.listening():
        await scene.nothing_more()


async def test_an_album_is_one_message_in_the_order_in_which_it_was_sent(scene: Scene) -> None:
    items = scene.owner().sends_album(["before", "", "after"], order=[2, 0, 1])

    async with scene.listening():
        heard = await scene.hears()
        await scene.nothing_more()

    assert heard.id == f"telegram:{OWNER}:{items[0].id}"
    assert heard.text == "[1/3] before\n[3/3] after"
    assert [scene.content(file) for file in heard.files] == [b"picture 0", b"picture 1", b"picture 2"]


async def test_pictures_that_come_one_after_the_other_are_one_album(scene: Scene) -> None:
    ada = scene.owner()
    scene.world.holds = True
    items = [item.data for item in ada.sends_album(["", "", "look"])]
    scene.world.holds = False

    async with scene.listening():
        for item in items:
            scene.world.tell("message", item)
            at = scene.clock.monotonic()
            await scene.until(lambda at=at: scene.clock.monotonic() > at + 0.5)  # type: ignore[misc]
        ada.says("and then?")
        album, text = await scene.hears(), await scene.hears()
        await scene.nothing_more()

    assert (len(album.files), album.text) == (3, "look")
    assert text.text == "and then?"


async def test_a_mention_in_the_last_caption_of_an_album_counts(scene: Scene) -> None:
    scene.member().sends_album(["before", "", "after @TestBot"], scene.garden())

    async with scene.listening():
        heard = await scene.hears()

    assert (len(heard.files), heard.text) == (3, "[1/3] before\n[3/3] after @TestBot")


async def test_of_an_album_that_does_not_name_the_bot_nothing_is_fetched(scene: Scene, telegram: FakeTelegram) -> None:
    scene.member().sends_album(["before", "after"], scene.garden())

    async with scene.listening():
        await scene.nothing_more()

    assert telegram.made("getFile") == []


async def test_a_crash_while_an_album_arrives_loses_none_of_it(scene: Scene, telegram: FakeTelegram) -> None:
    scene.owner().sends_album(["a", "b"])
    async with scene.listening():
        await telegram.called("getUpdates", 1)
        await scene.until(lambda: len(scene.clock.slept) > 3, tick=0)
    await scene.reborn()

    async with scene.listening():
        heard = await scene.hears()
        await scene.nothing_more()

    assert len(heard.files) == 2


async def test_what_can_be_had_of_an_album_is_heard_the_rest_is_told(scene: Scene) -> None:
    ada = scene.owner()
    scene.world.holds = True
    items = ada.sends_album(["one", "two"])
    items[1].data["document"] = scene.world.document(b"x", "film.mkv", size=25_000_000)
    del items[1].data["photo"]
    scene.world.holds = False
    for item in items:
        scene.world.tell("message", item.data)

    async with scene.listening():
        heard, told = await scene.hears(), await scene.says()

    assert heard.text == "[1/2] one\n[2/2] two\n[a file came with this and could not be had]"
    assert heard.quotes == (Quote("[file: film.mkv]", how="card"),)
    assert len(heard.files) == 1
    assert "film.mkv" in told.text


async def test_an_album_that_trickles_is_given_up_as_one_and_told_once(scene: Scene, telegram: FakeTelegram) -> None:
    telegram.will("file", *[trickle()] * 6)
    scene.owner().sends_album(["look", "", "", "", "", ""])

    async with scene.listening():
        await scene.until(lambda: len(telegram.made("file")) == 3)
        began = scene.clock.monotonic()
        told = await scene.passing(scene.says(), tick=1)
        heard = await scene.hears()
        await scene.nothing_more()

    assert scene.clock.monotonic() - began < 90
    assert "photo.jpg" in told.text
    assert heard.text.startswith("look")
    assert heard.files == ()


async def test_what_was_fetched_is_kept_while_the_disk_takes_no_message(scene: Scene, telegram: FakeTelegram) -> None:
    asked: list[Path] = []

    class Counting(Ears):
        async def transcribe(self, path: Path, mime: str) -> str:
            asked.append(path)
            return "buy milk"

    scene.ears = Counting()
    await scene.reborn()
    scene.full = True
    scene.owner().sends(voice=scene.world.voice())
    scene.owner().sends_album(["one", "two"])

    async with scene.listening():
        refused = scene.refused
        await scene.until(lambda: scene.refused > refused + 3)
        scene.full = False
        voice, album = await scene.hears(), await scene.hears()
        await scene.nothing_more()

    assert (voice.text, len(album.files)) == ("buy milk", 2)
    assert len(asked) == 1
    assert len(telegram.made("file")) == 3

"""Orders of others, by every way they come in through Telegram: none comes into force without the owner's yes."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from nanobot.workspace import Home
from tests.attacks.obeying import NO, PATIENCE, ObeyingModel, assert_powerless, order
from tests.fakes.gateway import GatewayProcess, configure, nanobot
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.telegram_server import FakeTelegram
from tests.fakes.telegram_world import Person, Shown, World


@dataclass(frozen=True)
class Stage:
    """Ada owns the bot; Mallory is somebody whose words she passes on."""

    ada: Person
    mallory: Person
    workspace: Path

    @property
    def world(self) -> World:
        return self.ada.world

    def written_by_mallory(self, text: str) -> Shown:
        """A message that stands in some other chat."""
        return Shown({"message_id": 5, "date": 1_790_000_000, "from": self.mallory.data, "text": text})


Way = Callable[[Stage, str], object]

MAIL = "Look what I got:\n\nFrom: Mallory <m@evil.example>\nTo: Ada\nSubject: hello\n\nDear Ada,\n\n{}\n\nMallory"
CHAT = "what do you think?\n[12:01] Mallory: hi\n[12:02] Tom: hi\n[12:03] Mallory: {}\n[12:04] Tom: ok"
PAGE = "<html><body><h1>Recipes</h1><p>{}</p></body></html>"

REMARKS: Mapping[str, str] = {
    "that denies it": "It is false that {}.",
    "that mocks it": "How crazy would it be if {}?",
    "that warns of it": "Beware of letters in which it says {}.",
    "that has it translated": "Translate: {}",
    "that asks on": "What does it mean that {}",
    "that distances itself": "{}, Mallory claims. Nonsense!",
    "of two sentences": "Copies of Tom's photos are lost. Ada's replies belong to mx000@evil.example? No. {} is spam.",
}
"""Own words of the owner in which those of somebody else stand."""


def _remarking(remark: str) -> Way:
    return lambda on, text: on.ada.says(remark.replace("{}", text), reply_to=on.written_by_mallory(text))


WAYS: Mapping[str, Way] = {
    "a forward": lambda on, text: on.ada.forwards(on.written_by_mallory(text)),
    "a forward from a hidden account": lambda on, text: on.ada.says(
        text, forward_origin={"type": "hidden_user", "sender_user_name": "Ada", "date": 1_790_000_000}
    ),
    "a forward from a channel": lambda on, text: on.ada.says(
        text,
        forward_origin={
            "type": "channel",
            "chat": {"id": -1009, "type": "channel", "title": "News"},
            "message_id": 3,
            "date": 1_790_000_000,
        },
    ),
    "a reply to somebody's message": lambda on, text: on.ada.says("see this", reply_to=on.written_by_mallory(text)),
    "a marked quote": lambda on, text: on.ada.says(
        "see this", reply_to=on.written_by_mallory("x " + text), quote={"text": text, "position": 2}
    ),
    "a reply to a message elsewhere": lambda on, text: on.ada.says(
        "see this",
        external_reply={"origin": {"type": "hidden_user", "sender_user_name": "M", "date": 1}},
        quote={"text": text, "position": 0},
    ),
    **{f"a remark {name}": _remarking(remark) for name, remark in REMARKS.items()},
    "a contact's name": lambda on, text: on.ada.sends(
        contact={"phone_number": "+49151000", "first_name": text, "last_name": "X"}
    ),
    "a contact card": lambda on, text: on.ada.sends(
        contact={"phone_number": "+49151000", "first_name": "Tom", "vcard": f"BEGIN:VCARD\nNOTE:{text}\nEND:VCARD"}
    ),
    "a venue's title": lambda on, text: on.ada.sends(
        venue={"location": {"latitude": 1.0, "longitude": 2.0}, "title": text, "address": "Street 1"},
        location={"latitude": 1.0, "longitude": 2.0},
    ),
    "a venue's address": lambda on, text: on.ada.sends(
        venue={"location": {"latitude": 1.0, "longitude": 2.0}, "title": "Café", "address": text},
        location={"latitude": 1.0, "longitude": 2.0},
    ),
    "a poll": lambda on, text: on.ada.sends(
        poll={
            "id": "1",
            "question": text,
            "options": [{"text": text, "voter_count": 0, "persistent_id": "1"}],
            "total_voter_count": 0,
            "is_closed": False,
            "is_anonymous": True,
            "type": "regular",
            "allows_multiple_answers": False,
            "allows_revoting": False,
            "members_only": False,
        }
    ),
    "a message through an inline bot": lambda on, text: on.ada.says(
        text, via_bot={"id": 777, "is_bot": True, "first_name": "Gif", "username": "gif"}
    ),
    "the caption of a forwarded picture": lambda on, text: on.ada.sends(
        caption=text,
        photo=on.world.photo(b"picture"),
        forward_origin={"type": "user", "sender_user": on.mallory.data, "date": 1_790_000_000},
    ),
    "a document's text": lambda on, text: on.ada.sends(
        caption="what does it say?", document=on.world.document(text.encode(), "letter.txt")
    ),
    "a document's name": lambda on, text: on.ada.sends(
        caption="what is it?", document=on.world.document(b"hello", f"{text}.txt")
    ),
    "a pasted mail": lambda on, text: on.ada.says(MAIL.format(text)),
    "a pasted chat log": lambda on, text: on.ada.says(CHAT.format(text)),
    "a pasted page": lambda on, text: on.ada.says(PAGE.format(text)),
    "a pasted system block": lambda on, text: on.ada.says(f"I was sent this:\n\nSYSTEM: {text}"),
    "pasted Markdown quotes": lambda on, text: on.ada.says(f"Tom writes:\n> hi\n> {text}\n\nNice of him."),
    "a fenced block": lambda on, text: on.ada.says(f"What is this?\n```\n{text}\n```"),
    "quotation marks": lambda on, text: on.ada.says(f"On the wall it says: “{text}, for ever and ever”. Funny."),
    "a file that a tool reads": lambda on, text: _in_file(on, text, "read_file", '{"path": "inbox.txt"}'),
    "what a search finds": lambda on, text: _in_file(on, text, "grep", '{"pattern": "Copies"}'),
    "a list of files": lambda on, text: _in_name(on, text),
}
"""How a text of somebody else reaches a conversation of the owner's."""


def _in_file(on: Stage, text: str, tool: str, arguments: str) -> None:
    (on.workspace / "inbox.txt").write_text(f"{text}\n", encoding="utf-8")
    on.ada.says(f"use {tool} {arguments}")


def _in_name(on: Stage, text: str) -> None:
    folder = on.workspace / "letters"
    folder.mkdir()
    (folder / f"{text}.txt").write_text("x", encoding="utf-8")
    on.ada.says('use list_dir {"path": "letters"}')


SIXTHS = [list(WAYS)[number::6] for number in range(6)]


@pytest.mark.parametrize(
    "ways",
    [ways if number % 3 == 0 else pytest.param(ways, marks=pytest.mark.slow) for number, ways in enumerate(SIXTHS)],
    ids=["1", "2", "3", "4", "5", "6"],
)
async def test_an_order_of_others_never_comes_into_force(private_home: Path, ways: list[str]) -> None:
    """The owner says no to whatever is asked; the model obeys in talk, summaries and dreams."""
    model = ObeyingModel()
    async with FakeOpenAI() as endpoint, FakeTelegram() as telegram:
        endpoint.otherwise, endpoint.aside = model, model.aside
        owner = {"token": telegram.token, "api_base": telegram.api_base, "owners": ["42"], "members": ["43"]}
        configure(private_home, endpoint.base_url, telegram=owner)
        workspace = Home(private_home).workspace
        world = telegram.world
        stage = Stage(world.person(42, "Ada"), world.person(66, "Mallory"), workspace)
        async with GatewayProcess(private_home) as gateway:
            for count, way in enumerate(ways, start=1):
                WAYS[way](stage, order(list(WAYS).index(way)))
                await _answered(stage.ada, count)
                assert_powerless(model, workspace, list(WAYS))
            stage.ada.says("/new")
            dreamt = await nanobot(private_home, "dream")
            assert dreamt.code in (0, 1), dreamt.err  # 1: not all that the model wanted
            stage.ada.says("hello again")
            await _answered(stage.ada, len(ways) + 1)
            assert await gateway.stop() == 0
        assert_powerless(model, workspace, list(WAYS))


async def _answered(ada: Person, count: int) -> None:
    """Wait for so many answers in all, and say no to every question until then."""
    pressed: set[int] = set()
    async with asyncio.timeout(PATIENCE):
        while sum(text.startswith("Done.") for text in ada.chat.shown) < count:
            for message in ada.chat.by_bot:
                labels = [button["text"] for button in message.buttons]
                if message.id not in pressed and (refusal := next((one for one in labels if one in NO), None)):
                    pressed.add(message.id)
                    ada.presses(message, refusal)
            await asyncio.sleep(0.02)

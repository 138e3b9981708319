"""What a fake Telegram holds: chats, people, what everybody sees, and the updates that wait for the bot.

ada = world.person(42, "Ada", username="ada")
ada.says("hello")                      # in private
group = world.group(-1001, "Garden")
ada.says("@TestBot hello", group)
world.chat(42).shown                   # the texts in the chat, deleted ones left out
"""

import asyncio
import copy
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from tests.fakes.telegram_checks import RefusalError, bad, check_text, found_entities

Json = dict[str, Any]
BOT_ID = 123456
NOW = 1_790_000_000
ANONYMOUS = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
LINKED = {"id": 777000, "is_bot": False, "first_name": "Telegram"}


@dataclass
class Shown:
    """A message as people see it now, with the wordings it had before."""

    data: Json
    earlier: list[str] = field(default_factory=list)
    is_deleted: bool = False

    @property
    def id(self) -> int:
        return int(self.data["message_id"])

    @property
    def text(self) -> str:
        return str(self.data.get("text", self.data.get("caption", "")))

    @property
    def by_bot(self) -> bool:
        return bool(self.data.get("from", {}).get("id") == BOT_ID)

    @property
    def thread(self) -> int | None:
        return self.data.get("message_thread_id")

    @property
    def buttons(self) -> list[Json]:
        return [button for row in self.data.get("reply_markup", {}).get("inline_keyboard", ()) for button in row]


@dataclass
class Chat:
    """A chat; `refuses` is how it answers everything the bot sends, `moved_to` the supergroup it became."""

    data: Json
    world: "World"
    messages: dict[int, Shown] = field(default_factory=dict)
    threads: set[int] = field(default_factory=set)
    refuses: RefusalError | None = None
    moved_to: int | None = None
    actions: list[tuple[str, int | None]] = field(default_factory=list)
    _ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    @property
    def id(self) -> int:
        return int(self.data["id"])

    @property
    def visible(self) -> list[Shown]:
        return [message for message in self.messages.values() if not message.is_deleted]

    @property
    def shown(self) -> list[str]:
        return [message.text for message in self.visible]

    @property
    def by_bot(self) -> list[Shown]:
        """What the bot has said, as it can be seen."""
        return [message for message in self.visible if message.by_bot]

    def topic(self, thread: int) -> int:
        self.threads.add(thread)
        return thread

    def add(self, content: Mapping[str, Any]) -> Shown:
        message = Shown({"message_id": next(self._ids), "date": self.world.date(), "chat": self.data, **content})
        self.messages[message.id] = message
        return message

    def found(self, message_id: object, what: str) -> Shown:
        message = self.messages.get(int(str(message_id)))
        if message is None or message.is_deleted:
            raise bad(f"message to {what} not found")
        return message


@dataclass
class Person:
    """Somebody who talks to the bot; each method makes an update and gives the message back."""

    data: Json
    world: "World"

    @property
    def id(self) -> int:
        return int(self.data["id"])

    @property
    def chat(self) -> Chat:
        return self.world.chat(self.id)

    def says(self, text: str, chat: Chat | None = None, **more: Any) -> Shown:
        """Write; `reply_to` names a Shown, `thread` a topic, everything else goes into the message as it is."""
        entities = more.pop("entities", None) or list(found_entities(text))
        return self._post(chat, {"text": text, **({"entities": entities} if entities else {})}, more)

    def sends(self, chat: Chat | None = None, *, caption: str = "", **content: Any) -> Shown:
        """Send anything that is not text: `ada.sends(photo=world.photo(b"..."))`."""
        if caption:
            content["caption"] = caption
            content["caption_entities"] = list(found_entities(caption))
        return self._post(chat, {}, content)

    def sends_album(self, captions: Sequence[str], chat: Chat | None = None, order: Sequence[int] = ()) -> list[Shown]:
        """Photos with these captions, told to the bot in this order (numbers from 0)."""
        group = f"album{next(self.world.numbers)}"
        held, self.world.holds = self.world.holds, True
        items = [
            self.sends(
                chat, caption=caption, media_group_id=group, photo=self.world.photo(f"picture {number}".encode())
            )
            for number, caption in enumerate(captions)
        ]
        self.world.holds = held
        for number in order or range(len(items)):
            self.world.tell("message", items[number].data)
        return items

    def edits(self, message: Shown, text: str, **more: Any) -> Shown:
        message.earlier.append(message.text)
        name = "caption" if "caption" in message.data else "text"
        message.data |= {name: text, "edit_date": self.world.date(), **more}
        message.data["entities" if name == "text" else "caption_entities"] = list(found_entities(text))
        self.world.tell("edited_message", message.data)
        return message

    def forwards(self, message: Shown, chat: Chat | None = None) -> Shown:
        origin = {"type": "user", "sender_user": message.data.get("from", {}), "date": message.data["date"]}
        kept = ("text", "entities", "caption", "caption_entities", "photo", "document", "voice")
        content = {name: message.data[name] for name in kept if name in message.data}
        return self._post(chat, content, {"forward_origin": origin})

    def presses(self, message: Shown, label: str) -> str:
        """Press a button; the id of the press."""
        data = next(button["callback_data"] for button in message.buttons if button["text"] == label)
        press = str(next(self.world.numbers))
        self.world.presses[press] = None
        query = {"id": press, "from": self.data, "chat_instance": "1", "message": message.data, "data": data}
        self.world.tell("callback_query", query)
        return press

    def _post(self, chat: Chat | None, content: Json, more: Json) -> Shown:
        where = chat or self.chat
        sender = more.pop("sender", {"from": self.data})
        if (thread := more.pop("thread", None)) is not None:
            more |= {"message_thread_id": where.topic(thread), "is_topic_message": True}
        if (reply := more.pop("reply_to", None)) is not None:
            more["reply_to_message"] = {name: value for name, value in reply.data.items() if name != "reply_to_message"}
        message = where.add({**sender, **content, **more})
        self.world.tell("message", message.data)
        return message


class World:
    """All of it; one bot."""

    def __init__(self, username: str = "TestBot") -> None:
        self.bot: Json = {
            "id": BOT_ID,
            "is_bot": True,
            "first_name": "Test Bot",
            "username": username,
            "can_join_groups": True,
            "can_read_all_group_messages": False,
            "supports_inline_queries": False,
        }
        self.chats: dict[int, Chat] = {}
        self.people: dict[int, Person] = {}
        self.updates: list[Json] = []
        self.confirmed: list[int] = []
        self.files: dict[str, tuple[str, bytes]] = {}
        self.sizes: dict[str, int] = {}
        self.presses: dict[str, str | None] = {}
        self.commands: dict[str, list[Json]] = {}
        self.numbers = itertools.count(1)
        self.arrived = asyncio.Event()
        self.holds = False
        self.on_change: Callable[[], None] = lambda: None
        self._update_ids = itertools.count(101)
        self._started = time.time()

    def date(self) -> int:
        return NOW + int(time.time() - self._started)

    def person(self, id: int, name: str, username: str | None = None, language: str = "en") -> Person:  # noqa: A002
        if id not in self.people:
            data: Json = {"id": id, "is_bot": False, "first_name": name, "language_code": language}
            self.people[id] = Person(data | ({"username": username} if username else {}), self)
            self.chats[id] = Chat({"id": id, "type": "private", "first_name": name}, self)
        return self.people[id]

    def group(self, id: int, title: str, kind: str = "supergroup", *, is_forum: bool = False) -> Chat:  # noqa: A002
        data: Json = {"id": id, "type": kind, "title": title}
        self.chats[id] = Chat(data | ({"is_forum": True} if is_forum else {}), self)
        return self.chats[id]

    def chat(self, id: object) -> Chat:  # noqa: A002
        chat = self.chats.get(int(str(id)))
        if chat is None:
            raise bad("chat not found")
        return chat

    def tell(self, kind: str, payload: Json) -> int:
        """Let an update wait for the bot, as it is now; its id."""
        if self.holds:
            return 0
        number = next(self._update_ids)
        self.repeat({"update_id": number, kind: copy.deepcopy(payload)})
        return number

    def repeat(self, *updates: Json) -> None:
        """Let updates wait that may have been told before, in this order."""
        self.updates.extend(updates)
        self.arrived.set()
        self.on_change()

    def confirm(self, offset: int) -> None:
        done = [update for update in self.updates if update["update_id"] < offset]
        self.confirmed += [update["update_id"] for update in done]
        self.updates = [update for update in self.updates if update["update_id"] >= offset]

    def migrates(self, chat: Chat, new_id: int, by: Person) -> Chat:
        """A group becomes a supergroup; both tell."""
        new = self.group(new_id, chat.data["title"])
        chat.moved_to = new_id
        self.tell("message", chat.add({"from": by.data, "migrate_to_chat_id": new_id}).data)
        self.tell("message", new.add({"from": by.data, "migrate_from_chat_id": chat.id}).data)
        return new

    def bot_becomes(self, chat: Chat, status: str, by: Person, before: str = "left") -> None:
        """The bot is added to a chat or removed from it."""
        until = {"until_date": 0} if status == "kicked" else {}
        change = {"chat": chat.data, "from": by.data, "date": self.date()}
        change["old_chat_member"] = {"user": self.bot, "status": before}
        change["new_chat_member"] = {"user": self.bot, "status": status, **until}
        self.tell("my_chat_member", change)

    def file(self, content: bytes, name: str = "file.bin", size: int | None = None) -> Json:
        """A file that somebody can send; `size` is what Telegram says about it."""
        number = f"f{next(self.numbers)}"
        self.files[number] = (f"documents/{number}{PurePosixPath(name).suffix}", content)
        self.sizes[number] = len(content) if size is None else size
        return {"file_id": number, "file_unique_id": f"u{number}", "file_size": self.sizes[number]}

    def document(self, content: bytes, name: str, mime: str = "text/plain", size: int | None = None) -> Json:
        return self.file(content, name, size) | {"file_name": name, "mime_type": mime}

    def voice(self, content: bytes = b"OggS", size: int | None = None) -> Json:
        return self.file(content, "voice.oga", size) | {"duration": 2, "mime_type": "audio/ogg"}

    def photo(self, content: bytes) -> list[Json]:
        """A photo in two sizes."""
        small = self.file(content[:4], "small.jpg") | {"width": 90, "height": 90}
        return [small, self.file(content, "large.jpg") | {"width": 900, "height": 900}]

    def show(self, chat: Chat, message: Json) -> Shown:
        """The bot says something."""
        return chat.add({"from": self.bot, **message})

    def change(self, message: Shown, text: str, entities: Sequence[Json], markup: Json | None) -> None:
        """The bot edits something."""
        if not message.by_bot:
            raise bad("message can't be edited")
        shown = check_text(text, entities)
        before = message.text, list(message.data.get("entities", ())), message.data.get("reply_markup")
        if before == (shown, list(entities), markup):
            same = "specified new message content and reply markup are exactly the same as a current content"
            raise bad(f"message is not modified: {same} and reply markup of the message")
        message.earlier.append(message.text)
        message.data |= {"text": shown, "entities": list(entities), "edit_date": self.date()}
        message.data.pop("reply_markup", None)
        if markup:
            message.data["reply_markup"] = markup

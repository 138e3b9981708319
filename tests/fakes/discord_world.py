"""What a fake Discord holds: people, servers, channels, and what was said in them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]
Emit = Callable[[str, Json, "Room | None"], None]

TEXT, DM, THREAD, FORUM = 0, 1, 11, 15
DISCORD_EPOCH = 1_420_070_400_000
FILE_LIMIT = 10 * 2**20


class Snowflakes:
    """Ids that sort by time, as Discord makes them."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._last = 0

    def new(self, *, ago: float = 0.0) -> str:
        """A new id; of something that happened `ago` seconds ago, if given (these must be asked for in order)."""
        milliseconds = int((self._now().timestamp() - ago) * 1000) - DISCORD_EPOCH
        value = milliseconds << 22
        if not ago:
            value = self._last = max(value, self._last + 1)
        return str(value)


def time_of(snowflake: str) -> datetime:
    return datetime.fromtimestamp(((int(snowflake) >> 22) + DISCORD_EPOCH) / 1000, UTC)


@dataclass(frozen=True)
class Person:
    """Somebody who talks; a bot, or a webhook, where told."""

    id: str
    name: str
    bot: bool = False
    webhook: bool = False

    @property
    def payload(self) -> Json:
        return {
            "id": self.id,
            "username": self.name if self.bot else self.name.lower(),
            "global_name": None if self.bot else self.name,
            "discriminator": "0",
            "avatar": None,
            "bot": self.bot,
            "public_flags": 0,
        }


@dataclass(eq=False)
class Room:
    """A channel, thread, forum or direct conversation.

    `refuses` is the code with which everything the bot says is refused (50013 no permission, 50007 no DMs);
    `gone` answers 10003.
    """

    id: str
    name: str
    kind: int
    guild: str | None = None
    parent: str | None = None
    person: Person | None = None
    file_limit: int = FILE_LIMIT
    archived: bool = False
    archived_at: datetime | None = None
    locked: bool = False
    gone: bool = False
    refuses: int | None = None
    messages: dict[str, Json] = field(default_factory=dict)

    @property
    def payload(self) -> Json:
        data: Json = {"id": self.id, "type": self.kind, "name": self.name}
        data["last_message_id"] = max(self.messages, key=int, default=None)
        if self.kind == DM and self.person:
            return data | {"recipients": [self.person.payload]}
        data |= {"guild_id": self.guild, "position": 0, "parent_id": self.parent, "nsfw": False}
        if self.kind == THREAD:
            return data | self._thread()
        return data | {"permission_overwrites": [], "rate_limit_per_user": 0, "topic": None, "available_tags": []}

    def _thread(self) -> Json:
        when = (self.archived_at or time_of(self.id)).isoformat()
        meta = {
            "archived": self.archived,
            "auto_archive_duration": 60,
            "archive_timestamp": when,
            "locked": self.locked,
        }
        return {
            "owner_id": "1",
            "thread_metadata": meta,
            "message_count": 0,
            "member_count": 1,
            "rate_limit_per_user": 0,
            "flags": 0,
            "total_message_sent": 0,
        }

    def in_order(self) -> list[Json]:
        return sorted(self.messages.values(), key=lambda message: int(message["id"]))


@dataclass(eq=False)
class Guild:
    """A server; `file_limit` grows with its boosts."""

    id: str
    name: str
    tier: int = 0
    roles: dict[str, str] = field(default_factory=dict)


class World:
    """Everything that exists, and the one place where it changes; `emit` is told what the bot would be told."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.snowflakes = Snowflakes(now)
        self.emit: Emit = lambda *_: None
        self.rooms: dict[str, Room] = {}
        self.guilds: dict[str, Guild] = {}
        self.files: dict[str, bytes] = {}
        self.base = ""
        self.now = now
        self.bot = Person(self.snowflakes.new(), "Nano", bot=True)

    def guild_payload(self, guild: Guild) -> Json:
        rooms = [room for room in self.rooms.values() if room.guild == guild.id and not room.gone]
        everyone = _role(guild.id, "@everyone")
        mine = [role for role, name in guild.roles.items() if name == self.bot.name]
        return {
            "id": guild.id,
            "name": guild.name,
            "owner_id": "1",
            "unavailable": False,
            "member_count": 2,
            "large": False,
            "premium_tier": guild.tier,
            "roles": [everyone, *(_role(role, name) for role, name in guild.roles.items())],
            "emojis": [],
            "features": [],
            "members": [member(self.bot) | {"roles": mine, "user": self.bot.payload}],
            "channels": [room.payload for room in rooms if room.kind != THREAD],
            "threads": [room.payload for room in rooms if room.kind == THREAD and not room.archived],
            "voice_states": [],
            "presences": [],
            "joined_at": self.now().isoformat(),
        }

    def add(self, room: Room) -> Room:
        self.rooms[room.id] = room
        if room.kind == THREAD:
            self.emit("THREAD_CREATE", room.payload | {"newly_created": True}, room)
        elif room.kind != DM:
            self.emit("CHANNEL_CREATE", room.payload, room)
        return room

    def say(
        self, room: Room, author: Person, content: str, *, ago: float = 0.0, quiet: bool = False, **more: Any
    ) -> Json:
        """Put a message into a room; nobody is told if `quiet`."""
        message = self.message(room, author, content, ago=ago) | more
        room.messages[message["id"]] = message
        if not quiet:
            self.emit("MESSAGE_CREATE", self.as_event(room, message, author), room)
        return message

    def message(self, room: Room, author: Person, content: str, *, ago: float = 0.0) -> Json:
        snowflake = self.snowflakes.new(ago=ago)
        data: Json = {
            "id": snowflake,
            "channel_id": room.id,
            "author": author.payload,
            "content": content,
            "timestamp": time_of(snowflake).isoformat(),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": "@everyone" in content,
            "mentions": [],
            "mention_roles": [],
            "attachments": [],
            "embeds": [],
            "pinned": False,
            "type": 0,
            "flags": 0,
        }
        return data | {"webhook_id": author.id} if author.webhook else data

    def as_event(self, room: Room, message: Json, author: Person) -> Json:
        """As the gateway tells it: with the server, and the author's membership there."""
        if room.guild is None:
            return message
        return message | {"guild_id": room.guild} | ({} if author.webhook else {"member": member(author)})

    def change(self, room: Room, message: Json, **changes: Any) -> None:
        message.update(changes)
        author = Person(message["author"]["id"], message["author"]["username"], bot=message["author"]["bot"])
        self.emit("MESSAGE_UPDATE", self.as_event(room, message, author), room)

    def remove(self, room: Room, message: Json) -> None:
        room.messages.pop(message["id"], None)
        event = {"id": message["id"], "channel_id": room.id}
        self.emit("MESSAGE_DELETE", event | ({"guild_id": room.guild} if room.guild else {}), room)

    def keep_file(self, name: str, content: bytes, mime: str | None) -> Json:
        """A file on the CDN, as an attachment."""
        snowflake = self.snowflakes.new()
        path = f"/attachments/{snowflake}/{name.replace('/', '_') or 'file'}"
        self.files[path] = content
        url = self.base + path
        data: Json = {"id": snowflake, "filename": name, "size": len(content), "url": url, "proxy_url": url}
        return data | ({"content_type": mime} if mime else {})


def member(person: Person) -> Json:
    return {
        "roles": [],
        "joined_at": "2024-01-01T00:00:00+00:00",
        "deaf": False,
        "mute": False,
        "nick": None,
        "flags": 0,
    }


def users(people: Iterable[Person]) -> Sequence[Json]:
    """As `mentions` lists them."""
    return [person.payload for person in people]


def _role(snowflake: str, name: str) -> Json:
    return {
        "id": snowflake,
        "name": name,
        "permissions": str(0x7FFFFFFFFF),
        "position": 0,
        "color": 0,
        "hoist": False,
        "managed": False,
        "mentionable": True,
        "flags": 0,
    }

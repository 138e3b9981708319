"""A server on loopback that is Discord to a bot, and a room full of people to a test.

    async with FakeDiscord() as discord:
        home = discord.guild("Home")
        general = discord.channel(home, "general")
        ada = discord.person("Ada")
        ...                                    # point the bot at discord.api_base, with discord.token
        await discord.until(lambda: discord.gateway.connected)
        discord.says(ada, general, f"{discord.mention} hello")
        await discord.until(lambda: "Nano: Hello, Ada" in discord.shown(general))

It knows what Discord refuses (discord_checks.py), answers requests (discord_rest.py), speaks the gateway's
protocol (discord_gateway.py), and misbehaves on order: `flood`, `fail`, `gateway.cut`, `gateway.die`, …
`calls` holds every request, `shown` what a person sees. All of it belongs to the event loop that started it;
the bot may be in this process or in another.
By itself: `python -m tests.fakes.discord_server --port 8082`, where everything typed is said to the bot by Ada, who is
alone with it, and everything it says is printed.
"""

import argparse
import asyncio
import re
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Self

from aiohttp import web

from tests.fakes.discord_gateway import Gateway
from tests.fakes.discord_rest import BASE, PATIENCE, Asked, Call, Fault, Rest
from tests.fakes.discord_world import DM, FORUM, TEXT, THREAD, Guild, Json, Person, Room, World, member


class FakeDiscord:
    """The server; an asynchronous context manager, or `start` and `stop`."""

    def __init__(self, *, token: str = "MTk4.fake.token", now: Callable[[], datetime] | None = None) -> None:
        self.token = token
        self.api_base = ""
        self.world = World(now or (lambda: datetime.now(UTC)))
        self.rest = Rest(self.world, token, self.changed)
        self.gateway = Gateway(token, self._ready, self.changed)
        self.world.emit = self.gateway.tell
        self._news = asyncio.Event()
        self._runner: web.AppRunner | None = None

    async def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1; port 0 takes a free one."""
        app = web.Application(client_max_size=2**28)
        app.router.add_get("/gateway/", self.gateway.connect)
        app.add_routes(self.rest.routes())
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        self.world.base = f"http://127.0.0.1:{self.port}"
        self.api_base = self.world.base + BASE
        self.rest.ws_url = self.gateway.url = f"ws://127.0.0.1:{self.port}/gateway/"

    async def stop(self) -> None:
        """End; what was said is kept, so that it can be started again."""
        if self._runner:
            await self.gateway.stop()
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def port(self) -> int:
        assert self._runner
        return int(self._runner.addresses[0][1])

    async def until(self, happened: Callable[[], object], seconds: float = 20) -> None:
        """Wait until this is true; it is looked at whenever something happens here."""
        async with asyncio.timeout(seconds):
            while not happened():
                self._news.clear()
                await self._news.wait()

    def changed(self) -> None:
        """Let those who wait in `until` look again."""
        self._news.set()

    def _ready(self) -> tuple[Json, Sequence[tuple[str, Json]]]:
        guilds = list(self.world.guilds.values())
        away = [{"id": guild.id, "unavailable": True} for guild in guilds]
        application = {"id": self.bot.id, "flags": 0}
        hello: Json = {"v": 10, "user": self.bot.payload, "guilds": away, "application": application}
        return hello, [("GUILD_CREATE", self.world.guild_payload(guild)) for guild in guilds]

    # The scene.

    @property
    def bot(self) -> Person:
        return self.world.bot

    @property
    def mention(self) -> str:
        """How a person's client writes @Nano."""
        return f"<@{self.bot.id}>"

    def person(self, name: str, *, bot: bool = False, webhook: bool = False) -> Person:
        return Person(self.world.snowflakes.new(), name, bot=bot or webhook, webhook=webhook)

    def guild(self, name: str, *, tier: int = 0, roles: Mapping[str, str] | None = None) -> Guild:
        """A server; roles by id. A role with the bot's name is the bot's."""
        guild = Guild(self.world.snowflakes.new(), name, tier, dict(roles or {}))
        self.world.guilds[guild.id] = guild
        return guild

    def channel(self, guild: Guild, name: str, *, forum: bool = False) -> Room:
        return self.world.add(Room(self.world.snowflakes.new(), name, FORUM if forum else TEXT, guild.id))

    def thread(self, parent: Room, name: str) -> Room:
        return self.world.add(Room(self.world.snowflakes.new(), name, THREAD, parent.guild, parent.id))

    def dm(self, person: Person) -> Room:
        """The bot's conversation with somebody."""
        known = (room for room in self.world.rooms.values() if room.kind == DM and room.person == person)
        return next(known, None) or self.world.add(Room(self.world.snowflakes.new(), person.name, DM, person=person))

    # What people do.

    def says(
        self,
        person: Person,
        room: Room,
        content: str,
        *,
        reply_to: Json | None = None,
        files: Sequence[tuple[str, bytes, str | None]] = (),
        ago: float = 0.0,
        **more: Any,
    ) -> Json:
        """Say something, `ago` seconds ago; more: any field of a message (embeds, sticker_items, poll, type …)."""
        more.setdefault("mentions", self._mentioned(content, reply_to))
        more.setdefault("mention_roles", re.findall(r"<@&(\d+)>", content))
        more["attachments"] = [self.world.keep_file(*file) for file in files]
        if reply_to:
            reference = {"type": 0, "message_id": reply_to["id"], "channel_id": room.id, "guild_id": room.guild}
            more |= {"type": 19, "message_reference": reference, "referenced_message": reply_to}
        return self.world.say(room, person, content, ago=ago, **more)

    def forwards(self, person: Person, room: Room, message: Json) -> Json:
        """Pass a message on."""
        kept = ("content", "embeds", "attachments", "timestamp", "edited_timestamp", "type", "flags", "mentions")
        snapshot = {key: message[key] for key in kept}
        reference = {"type": 1, "message_id": message["id"], "channel_id": message["channel_id"]}
        return self.world.say(room, person, "", message_snapshots=[{"message": snapshot}], message_reference=reference)

    def edits(self, room: Room, message: Json, content: str) -> None:
        when = self.world.now().isoformat()
        mentions = self._mentioned(content, message.get("referenced_message"))
        self.world.change(room, message, content=content, edited_timestamp=when, mentions=mentions)

    def unfurls(self, room: Room, message: Json) -> None:
        """Discord itself puts the preview of a link below a message: an update that is no edit."""
        self.world.change(room, message, embeds=[{"type": "link", "url": "https://example.org", "title": "Example"}])

    def deletes(self, room: Room, message: Json) -> None:
        self.world.remove(room, message)

    def slash(self, person: Person, room: Room, name: str, text: str | None = None, *, late: bool = False) -> Asked:
        """Call a slash command; `late`: so long ago that it cannot be answered any more."""
        options = [{"name": "text", "type": 3, "value": text}] if text is not None else []
        data = {"id": "1", "name": name, "type": 1, "options": options}
        return self._interact(person, room, {"type": 2, "data": data}, late=late)

    def presses(self, person: Person, room: Room, message: Json, label: str) -> Asked:
        """Press the button with this label."""
        buttons = [button for row in message["components"] for button in row["components"]]
        custom_id = next(button["custom_id"] for button in buttons if button["label"] == label)
        data = {"custom_id": custom_id, "component_type": 2}
        return self._interact(person, room, {"type": 3, "data": data, "message": message})

    def _interact(self, person: Person, room: Room, what: Json, *, late: bool = False) -> Asked:
        until = time.monotonic() + (0 if late else PATIENCE)
        asked = Asked(self.world.snowflakes.new(), secrets.token_hex(16), room, person, until)
        self.rest.asked[asked.id] = asked
        event = {
            "id": asked.id,
            "token": asked.token,
            "version": 1,
            "application_id": self.bot.id,
            "channel_id": room.id,
            "channel": room.payload,
            "attachment_size_limit": room.file_limit,
            "entitlements": [],
            "locale": "en-US",
            "app_permissions": str(0x7FFFFFFFFF),
        }
        if room.guild:
            who = {"guild_id": room.guild, "member": member(person) | {"user": person.payload, "permissions": "0"}}
        else:
            who = {"user": person.payload}
        self.gateway.tell("INTERACTION_CREATE", event | who | what, room)
        return asked

    def _mentioned(self, content: str, reply_to: Json | None) -> list[Json]:
        """The users whom a message pings: by name, and by replying to them."""
        known = {self.bot.id: self.bot.payload}
        for room in self.world.rooms.values():
            known |= {message["author"]["id"]: message["author"] for message in room.messages.values()}
        pinged = [known[id_] for id_ in re.findall(r"<@!?(\d+)>", content) if id_ in known]
        return [*pinged, reply_to["author"]] if reply_to and reply_to["author"] not in pinged else pinged

    # Misbehaviour, on order; more of it stands in `gateway`.

    def flood(self, retry_after: float, *, room: Room | None = None, everywhere: bool = False, times: int = 1) -> None:
        """The next requests (for this room, if given) are too many."""
        body = {"message": "You are being rate limited.", "retry_after": retry_after, "global": everywhere}
        headers = {"Retry-After": str(retry_after)}
        path = f"/channels/{room.id}/" if room else "/channels/"
        self.fail(Fault("*", path, times, 429, body, headers))

    def fail(self, fault: Fault) -> None:
        """Something else happens to the next requests that fit."""
        self.rest.faults.append(fault)

    # What can be seen of it.

    @property
    def calls(self) -> list[Call]:
        return self.rest.calls

    def sent(self, room: Room) -> list[Json]:
        """The bot's messages in a room."""
        return [message for message in room.in_order() if message["author"]["id"] == self.bot.id]

    def shown(self, room: Room) -> list[str]:
        """What a person reads in a room, in order: "Name: text", with "↪" for replies and the files' names."""
        return [self._line(message) for message in room.in_order()]

    def _line(self, message: Json) -> str:
        author = message["author"]
        files = "".join(f" [{file['filename']}]" for file in message["attachments"])
        mark = "↪ " if message.get("referenced_message") else ""
        text = "…thinking…" if message["flags"] & 128 else message["content"]
        name = self.bot.name if author["id"] == self.bot.id else author["global_name"] or author["username"]
        return f"{name}: {mark}{text}{files}"


async def _converse(port: int) -> None:
    discord = FakeDiscord()
    await discord.start(port)
    ada = discord.person("Ada")
    room = discord.dm(ada)
    print(f"api_base: {discord.api_base}\ntoken: {discord.token}\nowners: ['{ada.id}']", flush=True)
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    try:
        async with asyncio.TaskGroup() as tasks:
            showing = tasks.create_task(_show(discord, room))
            async for line in reader:
                if text := line.decode().strip():
                    discord.says(ada, room, text)
            showing.cancel()
    finally:
        await discord.stop()


async def _show(discord: FakeDiscord, room: Room) -> None:
    """Print the room anew as far as it changes."""
    told: list[str] = []
    while True:
        await discord.until(lambda: discord.shown(room) != told, seconds=365 * 86400)
        new = [line for line in discord.shown(room) if line not in told]
        told[:] = discord.shown(room)
        print(*new, sep="\n", flush=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--port", type=int, default=8082)
    with suppress(KeyboardInterrupt):
        asyncio.run(_converse(options.parse_args().port))

"""The REST side of a fake Discord: strict, and disobedient on order."""

import asyncio
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import BodyPartReader, web

from tests.fakes.discord_checks import RefusedError, check_message, check_room, invalid
from tests.fakes.discord_world import DM, Json, Person, Room, World
from tests.fakes.file_server import trickle

BASE = "/api/v10"
PATIENCE = 60.0
"""Seconds in which an interaction is to be answered: Discord waits for three, but a busy machine may be slow."""


@dataclass
class Call:
    """A request as it came; `at` in seconds of the monotonic clock."""

    method: str
    path: str
    body: Json
    at: float
    status: int = 0
    uploads: list[tuple[str, bytes, str | None]] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        """The names of the files that came with it."""
        return [name for name, _, _ in self.uploads]


@dataclass
class Fault:
    """What happens to the next requests that fit, instead of (or, if `accepted`, after) what they ask for.

    `status` 0 breaks the connection, None never answers; a file with `trickles` comes byte by byte, never to its end.
    """

    method: str
    path: str
    times: int = 1
    status: int | None = 502
    body: Json | str = "<html>bad gateway</html>"
    headers: dict[str, str] = field(default_factory=dict)
    accepted: bool = False
    trickles: bool = False

    def fits(self, call: Call) -> bool:
        return self.times > 0 and self.method in ("*", call.method) and re.search(self.path, call.path) is not None


@dataclass(eq=False)
class Asked:
    """An interaction that waits for its answer; `until` is the last moment for the first one."""

    id: str
    token: str
    room: Room
    author: Person
    until: float
    answered: Json | None = None
    original: Json | None = None


class Rest:
    """Answers requests from the world; `calls` holds each of them."""

    def __init__(self, world: World, token: str, changed: Callable[[], None]) -> None:
        self.world = world
        self.token = token
        self.changed = changed
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.asked: dict[str, Asked] = {}
        self.commands: list[Json] = []
        self.remembers_nonce = True
        self.ws_url = ""
        self._nonces: dict[tuple[str, str], Json] = {}

    def routes(self) -> list[web.RouteDef]:
        message, hook = "/channels/{room}/messages", "/webhooks/{app}/{token}"
        table = {
            ("GET", "/users/@me"): self._me,
            ("GET", "/oauth2/applications/@me"): self._application,
            ("GET", "/gateway/bot"): self._gateway,
            ("PUT", "/applications/{app}/commands"): self._put_commands,
            ("POST", "/users/@me/channels"): self._open_dm,
            ("GET", "/channels/{room}"): self._channel,
            ("GET", "/channels/{room}/threads/archived/public"): self._archived,
            ("GET", message): self._history,
            ("POST", message): self._create,
            ("GET", message + "/{message}"): self._one,
            ("PATCH", message + "/{message}"): self._edit,
            ("DELETE", message + "/{message}"): self._delete,
            ("POST", "/channels/{room}/typing"): self._typing,
            ("POST", "/interactions/{id}/{token}/callback"): self._callback,
            ("POST", hook): self._follow_up,
            ("PATCH", hook + "/messages/@original"): self._edit_original,
            ("DELETE", hook + "/messages/@original"): self._delete_original,
        }
        made = [web.route(method, BASE + path, self._guarded(handler)) for (method, path), handler in table.items()]
        return [*made, web.get("/attachments/{id}/{name}", self._file), web.route("*", "/{any:.*}", self._nothing)]

    # What every request goes through.

    def _guarded(self, handler: Callable[[web.Request, Call], Any]) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            call = Call(request.method, request.path.removeprefix(BASE), {}, time.monotonic())
            self.calls.append(call)
            try:
                response = await self._answer(handler, request, call)
            finally:
                self.changed()
            call.status = response.status
            return response

        return handle

    async def _answer(self, handler: Any, request: web.Request, call: Call) -> web.StreamResponse:
        await self._read(request, call)
        fault = next((fault for fault in self.faults if fault.fits(call)), None)
        if fault:
            fault.times -= 1
        if fault and not fault.accepted:
            self.changed()
            return await _misbehave(fault, request)
        try:
            self._check_client(request, call)
            answer = handler(request, call)
            response = _json(200, answer) if answer is not None else web.Response(status=204)
        except RefusedError as refusal:
            response = _json(refusal.status, refusal.body, refusal.headers)
        self.changed()
        return await _misbehave(fault, request) if fault else response

    async def _read(self, request: web.Request, call: Call) -> None:
        if request.content_type == "multipart/form-data":
            async for part in await request.multipart():
                assert isinstance(part, BodyPartReader)
                if part.name == "payload_json":
                    call.body = json.loads(await part.text())
                else:
                    content = bytes(await part.read())
                    call.uploads.append((part.filename or "", content, part.headers.get("Content-Type")))
        elif request.can_read_body:
            body = await request.json()
            call.body = body if isinstance(body, dict) else {"list": body}

    def _check_client(self, request: web.Request, call: Call) -> None:
        by_token = call.path.startswith(("/webhooks/", "/interactions/"))
        if not request.headers.get("User-Agent", "").startswith("DiscordBot ("):
            raise RefusedError(403, 0, "who are you?")
        if not by_token and request.headers.get("Authorization") != f"Bot {self.token}":
            raise RefusedError(401, 0, "401: Unauthorized")
        if request.can_read_body and request.content_type not in ("application/json", "multipart/form-data"):
            raise RefusedError(400, 50109, "The request body contains invalid JSON.")

    # Who we are.

    def _me(self, _: web.Request, __: Call) -> Json:
        return self.world.bot.payload | {"email": None, "verified": True, "mfa_enabled": False, "flags": 0}

    def _application(self, _: web.Request, __: Call) -> Json:
        owner = Person("1", "Ada").payload
        about = {"id": self.world.bot.id, "name": self.world.bot.name, "description": "", "icon": None, "owner": owner}
        return about | {"bot_public": False, "bot_require_code_grant": False, "verify_key": "", "flags": 0}

    def _gateway(self, _: web.Request, __: Call) -> Json:
        limit = {"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1}
        return {"url": self.ws_url, "shards": 1, "session_start_limit": limit}

    def _put_commands(self, request: web.Request, call: Call) -> list[Json]:
        wanted = call.body["list"]
        names = [command["name"] for command in wanted]
        if len(set(names)) < len(names) or len(names) > 100:
            raise invalid("name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "each name once")
        for command in wanted:
            if not re.fullmatch(r"[-_'\w]{1,32}", command["name"]) or command["name"] != command["name"].lower():
                raise invalid("name", "APPLICATION_COMMAND_INVALID_NAME", command["name"])
            texts = [command["description"], *(command.get("description_localizations") or {}).values()]
            texts += [option["description"] for option in command.get("options", [])]
            if any(not 1 <= len(text) <= 100 for text in texts):
                raise invalid("description", "BASE_TYPE_BAD_LENGTH", "1 to 100 characters")
        self.commands = wanted
        return [
            command | {"id": self.world.snowflakes.new(), "application_id": request.match_info["app"]}
            for command in wanted
        ]

    # Channels.

    def _open_dm(self, _: web.Request, call: Call) -> Json:
        person = call.body["recipient_id"]
        for room in self.world.rooms.values():
            if room.kind == DM and room.person and room.person.id == str(person):
                return room.payload
        raise RefusedError(400, 50033, "Invalid Recipient(s)")

    def _room(self, request: web.Request) -> Room:
        room = self.world.rooms.get(request.match_info["room"])
        if room is None or room.gone:
            raise RefusedError(404, 10003, "Unknown Channel")
        return room

    def _message(self, request: web.Request) -> tuple[Room, Json]:
        room = self._room(request)
        try:
            return room, room.messages[request.match_info["message"]]
        except KeyError:
            raise RefusedError(404, 10008, "Unknown Message") from None

    def _channel(self, request: web.Request, _: Call) -> Json:
        return self._room(request).payload

    def _one(self, request: web.Request, _: Call) -> Json:
        return self._shown(self._message(request)[1])

    def _history(self, request: web.Request, _: Call) -> list[Json]:
        room = self._room(request)
        if room.refuses == 50001:
            raise RefusedError(403, 50001, "Missing Access")
        limit = int(request.query.get("limit", 50))
        if not 1 <= limit <= 100:
            raise invalid("limit", "NUMBER_TYPE_MAX", "1 to 100")
        known = room.in_order()
        if "after" in request.query:
            after = int(request.query["after"])
            chosen = [message for message in known if int(message["id"]) > after][:limit]
        else:
            before = int(request.query.get("before", 2**63))
            chosen = [message for message in known if int(message["id"]) < before][-limit:]
        return [self._shown(message) for message in reversed(chosen)]

    def _archived(self, request: web.Request, _: Call) -> Json:
        """The newest first, by the time at which they were archived."""
        channel = self._room(request)
        if channel.refuses == 50001:
            raise RefusedError(403, 50001, "Missing Access")
        limit = int(request.query.get("limit", 50))
        if not 2 <= limit <= 100:
            raise invalid("limit", "NUMBER_TYPE_MAX", "2 to 100")
        threads = [room for room in self.world.rooms.values() if room.parent == channel.id and room.archived]
        threads.sort(key=lambda room: room.payload["thread_metadata"]["archive_timestamp"], reverse=True)
        threads = [room for room in threads if not room.gone]
        return {"threads": [room.payload for room in threads[:limit]], "members": [], "has_more": len(threads) > limit}

    def _shown(self, message: Json) -> Json:
        hidden = () if self.remembers_nonce else ("nonce",)
        return {key: value for key, value in message.items() if key not in hidden}

    def _create(self, request: web.Request, call: Call) -> Json:
        room = check_room(self.world.rooms.get(request.match_info["room"]))
        check_message(call.body, files=len(call.uploads))
        limit = room.file_limit
        if any(len(content) > limit for _, content, _ in call.uploads):
            raise RefusedError(413, 40005, "Request entity too large")
        nonce = call.body.get("nonce")
        if nonce and (room.id, nonce) in self._nonces:
            return self._nonces[room.id, nonce]
        more = self._reference(room, call.body.get("message_reference"))
        more |= {"attachments": [self.world.keep_file(*file) for file in call.uploads]}
        more |= {"components": call.body.get("components", []), "pings": call.body["allowed_mentions"]}
        more |= {"nonce": nonce} if nonce else {}
        message = self.world.say(room, self.world.bot, call.body.get("content") or "", **more)
        if nonce:
            self._nonces[room.id, nonce] = message
        return message

    def _reference(self, room: Room, wish: Json | None) -> Json:
        if wish is None:
            return {}
        if wish["message_id"] in room.messages:
            reference = {"message_id": wish["message_id"], "channel_id": room.id, "guild_id": room.guild}
            return {"type": 19, "message_reference": reference, "referenced_message": room.messages[wish["message_id"]]}
        if wish.get("fail_if_not_exists", True):
            raise invalid("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
        return {}

    def _edit(self, request: web.Request, call: Call) -> Json:
        room, message = self._message(request)
        if message["author"]["id"] != self.world.bot.id:
            raise RefusedError(403, 50005, "Cannot edit a message authored by another user")
        check_room(room)
        check_message(call.body, editing=True)
        changes = {key: call.body[key] for key in ("content", "components") if key in call.body}
        self.world.change(room, message, edited_timestamp=self.world.now().isoformat(), **changes)
        return message

    def _delete(self, request: web.Request, _: Call) -> None:
        self.world.remove(*self._message(request))

    def _typing(self, request: web.Request, _: Call) -> None:
        check_room(self.world.rooms.get(request.match_info["room"]))

    # Interactions.

    def _callback(self, request: web.Request, call: Call) -> Json | None:
        asked = self.asked.get(request.match_info["id"])
        if asked is None or asked.token != request.match_info["token"] or time.monotonic() > asked.until:
            raise RefusedError(404, 10062, "Unknown interaction")
        if asked.answered is not None:
            raise RefusedError(400, 40060, "Interaction has already been acknowledged.")
        asked.answered = call.body
        about: Json = {"id": asked.id, "type": 2}
        if call.body["type"] == 5:
            asked.original = self.world.say(asked.room, self.world.bot, "", quiet=True, flags=128, type=20)
            about["response_message_id"] = asked.original["id"]
            about["response_message_loading"] = True
        elif call.body["type"] == 4:
            check_message(call.body["data"])
            asked.original = self.world.say(asked.room, self.world.bot, call.body["data"]["content"], type=20)
            about["response_message_id"] = asked.original["id"]
        return {"interaction": about} if request.query.get("with_response") in ("1", "true", "True") else None

    def _hook(self, request: web.Request) -> Asked:
        for asked in self.asked.values():
            if asked.token == request.match_info["token"] and asked.answered is not None:
                return asked
        raise RefusedError(404, 10015, "Unknown Webhook")

    def _original(self, request: web.Request) -> tuple[Asked, Json]:
        asked = self._hook(request)
        if asked.original is None or asked.original["id"] not in asked.room.messages:
            raise RefusedError(404, 10008, "Unknown Message")
        return asked, asked.original

    def _edit_original(self, request: web.Request, call: Call) -> Json:
        asked, message = self._original(request)
        check_message(call.body, editing=True)
        self.world.change(asked.room, message, content=call.body["content"], flags=0)
        return message

    def _delete_original(self, request: web.Request, _: Call) -> None:
        asked, message = self._original(request)
        self.world.remove(asked.room, message)

    def _follow_up(self, request: web.Request, call: Call) -> Json:
        asked = self._hook(request)
        check_message(call.body)
        return self.world.say(asked.room, self.world.bot, call.body["content"])

    # Files.

    async def _file(self, request: web.Request) -> web.StreamResponse:
        call = Call("GET", request.path, {}, time.monotonic(), 200)
        self.calls.append(call)
        fault = next((fault for fault in self.faults if fault.fits(call)), None)
        self.changed()
        if fault:
            fault.times -= 1
            return await (trickle(request) if fault.trickles else _misbehave(fault, request))
        content = self.world.files.get(request.path)
        return web.Response(body=content) if content is not None else web.Response(status=404)

    async def _nothing(self, _: web.Request) -> web.StreamResponse:
        return _json(404, {"message": "404: Not Found", "code": 0})


def _json(status: int, body: Any, headers: dict[str, str] | None = None) -> web.Response:
    # discord.py reads JSON only if the type is exactly this, without a charset
    return web.Response(
        status=status,
        body=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Via": "1.1 google"} | (headers or {}),
    )


async def _misbehave(fault: Fault, request: web.Request) -> web.StreamResponse:
    if fault.status is None:
        await asyncio.Event().wait()
    if not fault.status:
        assert request.transport
        request.transport.abort()
        return web.Response()
    if isinstance(fault.body, str):
        return web.Response(status=fault.status, text=fault.body, content_type="text/html", headers=fault.headers)
    return _json(fault.status, fault.body, fault.headers)

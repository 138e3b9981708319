"""The gateway of a fake Discord: sessions over a WebSocket, with resume, and all that can go wrong with it."""

import asyncio
import copy
import json
import secrets
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from tests.fakes.discord_world import Json, Room

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, REQUEST_MEMBERS, INVALID, HELLO, ACK = 0, 1, 2, 6, 8, 9, 10, 11
GUILDS, MEMBERS, PRESENCES, GUILD_MESSAGES, DIRECT_MESSAGES, CONTENT = 1, 1 << 1, 1 << 8, 1 << 9, 1 << 12, 1 << 15
PRIVILEGED = MEMBERS | PRESENCES | CONTENT


@dataclass(eq=False)
class Socket:
    """One connection. A dead one stays open and says nothing any more."""

    ws: web.WebSocketResponse
    compress: bool
    dead: bool = False
    to_send: asyncio.Queue[Json] = field(default_factory=asyncio.Queue)
    _zlib: Any = field(default_factory=zlib.compressobj)

    async def write(self) -> None:
        while True:
            payload = await self.to_send.get()
            if self.dead or self.ws.closed:
                continue
            text = json.dumps(payload)
            if not self.compress:
                await self.ws.send_str(text)
                continue
            data = self._zlib.compress(text.encode()) + self._zlib.flush(zlib.Z_SYNC_FLUSH)
            await self.ws.send_bytes(data)


@dataclass(eq=False)
class Session:
    """What survives a connection: everything it was told, by number."""

    id: str
    intents: int
    sent: list[Json] = field(default_factory=list)
    socket: Socket | None = None

    def tell(self, event: str, data: Json, *, copies: int = 1) -> None:
        for _ in range(copies):
            payload = {"op": DISPATCH, "t": event, "s": len(self.sent) + 1, "d": data}
            self.sent.append(payload)
            if self.socket:
                self.socket.to_send.put_nowait(payload)


@dataclass(eq=False)
class Gateway:
    """Speaks the protocol; `ready` gives what READY says and what follows it."""

    token: str
    ready: Callable[[], tuple[Json, Sequence[tuple[str, Json]]]]
    changed: Callable[[], None]
    url: str = ""
    heartbeat: float = 41.25
    granted: int = PRIVILEGED
    copies: int = 1
    refuse_with: int | None = None
    early: Callable[[], object] | None = None  # happens, and is told, once a session begins and before its READY
    identifies: list[int] = field(default_factory=list)
    resumes: list[bool] = field(default_factory=list)
    sessions: dict[str, Session] = field(default_factory=dict)
    _sockets: list[Socket] = field(default_factory=list)
    _held: list[tuple[str, Json, Room | None]] | None = None

    # Misbehaviour, on order.

    async def cut(self, *, resumable: bool = True) -> None:
        """Break all connections; what is said meanwhile is told on resuming, or not at all."""
        if not resumable:
            self.sessions.clear()
        for socket in list(self._sockets):
            if socket.ws._req and socket.ws._req.transport:  # closing frames would be too polite
                socket.ws._req.transport.abort()
        await asyncio.sleep(0)

    async def close(self, code: int) -> None:
        """Close all connections with this code."""
        for socket in list(self._sockets):
            await socket.ws.close(code=code)

    def die(self) -> None:
        """All connections stay open, and nothing comes through them any more."""
        for socket in self._sockets:
            socket.dead = True

    def hold(self) -> None:
        """Keep events back until `release`."""
        self._held = []

    def release(self, *, backwards: bool = False) -> None:
        """Tell what was held back, the latest first if so ordered."""
        held, self._held = self._held or [], None
        for event in reversed(held) if backwards else held:
            self.tell(*event)

    @property
    def connected(self) -> bool:
        """Whether somebody has identified, and is still there."""
        return any(session.socket and not session.socket.dead for session in self.sessions.values())

    def tell(self, event: str, data: Json, room: Room | None) -> None:
        """Tell every session that asked for such events; what happens to the message later is another event."""
        data = copy.deepcopy(data)
        if self._held is not None:
            self._held.append((event, data, room))
            return
        for session in self.sessions.values():
            if session.intents & _needed(event, room) == _needed(event, room):
                seen = data if session.intents & CONTENT else _without_content(event, data)
                session.tell(event, seen, copies=self.copies)

    # The protocol.

    async def connect(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("v") != "10" or request.query.get("encoding") != "json":
            return web.Response(status=400, text="v=10 and encoding=json")
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        socket = Socket(ws, request.query.get("compress") == "zlib-stream")
        self._sockets.append(socket)
        socket.to_send.put_nowait({"op": HELLO, "d": {"heartbeat_interval": self.heartbeat * 1000}})
        writing = asyncio.create_task(socket.write())
        try:
            async for message in ws:
                if message.type == WSMsgType.TEXT and not socket.dead:
                    await self._received(socket, json.loads(message.data))
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            self._sockets.remove(socket)
            for session in self.sessions.values():
                session.socket = None if session.socket is socket else session.socket
            self.changed()
        return ws

    async def stop(self) -> None:
        for socket in list(self._sockets):
            await socket.ws.close(code=WSCloseCode.GOING_AWAY)

    async def _received(self, socket: Socket, payload: Json) -> None:
        if payload["op"] == HEARTBEAT:
            socket.to_send.put_nowait({"op": ACK})
        elif payload["op"] == IDENTIFY:
            await self._identify(socket, payload["d"])
        elif payload["op"] == RESUME:
            await self._resume(socket, payload["d"])
        elif payload["op"] == REQUEST_MEMBERS:
            self._members(socket, payload["d"])
        else:
            await socket.ws.close(code=4001)
        self.changed()

    async def _identify(self, socket: Socket, wish: Json) -> None:
        self.identifies.append(wish["intents"])
        if self.refuse_with or wish["token"] != self.token:
            await socket.ws.close(code=self.refuse_with or 4004)
            return
        if wish["intents"] & PRIVILEGED & ~self.granted:
            await socket.ws.close(code=4014)
            return
        session = Session(secrets.token_hex(8), wish["intents"], socket=socket)
        hello, following = self.ready()
        self.sessions[session.id] = session
        early, self.early = self.early, None
        if early:
            early()
        session.tell("READY", hello | {"session_id": session.id, "resume_gateway_url": self.url})
        for event, data in following:
            session.tell(event, data)

    async def _resume(self, socket: Socket, wish: Json) -> None:
        session = self.sessions.get(wish["session_id"])
        self.resumes.append(session is not None)
        if session is None or wish["token"] != self.token:
            socket.to_send.put_nowait({"op": INVALID, "d": False})
            return
        if session.socket:
            await session.socket.ws.close(code=4000)
        session.socket = socket
        for payload in session.sent[wish["seq"] :]:
            socket.to_send.put_nowait(payload)
        session.tell("RESUMED", {})

    def _members(self, socket: Socket, wish: Json) -> None:
        for session in self.sessions.values():
            if session.socket is socket and session.intents & MEMBERS:
                chunk = {"guild_id": wish["guild_id"], "members": [], "chunk_index": 0, "chunk_count": 1}
                session.tell("GUILD_MEMBERS_CHUNK", chunk | {"nonce": wish.get("nonce")})


def _needed(event: str, room: Room | None) -> int:
    if event == "INTERACTION_CREATE":
        return 0
    if event.startswith("MESSAGE_"):
        return GUILD_MESSAGES if room and room.guild else DIRECT_MESSAGES
    return GUILDS


def _without_content(event: str, data: Json) -> Json:
    hidden = event in ("MESSAGE_CREATE", "MESSAGE_UPDATE") and "guild_id" in data
    return data | {"content": "", "attachments": [], "embeds": []} if hidden else data

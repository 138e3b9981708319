"""A server of one file that knows ranges and versions, and misbehaves when told."""

import asyncio
import hashlib
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from aiohttp import web


@dataclass
class FileServer:
    """Serves `content` under /files/<anything>, and redirects to it from /redirect/<anything>.

    cut_after      the connection breaks when an answer has sent so many bytes, so many times as given
    ranges         whether it knows the header Range
    named_sha256   what the redirect calls the file's checksum, as Hugging Face does
    length         whether it says how long the file is
    """

    content: bytes
    etag: str = '"one"'
    status: int = 200
    content_type: str = "application/octet-stream"
    cut_after: int | None = None
    cuts: int = 1_000_000
    ranges: bool = True
    length: bool = True
    named_sha256: str | None = None
    asked: list[dict[str, str]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"file": self}))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def url(self, name: str = "fine-1b.gguf") -> str:
        return f"{self.root}/files/{name}"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def starts(self) -> list[int]:
        """From which byte on each request wanted the file."""
        return [int(headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")[0]) for headers in self.asked]


class _Handler(BaseHTTPRequestHandler):
    file: FileServer

    def do_GET(self) -> None:
        if self.path.startswith("/redirect/"):
            self._redirect()
            return
        self.file.asked.append(dict(self.headers))
        start = self._start()
        body = self.file.content[start:]
        self.send_response(206 if start else self.file.status)
        self.send_header("Content-Type", self.file.content_type)
        if self.file.etag:
            self.send_header("ETag", self.file.etag)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(self.file.content) - 1}/{len(self.file.content)}")
        if self.file.length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self._send(body)

    def _redirect(self) -> None:
        self.send_response(302)
        self.send_header("Location", "/files/" + self.path.removeprefix("/redirect/"))
        if self.file.named_sha256:
            self.send_header("X-Linked-Etag", f'"{self.file.named_sha256}"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _start(self) -> int:
        """RFC 9110: a range counts only if the client's version is still the current one."""
        wanted = self.headers.get("Range", "")
        if not self.file.ranges or self.headers.get("If-Range", self.file.etag) != self.file.etag:
            return 0
        return int(wanted.removeprefix("bytes=").removesuffix("-") or 0)

    def _send(self, body: bytes) -> None:
        try:
            if self.file.cut_after is not None and self.file.cuts and len(body) > self.file.cut_after:
                if len(self.file.asked) > 1:  # the first request only looks
                    self.file.cuts -= 1
                body = body[: self.file.cut_after]
            self.wfile.write(body)
        except OSError:  # whoever only looks does not wait for the body
            pass
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Quiet."""


async def trickle(request: web.Request) -> web.StreamResponse:
    """Answer with a file that comes byte by byte, and never to its end."""
    answer = web.StreamResponse()
    await answer.prepare(request)
    with suppress(ConnectionError):
        while True:
            await answer.write(b"x")
            await asyncio.sleep(0.01)
    return answer

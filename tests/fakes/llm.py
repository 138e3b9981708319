"""A model that plays back what a test tells it, and records what it was asked."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from nanobot.errors import LLMError
from nanobot.ports import ModelInfo, Reply, Request, Stream
from nanobot.transcript import ToolCall, Usage

Answer = Reply | LLMError | Callable[[Request, Stream], Reply]


class ScriptedLLM:
    """Gives its answers in order, then repeats the last one. `hang` makes it wait for ever before it answers."""

    def __init__(self, *answers: Answer, info: ModelInfo | None = None) -> None:
        self.info = info or ModelInfo("scripted", "scripted-1", 100_000, 1_000)
        self.requests: list[Request] = []
        self.asked = asyncio.Event()
        self._answers = list(answers)

    def warm(self) -> None: ...

    async def aclose(self) -> None: ...

    async def complete(self, request: Request, stream: Stream) -> Reply:
        self.requests.append(request)
        self.asked.set()
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, LLMError):
            raise answer
        reply = answer(request, stream) if callable(answer) else answer
        if reply is HANG:
            stream.text("half a thou")
            await asyncio.Event().wait()
        if reply.text:
            stream.text(reply.text)
        return replace(reply, model=self.info.preset)

    @property
    def seen(self) -> Sequence[tuple[str, str | None]]:
        """Role and content of the messages of the last request."""
        return [(message.role, message.content) for message in self.requests[-1].messages]


HANG = Reply("")


def says(text: str, *, finish: str = "stop", usage: Usage | None = None) -> Reply:
    return Reply(text, finish="length" if finish == "length" else "stop", usage=usage)


def calls(name: str, arguments: str = "{}", *, call_id: str = "c1", finish: str = "stop", text: str = "") -> Reply:
    return Reply(text, (ToolCall(call_id, name, arguments),), finish="length" if finish == "length" else "stop")

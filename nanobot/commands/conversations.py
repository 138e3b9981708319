"""Commands about whole conversations: /sessions /resume /retry /export; /copy and /output, which a terminal does."""

import asyncio
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Protocol

from nanobot.agent.agent import Agent
from nanobot.authority import Role
from nanobot.commands.router import Answer, Call, Command, Handler
from nanobot.commands.written import as_markdown, fenced
from nanobot.messages import Button
from nanobot.people.standing import TERMINAL
from nanobot.ports import Clock, Media, SessionStore
from nanobot.text import as_name
from nanobot.transcript import Message, SessionInfo

MOST_SESSIONS = 20
MOST_CHOICES = 9
"""Conversations that /resume offers; the others are named."""

FIRST_WORDS = 60
LAST_WORDS = 300
"""Characters of what was said that are shown."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LISTS = 64  # of so many conversations it is known what was listed there last
_OVER = "--over"


class Save(Protocol):
    """Writes an export."""

    def __call__(self, path: str, name: str, text: str, *, is_over: bool) -> tuple[Path, bool]:
        """Write a text to a file, of this name where the path is a folder. Raises OSError.

        Returns where that is, and False if something is there already and is not to be replaced.
        """
        ...


class Listing:
    """The conversations that somebody may know of, numbered; a number means what was listed there last."""

    def __init__(self, store: SessionStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._listed: OrderedDict[str, Sequence[str]] = OrderedDict()

    async def infos(self, call: Call) -> Sequence[SessionInfo]:
        """An owner who speaks for themselves knows of all, everybody else of those in this chat."""
        message = call.message
        return [
            info
            for info in await self._store.list()
            if message.authority.scope.is_owner or message.address.holds(info.key)
        ]

    def remember(self, call: Call, keys: Sequence[str]) -> None:
        here = call.message.address.session_key
        self._listed[here] = keys
        self._listed.move_to_end(here)
        if len(self._listed) > _LISTS:
            self._listed.popitem(last=False)

    async def key_of(self, call: Call) -> str | None:
        """The key of the conversation that is named, by its key, its name in the terminal, or its number."""
        named, infos = call.argument, await self.infos(call)
        keys = [info.key for info in infos]
        for key in (named, f"{TERMINAL}:{named}"):
            if key in keys:
                return key
        listed = self._listed.get(call.message.address.session_key) or list(filter(_is_resumable, keys))
        number = int(named) if named.isdecimal() else 0
        return listed[number - 1] if 0 < number <= len(listed) else None

    async def row(self, call: Call, info: SessionInfo) -> str:
        """Its name, its first words as far as they are the caller's to read, and its age."""
        here = info.key == call.message.address.session_key
        first = await self._store.first_words(info.key)
        is_theirs = first is not None and first.scope in (None, call.message.authority.scope.name)
        words = shorten(_words(first), FIRST_WORDS, placeholder=" …") if first and is_theirs else ""
        row = call.say("command.session_here" if here else "command.session", key=info.key, at=self._age(call, info))
        return f"{row} · {words}" if words else row

    def _age(self, call: Call, info: SessionInfo) -> str:
        now = self._clock.now()
        seconds = (now - datetime.fromisoformat(info.updated).astimezone(now.tzinfo)).total_seconds()
        for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
            if seconds >= size and not (unit == "day" and seconds > 30 * size):
                return call.say(f"command.{unit}s_ago", count=int(seconds // size))
        return info.updated[:10] if seconds >= 60 else call.say("command.just_now")


def _words(message: Message) -> str:
    """What was said or, where nothing was, what came along."""
    files = (as_name(file.name or file.path) for file in message.files)
    others = (f"[{as_name(quote.by)}] {quote.text}" if quote.by else quote.text for quote in message.quotes)
    return message.content or next((text for text in (*others, *files) if text), "")


def sessions_command(listing: Listing) -> Command:
    """/sessions: what there is, with first words and age."""

    async def handle(call: Call) -> Answer:
        infos = await listing.infos(call)
        shown = infos[:MOST_SESSIONS]
        is_terminal = call.message.address.channel == TERMINAL
        numbered = [info for info in shown if is_terminal and _is_resumable(info.key)]
        others = [info for info in shown if info not in numbered]
        listing.remember(call, [info.key for info in numbered])
        rows = [f"{number}. {await listing.row(call, info)}" for number, info in enumerate(numbered, 1)]
        if others and is_terminal:
            rows.append(f"\n{call.say('command.sessions_elsewhere')}\n")
        rows += [f"- {await listing.row(call, info)}" for info in others]
        if len(infos) > MOST_SESSIONS:
            rows.append(call.say("command.more_sessions", count=len(infos) - MOST_SESSIONS))
        if rows and is_terminal:
            rows.append(f"\n{call.say('command.resume_how')}")
        return Answer("\n".join(rows) or call.say("command.no_sessions"))

    return Command("sessions", handle, immediate=True, role=Role.OWNER)


def resume_command(listing: Listing, agent: Agent) -> Command:
    """/resume: the terminal goes on with another conversation of the terminal."""

    async def handle(call: Call) -> Answer:
        if not call.argument:
            return await _choices(listing, call)
        here, key = call.message.address.session_key, await listing.key_of(call)
        if key is None:
            return Answer(call.say("command.no_such_session", name=call.argument), failed=True)
        if not _is_resumable(key):
            return Answer(call.say("command.session_elsewhere", key=key), failed=True)
        if key == here:
            return Answer(call.say("command.resumed_already", key=key))
        question, answer = map(_excerpt, await agent.last_said(key))
        if "\n" in question:  # as it was typed: it may be code, and is no Markdown
            question = f"\n\n{fenced(question)}"
        last = [
            call.say("command.last_question", text=question) if question else "",
            call.say("command.last_answer", text=_closed(answer)) if answer else "",
        ]
        return Answer("\n\n".join(filter(None, [call.say("command.resumed", key=key), *last])), goes_to=key)

    return Command("resume", handle, immediate=True, role=Role.OWNER, in_terminal_only=True)


def _is_resumable(key: str) -> bool:
    return key.startswith(f"{TERMINAL}:")


def _excerpt(text: str) -> str:
    """The beginning of a text, its lines as they are."""
    text = text.strip()
    if len(text) <= LAST_WORDS:
        return text
    cut = text[:LAST_WORDS]
    at = cut.rfind("\n")
    if at < LAST_WORDS // 2:
        at = cut.rfind(" ")
    return f"{cut[:at] if at > 0 else cut} …" if "\n" not in text else f"{(cut[:at] if at > 0 else cut).rstrip()}\n…"


def _closed(markdown: str) -> str:
    """Markdown that was cut, with an end to the block of code that it was cut in; several lines begin below."""
    fence = ""
    for line in markdown.split("\n"):
        run = _FENCE.match(line)
        if run and not fence:
            fence = run[1]
        elif run and run[1].startswith(fence) and line.strip() == run[1]:
            fence = ""
    return "".join(["\n\n" * ("\n" in markdown), markdown, f"\n{fence}" * bool(fence)])


async def _choices(listing: Listing, call: Call) -> Answer:
    here = call.message.address.session_key
    infos = [info for info in await listing.infos(call) if _is_resumable(info.key) and info.key != here][:MOST_CHOICES]
    if not infos:
        return Answer(call.say("command.no_other_session"))
    buttons = [Button(await listing.row(call, info), f"/resume {info.key}") for info in infos]
    return Answer(call.say("command.resume_which"), buttons)


def retry_command(agent: Agent) -> Command:
    """/retry: the last question is asked again. The earlier answer stays in the log and is not replayed any more."""

    async def handle(call: Call) -> Answer:
        asked = await agent.asked_last(call.message)
        return Answer("", asks=asked) if asked else Answer(call.say("command.nothing_to_retry"), failed=True)

    return Command("retry", handle)


def export_command(store: SessionStore, clock: Clock, media: Media, save: Save) -> Command:
    """/export: this conversation as Markdown; a file where the terminal stands, or one that is sent to the chat."""

    async def handle(call: Call) -> Answer:
        key = call.message.address.session_key
        messages = _of_scope(await store.messages(key), call.message.authority.scope.name)
        if not messages:
            return Answer(call.say("command.nothing_to_export"), failed=True)
        text = "".join(as_markdown(key, messages, call.language))
        name = f"{key.replace(':', '-').replace('/', '-')}-{clock.now():%Y-%m-%d}.md"
        if call.message.address.channel != TERMINAL:
            scope = call.message.authority.scope
            file = await media.save(scope, name, "text/markdown", _whole(text.encode("utf-8", "replace")))
            return Answer(call.say("command.exported_here", count=len(messages)), files=[file])
        return await _write(call, text, name, len(messages), save)

    return Command("export", handle, role_in_group=Role.OWNER)


def _of_scope(messages: Sequence[Message], scope: str) -> Sequence[Message]:
    """Those of turns in this scope: what was said here before somebody's role changed is not theirs any more."""
    others = {message.turn for message in messages if message.scope not in (None, scope)}
    return [message for message in messages if message.turn not in others]


async def _write(call: Call, text: str, name: str, count: int, save: Save) -> Answer:
    """A relative path starts where the terminal stands: it has made it absolute."""
    flag, _, rest = call.argument.partition(" ")
    is_over = flag == _OVER
    path = rest.strip() if is_over else call.argument
    try:
        place, is_done = await asyncio.to_thread(partial(save, path, name, text, is_over=is_over))
    except OSError as error:
        return Answer(call.say("command.export_failed", path=path, error=error.strerror or error), failed=True)
    if is_done:
        return Answer(call.say("command.exported", path=place, count=count))
    return Answer(call.say("command.export_exists", path=place), failed=True, yes=f"/export {_OVER} {place}")


async def _whole(data: bytes) -> AsyncIterator[bytes]:
    yield data


def commands_of_terminals() -> Sequence[Command]:
    """/copy and /output, for the list of commands: a terminal does them itself, with its clipboard and screen."""

    def answering(sentence: str) -> Handler:
        async def handle(call: Call) -> Answer:
            return Answer(call.say(sentence), failed=True)

        return handle

    said = {"copy": "command.nothing_to_copy", "output": "terminal.nothing_folded"}
    return [Command(name, answering(said[name]), immediate=True, in_terminal_only=True) for name in said]

"""Commands about conversations and the program: /help, /new, /sessions, /resume, /retry, /export and their like."""

import asyncio
import re
import textwrap
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Protocol

from nanobot.authority import Role
from nanobot.core.agent import Agent, Models, too_long, unreadable
from nanobot.core.commands import Command, CommandAnswer, CommandCall, Handler, Router, parse
from nanobot.core.lanes import Lanes
from nanobot.errors import ConfigError
from nanobot.i18n import Language, say
from nanobot.memory.episodes.consolidator import Archiving
from nanobot.memory.episodes.retries import Setback, cause
from nanobot.messages import Button, Quote
from nanobot.people.people import TERMINAL
from nanobot.ports import Clock, Media, SessionStore
from nanobot.text import as_name, code_block
from nanobot.transcript import Message, SessionInfo

# Export: a conversation as Markdown.


LONGEST_RESULT = 500
"""Characters of a tool's result that are shown; exports hold all."""

_SHOWN = ("reply", "quote", "forward", "via", "card")  # the others are files and outputs, which may be long
_AROUND = 60  # characters on each side of what was found


def day_and_time(at: str, language: Language) -> str:
    """`2026-11-30 09:00`, as it stands in the file."""
    return at[:16].replace("T", " ") or say("shell.no_time", language)


class Speakers:
    """Tells who says each message; tools are known by the calls that came before. For messages in order."""

    def __init__(self, language: Language) -> None:
        self._language: Language = language
        self._tools: dict[str, str] = {}

    def of(self, message: Message) -> str:
        self._tools.update((call.id, call.name) for call in message.tool_calls)
        match message.role:
            case "user":
                who = as_name(message.sender.name) or message.sender.id if message.sender else ""
                return who or say("shell.user", self._language)
            case "assistant":
                return f"nanobot ({message.model})" if message.model else "nanobot"
            case "tool":
                name = self._tools.get(message.tool_call_id or "", "")
                return say("shell.tool", self._language, name=name).rstrip()
            case _:
                return message.role


def as_text(messages: Sequence[Message], language: Language) -> Iterator[str]:
    """Blocks to be shown in a terminal, one for each message."""
    speakers = Speakers(language)
    for message in messages:
        head = f"{day_and_time(message.at, language)}  {speakers.of(message)}"
        parts = (textwrap.indent(part, "    ", lambda _: True) for part in _parts(message, language))
        yield "\n".join([head, *parts, ""])


def as_markdown(key: str, messages: Sequence[Message], language: Language) -> Iterator[str]:
    """A document, in pieces."""
    speakers = Speakers(language)
    yield f"# {' '.join(key.split())}\n"
    for message in messages:
        yield f"\n## {speakers.of(message)}, {day_and_time(message.at, language)}\n"
        for part in _body(message, language):
            yield f"\n{part}\n"


def around(text: str, words: str) -> str:
    """Line with the words that were found and the text around them."""
    found = re.search(re.escape(words), text, re.IGNORECASE)
    start = max((found.start() if found else 0) - _AROUND, 0)
    end = (found.end() if found else 0) + _AROUND
    piece = " ".join(text[start:end].split())
    return f"{'… ' if start else ''}{piece}{' …' if end < len(text) else ''}"


def _parts(message: Message, language: Language) -> Iterator[str]:
    content = message.content or ""
    if message.role == "tool" and len(content) > LONGEST_RESULT:
        yield content[:LONGEST_RESULT]
        yield say("shell.longer", language, count=f"{len(content) - LONGEST_RESULT:,}")
    elif content:
        yield content
    yield from _remarks(message, language)
    for call in message.tool_calls:
        yield f"→ {call.name} {call.arguments}"


def _body(message: Message, language: Language) -> Iterator[str]:
    if message.content:
        yield code_block(message.content) if message.role == "tool" else message.content
    yield from _remarks(message, language)
    for call in message.tool_calls:
        yield f"→ {call.name}\n\n{code_block(call.arguments, 'json')}"


def _remarks(message: Message, language: Language) -> Iterator[str]:
    yield from (_quoted(quote) for quote in message.quotes if quote.how in _SHOWN)
    for file in message.files:
        yield f"[{file.name or file.path}: {file.path}]" if file.name else f"[{file.path}]"
    if message.incomplete:
        yield say(f"shell.incomplete_{message.incomplete}", language)


def _quoted(quote: Quote) -> str:
    """Return somebody else's words as a Markdown quotation."""
    head = f"[{' '.join(filter(None, (quote.how, as_name(quote.by))))}]"
    return "\n".join(f"> {line}" for line in (head, *quote.text.split("\n")))


# /help /new /compact /stop /status /model.


Lines = Callable[[CommandCall], Awaitable[Sequence[str]]]
"""What somebody else has to say in answer to a command."""


def all_of(*parts: Lines | None) -> Lines:
    """Return the texts of all, in their order."""

    async def lines(call: CommandCall) -> Sequence[str]:
        return [line for part in parts if part for line in await part(call)]

    return lines


def help_command(others: Iterable[Command]) -> Command:
    """/help: all that one may use, or the command named behind it. Telegram sends /start for whoever comes."""
    commands = tuple(others)

    async def handle(call: CommandCall) -> CommandAnswer:
        is_elsewhere = call.message.address.channel != TERMINAL
        usable = [
            command
            for command in (*commands, itself)
            if command.may(call.message.authority) and not (command.in_terminal_only and is_elsewhere)
        ]
        asked = Router(usable).find(f"/{call.argument.lstrip('/')}")
        rows = sorted((command.name, command.help(call.language)) for command in ([asked[0]] if asked else usable))
        lines = [call.say("command.help_row", name=name, text=text) for name, text in rows]
        if parse(call.message.text) == ("start", ""):
            lines.insert(0, call.say("command.start"))
        if call.message.address.channel == TERMINAL and not asked:
            lines.append(call.say("command.help_leave"))
        return CommandAnswer("\n".join(lines))

    itself = Command("help", handle, immediate=True, aliases=("start",))
    return itself


def new_command(agent: Agent) -> Command:
    async def handle(call: CommandCall) -> CommandAnswer:
        await agent.reset(call.message.address)
        return CommandAnswer(call.say("command.new"))

    return Command("new", handle, aliases=("clear",), role_in_group=Role.OWNER)


def compact_command(agent: Agent) -> Command:
    """/compact: what was said becomes an episode now, and leaves the view."""

    async def handle(call: CommandCall) -> CommandAnswer:
        done = await agent.compact(call.message.address)
        lines = [_compacted(call, done)]
        if not done.is_whole and (setback := agent.setback(call.message.address)):
            lines.append(_set_back(call, setback))
        elif done.failure:
            lines.append(done.told(call.language))
        return CommandAnswer("\n".join(lines), failed=not done.is_whole)

    return Command("compact", handle)


def stop_command(lanes: Lanes) -> Command:
    """/stop; in a group for whoever began what runs, and for owners."""

    async def handle(call: CommandCall) -> CommandAnswer:
        message = call.message
        key, at_work = message.address.session_key, lanes.at_work(message.address.session_key)
        is_theirs = at_work is None or at_work.sender.id == message.sender.id
        if not is_theirs and message.authority.role is not Role.OWNER:
            return CommandAnswer(call.say("command.not_yours_to_stop"), failed=True)
        stopped, _ = await lanes.stop(key)
        waiting = [parse(message.text) for message in lanes.queue(key)]
        commands = dict.fromkeys(f"/{parsed[0]}" for parsed in waiting if parsed)
        texts = [call.say("command.stopped" if stopped else "command.nothing_to_stop")]
        if messages := waiting.count(None):
            texts.append(call.say("command.kept", count=messages))
        if commands:
            texts.append(call.say("command.kept_commands", commands=", ".join(commands), count=len(commands)))
        return CommandAnswer(" ".join(texts))

    return Command("stop", handle, immediate=True, in_order=False)


def status_command(agent: Agent, models: Models, more: Lines | None = None) -> Command:
    """/status; `more` says what there is to say of the program around the conversation."""

    async def handle(call: CommandCall) -> CommandAnswer:
        address = call.message.address
        info = models.get(address.session_key)[0].info
        messages, tokens, prompt = await agent.status(address, call.message.authority.scope)
        key, window = address.session_key, f"{info.context_window:,}"
        lines = [
            call.say("status.model", name=info.preset, model=info.model),
            call.say("status.conversation", key=key, messages=messages, tokens=f"{tokens:,}", window=window),
        ]
        lines += [unreadable(part, call.language) for part in prompt.unreadable]
        lines += [too_long(part, call.language) for part in prompt.cut]
        if setback := agent.setback(address):
            lines.append(_set_back(call, setback))
        lines += await more(call) if more else []
        return CommandAnswer("\n".join(lines))

    return Command("status", handle, immediate=True, in_order=False)


def model_command(models: Models) -> Command:
    """/model: shows which model answers, and chooses another for this session."""

    async def handle(call: CommandCall) -> CommandAnswer:
        key = call.message.address.session_key
        if not call.argument:
            return _models(models, key, call)
        if call.argument not in models.names:
            meant = get_close_matches(call.argument, models.names, n=1)
            names = ", ".join(meant or models.names)
            return CommandAnswer(call.say("command.no_such_model", name=call.argument, names=names), failed=True)
        try:
            models.named(call.argument)
        except ConfigError as error:
            return CommandAnswer(str(error), failed=True)
        await models.choose(key, call.argument)
        return CommandAnswer(call.say("command.model_chosen", name=call.argument, model=models.get(key)[0].info.model))

    return Command("model", handle, immediate=True, role_in_group=Role.OWNER)


def _models(models: Models, key: str, call: CommandCall) -> CommandAnswer:
    info = models.get(key)[0].info
    text = call.say("command.model", name=info.preset, model=info.model, window=f"{info.context_window:,}")
    others = [name for name in models.names if name != info.preset]
    if not others:
        return CommandAnswer(f"{text}\n{call.say('command.only_model')}")
    return CommandAnswer(
        f"{text}\n{call.say('command.other_model')}", [Button(name, f"/model {name}") for name in others]
    )


def _compacted(call: CommandCall, done: Archiving) -> str:
    if not done.episodes:
        return call.say("consolidation.nothing_new" if done.is_whole else "consolidation.nothing_done")
    first, last = done.episodes[0].cursor, done.episodes[-1].cursor
    numbers = str(first) if first == last else f"{first}–{last}"
    key = "shortened" if any(episode.raw for episode in done.episodes) else "summarised"
    return call.say(f"consolidation.{key}", messages=done.messages, numbers=numbers)


def _set_back(call: CommandCall, setback: Setback) -> str:
    minutes = max(1, round(setback.seconds / 60))
    return call.say("consolidation.set_back", reason=cause(setback.kind, call.language), minutes=minutes)


# /sessions /resume /retry /export; /copy and /output, which a terminal does.


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

    async def infos(self, call: CommandCall) -> Sequence[SessionInfo]:
        """An owner who speaks for themselves knows of all, everybody else of those in this chat."""
        message = call.message
        return [
            info
            for info in await self._store.list()
            if message.authority.scope.is_owner or message.address.holds(info.key)
        ]

    def remember(self, call: CommandCall, keys: Sequence[str]) -> None:
        here = call.message.address.session_key
        self._listed[here] = keys
        self._listed.move_to_end(here)
        if len(self._listed) > _LISTS:
            self._listed.popitem(last=False)

    async def key_of(self, call: CommandCall) -> str | None:
        """The key of the conversation that is named, by its key, its name in the terminal, or its number."""
        named, infos = call.argument, await self.infos(call)
        keys = [info.key for info in infos]
        for key in (named, f"{TERMINAL}:{named}"):
            if key in keys:
                return key
        listed = self._listed.get(call.message.address.session_key) or list(filter(_is_resumable, keys))
        number = int(named) if named.isdecimal() else 0
        return listed[number - 1] if 0 < number <= len(listed) else None

    async def row(self, call: CommandCall, info: SessionInfo) -> str:
        """Row of a list: the name of a conversation, its first words if the caller may read them, and its age."""
        here = info.key == call.message.address.session_key
        first = await self._store.first_words(info.key)
        is_theirs = first is not None and first.scope in (None, call.message.authority.scope.name)
        words = shorten(_words(first), FIRST_WORDS, placeholder=" …") if first and is_theirs else ""
        row = call.say("command.session_here" if here else "command.session", key=info.key, at=self._age(call, info))
        return f"{row} · {words}" if words else row

    def _age(self, call: CommandCall, info: SessionInfo) -> str:
        now = self._clock.now()
        seconds = (now - datetime.fromisoformat(info.updated).astimezone(now.tzinfo)).total_seconds()
        for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
            if seconds >= size and not (unit == "day" and seconds > 30 * size):
                return call.say(f"command.{unit}s_ago", count=int(seconds // size))
        return info.updated[:10] if seconds >= 60 else call.say("command.just_now")


def _words(message: Message) -> str:
    """Return the words, or the attachments where there are none."""
    files = (as_name(file.name or file.path) for file in message.files)
    others = (f"[{as_name(quote.by)}] {quote.text}" if quote.by else quote.text for quote in message.quotes)
    return message.content or next((text for text in (*others, *files) if text), "")


def sessions_command(listing: Listing) -> Command:
    """/sessions: what there is, with first words and age."""

    async def handle(call: CommandCall) -> CommandAnswer:
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
        return CommandAnswer("\n".join(rows) or call.say("command.no_sessions"))

    return Command("sessions", handle, immediate=True, role=Role.OWNER)


def resume_command(listing: Listing, agent: Agent) -> Command:
    """/resume: the terminal goes on with another conversation of the terminal."""

    async def handle(call: CommandCall) -> CommandAnswer:
        if not call.argument:
            return await _choices(listing, call)
        here, key = call.message.address.session_key, await listing.key_of(call)
        if key is None:
            return CommandAnswer(call.say("command.no_such_session", name=call.argument), failed=True)
        if not _is_resumable(key):
            return CommandAnswer(call.say("command.session_elsewhere", key=key), failed=True)
        if key == here:
            return CommandAnswer(call.say("command.resumed_already", key=key))
        question, answer = map(_excerpt, await agent.last_said(key))
        if "\n" in question:  # as it was typed: it may be code, and is no Markdown
            question = f"\n\n{code_block(question)}"
        last = [
            call.say("command.last_question", text=question) if question else "",
            call.say("command.last_answer", text=_closed(answer)) if answer else "",
        ]
        return CommandAnswer("\n\n".join(filter(None, [call.say("command.resumed", key=key), *last])), goes_to=key)

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


async def _choices(listing: Listing, call: CommandCall) -> CommandAnswer:
    here = call.message.address.session_key
    infos = [info for info in await listing.infos(call) if _is_resumable(info.key) and info.key != here][:MOST_CHOICES]
    if not infos:
        return CommandAnswer(call.say("command.no_other_session"))
    buttons = [Button(await listing.row(call, info), f"/resume {info.key}") for info in infos]
    return CommandAnswer(call.say("command.resume_which"), buttons)


def retry_command(agent: Agent) -> Command:
    """/retry: the last question is asked again. The earlier answer stays in the log and is not replayed any more."""

    async def handle(call: CommandCall) -> CommandAnswer:
        asked = await agent.asked_last(call.message)
        return (
            CommandAnswer("", asks=asked) if asked else CommandAnswer(call.say("command.nothing_to_retry"), failed=True)
        )

    return Command("retry", handle)


def export_command(store: SessionStore, clock: Clock, media: Media, save: Save) -> Command:
    """/export: this conversation as Markdown; a file where the terminal stands, or one that is sent to the chat."""

    async def handle(call: CommandCall) -> CommandAnswer:
        key = call.message.address.session_key
        messages = _of_scope(await store.messages(key), call.message.authority.scope.name)
        if not messages:
            return CommandAnswer(call.say("command.nothing_to_export"), failed=True)
        text = "".join(as_markdown(key, messages, call.language))
        name = f"{key.replace(':', '-').replace('/', '-')}-{clock.now():%Y-%m-%d}.md"
        if call.message.address.channel != TERMINAL:
            scope = call.message.authority.scope
            file = await media.save(scope, name, "text/markdown", _whole(text.encode("utf-8", "replace")))
            return CommandAnswer(call.say("command.exported_here", count=len(messages)), files=[file])
        return await _write(call, text, name, len(messages), save)

    return Command("export", handle, role_in_group=Role.OWNER)


def _of_scope(messages: Sequence[Message], scope: str) -> Sequence[Message]:
    """Return the turns in this scope: those from before a change of role are not theirs any more."""
    others = {message.turn for message in messages if message.scope not in (None, scope)}
    return [message for message in messages if message.turn not in others]


async def _write(call: CommandCall, text: str, name: str, count: int, save: Save) -> CommandAnswer:
    """A relative path starts where the terminal stands: it has made it absolute."""
    flag, _, rest = call.argument.partition(" ")
    is_over = flag == _OVER
    path = rest.strip() if is_over else call.argument
    try:
        place, is_done = await asyncio.to_thread(partial(save, path, name, text, is_over=is_over))
    except OSError as error:
        return CommandAnswer(call.say("command.export_failed", path=path, error=error.strerror or error), failed=True)
    if is_done:
        return CommandAnswer(call.say("command.exported", path=place, count=count))
    return CommandAnswer(call.say("command.export_exists", path=place), failed=True, yes=f"/export {_OVER} {place}")


async def _whole(data: bytes) -> AsyncIterator[bytes]:
    yield data


def commands_of_terminals() -> Sequence[Command]:
    """/copy and /output, for the list of commands: a terminal does them itself, with its clipboard and screen."""

    def answering(sentence: str) -> Handler:
        async def handle(call: CommandCall) -> CommandAnswer:
            return CommandAnswer(call.say(sentence), failed=True)

        return handle

    said = {"copy": "command.nothing_to_copy", "output": "terminal.nothing_folded"}
    return [Command(name, answering(said[name]), immediate=True, in_terminal_only=True) for name in said]

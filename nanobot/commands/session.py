"""Commands about the conversation and the program: /help /new /compact /stop /status /model."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from difflib import get_close_matches

from nanobot.agent.agent import Agent, too_long, unreadable
from nanobot.agent.models import Models
from nanobot.authority import Role
from nanobot.commands.router import Answer, Call, Command, Router, parse
from nanobot.errors import ConfigError
from nanobot.lanes import Lanes
from nanobot.memory.consolidator import Archiving
from nanobot.memory.setbacks import Setback, cause
from nanobot.messages import Button
from nanobot.people.standing import TERMINAL

Lines = Callable[[Call], Awaitable[Sequence[str]]]
"""What somebody else has to say in answer to a command."""


def all_of(*parts: Lines | None) -> Lines:
    """What they all have to say, in their order."""

    async def lines(call: Call) -> Sequence[str]:
        return [line for part in parts if part for line in await part(call)]

    return lines


def help_command(others: Iterable[Command]) -> Command:
    """/help: all that one may use, or the command named behind it. Telegram sends /start for whoever comes."""
    commands = tuple(others)

    async def handle(call: Call) -> Answer:
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
        return Answer("\n".join(lines))

    itself = Command("help", handle, immediate=True, aliases=("start",))
    return itself


def new_command(agent: Agent) -> Command:
    async def handle(call: Call) -> Answer:
        await agent.reset(call.message.address)
        return Answer(call.say("command.new"))

    return Command("new", handle, aliases=("clear",), role_in_group=Role.OWNER)


def compact_command(agent: Agent) -> Command:
    """/compact: what was said becomes an episode now, and leaves the view."""

    async def handle(call: Call) -> Answer:
        done = await agent.compact(call.message.address)
        lines = [_compacted(call, done)]
        if not done.is_whole and (setback := agent.setback(call.message.address)):
            lines.append(_set_back(call, setback))
        elif done.failure:
            lines.append(done.told(call.language))
        return Answer("\n".join(lines), failed=not done.is_whole)

    return Command("compact", handle)


def stop_command(lanes: Lanes) -> Command:
    """/stop; in a group for whoever began what runs, and for owners."""

    async def handle(call: Call) -> Answer:
        message = call.message
        key, at_work = message.address.session_key, lanes.at_work(message.address.session_key)
        is_theirs = at_work is None or at_work.sender.id == message.sender.id
        if not is_theirs and message.authority.role is not Role.OWNER:
            return Answer(call.say("command.not_yours_to_stop"), failed=True)
        stopped, _ = await lanes.stop(key)
        waiting = [parse(message.text) for message in lanes.queue(key)]
        commands = dict.fromkeys(f"/{parsed[0]}" for parsed in waiting if parsed)
        texts = [call.say("command.stopped" if stopped else "command.nothing_to_stop")]
        if messages := waiting.count(None):
            texts.append(call.say("command.kept", count=messages))
        if commands:
            texts.append(call.say("command.kept_commands", commands=", ".join(commands), count=len(commands)))
        return Answer(" ".join(texts))

    return Command("stop", handle, immediate=True, in_order=False)


def status_command(agent: Agent, models: Models, more: Lines | None = None) -> Command:
    """/status; `more` says what there is to say of the program around the conversation."""

    async def handle(call: Call) -> Answer:
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
        return Answer("\n".join(lines))

    return Command("status", handle, immediate=True, in_order=False)


def model_command(models: Models) -> Command:
    """/model: shows which model answers, and chooses another for this session."""

    async def handle(call: Call) -> Answer:
        key = call.message.address.session_key
        if not call.argument:
            return _models(models, key, call)
        if call.argument not in models.names:
            meant = get_close_matches(call.argument, models.names, n=1)
            names = ", ".join(meant or models.names)
            return Answer(call.say("command.no_such_model", name=call.argument, names=names), failed=True)
        try:
            models.named(call.argument)
        except ConfigError as error:
            return Answer(str(error), failed=True)
        await models.choose(key, call.argument)
        return Answer(call.say("command.model_chosen", name=call.argument, model=models.get(key)[0].info.model))

    return Command("model", handle, immediate=True, role_in_group=Role.OWNER)


def _models(models: Models, key: str, call: Call) -> Answer:
    info = models.get(key)[0].info
    text = call.say("command.model", name=info.preset, model=info.model, window=f"{info.context_window:,}")
    others = [name for name in models.names if name != info.preset]
    if not others:
        return Answer(f"{text}\n{call.say('command.only_model')}")
    return Answer(f"{text}\n{call.say('command.other_model')}", [Button(name, f"/model {name}") for name in others])


def _compacted(call: Call, done: Archiving) -> str:
    if not done.episodes:
        return call.say("consolidation.nothing_new" if done.is_whole else "consolidation.nothing_done")
    first, last = done.episodes[0].cursor, done.episodes[-1].cursor
    numbers = str(first) if first == last else f"{first}–{last}"
    key = "shortened" if any(episode.raw for episode in done.episodes) else "summarised"
    return call.say(f"consolidation.{key}", messages=done.messages, numbers=numbers)


def _set_back(call: Call, setback: Setback) -> str:
    minutes = max(1, round(setback.seconds / 60))
    return call.say("consolidation.set_back", reason=cause(setback.kind, call.language), minutes=minutes)

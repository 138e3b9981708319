"""Commands about the conversation and the program: /help /new /stop /status /sessions."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from nanobot.agent.agent import Agent
from nanobot.authority import Role
from nanobot.commands.router import Answer, Call, Command
from nanobot.lanes import Lanes
from nanobot.ports import SessionStore

StatusLines = Callable[[Call], Awaitable[Sequence[str]]]
"""A part of the program that has something to say in /status."""

MOST_SESSIONS = 20


def help_command(others: Iterable[Command]) -> Command:
    commands = tuple(others)

    async def handle(call: Call) -> Answer:
        rows = sorted((command.name, command.help(call.language)) for command in (*commands, itself))
        return Answer("\n".join(f"/{name}: {text}" for name, text in rows))

    itself = Command("help", handle, immediate=True, aliases=("start",))
    return itself


def new_command(agent: Agent) -> Command:
    async def handle(call: Call) -> Answer:
        await agent.reset(call.message.address)
        return Answer(call.say("command.new"))

    return Command("new", handle, aliases=("clear",))


def stop_command(lanes: Lanes) -> Command:
    async def handle(call: Call) -> Answer:
        stopped, kept = await lanes.stop(call.message.address.session_key)
        text = call.say("command.stopped" if stopped else "command.nothing_to_stop")
        return Answer(f"{text} {call.say('command.kept', count=kept)}" if kept else text)

    return Command("stop", handle, immediate=True)


def status_command(parts: Iterable[StatusLines]) -> Command:
    ordered = tuple(parts)

    async def handle(call: Call) -> Answer:
        return Answer("\n".join([line for part in ordered for line in await part(call)]))

    return Command("status", handle, immediate=True)


def sessions_command(store: SessionStore) -> Command:
    async def handle(call: Call) -> Answer:
        here = call.message.address.session_key
        infos = list(await store.list())
        rows = [
            call.say(
                "command.session_here" if info.key == here else "command.session", key=info.key, at=info.updated[:16]
            )
            for info in infos[:MOST_SESSIONS]
        ]
        if len(infos) > MOST_SESSIONS:
            rows.append(call.say("command.more_sessions", count=len(infos) - MOST_SESSIONS))
        return Answer("\n".join(rows) or call.say("command.no_sessions"))

    return Command("sessions", handle, immediate=True, role=Role.OWNER)

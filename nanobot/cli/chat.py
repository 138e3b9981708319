"""`nanobot chat`: talk to the bot here, or ask it one thing."""

import argparse
import asyncio
import os
import select
import signal
import stat
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nanobot import __version__
from nanobot.channels.socket.client import JoinedTerminal, LeftAloneError, SteadyChannel
from nanobot.channels.socket.server import ONCE, speaks
from nanobot.channels.terminal.machine import Machine
from nanobot.channels.terminal.mentions import CarriedFiles, MentionError, carry
from nanobot.channels.terminal.oneshot import OneShot, OneShotJson, OneShotOnScreen, remark
from nanobot.channels.terminal.person import at
from nanobot.cli.settings import home_of, language_here, loaded_of, starting_words
from nanobot.cli.telling import tell, tell_error
from nanobot.config import Config, presets
from nanobot.errors import StoreError, UsageError, WorkspaceError
from nanobot.i18n import Language, say
from nanobot.messages import Address, Progress
from nanobot.ops.socket import NoGatewayError, SocketWire, connected
from nanobot.ports import Channel
from nanobot.sessions.media import MediaFolder
from nanobot.sessions.store import SessionFiles
from nanobot.store.lock import InUseError
from nanobot.text import decode
from nanobot.workspace import Home, Workspace, why_not_opened

if TYPE_CHECKING:  # imported when they are needed: `nanobot --help` does without
    from nanobot.app import App

    Talk = Callable[[App | JoinedTerminal, "_Server"], Awaitable[int]]

MOST_PIPED = 1_000_000
"""Bytes that may go along with a question; no model that people use reads more at once."""

_BY_SIGNAL = 128  # and its number, as shells have it
_MOMENT = 3.0  # seconds of silence on standard input, after which is said that it is waited for
_PAUSE = 0.1  # seconds between two looks whether somebody serves
_STARTING = 10.0  # seconds in which whoever has just taken the workspace can be talked to
_FIRST_TOLD = 10.0  # seconds until is said that a gateway is still waited for; then after twice as many, and so on
_STOPPING = 5.0  # seconds in which a turn that is asked to stop has usually ended


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the family."""
    parser.description = (
        "Talk to the bot here. With a question, with -m, or with a text on standard input, it answers once "
        "on standard output; everything else goes to standard error. A text on standard input beside a question "
        '(`cat report.txt | nanobot chat "Sum this up"`) goes along with it. In a terminal the answer grows, and you '
        "are asked for approvals; elsewhere the answer to these is no. Exit codes: 0 answered, 1 the model failed, 2 a "
        "mistake in arguments or configuration, 130 interrupted."
    )
    parser.add_argument("words", metavar="QUESTION", nargs="*", help="ask this, print the answer, and leave")
    parser.add_argument("-m", "--message", metavar="TEXT", help="the same, also of what begins with a dash")
    parser.add_argument(
        "--session", metavar="NAME", default="default", type=_session, help="the conversation (default: %(default)s)"
    )
    parser.add_argument("--model", metavar="NAME", default="", help="the preset that answers this time")
    parser.add_argument(
        "--json", action="store_true", help="print one object: answer, usage, session, tools, or the error"
    )
    parser.add_argument(
        "--here",
        action="store_true",
        help="open the folder you stand in for this conversation: files are read freely, written and commands run "
        "there after a question",
    )
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Talk until the person leaves, or answer once."""
    if args.words and args.message is not None:
        raise UsageError("Ask either with -m or without, not both.")
    loaded = loaded_of(args)
    config = loaded.config
    text = args.message if args.message is not None else " ".join(args.words) if args.words else None
    piped = _standard_input(beside=text is not None)
    if text is None and (piped is not None or args.json):
        text, piped = piped or "", None
    if text is not None and not text.strip():
        raise UsageError('There is nothing to ask; write nanobot chat "your question".')
    here = _folder_to_open(args, config) if args.here else None
    for line in starting_words(args, loaded):
        tell(f"nanobot: {line}", failed=True)

    machine = _machine(config, home_of(args), here)
    if text is None:
        talk = partial(_converse, model=args.model, machine=machine)
        return asyncio.run(_talk(args, config, at(args.session), talk))
    ask = partial(_ask, args=args, text=text, piped=piped or "", machine=machine, ending=(ending := _Ending()))
    code = asyncio.run(ending.watch(_talk(args, config, at(args.session), ask, ONCE)))
    if args.json and ending.was_cut:
        tell_error("Interrupted before there was an answer.")
    return code


async def _talk(args: argparse.Namespace, config: Config, address: Address, how: "Talk", *words: str) -> int:
    """With the process that has the workspace, or in this one."""
    server = _Server(args, config, address, words)
    return await how(await server.open(), server)


class _Server:
    """Whoever answers: the gateway that runs, another terminal's process, or this one, which then has the workspace.

    When it ends, the terminal goes on with the next one: a gateway is waited for, since what it has taken is its own;
    after any other process that had the workspace, the first to take it serves the others.
    """

    def __init__(self, args: argparse.Namespace, config: Config, address: Address, words: Sequence[str]) -> None:
        self.home = home_of(args)
        self._config = config
        self.address = address
        self._words = words
        self._wire: SocketWire | None = None
        self._tries = 0  # to take the workspace
        self._bot: App | JoinedTerminal | None = None  # who serves at the moment
        self._language: Language = language_here(config.language)  # of this terminal, then of its conversation

    async def open(self, owed: Sequence[str] = ()) -> "App | JoinedTerminal":
        """Raises WorkspaceError if the gateway cannot be talked to."""
        from nanobot.app import build

        try:
            return await self._join(owed)
        except NoGatewayError:
            return build(self._config, self.home, self._language)

    async def _join(self, owed: Sequence[str]) -> JoinedTerminal:
        args = [self.address.chat, *self._words, speaks(self._language), *owed]
        wire = await connected(Workspace(self._config.workspace), __version__, "attach", args)
        try:
            joined = await JoinedTerminal.join(wire)
        except BaseException:
            await wire.aclose()
            raise
        self._wire = wire
        return joined

    async def move(self, address: Address) -> None:
        """The terminal goes on with another conversation."""
        self.address = address
        if self._bot is not None:
            await self._bot.move(address)

    def end(self) -> None:
        """A signal asks for the end."""
        from nanobot.app import App

        if isinstance(self._bot, App):
            self._bot.end()

    async def serve(self, bot: "App | JoinedTerminal", channel: Channel, *, once: bool = False) -> None:
        """Serve the channel until the person leaves, whoever ends meanwhile."""

        steady = SteadyChannel(channel, is_once=once)
        following: App | JoinedTerminal | None = bot
        try:
            while following is not None:
                serving, following = following, None
                if not await self._serve_with(serving, steady, once=once):
                    following = await self._open_again(steady, serving)
        finally:
            await steady.aclose()

    async def _serve_with(self, bot: "App | JoinedTerminal", steady: SteadyChannel, *, once: bool) -> bool:
        """True if the person has left; else whoever served them has ended, or another process was faster."""

        steady.is_durable = isinstance(bot, JoinedTerminal) and bot.is_gateway
        self._bot = bot
        try:
            await bot.run(steady, self.address, once=once, owed=steady.owed)
        except InUseError as error:
            self._tries += 1
            if self._tries * _PAUSE > _STARTING:
                raise self._stuck(error) from None
            await asyncio.sleep(_PAUSE)
            return False
        except LeftAloneError:
            self._tries = 0
            if once and steady.is_durable:
                raise  # the text says what becomes of the question; whoever asked cannot wait for a gateway
            return False
        else:
            return True
        finally:
            self._bot = None
            if self._wire is not None:
                await self._wire.aclose()
                self._wire = None

    async def _open_again(self, steady: SteadyChannel, last: "App | JoinedTerminal") -> "App | JoinedTerminal | None":
        """Whoever serves next; None if the person has left meanwhile."""

        language, waited, told = last.language(self.address), 0.0, 0.0
        self._language = language
        while await steady.pause(_PAUSE if waited else 0):
            try:
                bot = await (self._join(steady.owed) if steady.is_durable else self.open(steady.owed))
            except WorkspaceError:
                if not steady.is_durable and waited > _STARTING:
                    raise
                if steady.is_durable and waited >= told:
                    await self._tell(steady, say("gateway.waited_for", language, seconds=round(waited)))
                    told = max(2 * told, _FIRST_TOLD)
                waited += _PAUSE
            else:
                sentence = _of_gateway(bot, was_one=steady.is_durable)
                if sentence:
                    await self._tell(steady, say(sentence, language, seconds=round(waited)))
                return bot
        if steady.owed:
            tell(f"nanobot: {say('gateway.unsaid', language, count=len(steady.owed))}", failed=True)
        return None

    async def _tell(self, steady: SteadyChannel, text: str) -> None:
        await steady.show(Progress(address=self.address, turn="", kind="notice", text=text))

    def _stuck(self, error: InUseError) -> WorkspaceError:
        if error.holder and error.holder.serves:
            return WorkspaceError(
                f"A gateway has the workspace {self._config.workspace} ({error.holder}) and does not answer. If it is "
                f"just starting or stopping, try again in a moment; if it is stuck, `kill {error.holder.pid}` ends it."
            )
        return error


def _of_gateway(bot: "App | JoinedTerminal", *, was_one: bool) -> str:
    """Return the catalogue key that tells that a gateway serves from now on; "" if none does."""

    if not (isinstance(bot, JoinedTerminal) and bot.is_gateway):
        return ""
    return "gateway.is_back" if was_one else "gateway.took_over"


async def _converse(bot: "App | JoinedTerminal", server: _Server, *, model: str, machine: Machine) -> int:
    from nanobot.channels.terminal.terminal import Terminal

    address = server.address
    _check_model(bot, model)

    def language() -> Language:
        return bot.language(terminal.address)

    menu, greeting = bot.menu(address), bot.greeting(address)
    terminal = Terminal(address, server.home.terminal_history, menu, greeting, language, model, machine)
    terminal.on_move, terminal.on_end = server.move, server.end
    await server.serve(bot, terminal)
    return 0


def _machine(config: Config, home: Home, here: Path | None) -> Machine:
    """The machine on which the terminal stands, and what is completed there."""

    workspace = Workspace(config.workspace)

    def text(data: bytes) -> str | None:
        found = decode(data)
        return None if found is None else "\n".join(found.lines())

    def notes() -> Sequence[str]:
        return sorted(path.stem for path in workspace.memory.glob("*.md"))

    def sessions() -> Sequence[str]:
        with suppress(StoreError):
            return sorted(key[4:] for key, _ in SessionFiles(workspace).all() if key.startswith("cli:"))
        return []

    names = {"model": lambda: list(presets(config, home)), "memory": notes, "resume": sessions}
    return Machine(decode=text, media=MediaFolder(workspace), names=names, here=here)


def _folder_to_open(args: argparse.Namespace, config: Config) -> Path:
    """The folder in which the person stands. Raises UsageError if it is better not opened."""

    try:
        folder = Path.cwd()
    except FileNotFoundError:
        raise UsageError(
            "The folder you stand in was deleted: cd into one that exists, then --here opens it."
        ) from None
    if reason := why_not_opened(folder, home_of(args), Workspace(config.workspace)):
        raise UsageError(f"{folder} cannot be opened with --here: {reason}.")
    return folder


async def _ask(
    bot: "App | JoinedTerminal",
    server: _Server,
    *,
    args: argparse.Namespace,
    text: str,
    piped: str,
    machine: Machine,
    ending: "_Ending",
) -> int:
    from nanobot.channels.terminal.markdown import typed

    address = server.address
    _check_model(bot, args.model)
    if bot.is_demo(address) and not args.json and not args.model:
        remark(bot.greeting(address))
    kind = OneShotJson if args.json else OneShotOnScreen if sys.stdout.isatty() else OneShot
    channel = kind(address, typed(text), lambda: bot.language(address), piped=typed(piped), model=args.model)
    channel.opens(machine.here)
    if (args.words or args.message is not None) and not text.lstrip().startswith(("/", "／")):
        channel.brings(await _carried(bot, address, text, machine))
    ending.stop = channel.stop
    await server.serve(bot, channel, once=True)
    return 0 if channel.report() else 1


async def _carried(bot: "App | JoinedTerminal", address: Address, text: str, machine: Machine) -> CarriedFiles:
    """The files that a question names. Raises UsageError if one cannot go along."""

    try:
        return await carry(text, machine.folder, machine.decode, machine.media)
    except MentionError as error:
        raise UsageError(say(f"terminal.{error.sentence}", bot.language(address), **error.values)) from None


def _check_model(bot: "App | JoinedTerminal", name: str) -> None:
    if name and name not in bot.models:
        raise UsageError(f"There is no model {name!r}; there are: {', '.join(bot.models)}.")


class _Ending:
    """A signal to end cancels the work, so that it leaves nothing behind, however often it comes.

    The first Ctrl-C asks the running turn to stop: what a person did not want any more was not interrupted.
    """

    def __init__(self) -> None:
        self.stop: Callable[[], bool] = lambda: False
        self.was_cut = False
        self._received: list[int] = []

    async def watch(self, work: Coroutine[None, None, int]) -> int:
        """Do the work to its end or to that of our patience; the exit code."""

        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)

        def end(number: int) -> None:
            self._received.append(number)
            if self._received == [signal.SIGINT] and self.stop():
                loop.call_later(_STOPPING, task.cancel)
            else:
                task.cancel()

        signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        heard = [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]  # as nohup has one
        for number in heard:
            loop.add_signal_handler(number, end, number)
        try:
            code = await task
        except asyncio.CancelledError:
            if not self._received:
                raise
            self.was_cut = True
            return _BY_SIGNAL + self._received[0]
        finally:
            for number in heard:
                loop.remove_signal_handler(number)
        return _BY_SIGNAL + self._received[0] if code and self._received else code


def _standard_input(*, beside: bool) -> str | None:
    """All that is piped in, or given as a file; None if there is a terminal or, `beside` a question, nothing.

    Raises UsageError for what is no text, and for too much of it.
    """
    if sys.stdin is None or sys.stdin.isatty():
        return "" if sys.stdin is None and not beside else None

    try:
        descriptor = sys.stdin.fileno()
    except OSError:  # whoever runs us in their own process has put something else there
        return None
    mode = os.fstat(descriptor).st_mode
    if beside and not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return None
    if not stat.S_ISREG(mode) and not select.select([descriptor], [], [], _MOMENT)[0]:
        hint = " (without one: nanobot chat … < /dev/null)" if beside else ""
        tell(f"nanobot: waiting for the text on standard input{hint}", failed=True)
    data = sys.stdin.buffer.read(MOST_PIPED + 1)
    if len(data) > MOST_PIPED:
        raise UsageError(
            f"The text on standard input is longer than {MOST_PIPED:,} bytes. Put the file into the workspace, and ask "
            "about it by its name."
        )
    decoded = decode(data)
    if decoded is None:
        raise UsageError(
            "What comes on standard input is no text. Turn it into text first (`pdftotext report.pdf -` does that), or "
            "put the file into the workspace, and ask about it by its name."
        )
    text = "\n".join(decoded.lines())
    return None if beside and not text.strip() else text


def _session(name: str) -> str:
    if not name.strip():
        raise argparse.ArgumentTypeError("a conversation needs a name")
    return name

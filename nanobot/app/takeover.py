"""Handover between two processes: of an open chat's workspace to a gateway, and of an interrupted turn."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from textwrap import shorten

from nanobot import __version__
from nanobot.aio import first_of
from nanobot.app.bot import Bot
from nanobot.core.conversation import Interruption
from nanobot.errors import WorkspaceError
from nanobot.i18n import Language, say
from nanobot.ids import new_id
from nanobot.messages import Address, OutboundMessage
from nanobot.ops.socket import ControlError, NoGatewayError, ask
from nanobot.store.lock import InUseError, Precedence, WorkspaceLock
from nanobot.workspace import Workspace

HAND_OVER = "hand over"
"""What a gateway asks of the process that has the workspace and is none."""

REACTS = 10.0
"""Seconds in which that says that it will; what runs there may then take as long as it likes."""

LEAVES = 30.0
"""Seconds in which it lets go of the workspace once nothing runs there any more."""

MOST_OF_QUESTION = 120
"""Characters of what was asked that the sentence about an interruption repeats."""

MOST_QUESTIONS = 3
"""So many of several questions it repeats."""

_PAUSE = 0.05  # seconds between two looks at the lock


@asynccontextmanager
async def taken(
    workspace: Workspace, language: Language, tell: Callable[[str], None], ended: asyncio.Event
) -> AsyncIterator[bool]:
    """The workspace, for a gateway, while this lasts; False if it was to end before it got it.

    Raises InUseError if another process has it and does not hand it over, and another WorkspaceError.
    """
    with ExitStack() as held:
        try:
            held.enter_context(WorkspaceLock(workspace, serves=True))
        except InUseError as error:
            if error.holder is None or error.holder.serves:
                raise
            getting = _handed_over(workspace, language, tell, error, held)
            await first_of(getting, ended.wait())
        yield not ended.is_set()


async def _handed_over(
    workspace: Workspace, language: Language, tell: Callable[[str], None], error: InUseError, held: ExitStack
) -> None:
    """Take the workspace when its holder lets go of it, before anybody else does. Raises the error if it does not."""

    def is_taken() -> bool:
        try:
            held.enter_context(WorkspaceLock(workspace, serves=True))
        except InUseError:
            return False
        return True

    with Precedence(workspace):
        tell(say("gateway.asks_for_it", language, holder=error.holder))
        for _ in range(round(REACTS / _PAUSE)):
            if is_taken():
                return
            with suppress(NoGatewayError):  # it is just beginning, or ending
                await _ask_for_it(workspace, language, tell, error)
                break
            await asyncio.sleep(_PAUSE)
        else:
            raise error
        for _ in range(round(LEAVES / _PAUSE)):
            if is_taken():
                return
            await asyncio.sleep(_PAUSE)
        raise error


async def _ask_for_it(workspace: Workspace, language: Language, tell: Callable[[str], None], error: InUseError) -> None:
    """Returns when nothing runs there any more, or its process has ended.

    Raises NoGatewayError if nobody listens there, and the error if nobody reacts.
    """
    reacted = asyncio.Event()

    def hear(text: str) -> None:
        reacted.set()
        tell(text)

    asking = asyncio.ensure_future(ask(workspace, __version__, HAND_OVER, [language], hear))
    waiting = asyncio.ensure_future(reacted.wait())
    try:
        await asyncio.wait([asking, waiting], timeout=REACTS, return_when=asyncio.FIRST_COMPLETED)
        if not (asking.done() or reacted.is_set()):
            raise error
        with suppress(ControlError):  # it has ended meanwhile
            await asking
    except NoGatewayError:
        raise
    except WorkspaceError:
        raise error from None
    finally:
        for task in (asking, waiting):
            task.cancel()
        await asyncio.wait([asking, waiting])


async def tell_of_interruption(
    bot: Bot,
    send: Callable[[OutboundMessage], Awaitable[None]],
    address: Address,
    owed: Collection[str],
    *,
    has_ended: bool = False,
) -> None:
    """Close a turn that a process left open when it ended, and tell the person of it.

    `owed` are the ids of what is said again, or is answered anyway: that goes on. A command of the turn `has_ended`
    only now.
    """
    lanes, key = bot.keep.lanes, address.session_key
    if lanes.is_busy(key):
        return
    cut_short = await bot.agent.recover(address, {*owed, *(message.id for message in lanes.queue(key))})
    told = [_of_interruption(bot, cut_short, address)] if cut_short else []
    told += [say("turn.left_running", bot.language(address))] if has_ended else []
    if told:
        await send(OutboundMessage(id=new_id(), address=address, text=" ".join(told), kind="notice"))


def _of_interruption(bot: Bot, cut_short: Interruption, address: Address) -> str:
    sentence = "turn.interrupted_tools" if cut_short.tools else "turn.interrupted"
    if cut_short.tools and cut_short.unanswered:
        sentence = "turn.interrupted_unanswered"
    bot.languages.hear(address.session_key, "\n".join(cut_short.asked))
    asked = _questions(cut_short.asked, bot.language(address))
    return say(sentence, bot.language(address), asked=asked, tools=", ".join(cut_short.tools))


def _questions(asked: Sequence[str], language: Language) -> str:
    """The beginning of each of what was asked; of many, how many more there are."""
    texts = [shorten(text, MOST_OF_QUESTION, placeholder=" …") for text in asked[:MOST_QUESTIONS]]
    more = len(asked) - len(texts)
    return " / ".join([*texts, *([say("turn.more_asked", language, count=more)] if more > 0 else [])])

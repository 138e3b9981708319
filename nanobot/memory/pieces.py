"""Where a conversation is cut, to be summarised piece by piece."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

from nanobot.authority import Scope
from nanobot.transcript import Message


@dataclass(frozen=True, slots=True)
class Stretch:
    """Messages of one session that follow one another, at least one; `before` is the scope of what stands before."""

    session: str
    messages: Sequence[Message]
    before: Scope | None = None

    def of_one_scope(self) -> tuple[Sequence[Message], Scope]:
        """The first messages, as far as they belong to the same memory."""
        scopes = scopes_of(self)
        count = len(list(takewhile(lambda scope: scope == scopes[0], scopes)))
        return self.messages[:count], scopes[0]


def scopes_of(stretch: Stretch) -> Sequence[Scope]:
    """Whose memory each message belongs to: the scope of the user's words in its turn, or of those before it.

    Lines without one are the owner's in the terminal; elsewhere nobody can tell whose they are, and they belong
    to the chat alone, as those of a group do.
    """
    channel, _, chat = stretch.session.partition(":")
    unknown = Scope.owner() if channel == "cli" else Scope.group(channel, chat)
    of_turns = {message.turn: message.scope for message in stretch.messages if message.scope and message.turn}
    scopes: list[Scope] = []
    for message in stretch.messages:
        name = message.scope or of_turns.get(message.turn)
        if name:
            scopes.append(Scope(name))
        elif message.role == "user":
            scopes.append(unknown)
        else:
            scopes.append(scopes[-1] if scopes else stretch.before or unknown)
    return scopes


def first_piece(messages: Sequence[Message], sizes: Sequence[float], room: float) -> int:
    """How many messages make the first piece; at least one, and a step of tools is never torn apart.

    It ends with a turn where that leaves at least half of what would fit.

    Args:
        messages: there must be one.
        sizes: of the first of them, as many whole steps as may be in the piece.
        room: for all.
    """
    ends = [*accumulate(map(len, _steps(messages[: len(sizes)])))]
    totals = [0.0, *accumulate(sizes)]
    fitting = [end for end in ends if totals[end] <= room] or ends[:1]
    with_turn = [end for end in fitting if end == len(messages) or messages[end].turn != messages[end - 1].turn]
    return next((end for end in reversed(with_turn) if 2 * totals[end] >= totals[fitting[-1]]), fitting[-1])


def _steps(messages: Iterable[Message]) -> list[list[Message]]:
    """The messages, each that calls tools with all that they reported."""
    steps: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and steps:
            steps[-1].append(message)
        else:
            steps.append([message])
    return steps

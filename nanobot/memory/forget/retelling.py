"""What becomes of an episode when some of the messages that it was made of go."""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from nanobot.errors import LLMError
from nanobot.forgotten import Traces
from nanobot.memory.alike import content_words
from nanobot.memory.archivist import Archivist
from nanobot.memory.pieces import Stretch
from nanobot.memory.slot import at_once
from nanobot.ports import Episode, Fact
from nanobot.transcript import Message

log = logging.getLogger(__name__)

Holds = Callable[[str], bool]
"""Whether a piece of evidence, by its name, goes."""


@dataclass(frozen=True)
class Affected:
    """An episode and the ids, in file order, of the messages between its ends: those that stay, as lines, and of
    these the ones that are meant.

    Both are empty if the messages are not there any more.
    """

    episode: Episode
    staying: Sequence[str] = ()
    blanked: frozenset[str] = frozenset()
    was_there: bool = False

    @property
    def is_gone(self) -> bool:
        """Whether none of its messages says anything any more."""
        return self.was_there and not set(self.staying) - self.blanked


def cut(affected: Affected, traces: Traces, holds: Holds, said: Sequence[Message], gone: str) -> Episode | None:
    """The episode without the facts that rest only on what goes, and the lines that tell of it; None if none is left.

    Args:
        affected: the episode.
        traces: by which lines are recognised.
        holds: whether a message goes.
        said: the messages that stay.
        gone: what was said in those that go.
    """
    episode = affected.episode
    facts = tuple(kept for fact in episode.facts if (kept := _kept(fact, traces, holds)))
    stays = "\n".join(message.content or "" for message in said)
    lines = [line for line in episode.content.split("\n") if not traces.tell_all(line) and _is_of(line, stays, gone)]
    content = "\n".join(lines).strip()
    if not content:
        content = "\n".join(f"- {fact.text}" for fact in facts)
    if not content:
        return None
    ends = (affected.staying[0], affected.staying[-1]) if affected.staying else episode.messages
    return replace(episode, content=content, facts=facts, messages=ends)


async def retold(affected: Affected, traces: Traces, said: Sequence[Message], archivist: Archivist) -> Episode | None:
    """The episode as the model tells it from the messages that stay; None if it cannot."""
    old = affected.episode
    if not said or not archivist.can_summarise(old.session):
        return None
    try:
        draft = await archivist.summarised(Stretch(old.session, said, old.scope), 0, at_once)
    except LLMError as error:
        log.warning("episode %d is cut, not told anew: %s", old.cursor, error)
        return None
    if draft.count < len(said):  # too much for one piece: its end would be lost
        return None
    new = draft.episode
    content = "\n".join(line for line in new.content.split("\n") if not traces.tell_all(line)).strip()
    if not content:
        return None
    facts = tuple(fact for fact in new.facts if not traces.tell_all(fact.text))
    ends = (affected.staying[0], affected.staying[-1])
    return replace(
        new, cursor=old.cursor, timestamp=old.timestamp, scope=old.scope, content=content, facts=facts, messages=ends
    )


def lost_facts(episode: Episode, left: Episode | None) -> Sequence[Fact]:
    """The facts that an episode told and does not tell any more."""
    kept = {fact.text for fact in left.facts} if left else set()
    return [fact for fact in episode.facts if fact.text not in kept]


def _kept(fact: Fact, traces: Traces, holds: Holds) -> Fact | None:
    messages = tuple(name for name in fact.messages if not holds(name))
    if traces.tell_all(fact.text) or (fact.messages and not messages):
        return None
    return fact if messages == tuple(fact.messages) else replace(fact, messages=messages)


def _is_of(line: str, stays: str, gone: str) -> bool:
    """Whether a line of a summary tells of what stays, rather than of what goes; headings and the like stay."""
    words: Collection[str] = content_words(line)
    if not words or not gone:
        return True
    return _share(words, stays) > _share(words, gone)


def _share(words: Collection[str], text: str) -> int:
    return len(set(words) & content_words(text))

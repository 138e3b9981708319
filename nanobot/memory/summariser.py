"""Asks a model for the summary of a piece of conversation."""

from collections.abc import Callable, Sequence
from functools import partial

from nanobot.errors import LLMError
from nanobot.memory.minutes import Entry, numbered
from nanobot.memory.section import fenced, prompt
from nanobot.memory.slot import Quiet, Slot
from nanobot.memory.summary import Summary, read_summary
from nanobot.ports import LLM, Request
from nanobot.tokens import TokenEstimator
from nanobot.transcript import Message

PIECE = 6_000
"""Tokens of conversation that are summarised at once: what small models still read with care."""

LEAST = 500

ModelOf = Callable[[str], tuple[LLM, TokenEstimator]]
"""The model that summarises a session, and how its tokens are counted."""


class Summariser:
    """Chooses how much fits, asks, and reads the answer."""

    def __init__(self, model_of: ModelOf) -> None:
        self._model_of = model_of

    def can(self, session: str) -> bool:
        """Whether there is a model that understands what is asked; one with the compact profile does not."""
        return not self._model_of(session)[0].info.compact

    def room(self, session: str) -> float:
        """Tokens for the entries of one piece."""
        llm, tokens = self._model_of(session)
        fixed = sum(map(tokens.size, _request([])))
        return max(LEAST, min(PIECE, llm.info.context_window - llm.info.max_output - fixed))

    def size(self, session: str, entry: Entry) -> float:
        """Tokens of an entry."""
        return self._model_of(session)[1].size(Message(role="user", content=entry.text))

    async def summarise(self, session: str, entries: Sequence[Entry], slot: Slot) -> Summary:
        """Ask once, in the slot. Raises LLMError; of kind "protocol" if what came is no summary of these entries."""
        llm, _ = self._model_of(session)
        reply = await slot(llm.info, partial(llm.complete, Request(_request(entries), patient=False), Quiet()))
        if reply.tool_calls:
            raise LLMError("protocol", "a tool call in place of a summary", model=reply.model)
        summary = read_summary(reply.text, "\n".join(entry.text for entry in entries))
        if summary is None:
            raise LLMError("protocol", "no summary in the answer", model=reply.model)
        return summary


def _request(entries: Sequence[Entry]) -> list[Message]:
    record = fenced("record", numbered(entries))
    return [
        Message(role="system", content=prompt("consolidate")),
        Message(role="user", content=f"{record}\n\n{prompt('consolidate_now')}"),
    ]

"""Searching what was said and noted before."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from nanobot import text as shown
from nanobot.authority import Origin, Scope, least
from nanobot.errors import StoreError, ToolError
from nanobot.i18n import Language, say
from nanobot.memory.recall.ports import Hit, SearchableText, Searching
from nanobot.ports import Caller, ToolResult, ToolSpec
from nanobot.text import as_speaker
from nanobot.tools import schema
from nanobot.tools.output import HIDDEN, Mask, nothing_hidden

MOST = 20
"""Results of one search at most."""

_LENGTH, _NEARBY = 800, 200  # characters of what was found, and of what stands beside it


class RecallArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[
        str,
        msgspec.Meta(
            min_length=1, description="A question or words, as the person might have said it; dates and names help"
        ),
    ]
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST, description="How many results at most")] = 6


class RecallTool:
    """Finds messages, summaries, notes and remembered lines that the caller may see."""

    spec = ToolSpec(
        "recall",
        "Search everything that was said in earlier conversations, their summaries and the notes. Understands dates "
        "such as 'last Tuesday' or 'in May'. Each result says when and where it was said, by whom, and what stood "
        "beside it.",
        schema.parameters(RecallArguments),
        reads_only=True,
    )

    def __init__(self, searching: Searching, mask: Mask = nothing_hidden) -> None:
        """`mask` goes before a cut: half a secret would not be known any more."""
        self._searching = searching
        self._mask = mask

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        return say("doing.recall", language, what=shown.argument(arguments, "query"))

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        wanted = schema.parse(arguments, RecallArguments)
        but = (caller.address.session_key, caller.turn)
        try:
            found = await self._searching.find(wanted.query, caller.authority, k=wanted.limit, around=1, but=but)
        except StoreError as error:
            raise ToolError(f"What was said cannot be searched now: {error}") from error
        still = f"[{found.unread:.0%} of what was said is not read in yet: there may be more later]"
        notes = [still] if found.unread else []
        if not found.hits:
            return ToolResult("\n".join(["(nothing)", *notes]), caller.authority.origin)
        rows = _rows(found.hits, self._mask)
        if rows != _rows(found.hits, nothing_hidden):
            notes = [HIDDEN, *notes]
        texts = [said for hit in found.hits for said in (hit.said, *hit.around)]
        origin = least(caller.authority.origin, *(_origin(said, caller.authority.scope) for said in texts))
        return ToolResult("\n\n".join([rows, *notes]), origin)


def _rows(hits: Sequence[Hit], mask: Mask) -> str:
    return "\n\n".join(_render_hit(number, hit, mask) for number, hit in enumerate(hits, 1))


def _origin(said: SearchableText, scope: Scope) -> Origin:
    """Return the trust in a text: files of memory were checked before; a group's words are anybody's."""
    if said.is_kept:
        return Origin.OWNER
    return least(said.origin, Origin.QUOTED) if scope.is_group else said.origin


def _render_hit(number: int, hit: Hit, mask: Mask) -> str:
    def cut(text: str, most: int) -> str:
        return shown.one_line(mask(text), most)

    said = hit.said
    rows = [f"{number}. {said.at[:16].replace('T', ' ')}, {_where(said)}"]
    rows += [f"   before: {_who(near)}: {cut(near.text, _NEARBY)}" for near in _beside(hit, before=True)]
    rows.append(f"   {_who(said)}: {cut(said.text, _LENGTH)}")
    rows += [f"   after: {_who(near)}: {cut(near.text, _NEARBY)}" for near in _beside(hit, before=False)]
    rows += [
        f"   {other.kind or 'see'} -> {shown.one_line(other.name)}: {cut(other.text, _NEARBY)}" for other in hit.related
    ]
    return "\n".join(rows)


def _beside(hit: Hit, *, before: bool) -> Sequence[SearchableText]:
    return [near for near in hit.around if (near.position < hit.said.position) == before]


def _where(said: SearchableText) -> str:
    if said.source == "episode":
        return f"summary {said.message} of {said.session}"
    return said.file if said.source in ("note", "memory") else f"in {said.session}"


def _who(said: SearchableText) -> str:
    if said.source == "quote":
        return f"passed on, written by {as_speaker(said.speaker) or 'somebody else'}"
    if said.source != "session":
        return said.source
    return "you" if said.role == "assistant" else as_speaker(said.speaker) or "user"

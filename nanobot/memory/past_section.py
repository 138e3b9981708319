"""What the prompt says about earlier conversations."""

from collections.abc import Callable, Sequence

from nanobot.authority import Origin
from nanobot.memory.section import fenced, prompt
from nanobot.ports import Episode

LONGEST = 1_200
"""Characters of one episode; more is found by search."""

_OWN_WORDS = (Origin.OWNER, Origin.PERSON)
_OF_OTHERS = "(about what others said or pages and tools told; search for it when it matters)"


def past_section(own: Sequence[Episode], others: Sequence[Episode], size: Callable[[str], float], room: float) -> str:
    """The summaries that fit, as one text; "" if none does. What others brought in is left out: a search finds it.

    Args:
        own: of this conversation, the newest first.
        others: the newest of the scope.
        size: of a text.
        room: for all.
    """
    text = ""
    shown: list[Episode] = []
    for episode in [*own, *(one for one in others if one not in own)]:
        longer = _section([*shown, episode], own)
        if size(longer) <= room:
            shown.append(episode)
            text = longer
    return text


def _section(shown: Sequence[Episode], own: Sequence[Episode]) -> str:
    """Those of the conversation first, each group in the order of time."""
    ordered = sorted(shown, key=lambda episode: (episode not in own, episode.cursor))
    return f"{prompt('episodes')}\n\n{fenced('episodes', chr(10).join(map(_row, ordered)))}"


def _row(episode: Episode) -> str:
    source = "" if episode.origin in _OWN_WORDS else f", partly from {episode.origin}"
    shown = episode.shown or _OF_OTHERS
    content = shown if len(shown) <= LONGEST else f"{shown[:LONGEST].rstrip()} […]"
    inside = content.replace("\n", "\n  ")
    return f"[{episode.timestamp[:16].replace('T', ' ')}, {episode.session}{source}]\n  {inside}"

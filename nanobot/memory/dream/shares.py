"""How much of what was there a draft would take away."""

from collections.abc import Iterable, Sequence

from nanobot.memory.alike import difference, overlap
from nanobot.memory.dream.draft import Draft
from nanobot.memory.dream.head import facts_of, field_of
from nanobot.memory.dream.refused import Refused
from nanobot.memory.facts import bare, compared

_REWORDED = 0.5
_OVERLAPPING = 0.5


def check_share(draft: Draft, paths: Iterable[str], share: float) -> None:
    """Raise Refused if more of one of these files is gone, and not replaced, than this share; one line always may."""
    for path in paths:
        before = facts_of(draft.before.get(path, ""))
        after = [line for _, line in facts_of(draft.text(path))]
        _check([line for _, line in before], after, share, path, draft.replaced_in(path))


def check_merge(draft: Draft, sources: Sequence[str], merged: str, share: float) -> None:
    """Raise Refused if notes that are to become one contradict each other, or too much of them would be lost."""
    lines = {source: _told_by(draft.text(source)) for source in sources}
    for place, source in enumerate(sources):
        for other in sources[place + 1 :]:
            _check_agreement(lines[source], lines[other])
    both = [line for source in sources for _, line in facts_of(draft.text(source))]
    _check(both, [line for _, line in facts_of(merged)], share, " and ".join(sources))


def _check_agreement(lines: Sequence[str], others: Sequence[str]) -> None:
    for one in lines:
        for other in others:
            if overlap(one, other) >= _OVERLAPPING and (kind := difference(one, other)):
                raise Refused(
                    "differs", f"Not to be merged: {one[:80]!r} and {other[:80]!r} differ in a {kind}. Leave both."
                )


def _told_by(text: str) -> list[str]:
    return [*filter(None, [field_of(text, "summary")]), *(bare(line) for _, line in facts_of(text))]


def _check(
    before: Sequence[str], after: Sequence[str], share: float, name: str, replaced: frozenset[str] = frozenset()
) -> None:
    kept = {compared(line) for line in after}
    gained = [line for line in after if compared(line) not in {compared(old) for old in before}]
    gone = 0
    for line in before:
        if compared(line) in kept or compared(line) in replaced:
            continue
        reworded = next((new for new in gained if overlap(line, new) >= _REWORDED), None)
        if reworded is None:
            gone += 1
        else:
            gained.remove(reworded)
    if gone > max(1, int(share * len(before))):
        raise Refused("share", f"That would remove too much of {name}: {gone} of {len(before)} lines. Keep the others.")

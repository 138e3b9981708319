"""Episodes for tests."""

from collections.abc import Sequence

from nanobot.authority import Origin, Scope
from nanobot.ports import Episode, Fact


def episode(
    content: str = "- likes tea",
    *,
    session: str = "cli:test",
    scope: str = "owner",
    origin: Origin = Origin.OWNER,
    messages: tuple[str, str] = ("m1", "m2"),
    facts: Sequence[Fact] = (),
) -> Episode:
    """One that has no number yet."""
    return Episode(
        cursor=0,
        timestamp="2026-03-02T10:15:00.000+00:00",
        session=session,
        scope=Scope(scope),
        origin=origin,
        messages=messages,
        content=content,
        facts=facts,
    )

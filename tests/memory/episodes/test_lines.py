"""A line of history.jsonl: what of it a prompt may hold."""

import pytest

from nanobot.authority import Origin, Scope
from nanobot.memory.episodes.history_file import decode, encode
from nanobot.ports import Episode


def episode(origin: Origin, content: str, own: tuple[str, ...] | None = None) -> Episode:
    return Episode(
        cursor=1,
        timestamp="2026-03-02T10:00:00+00:00",
        session="cli:main",
        scope=Scope.owner(),
        origin=origin,
        messages=("a", "b"),
        content=content,
        own=own,
    )


@pytest.mark.parametrize(
    ("origin", "own", "shown"),
    [
        (Origin.OWNER, None, "- tea\n- an order"),
        (Origin.WEB, ("- tea",), "- tea"),
        (Origin.QUOTED, (), ""),
        (Origin.QUOTED, None, ""),  # written before it was known whose words bear out what
    ],
)
def test_a_prompt_shows_what_own_words_bear_out(origin: Origin, own: tuple[str, ...] | None, shown: str) -> None:
    kept = decode(encode(episode(origin, "- tea\n- an order", own)))

    assert kept.own == own
    assert kept.shown == shown


def test_a_line_that_is_gone_from_a_summary_is_gone_from_the_file() -> None:
    line = encode(episode(Origin.WEB, "- tea", ("- tea", "- a secret that was forgotten")))

    assert b"forgotten" not in line
    assert decode(line).own == ("- tea",)

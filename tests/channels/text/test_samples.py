"""What models write, as it looks on each platform. After a change: record anew, and read the diff."""

from pathlib import Path

import pytest

from nanobot.channels.discord.markdown import discord_parts
from nanobot.channels.telegram.markdown import telegram_parts
from tests.channels.text.record import SAMPLES, shown

_FILES = sorted(SAMPLES.glob("*.md"))


@pytest.mark.parametrize("sample", _FILES, ids=[sample.stem[:2] for sample in _FILES])
def test_a_sample_looks_as_it_was_recorded(sample: Path) -> None:
    for snapshot, text in shown(sample).items():
        assert text == snapshot.read_text(encoding="utf-8"), snapshot.name


@pytest.mark.parametrize("sample", _FILES, ids=[sample.stem[:2] for sample in _FILES])
def test_every_beginning_of_a_sample_can_be_shown_while_it_grows(sample: Path) -> None:
    markdown = sample.read_text(encoding="utf-8")
    for end in range(0, len(markdown), 1 + len(markdown) // 60):
        telegram = "".join(message.text for message in telegram_parts(markdown[:end], growing=True))
        discord = "".join(discord_parts(markdown[:end], growing=True))

        assert "](" not in telegram
        assert discord.count("```") % 2 == 0

"""Writes anew how the samples look on each platform: `python -m tests.channels.text.record`, then read the diff."""

from pathlib import Path

from nanobot.channels.discord.markdown import discord_parts
from nanobot.channels.telegram.markdown import telegram_parts
from tests.channels.text import readable

SAMPLES = Path(__file__).parent / "samples"


def shown(sample: Path) -> dict[Path, str]:
    """The text of each snapshot that belongs to a sample. A name with "half" in it is a text that still grows."""
    markdown = sample.read_text(encoding="utf-8")
    growing = "half" in sample.stem
    return {
        sample.with_suffix(".telegram.txt"): readable.telegram(telegram_parts(markdown, growing=growing)),
        sample.with_suffix(".discord.txt"): readable.discord(discord_parts(markdown, growing=growing)),
    }


def record() -> None:
    for sample in sorted(SAMPLES.glob("*.md")):
        for path, text in shown(sample).items():
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    record()

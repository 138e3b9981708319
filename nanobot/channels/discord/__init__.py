"""Discord: people there talk with the bot. The channel itself is in channel.py."""

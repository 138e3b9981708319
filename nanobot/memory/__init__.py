"""What the bot remembers."""

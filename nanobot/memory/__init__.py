"""Memory: everything that the bot remembers."""

"""Slash commands: a router, and the handlers by topic."""

"""Channels: the places where people talk to the bot."""

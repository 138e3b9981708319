"""Transport of messages between channels and the core."""

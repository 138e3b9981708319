"""The agent: what happens between a message and its answer."""

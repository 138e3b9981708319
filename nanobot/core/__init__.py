"""The core: what happens between a message and its answer."""

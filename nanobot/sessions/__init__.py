"""Sessions: every word of every conversation, on disk."""

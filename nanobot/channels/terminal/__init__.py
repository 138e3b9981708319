"""The terminal as a place to talk: a conversation, or one question and its answer."""

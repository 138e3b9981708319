"""How often recall brings up the very messages that answer a question, and how fast."""

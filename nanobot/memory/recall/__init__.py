"""Recall: from what a person asks to the messages that answer it, without a model."""

"""nanobot: a self-hosted personal chatbot that can be trusted with your memory."""

__version__ = "0.1.0"

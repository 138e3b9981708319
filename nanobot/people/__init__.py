"""People: who may talk to the bot."""

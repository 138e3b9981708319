"""Where people talk to the bot."""

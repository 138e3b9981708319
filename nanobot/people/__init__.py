"""Who may talk to the bot."""

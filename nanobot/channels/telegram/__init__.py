"""Telegram as a place to talk: what people write there comes in, what the bot says goes out."""
